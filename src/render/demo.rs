//! The screen of `tick demo`: what each step of the story says, in 80 columns. Every figure is handed in by whoever
//! measured it; nothing here knows one.

use std::{fmt::Write as _, time::Duration};

use super::page::{WIDTH, count, wrap};

/// Column in which a step begins, right of its seconds, and the one of its further lines.
const STEP: usize = 9;
const MORE: usize = 11;
/// Words that colour helps to find. They say the same without it.
const PAINTED: [(&str, &str); 7] = [
    ("UNHEALTHY", "31"),
    ("REFUSED", "31"),
    ("RED", "31"),
    ("FAILED", "31"),
    ("GREEN", "32"),
    ("RESOLVED", "32"),
    ("healthy", "32"),
];

/// What somebody reads before the story begins: `own` is their repository, `agent` whoever repairs instead of the
/// recording.
pub fn intro(own: Option<&str>, agent: Option<&str>) -> String {
    let world = match own {
        None => {
            "A rehearsal of the whole loop in a small world inside this machine: a git server with CI, a deployer, \
             a shop with customers, an error tracker, a mailbox. All of it runs for real, none of it is yours."
                .to_owned()
        }
        Some(name) => format!(
            "A rehearsal on a clone of {name}, in a small world inside this machine: a git server with CI, an error \
             tracker, a mailbox. The clone holds what is committed; your own copy is only read."
        ),
    };
    let (needs, agent) = match agent {
        None => (
            "No account, no key, nothing leaves loopback.",
            "The agent is a recording of two patches. A real one: tick demo --agent claude".to_owned(),
        ),
        Some(name) => (
            "The world needs no account and talks on loopback only.",
            format!("The agent is {name}; what it talks to is its own affair."),
        ),
    };
    let clock = "The world's clock jumps a quarter of an hour between two ticks.";
    let lines = [wrap(&format!("{world} {needs} {clock}"), WIDTH), wrap(&agent, WIDTH)].concat();
    lines.join("\n") + "\n\n"
}

/// A step of the story: seconds since the start, then what happened, further lines below it.
pub fn step(elapsed: Duration, lines: &[String]) -> String {
    let Some((first, further)) = lines.split_first() else {
        return String::new();
    };
    let seconds = format!("{:>5.1} s", elapsed.as_secs_f64());
    hanging(&format!("{seconds:STEP$}"), first) + &more(further)
}

/// What was found of demos that were killed.
pub fn cleared(worlds: usize) -> String {
    let worlds = count(u64::try_from(worlds).unwrap_or(u64::MAX), "world");
    format!("cleared  {worlds} of demos that were killed")
}

/// Further lines of the step before.
pub fn more(lines: &[String]) -> String {
    lines.iter().map(|line| hanging(&" ".repeat(MORE), line)).collect()
}

/// Wrapped below its own first sentence: a word and two spaces make a column.
fn hanging(lead: &str, line: &str) -> String {
    let line = super::story::console(line);
    let rest = line.find("  ").map_or(line.as_str(), |at| line[at..].trim_start());
    let label = line.len() - rest.len();
    let label = if label < 24 { label } else { 0 };
    let column = lead.len() + label;
    let mut text = String::new();
    for (n, part) in wrap(&line[label..], WIDTH - column.max(MORE)).into_iter().enumerate() {
        let whole = if n == 0 {
            format!("{lead}{}{part}", &line[..label])
        } else {
            format!("{:1$}{part}", "", column.max(MORE))
        };
        let _infallible = writeln!(text, "{}", whole.trim_end());
    }
    text
}

/// The same text for a terminal that shows colour.
pub fn paint(text: &str) -> String {
    let mut painted = String::new();
    for line in text.split_inclusive('\n') {
        let found = PAINTED
            .iter()
            .find_map(|(word, colour)| Some((find_word(line, word)?, *word, *colour)));
        match found {
            Some((at, word, colour)) => {
                let _infallible = write!(
                    painted,
                    "{}\u{1b}[{colour}m{word}\u{1b}[0m{}",
                    &line[..at],
                    &line[at + word.len()..]
                );
            }
            None => painted.push_str(line),
        }
    }
    painted
}

/// Where the word stands by itself.
fn find_word(line: &str, word: &str) -> Option<usize> {
    let bare = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    line.match_indices(word)
        .map(|(at, _)| at)
        .find(|at| bare(line[..*at].chars().next_back()) && bare(line[at + word.len()..].chars().next()))
}

/// A tick that found nothing to do.
pub fn healthy(tick: u32, sources: u64, ms: u64, models: u32) -> String {
    format!(
        "tick {tick}   healthy     {} in {ms} ms, {}",
        count(sources, "source"),
        count(models.into(), "model call")
    )
}

/// The first sight of a cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    pub tick: u32,
    pub cause: String,
    pub events: u64,
    /// Class of the error, and where.
    pub title: String,
    pub route: Option<String>,
    /// Seconds between the release going live and the first event.
    pub after: Option<i64>,
    pub release: Option<String>,
}

pub fn unhealthy(sight: &Sight) -> Vec<String> {
    let errors = count(sight.events, "error");
    let mut lines = vec![
        format!("tick {}   UNHEALTHY   {errors}, cause {}", sight.tick, sight.cause),
        sight.title.clone(),
    ];
    let route = sight.route.clone().filter(|r| !r.is_empty());
    let first = match (sight.after, &sight.release) {
        (Some(after), Some(release)) => Some(format!("first seen {after} s after {release} went live")),
        _ => None,
    };
    let whereabouts: Vec<String> = route.into_iter().chain(first).collect();
    if !whereabouts.is_empty() {
        lines.push(whereabouts.join(", "));
    }
    lines
}

/// A tick that leaves something for later ones; `models` were called in it.
pub fn waiting(tick: u32, why: &str, models: u32) -> String {
    let why = why.strip_prefix("tick moves next: ").unwrap_or(why);
    match models {
        0 => format!("tick {tick}   ends: {why}"),
        n => format!("tick {tick}   ends after {}: {why}", count(n.into(), "model call")),
    }
}

/// The checks that were green when the head was merged; all of them are required.
pub fn checks(head: &str, names: &[&str]) -> String {
    let required = match names.len() {
        1 => "required",
        2 => "both required",
        _ => "all required",
    };
    format!("CI success at {head}: {} ({required})", names.join(", "))
}

/// What the whole run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sum {
    pub ticks: u32,
    pub models: u32,
    pub refused: u32,
    pub drafts: u32,
    pub merged: u32,
    pub mails: u64,
}

pub fn summary(elapsed: Duration, sum: &Sum) -> String {
    let mut parts = vec![
        count(sum.ticks.into(), "tick"),
        count(sum.models.into(), "model call"),
        format!("{} refused", count_patches(sum.refused)),
    ];
    if sum.drafts > 0 {
        parts.push(count(sum.drafts.into(), "draft"));
    }
    if sum.merged > 0 || sum.drafts == 0 {
        parts.push(format!("{} merged", sum.merged));
    }
    parts.push(count(sum.mails, "mail"));
    format!("\nDone in {:.1} s: {}.\n", elapsed.as_secs_f64(), parts.join(", "))
}

fn count_patches(n: u32) -> String {
    match n {
        1 => "1 patch".to_owned(),
        n => format!("{n} patches"),
    }
}

/// What to look at next, when everything happened: the same run once more with its files kept, as `again` gives it.
pub fn next(cause: &str, again: &[String], own: bool) -> String {
    let line = shell_words::join(again);
    let mut text = String::new();
    let inside = format!("tick --home THE-HOME-IT-NAMES show {cause}");
    if line.len() + inside.len() + "Look inside  , then ".len() <= WIDTH {
        let _infallible = writeln!(text, "Look inside  {line}, then {inside}");
    } else {
        // A line that is copied is not wrapped.
        let _infallible = writeln!(text, "Look inside  {line}\n             then {inside}");
    }
    if own {
        text.push_str("For good     tick config schema, then tick config check; start with monitor-only\n");
    } else {
        text.push_str("Your own     tick demo --repo . --test \"npm test\" --agent claude\n");
        text.push_str("             (on a clone; nothing of yours is touched)\n");
    }
    text
}

/// Where the files of a kept world are.
pub fn kept(root: &str, home: &str, git: &str, pulls: &[String], cause: &str) -> String {
    let mut pages = String::new();
    for page in pulls {
        let _infallible = writeln!(pages, "  less {page}");
    }
    format!(
        "Kept in {root}\n\
         (the servers have ended, the files stay). To look inside:\n\
         \x20 tick --home {home} show {cause}\n\
         \x20 tick --home {home} audit verify\n\
         \x20 git -C {git} log --stat\n\
         {pages}\
         \x20 rm -r {root}\n"
    )
}

/// What did not happen although it had to.
pub fn missing(list: &[String]) -> String {
    let mut text = "\nThe rehearsal FAILED:\n".to_owned();
    for one in list {
        for (n, line) in wrap(one, WIDTH - 4).into_iter().enumerate() {
            let lead = if n == 0 { "  - " } else { "    " };
            let _infallible = writeln!(text, "{lead}{line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tenths: u64) -> Duration {
        Duration::from_millis(tenths * 100)
    }

    #[test]
    fn a_step_has_its_seconds_once_and_wraps_below_its_own_column() {
        let long = "proof    a name that is so long that the line does not hold it all, run by tick, not by the agent";
        let text = step(
            at(31),
            &[long.to_owned(), "all tests         35 of 35 pass, 0 skipped".to_owned()],
        );
        insta::assert_snapshot!(text, @r"
          3.1 s  proof    a name that is so long that the line does not hold it all, run
                          by tick, not by the agent
                   all tests         35 of 35 pass, 0 skipped
        ");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn a_first_sight_says_how_many_where_and_since_when() {
        let sight = Sight {
            tick: 3,
            cause: "c4d81e6f".to_owned(),
            events: 14,
            title: "ZeroDivisionError in shop/discount.py:11, average_discount".to_owned(),
            route: Some("/orders/{id}".to_owned()),
            after: Some(31),
            release: Some("3.2.0 (b7f967c)".to_owned()),
        };
        insta::assert_snapshot!(unhealthy(&sight).join("\n"), @r"
        tick 3   UNHEALTHY   14 errors, cause c4d81e6f
        ZeroDivisionError in shop/discount.py:11, average_discount
        /orders/{id}, first seen 31 s after 3.2.0 (b7f967c) went live
        ");
        let unknown = Sight {
            tick: 1,
            events: 1,
            ..Sight::default()
        };
        assert_eq!(unhealthy(&unknown).len(), 2);
    }

    #[test]
    fn colour_marks_whole_words_and_changes_no_letter() {
        let painted = paint("tick 3   UNHEALTHY   1\nwithout the fix   RED    x\nPREDICTED\n");
        assert_eq!(painted.matches("\u{1b}[31m").count(), 2);
        assert!(painted.contains("\u{1b}[31mUNHEALTHY\u{1b}[0m"), "{painted:?}");
        assert_eq!(
            painted.replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""),
            "tick 3   UNHEALTHY   1\nwithout the fix   RED    x\nPREDICTED\n"
        );
    }

    #[test]
    fn the_end_counts_what_happened() {
        let sum = Sum {
            ticks: 5,
            models: 4,
            refused: 1,
            merged: 1,
            mails: 1,
            ..Sum::default()
        };
        assert_eq!(
            summary(at(80), &sum),
            "\nDone in 8.0 s: 5 ticks, 4 model calls, 1 patch refused, 1 merged, 1 mail.\n"
        );
        let failed = missing(&["the fix was not merged".to_owned()]);
        assert!(failed.contains("FAILED") && failed.contains("  - the fix was not merged"));
    }

    #[test]
    fn the_way_to_look_inside_is_the_line_that_was_given() {
        let again = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let shop = next("c4d81e6f", &again(&["tick", "demo", "--keep"]), false);
        assert!(
            shop.starts_with("Look inside  tick demo --keep, then tick --home THE-HOME-IT-NAMES show c4d81e6f\n"),
            "{shop}"
        );
        let line = [
            "tick",
            "demo",
            "--repo",
            "cart",
            "--test",
            "node --test",
            "--agent",
            "command:./agent.py",
            "--keep",
        ];
        let own = next("7d4e775e", &again(&line), true);
        assert!(
            own.starts_with(
                "Look inside  tick demo --repo cart --test 'node --test' --agent command:./agent.py --keep\n             \
                 then tick --home THE-HOME-IT-NAMES show 7d4e775e\n"
            ),
            "{own}"
        );
    }

    #[test]
    fn what_comes_from_outside_has_no_controls() {
        let text = step(at(0), &["mail     1 sent: \u{1b}[31mred\u{7}".to_owned()]);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
}
