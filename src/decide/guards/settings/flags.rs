//! Whether a command of the head checks less than one of the base.

use super::{keys::plain, shell::Command};
use crate::decide::guards::listed::listed;

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Same,
    Stricter,
    Weaker(String),
    /// Other words, whose meaning is not known.
    Other,
}

/// Programs that check nothing.
const PLAIN: &str = "\
    echo cd export set mkdir cp mv rm ls cat sleep printf true : source . pwd touch chmod apt-get apt brew curl \
    wget tar unzip date tee head tail sort which env git gem case esac if fi for done while in shift local read \
    trap unset alias shopt ln gpg su apk yum python3.11 corepack";

/// A failure of the command says that something is wrong with the code.
pub(super) fn is_check(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["exit" | "return", code, ..] => !matches!(*code, "0"),
        ["exit" | "return"] | [] => false,
        [program, ..] if listed(PLAIN, program) => false,
        [
            "npm" | "yarn" | "pnpm" | "bun" | "pip" | "pip3" | "bundle" | "poetry" | "uv" | "composer" | "cargo" | "go"
            | "dotnet" | "mix",
            sub,
            ..,
        ] if matches!(
            *sub,
            "install"
                | "ci"
                | "i"
                | "add"
                | "update"
                | "restore"
                | "deps.get"
                | "mod"
                | "sync"
                | "config"
                | "login"
                | "global"
                | "fetch"
                | "--version"
                | "clean"
                | "cache"
        ) =>
        {
            false
        }
        ["python" | "python3", "-m", "pip", ..] | ["yarn"] => false,
        _ => true,
    }
}

/// Words that a command must keep: without them it checks less.
const STRICT: &str = "\
    coverage typecheck cov covfailunder failunder strict strictmarkers strictconfig check alltargets workspace all \
    allfeatures race forbidonly forbidpending ci werror dwarnings d maxwarnings locked frozenlockfile frozen \
    failonrisky xfatalwarnings failonwarning failonskipped failonincomplete vet doctestmodules doc recursive checkcoverage \
    noemit diff exitcode errorexitcode fail failoninconclusive shuffle randomize random warningsaserrors immutable failonempty \
    bail failzerotests errorondeprecated reporterrors failurelevel strictequality denywarnings verify \
    detectopenhandles";

/// Words that make a command check less.
const LOOSE: &str = "\
    t testnamepattern k deselect ignore ignoreglob grep g filter run skip exclude m passwithnotests retries \
    reruns retry updatesnapshot u update noverify nofail nofailontestfailure dskiptests skiptests exitzero nocov \
    nocoverage warnonly lib only testpathpattern testpathpatterns testpathignorepatterns shard short force quiet \
    noerroronunmatchedpattern continueoncollectionerrors ifpresent dmaventestskip dmaventestfailureignore \
    dtestfailureignore dtest dit x excludegroup excludetag excludetask tag tags group bin bins example \
    onlychanged onlyfailures lastfailed lf changed changedsince since related findrelatedtests ignorefailures \
    continue allowfailure noservererrors silentfail e forceexit test package p nodoctest disable disablewarnings \
    noerror fn denames namepattern testnameregex invert allowempty rerunfailingtestscount allownoteststorun \
    ignoreerrors skipdirs skipfiles excludepattern failureexitcode muteexitstatus allow cap_lints caplints updatesnapshots ciupdate snapshotupdate \
    collectonly co setupplan setuponly listtests dryrun norun testskippattern testonly grepinvert fgrep \
    issuesexitcode new newfromrev runxfail";

/// Words that say how something is shown or how fast it is.
const NEUTRAL: &str = "\
    v vv verbose q s color colors nocolor j n jobs workers maxworkers parallel runinband reporter reporters \
    format outputfile output o junitxml json cache cachelocation durations tb ra rx watch watchall timestamp \
    stats noprogress progress count pretty log showoutput nocapture batchmode b covreport coverageprofile \
    coverprofile covermode yes y dcolor loglevel numprocesses dist concurrency threads logheapusage inspect \
    stacktrace info console";

/// Numbers behind these are a bar, behind those a limit.
const BARS: &str = "\
    covfailunder failunder coveragethreshold minimumcoverage lines branches functions statements min";
const LIMITS: &str = "\
    maxwarnings timeout testtimeout retries reruns retry maxfail rerunfailingtestscount maxcomplexity \
    maxlinelength slow";

#[derive(Debug, Clone, PartialEq, Eq)]
struct Flag {
    name: String,
    value: String,
    shown: String,
}

impl Flag {
    /// pytest's `-o python_functions=check_*`: a setting that decides which tests run, from the command line.
    fn overrides(&self) -> Option<String> {
        let text = match self.name.as_str() {
            "o" | "overrideini" => self.value.clone(),
            _ => self.shown.strip_prefix("-o")?.to_owned(),
        };
        let (key, _) = text.split_once('=')?;
        let keys = "\
            pythonfiles pythonclasses pythonfunctions testpaths norecursedirs addopts filterwarnings xfailstrict \
            collectimportedtests usefixtures requiredplugins";
        listed(keys, &plain(key)).then_some(text)
    }
}

/// Program and sub-commands, and the options behind them.
fn parts(command: &Command) -> (Vec<String>, Vec<Flag>) {
    let mut plain_words = Vec::new();
    let mut flags: Vec<Flag> = Vec::new();
    for word in &command.words {
        if word.starts_with('\u{0}') {
            continue;
        }
        if word.starts_with('-') && word.len() > 1 || word.starts_with('/') && word.contains(':') && word.len() < 20 {
            let (name, value) = word.split_once(['=', ':']).unwrap_or((word, ""));
            flags.push(Flag {
                name: plain(name),
                value: value.to_owned(),
                shown: word.clone(),
            });
            continue;
        }
        match flags.last_mut() {
            // A value behind its option, where no `--` and no other word stands between.
            Some(flag) if flag.value.is_empty() && flag.shown != "--" && takes_value(&flag.name, &flag.shown) => {
                flag.value.clone_from(word);
            }
            _ => plain_words.push(word.clone()),
        }
    }
    (plain_words, flags)
}

fn takes_value(name: &str, shown: &str) -> bool {
    let with = "\
        k m t g run grep filter deselect ignore exclude skip maxwarnings retries reruns timeout testnamepattern \
        config c cov covfailunder failunder d p n j o lines branches package features testpathpattern reporter \
        project tags tag only x e w W a test count f shard since coveragethreshold min excludegroup group testtimeout \
        retry bin example name format r require";
    listed(with, name) && !(shown == "-v" || shown == "--watch")
}

/// The same command with other words.
pub(super) fn compare(old: &Command, new: &Command) -> Change {
    if old.counts && !new.counts {
        return Change::Weaker("its failure no longer counts".to_owned());
    }
    let ((old_words, old_flags), (new_words, new_flags)) = (parts(old), parts(new));
    let mut verdict = if old.counts == new.counts {
        Change::Same
    } else {
        Change::Stricter
    };
    let lost: Vec<&Flag> = old_flags
        .iter()
        .filter(|f| !new_flags.iter().any(|n| n.name == f.name))
        .collect();
    let gained: Vec<&Flag> = new_flags
        .iter()
        .filter(|f| !old_flags.iter().any(|o| o.name == f.name))
        .collect();
    let mut other = false;
    let overridden = |flags: &[Flag]| -> Vec<String> { flags.iter().filter_map(Flag::overrides).collect() };
    let before = overridden(&old_flags);
    if let Some(value) = overridden(&new_flags).into_iter().find(|v| !before.contains(v)) {
        return Change::Weaker(format!("-o {value} is added"));
    }
    for flag in &lost {
        match () {
            () if listed(STRICT, &flag.name)
                || listed(BARS, &flag.name)
                || flag.value == "pipefail"
                || flag.shown == "-W" && flag.value.starts_with("error") =>
            {
                return Change::Weaker(format!("{} is gone", flag.shown));
            }
            () if listed(LOOSE, &flag.name) => verdict = Change::Stricter,
            () if listed(NEUTRAL, &flag.name) => {}
            () => other = true,
        }
    }
    for flag in &gained {
        // `-W error`
        if flag.shown.starts_with("-W") && flag.shown.len() <= 3 {
            match flag.value.split(':').next().unwrap_or_default() {
                "error" => verdict = Change::Stricter,
                _ => return Change::Weaker(format!("{} {} is added", flag.shown, flag.value)),
            }
            continue;
        }
        let zero = flag.name == "maxwarnings" || listed(BARS, &flag.name);
        match () {
            () if zero || listed(STRICT, &flag.name) => verdict = Change::Stricter,
            () if listed(LOOSE, &flag.name) => {
                return Change::Weaker(format!("{} is added", flag.shown));
            }
            () if listed(NEUTRAL, &flag.name) => {}
            () => other = true,
        }
    }
    for flag in &new_flags {
        let Some(before) = old_flags.iter().find(|o| o.name == flag.name) else {
            continue;
        };
        match values(flag, before) {
            Change::Same => {}
            Change::Other => other = true,
            Change::Stricter => verdict = Change::Stricter,
            weaker @ Change::Weaker(_) => return weaker,
        }
    }
    if let Some(change) = bar(&old_words, &new_words) {
        return change;
    }
    // Words without a dash: programs, sub-commands, paths. A variable may have another name.
    let variables = |words: &[String]| words.iter().filter(|w| w.starts_with('$')).count();
    let renamed = variables(&old_words) == variables(&new_words);
    let same = |w: &String| renamed && w.starts_with('$');
    let missing = old_words.iter().find(|w| !new_words.contains(w) && !same(w));
    let added = new_words.iter().skip(1).find(|w| !old_words.contains(w) && !same(w));
    match (missing, added) {
        (Some(word), _) => Change::Weaker(format!("{word} is gone")),
        (None, Some(word)) if narrows(&old_words, word) => Change::Weaker(format!("only {word} is checked")),
        (None, Some(_)) => Change::Other,
        (None, None) if other && verdict != Change::Stricter => Change::Other,
        (None, None) => verdict,
    }
}

/// `test "$total" -ge 80`: a number that something has to reach.
fn bar(old: &[String], new: &[String]) -> Option<Change> {
    let is_test = |w: &[String]| w.first().is_some_and(|p| matches!(p.as_str(), "test" | "[" | "[["));
    let same = old.len() == new.len() && old.iter().zip(new).filter(|(a, b)| a != b).count() == 1;
    if !is_test(old) || !is_test(new) || !same {
        return None;
    }
    let (was, is) = old.iter().zip(new).find(|(a, b)| a != b)?;
    match (was.parse::<f64>(), is.parse::<f64>()) {
        (Ok(was), Ok(is)) if is > was => Some(Change::Stricter),
        _ => None,
    }
}

/// A place behind a program that would check all without one.
fn narrows(old: &[String], word: &str) -> bool {
    let paths = |w: &String| w.contains('/') || w.contains("::") || w == ".";
    let place = word.contains('/') || word.contains("::") || word.contains('.');
    place && !old.iter().skip(1).any(paths)
}

fn values(new: &Flag, old: &Flag) -> Change {
    if new.value == old.value {
        return Change::Same;
    }
    let numbers = (old.value.parse::<f64>(), new.value.parse::<f64>());
    match numbers {
        (Ok(was), Ok(is)) if listed(BARS, &new.name) => {
            if is < was {
                Change::Weaker(format!("{} is lower", new.shown))
            } else {
                Change::Stricter
            }
        }
        (Ok(was), Ok(is)) if listed(LIMITS, &new.name) => {
            if is > was {
                Change::Weaker(format!("{} is higher", new.shown))
            } else {
                Change::Stricter
            }
        }
        _ if listed(NEUTRAL, &new.name) => Change::Same,
        _ if listed(LOOSE, &new.name) || listed(STRICT, &new.name) => {
            Change::Weaker(format!("{} has another value", new.shown))
        }
        _ => Change::Other,
    }
}

/// How near two commands are: the same program, the same sub-command, common words.
pub(super) fn likeness(a: &Command, b: &Command) -> usize {
    let common = a.words.iter().filter(|w| b.words.contains(w)).count();
    let first = usize::from(a.words.first() == b.words.first());
    if first == 0 && common < 2 {
        0
    } else {
        10 * first + common
    }
}
