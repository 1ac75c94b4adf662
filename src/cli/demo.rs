//! `tick demo`: starts the small world, runs the product in it, tells what happens, and ends with 0 only when all of
//! it happened. Reads the caller's environment for nothing but the search path, colour, and the agent that is asked for.

mod agent;

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use clap::Args;

use self::agent::{Agent, agent, find};
use super::Global;
use crate::{
    adapters::clock::instant,
    config::{CommandLine, env::Environment},
    demo::{
        OwnRepo, Setup, World, WorldOptions, left,
        own::{self, NoSignal},
        story::{Stage, Story, Told},
    },
    exit::{Exit, Fault},
    render::demo as words,
};

#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Who repairs: claude, claude:PATH or command:PATH; without it, a recording of two patches
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Keep the world's files and say how to look at them
    #[arg(long)]
    pub keep: bool,
    /// End at a draft pull request and its mail, as the rung of that name does
    #[arg(long)]
    pub monitor_only: bool,
    /// Rehearse on a clone of this repository, which is only read
    #[arg(long, value_name = "PATH", requires = "test")]
    pub repo: Option<PathBuf>,
    /// Its test command
    #[arg(long, value_name = "CMD", requires = "repo")]
    pub test: Option<String>,
    /// What production says, as JSON with title and message; without it, the first test that fails
    #[arg(long, value_name = "FILE", requires = "repo")]
    pub signal: Option<PathBuf>,
}

/// A file of `--signal`, whole.
const SIGNAL: &str = r#"{"title": "TypeError: price is undefined", "message": "TypeError: price is undefined\n    at total (src/cart.js:12:8)"}"#;

pub fn run(args: &DemoArgs, global: &Global, out: &mut dyn Write) -> Result<Exit> {
    let result = rehearse(args, global, out);
    // The watch takes the world away in the middle of whatever this thread does; it ends the process when it is done.
    while INTERRUPTED.load(Ordering::SeqCst) {
        std::thread::park();
    }
    result
}

/// Set before an interrupt takes the world away.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn rehearse(args: &DemoArgs, global: &Global, out: &mut dyn Write) -> Result<Exit> {
    let env = Environment::of_process();
    let agent = args.agent.as_deref().map(|text| agent(text, &env)).transpose()?;
    let own = own_repo(args)?;
    needs(&env, if own.is_some() { &["git"] } else { &["git", "python3"] })?;
    if own.is_some() && agent.is_none() {
        let fault = Fault::new(
            Exit::Usage,
            "a recording knows no repository but its own: --repo needs --agent",
        );
        return Err(fault.advise("add --agent claude, or --agent command:PATH").into());
    }
    let colour = shows_colour(std::io::stdout().is_terminal(), &env);
    let before = own.as_ref().map(|own| own::fingerprint(&own.path)).transpose()?;
    let mut screen = Screen {
        out,
        colour,
        started: instant(),
        closed: false,
    };
    let name = own.as_ref().map(|own| own.path.display().to_string());
    let who = agent.as_ref().map(|agent| agent.shown.as_str());
    screen.write(&words::intro(name.as_deref(), who));

    match left::sweep(&std::env::temp_dir()) {
        0 => {}
        n => screen.tell(Told::Step(vec![words::cleared(n)])),
    }
    let options = WorldOptions {
        keep: args.keep,
        ..match &own {
            Some(own) => WorldOptions::own(global.clock().now(), own.clone()),
            None => WorldOptions::shop(global.clock().now()),
        }
    };
    let world = Arc::new(World::start(options).map_err(could_not)?);
    on_interrupt(&world)?;
    if let Some(own) = &own {
        plant(&world, own, &mut screen)?;
    }
    let mut played = play(&world, args, agent, own.is_some(), &mut screen)?;
    if INTERRUPTED.load(Ordering::SeqCst) {
        // What was counted until then is not what happened: the tick in the middle gave no report.
        return Err(Fault::new(Exit::CouldNot, "interrupted").into());
    }
    if let (Some(own), Some(before)) = (&own, before) {
        untouched(&own.path, &before, &mut played.missing, &mut screen)?;
    }
    sum_up(&world, args, &played, own.is_some(), &mut screen);
    end(world, played.missing, &mut screen)
}

/// The screen: seconds since the start at the left, each line as it happens.
struct Screen<'a> {
    out: &'a mut dyn Write,
    colour: bool,
    started: std::time::Instant,
    /// A reader that went away is no reason to stop in the middle.
    closed: bool,
}

impl Screen<'_> {
    fn write(&mut self, text: &str) {
        let painted = if self.colour {
            words::paint(text)
        } else {
            text.to_owned()
        };
        // What the interrupted story makes of its end is nobody's.
        if !self.closed && !INTERRUPTED.load(Ordering::SeqCst) {
            self.closed = self
                .out
                .write_all(painted.as_bytes())
                .and_then(|()| self.out.flush())
                .is_err();
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn tell(&mut self, told: Told) {
        let text = match told {
            Told::Step(lines) => words::step(self.elapsed(), &lines),
            Told::More(lines) => words::more(&lines),
            Told::Gap => "\n".to_owned(),
        };
        self.write(&text);
    }
}

/// What the story came to.
struct Played {
    home: PathBuf,
    cause: String,
    sum: words::Sum,
    /// What did not happen although it had to.
    missing: Vec<String>,
}

fn play(world: &World, args: &DemoArgs, agent: Option<Agent>, own: bool, screen: &mut Screen<'_>) -> Result<Played> {
    let program = std::env::current_exe().context("find the own program")?;
    let mut setup = Setup::new(program.clone());
    if args.monitor_only {
        setup.mode = "monitor-only";
    }
    let recording = agent.is_none();
    let mut env = Vec::new();
    if let Some(agent) = agent {
        setup.agent = Some((agent.name, agent.definition));
        env = agent.env;
    }
    let home = world.tick_home(&setup)?;
    let stage = Stage {
        program,
        home: home.clone(),
        env,
        recording,
        monitor_only: args.monitor_only,
    };
    let mut tell = |told: Told| screen.tell(told);
    let mut story = Story::new(world, stage, &mut tell);
    let told = if own { story.own() } else { story.shop() };
    let mut missing = story.verdict()?;
    if let Err(error) = told {
        missing.insert(0, format!("{error:#}"));
    }
    Ok(Played {
        home,
        cause: story.played().cause.clone().unwrap_or_default(),
        sum: story.played().sum.clone(),
        missing,
    })
}

fn sum_up(world: &World, args: &DemoArgs, played: &Played, own: bool, screen: &mut Screen<'_>) {
    screen.write(&words::summary(screen.elapsed(), &played.sum));
    if args.keep {
        let git = world.root().join("git").join(world.full_name() + ".git");
        let shown = |path: &Path| path.display().to_string();
        // Without them there is still all else to look at.
        let pulls = world.write_pulls().unwrap_or_default();
        let pulls: Vec<String> = pulls.iter().map(|page| shown(page)).collect();
        let kept = words::kept(
            &shown(world.root()),
            &shown(&played.home),
            &shown(&git),
            &pulls,
            &played.cause,
        );
        screen.write(&kept);
    } else if played.missing.is_empty() {
        screen.write(&words::next(&played.cause, &again(args), own));
    }
}

/// The command line of this run, once more and with its files kept.
fn again(args: &DemoArgs) -> Vec<String> {
    let shown = |path: &PathBuf| path.display().to_string();
    let given = [
        ("--repo", args.repo.as_ref().map(shown)),
        ("--test", args.test.clone()),
        ("--signal", args.signal.as_ref().map(shown)),
        ("--agent", args.agent.clone()),
    ];
    let mut line = vec!["tick".to_owned(), "demo".to_owned()];
    for (flag, value) in given {
        line.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    line.extend(args.monitor_only.then(|| "--monitor-only".to_owned()));
    line.push("--keep".to_owned());
    line
}

/// Ends the world; what it still finds counts too.
fn end(world: Arc<World>, mut missing: Vec<String>, screen: &mut Screen<'_>) -> Result<Exit> {
    let world = Arc::into_inner(world).context("the world is still in use")?;
    let finished = world.finish();
    if missing.is_empty()
        && let Err(error) = finished
    {
        missing.push(format!("{error:#}"));
    }
    if missing.is_empty() {
        return Ok(Exit::Ok);
    }
    screen.write(&words::missing(&missing));
    Ok(Exit::NeedsHuman)
}

fn could_not(error: anyhow::Error) -> anyhow::Error {
    // What says already how to mend it.
    if error.is::<Fault>() {
        return error;
    }
    let fault = Fault::new(Exit::CouldNot, format!("start the small world: {error:#}"));
    fault
        .advise("it needs git with http-backend, python3, and room in the temporary directory")
        .into()
}

/// A terminal that takes colour, and nobody who minds.
fn shows_colour(terminal: bool, env: &Environment) -> bool {
    terminal && env.get("NO_COLOR").is_none() && env.get("TERM") != Some("dumb")
}

/// The programs that the world runs.
fn needs(env: &Environment, programs: &[&str]) -> Result<()> {
    for program in programs {
        if find(env, program).is_none() {
            let fault = Fault::new(Exit::CouldNot, format!("tick demo needs {program}, and PATH has none"));
            return Err(fault
                .advise(format!("install {program}, then run tick demo again"))
                .into());
        }
    }
    Ok(())
}

fn own_repo(args: &DemoArgs) -> Result<Option<OwnRepo>> {
    let (Some(path), Some(test)) = (&args.repo, &args.test) else {
        return Ok(None);
    };
    let usage = |message: String| anyhow::Error::from(Fault::new(Exit::Usage, message));
    let path = path
        .canonicalize()
        .map_err(|error| usage(format!("--repo {}: {error}", path.display())))?;
    let test = CommandLine::of_person(test).map_err(|why| {
        let fault = Fault::new(Exit::Usage, format!("--test {test:?} {why}"));
        anyhow::Error::from(fault.advise(
            "tick starts the runner itself, at the top of the repository and without a shell; for example --test \"npm test\", --test \"npm --prefix web test\" or --test \"python3 -m unittest discover -s tests\"",
        ))
    })?;
    let mut own = OwnRepo {
        path,
        test: test.argv,
        signal: None,
    };
    if let Some(file) = &args.signal {
        let wrong = |why: String| {
            let fault = Fault::new(Exit::Usage, format!("--signal {}: {why}", file.display()));
            anyhow::Error::from(fault.advise("an example:").advise(SIGNAL))
        };
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let slot = WorldOptions::own(chrono::DateTime::UNIX_EPOCH, own.clone()).slot();
        own.signal = Some(own::read_signal(&text, &slot).map_err(wrong)?);
    }
    Ok(Some(own))
}

/// The signal that the world will show: the file's, or the first test that fails.
fn plant(world: &World, own: &OwnRepo, screen: &mut Screen<'_>) -> Result<()> {
    let (signal, from) = match &own.signal {
        Some(signal) => (signal.clone(), "given"),
        None => match own::signal_of_tests(world, &own.test)? {
            Ok(signal) => (signal, "a test that fails"),
            Err(why) => return Err(no_signal(&why).into()),
        },
    };
    world.plant(&signal)?;
    let title = ["title", "message"]
        .iter()
        .find_map(|name| signal[*name].as_str())
        .unwrap_or_default();
    let title = title.lines().next().unwrap_or_default();
    screen.tell(Told::Step(vec![format!("signal   {title} ({from})")]));
    Ok(())
}

fn no_signal(why: &NoSignal) -> Fault {
    let fault = match why {
        NoSignal::AllPass(n) => Fault::new(
            Exit::Usage,
            format!(
                "there is nothing to repair: {} and no failure on the commit that is live",
                crate::render::page::count(u64::try_from(*n).unwrap_or(u64::MAX), "test")
            ),
        ),
        NoSignal::Unreadable(why) => Fault::new(Exit::Usage, format!("the tests give no signal: {why}")),
    };
    fault
        .advise("write down what production says, such as this in signal.json, and add --signal signal.json:")
        .advise(SIGNAL)
}

/// Says whether the user's own copy is as it was.
fn untouched(
    path: &Path,
    before: &BTreeMap<PathBuf, String>,
    missing: &mut Vec<String>,
    screen: &mut Screen<'_>,
) -> Result<()> {
    let after = own::fingerprint(path)?;
    let changed = own::differences(before, &after);
    match changed.first() {
        None => screen.tell(Told::Step(vec![format!(
            "{} is as it was: {} compared",
            path.display(),
            crate::render::page::count(u64::try_from(after.len()).unwrap_or(u64::MAX), "file")
        )])),
        Some(first) => missing.push(format!(
            "{} changed in your own copy meanwhile ({} in all)",
            first.display(),
            changed.len()
        )),
    }
    Ok(())
}

/// An interrupt must leave no process and no file behind, wherever the story is.
fn on_interrupt(world: &Arc<World>) -> Result<()> {
    let world = Arc::downgrade(world);
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || wait_for_interrupt(&world))
        .context("start the watch for an interrupt")?;
    Ok(())
}

fn wait_for_interrupt(world: &Weak<World>) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(runtime) = super::runtime() else { return };
    let came = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        std::io::Result::Ok(())
    });
    if came.is_err() {
        return;
    }
    // Once the story is over, nothing is left to take away.
    let Some(world) = world.upgrade() else { return };
    INTERRUPTED.store(true, Ordering::SeqCst);
    world.abandon();
    let _unread = writeln!(
        std::io::stderr().lock(),
        "tick demo: interrupted; nothing is left behind"
    );
    leave();
}

#[expect(
    clippy::exit,
    reason = "the story is on another thread, in the middle of something that was just taken away"
)]
fn leave() -> ! {
    std::process::exit(130)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_whose_owner_wants_it() {
        let env = |values: &[(&'static str, &'static str)]| Environment::new(values.iter().copied());
        assert!(shows_colour(true, &env(&[("TERM", "xterm"), ("NO_COLOR", "")])));
        assert!(!shows_colour(false, &env(&[])));
        assert!(!shows_colour(true, &env(&[("NO_COLOR", "1")])));
        assert!(!shows_colour(true, &env(&[("TERM", "dumb")])));
    }

    #[test]
    fn the_example_of_a_signal_is_one() {
        own::read_signal(SIGNAL, "cart").unwrap();
        let readme = include_str!("../../README.md");
        let (_, shown) = readme.split_once("    { \"title\"").expect("the README shows a signal");
        let (shown, _) = shown.split_once("\n\n").unwrap();
        own::read_signal(&format!("{{ \"title\"{shown}"), "cart").unwrap();
    }
}
