//! The one clock. `--now` moves its start; from there it runs on with the monotonic clock, so a test owns the
//! calendar and a deadline never jumps with the wall clock.

use std::time::{Duration, Instant};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall: DateTime<Utc>,
    started: Instant,
}

impl Clock {
    /// Starts at `now`, or at the system's time.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
    pub fn start(now: Option<DateTime<Utc>>) -> Self {
        Self {
            wall: now.unwrap_or_else(Utc::now),
            started: Instant::now(),
        }
    }

    /// Milliseconds are enough for everything that is stored; finer parts would not survive a round trip.
    pub fn now(&self) -> DateTime<Utc> {
        let elapsed = TimeDelta::from_std(self.elapsed()).unwrap_or(TimeDelta::MAX);
        (self.wall + elapsed).trunc_subsecs(3)
    }

    /// Time since this clock was started, on the monotonic clock.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A monotonic reading, for durations within a step.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
pub fn instant() -> Instant {
    Instant::now()
}
