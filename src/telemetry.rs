//! Logging: one record an event, in lines for people on stderr and as JSON lines in the run log. Every text in it is
//! cleaned and redacted before it is written; nothing else of the program writes a log.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{Layer, filter::Targets, layer::Context, layer::SubscriberExt, registry::LookupSpan};

use crate::{
    adapters::clock::Clock,
    config::env::Environment,
    text::{Redactor, clean},
};

/// Records that are kept until the run log is open; a tick makes a handful before that.
const EARLY: usize = 200;
/// Longest text of one field in a log.
const FIELD_CHARS: usize = 4000;

/// How stderr is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stderr {
    /// Least level that is shown; `None` shows nothing.
    pub level: Option<Level>,
    /// On a terminal, and `NO_COLOR` is not set.
    pub colour: bool,
}

impl Stderr {
    /// Warnings and errors always; what changed, too, where somebody looks on.
    pub fn choose(is_terminal: bool, env: &Environment) -> Self {
        Self {
            level: Some(if is_terminal { Level::INFO } else { Level::WARN }),
            colour: is_terminal && env.get("NO_COLOR").is_none(),
        }
    }
}

/// The log of this process. Cheap to clone.
#[derive(Clone)]
pub struct Telemetry {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    stderr: Stderr,
    state: Mutex<State>,
    lost: AtomicU64,
}

#[derive(Default)]
struct State {
    redactor: Redactor,
    run: String,
    log: Option<File>,
    early: Vec<Map<String, Value>>,
}

/// Starts logging for this process. Until `open_run_log` records wait in memory.
pub fn start(clock: Clock, stderr: Stderr) -> Telemetry {
    let telemetry = Telemetry::new(clock, stderr);
    // A second start keeps the first; only tests do that.
    let _ignored = tracing::subscriber::set_global_default(telemetry.subscriber());
    telemetry
}

impl Telemetry {
    fn new(clock: Clock, stderr: Stderr) -> Self {
        Self {
            shared: Arc::new(Shared {
                clock,
                stderr,
                state: Mutex::default(),
                lost: AtomicU64::new(0),
            }),
        }
    }

    /// Ours from info on; of libraries only what is wrong.
    fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        let filter = Targets::new()
            .with_default(Level::ERROR)
            .with_target("tick", Level::DEBUG);
        let records = Records {
            shared: Arc::clone(&self.shared),
        };
        tracing_subscriber::registry().with(records.with_filter(filter))
    }

    /// The secrets that must not appear from here on.
    pub fn redact_with(&self, redactor: Redactor) {
        self.shared.lock().redactor = redactor;
    }

    /// Opens the run log (0600, appended to, never through a symbolic link) and writes what waited for it.
    pub fn open_run_log(&self, path: &Path, run: &str) -> std::io::Result<()> {
        let log = OpenOptions::new()
            .create_new(true)
            .append(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)?;
        let mut state = self.shared.lock();
        run.clone_into(&mut state.run);
        state.log = Some(log);
        for record in std::mem::take(&mut state.early) {
            self.shared.write(&mut state, record);
        }
        Ok(())
    }

    /// Records that could not be written (full disk). Logging never ends a tick.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut State, mut record: Map<String, Value>) {
        let Some(log) = &mut state.log else {
            if state.early.len() < EARLY {
                state.early.push(record);
            }
            return;
        };
        if !state.run.is_empty() {
            record
                .entry("run.id")
                .or_insert_with(|| Value::from(state.run.as_str()));
        }
        for value in record.values_mut() {
            if let Value::String(text) = value {
                *text = state.redactor.redact(text);
            }
        }
        let line = Value::Object(record).to_string() + "\n";
        if log.write_all(line.as_bytes()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Turns events into records.
struct Records {
    shared: Arc<Shared>,
}

/// Fields of a span, kept in its extensions.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Records {
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut own = Fields::default();
        event.record(&mut own);
        let message = match own.0.remove("message") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let mut fields = Map::new();
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(Fields(of_span)) = span.extensions().get::<Fields>() {
                for (name, value) in of_span {
                    fields.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        fields.extend(own.0);
        let level = *event.metadata().level();
        let mut state = self.shared.lock();
        if self.shared.stderr.level.is_some_and(|least| level <= least) {
            let line = human(level, &message, &fields, &state.redactor, self.shared.stderr.colour);
            if writeln!(std::io::stderr().lock(), "{line}").is_err() {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut record = Map::new();
        let now = self
            .shared
            .clock
            .now()
            .to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        record.insert("at".into(), Value::from(now));
        record.insert("level".into(), Value::from(level.as_str().to_ascii_lowercase()));
        record.insert("message".into(), Value::from(message));
        record.extend(
            fields
                .into_iter()
                .filter(|(name, _)| !matches!(name.as_str(), "at" | "level")),
        );
        self.shared.write(&mut state, record);
    }
}

/// One line: level, message, fields that the message does not hold already.
fn human(level: Level, message: &str, fields: &Map<String, Value>, redactor: &Redactor, colour: bool) -> String {
    let mut text = message.to_owned();
    for (name, value) in fields {
        let shown = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !message.contains(&shown) {
            text = format!("{text} {name}={shown}");
        }
    }
    let text = inert(&redactor.redact(&text));
    let (word, code) = match level {
        Level::ERROR => ("error", "31"),
        Level::WARN => ("warn", "33"),
        Level::INFO => ("info", "32"),
        Level::DEBUG => ("debug", "34"),
        Level::TRACE => ("trace", "90"),
    };
    if colour {
        format!("\u{1b}[{code}m{word:5}\u{1b}[0m {text}")
    } else {
        format!("{word:5} {text}")
    }
}

/// One line that no CI runner takes for a command: those start a line with `::` or hold `##[`.
fn inert(text: &str) -> String {
    text.replace('\r', "").replace('\n', "\\n").replace("##[", "## [")
}

fn bounded(text: &str) -> String {
    let text = clean(text);
    match text.char_indices().nth(FIELD_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), Value::from(bounded(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0
            .insert(field.name().to_owned(), Value::from(bounded(&format!("{value:?}"))));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use secrecy::SecretString;

    use super::*;

    const QUIET: Stderr = Stderr {
        level: None,
        colour: false,
    };

    fn clock() -> Clock {
        Clock::start(Some("2026-11-29T03:00:00Z".parse().unwrap()))
    }

    /// The records that `events` leaves in a run log that is opened after the first of them.
    fn logged(events: impl FnOnce(&dyn Fn())) -> (Vec<Value>, u32) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run-1.log");
        let telemetry = Telemetry::new(clock(), QUIET);
        telemetry.redact_with(Redactor::new([&SecretString::from("not-a-real-token")]));
        tracing::subscriber::with_default(telemetry.subscriber(), || {
            events(&|| telemetry.open_run_log(&path, "run-7").unwrap());
        });
        assert_eq!(telemetry.lost(), 0);
        let text = std::fs::read_to_string(&path).unwrap();
        let records = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (records, std::fs::metadata(&path).unwrap().permissions().mode() & 0o777)
    }

    #[test]
    fn a_record_is_one_json_line_with_its_spans() {
        let (records, mode) = logged(|open| {
            tracing::info!("before the log is open");
            open();
            let span = tracing::info_span!("collect", collector = "health", repo = "web");
            let _entered = span.enter();
            tracing::warn!(duration_ms = 12_u64, "no answer");
        });
        assert_eq!(mode, 0o600);
        assert_eq!(records.len(), 2);
        assert_eq!(records[0]["message"], "before the log is open");
        assert_eq!(records[1]["level"], "warn");
        assert_eq!(records[1]["collector"], "health");
        assert_eq!(records[1]["duration_ms"], 12);
        assert_eq!(records[1]["run.id"], "run-7");
        assert!(records[1]["at"].as_str().unwrap().starts_with("2026-11-29T03:00:00."));
    }

    #[test]
    fn hostile_text_stays_in_its_field_and_secrets_stay_out() {
        let (records, _) = logged(|open| {
            open();
            let hostile = "x\u{1b}[2J\n{\"level\":\"error\"}\r\nBearer not-a-real-token";
            tracing::info!(title = hostile, ?hostile, "told by not-a-real-token");
        });
        assert_eq!(records.len(), 1, "one event, one line");
        let text = records[0].to_string();
        assert!(!text.contains("not-a-real-token"), "{text}");
        assert!(!text.contains("\\u001b"), "{text}");
    }

    #[test]
    fn a_line_for_people_is_one_line_and_no_command() {
        let mut fields = Map::new();
        fields.insert("repo".into(), "web".into());
        let redactor = Redactor::default();
        let line = human(Level::WARN, "a\n::error::b ##[add-path]/x", &fields, &redactor, false);
        assert_eq!(line, "warn  a\\n::error::b ## [add-path]/x repo=web");
        assert!(human(Level::INFO, "x", &fields, &redactor, true).starts_with("\u{1b}[32minfo "));
        assert_eq!(
            human(Level::INFO, "web is up", &fields, &redactor, false),
            "info  web is up"
        );
    }

    #[test]
    fn colour_needs_a_terminal_and_somebody_who_wants_it() {
        let plain = Environment::default();
        let no_colour = Environment::new([("NO_COLOR", "1")]);
        assert!(Stderr::choose(true, &plain).colour);
        assert!(!Stderr::choose(true, &no_colour).colour);
        assert!(!Stderr::choose(false, &plain).colour);
        assert_eq!(Stderr::choose(false, &plain).level, Some(Level::WARN));
    }

    #[test]
    fn the_run_log_is_never_opened_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        std::fs::write(&target, "").unwrap();
        let link = dir.path().join("run-1.log");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(Telemetry::new(clock(), QUIET).open_run_log(&link, "run").is_err());
    }
}
