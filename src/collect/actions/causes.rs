//! From failed jobs to causes: one for each failed test, whatever number of jobs of a matrix it failed in, and one for
//! each job whose log tells of no test.

use serde_json::{Value, json};

use super::{
    super::context::{Place, Session},
    CI_IS_RED,
    wire::{Job, Run, Told, Unread},
};
use crate::{
    model::{
        Sha, Signature,
        signal::{Culprit, Severity, Signal, SignalKind},
    },
    text::{ci::Failure, named, signature},
};

/// Causes that are told of one run; what is beyond is counted.
pub(super) const MOST_CAUSES: usize = 20;
/// Jobs that are named as having the cause.
const MOST_NAMED: usize = 10;

/// How the title of a test begins that is red and green on one commit.
const CI_IS_FLAKY: &str = "CI is flaky: ";

/// One cause of a run's failure.
#[derive(Debug, Clone)]
pub(super) struct Cause {
    pub(super) signature: Signature,
    pub(super) culprit: Option<Culprit>,
    pub(super) failure: Option<Failure>,
    /// What was signed, where the message is something else.
    signed_text: Option<String>,
    excerpt: String,
    /// Every job that has it, the first one first.
    jobs: Vec<String>,
    step: String,
    url: Option<String>,
    /// How it failed, where no log says more: a run that timed out and one that did not start are two.
    ended: Option<&'static str>,
    unread: Option<Unread>,
}

/// Red and green on one commit: nothing changed in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flake {
    pub(super) red_run: u64,
    pub(super) red_attempt: u64,
    pub(super) green_run: u64,
    pub(super) green_attempt: u64,
}

/// The causes of one run, and how many failures are not among them.
pub(super) fn causes(run: &Run, jobs: &[(Job, Told)]) -> (Vec<Cause>, usize) {
    let mut causes: Vec<Cause> = Vec::new();
    let mut left_out = 0;
    for (job, told) in jobs {
        left_out += told.more;
        let found: Vec<Cause> = if told.failures.is_empty() {
            vec![of_place(run, job, told)]
        } else {
            told.failures
                .iter()
                .map(|failure| of_failure(run, job, failure))
                .collect()
        };
        for cause in found {
            match causes.iter().position(|known| known.signature == cause.signature) {
                Some(known) if causes[known].jobs.contains(&job.name) => {}
                Some(known) => causes[known].jobs.push(job.name.clone()),
                None if causes.len() == MOST_CAUSES => left_out += 1,
                None => causes.push(cause),
            }
        }
    }
    (causes, left_out)
}

fn of_failure(run: &Run, job: &Job, failure: &Failure) -> Cause {
    let signed = failure.sign();
    Cause {
        signature: signed.signature,
        culprit: signed.culprit,
        signed_text: Some(failure.signed_text()),
        failure: Some(failure.clone()),
        ..at_place(run, job)
    }
}

/// Without a failure that a reader knows, the log is the cause; without a log the place alone tells causes apart.
fn of_place(run: &Run, job: &Job, told: &Told) -> Cause {
    let excerpt = told.excerpt.as_str();
    let cause = at_place(run, job);
    if excerpt.trim().is_empty() {
        return Cause {
            unread: told.unread,
            ..cause
        };
    }
    let signed = signature(excerpt);
    Cause {
        signature: signed.signature,
        culprit: signed.culprit,
        excerpt: excerpt.to_owned(),
        ..cause
    }
}

fn at_place(run: &Run, job: &Job) -> Cause {
    let step = job.failing_step().unwrap_or_default().to_owned();
    let ended = job.ended();
    Cause {
        signature: at(&format!("ci:{}:{}:{step}", run.workflow(), job.name), ended),
        culprit: None,
        failure: None,
        signed_text: None,
        excerpt: String::new(),
        jobs: vec![job.name.clone()],
        step,
        url: job.html_url.clone(),
        ended,
        unread: None,
    }
}

fn at(place: &str, ended: Option<&str>) -> Signature {
    match ended {
        Some(ended) => named(&format!("{place}: {ended}")),
        None => named(place),
    }
}

/// A run that failed before it had a job.
pub(super) fn without_jobs(run: &Run) -> Cause {
    Cause {
        signature: at(&format!("ci:{}::", run.workflow()), run.ended()),
        culprit: None,
        failure: None,
        signed_text: None,
        excerpt: String::new(),
        jobs: Vec::new(),
        step: String::new(),
        url: None,
        ended: run.ended(),
        unread: None,
    }
}

impl Cause {
    /// Its jobs could not be listed.
    pub(super) fn unread(self, why: Unread) -> Self {
        Self {
            unread: Some(why),
            ..self
        }
    }

    /// The same test as one that is red and green: another cause than that it is red, or the one would keep the other
    /// from being over.
    pub(super) fn into_flaky(mut self) -> Self {
        let text = match (&self.signed_text, self.excerpt.is_empty()) {
            (Some(text), _) => text.replacen("FAIL ", "FLAKY ", 1),
            (None, false) => format!("FLAKY\n{}", self.excerpt),
            (None, true) => {
                self.signature = named(&format!("flaky:{}", self.signature));
                return self;
            }
        };
        self.signature = signature(&text).signature;
        self.signed_text = Some(text);
        self
    }

    /// `CI / test: tests.test_cart.Cart.test_total`; without a test the step, where the job names one.
    pub(super) fn place(&self, session: &Session<'_>, workflow: &str) -> String {
        let mut parts = vec![session.line(workflow, 60)];
        parts.extend(shared_name(&self.jobs).map(|name| session.line(&name, 60)));
        if self.failure.is_none() && !self.step.is_empty() {
            parts.push(session.line(&self.step, 60));
        }
        let place = parts.join(" / ");
        match &self.failure {
            Some(failure) => format!("{place}: {}", session.line(&failure.test, 120)),
            None => match self.ended {
                Some(ended) => format!("{place} ({ended})"),
                None => place,
            },
        }
    }

    fn message(&self) -> Option<String> {
        match &self.failure {
            Some(failure) => Some(format!("{}\n{}\n\n{}", failure.test, failure.message, failure.text)),
            None => (!self.excerpt.is_empty()).then(|| self.excerpt.clone()),
        }
    }
}

/// `test (20)` and `test (22)` are `test` of a matrix.
fn shared_name(jobs: &[String]) -> Option<String> {
    let first = jobs.first()?;
    if jobs.len() == 1 {
        return Some(first.clone());
    }
    let base = |name: &str| name.split(" (").next().unwrap_or(name).to_owned();
    let shared = base(first);
    if jobs.iter().all(|job| base(job) == shared) {
        return Some(format!("{shared} ({} jobs)", jobs.len()));
    }
    Some(format!("{first} and {} more", jobs.len() - 1))
}

/// What a look tells of one cause.
pub(super) fn signal(
    session: &Session<'_>,
    place: &Place<'_>,
    run: &Run,
    cause: &Cause,
    left_out: usize,
    flake: Option<&Flake>,
) -> Signal {
    let red = flake.is_none_or(|flake| (flake.green_run, flake.green_attempt) < (flake.red_run, flake.red_attempt));
    let start = if red { CI_IS_RED } else { CI_IS_FLAKY };
    let title = session.line(&format!("{start}{}", cause.place(session, &run.workflow())), 240);
    let url = cause.url.as_ref().or(run.html_url.as_ref());
    Signal {
        source: place.collector.to_owned(),
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        kind: SignalKind::Ci,
        severity: if red { Severity::Error } else { Severity::Warning },
        message: cause
            .message()
            .map_or_else(|| title.clone(), |text| session.text(&text, 4000)),
        title,
        signature: cause.signature.clone(),
        count: 1,
        first_seen: run.started(),
        last_seen: run.finished(),
        release_sha: Sha::parse(&run.head_sha).ok(),
        url: url.map(|url| session.line(url, 300)),
        culprit: cause.culprit.clone(),
        evidence: evidence(session, run, cause, left_out, flake),
    }
}

fn evidence(session: &Session<'_>, run: &Run, cause: &Cause, left_out: usize, flake: Option<&Flake>) -> Value {
    let mut evidence = json!({
        "workflow": session.line(&run.workflow(), 100),
        "job": cause.jobs.first().map(|job| session.line(job, 100)).unwrap_or_default(),
        "step": session.line(&cause.step, 100),
        "run": run.id,
        "attempt": run.attempt(),
        "conclusion": run.conclusion,
        "event": session.line(&run.event, 40),
    });
    let mut add = |key: &str, value: Value| evidence[key] = value;
    if cause.jobs.len() > 1 {
        let jobs = cause.jobs.iter().take(MOST_NAMED).map(|job| session.line(job, 100));
        add("jobs", jobs.collect());
    }
    if let Some(failure) = &cause.failure {
        add("runner", json!(failure.runner));
        add("test", json!(session.line(&failure.test, 300)));
        add("failure_type", json!(failure.class.word()));
    }
    if let Some(text) = &cause.signed_text {
        add(Signal::SIGNED, json!(session.text(text, 4000)));
    }
    if let Some(unread) = cause.unread {
        add(Signal::UNREAD, json!(unread));
    }
    if left_out > 0 {
        add("left_out", json!(left_out));
    }
    if let Some(flake) = flake {
        add(
            "flake",
            json!({
                "sha": run.head_sha, "red_run": flake.red_run, "red_attempt": flake.red_attempt,
                "green_run": flake.green_run, "green_attempt": flake.green_attempt,
            }),
        );
    }
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_a_matrix_have_one_name() {
        let name = |jobs: &[&str]| shared_name(&jobs.iter().map(|job| (*job).to_owned()).collect::<Vec<_>>());
        assert_eq!(name(&["test (20)"]).as_deref(), Some("test (20)"));
        assert_eq!(name(&["test (20)", "test (22)"]).as_deref(), Some("test (2 jobs)"));
        assert_eq!(name(&["unit", "e2e", "lint"]).as_deref(), Some("unit and 2 more"));
        assert_eq!(name(&[]), None);
    }
}
