//! The world's own calendar. It starts where the caller says, runs on with the monotonic clock, and jumps when the
//! story needs a quarter of an hour to pass. No part of the world reads any other time.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::adapters::clock::Clock;

#[derive(Debug)]
pub struct WorldClock {
    base: Clock,
    ahead: Mutex<TimeDelta>,
}

impl WorldClock {
    pub fn start(at: DateTime<Utc>) -> Self {
        Self {
            base: Clock::start(Some(at)),
            ahead: Mutex::new(TimeDelta::zero()),
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.base.now() + *self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn advance(&self, by: Duration) {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::zero());
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

/// As the forge writes times: UTC, whole seconds.
pub fn seconds(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// As the tracker writes times: UTC, milliseconds.
pub fn millis(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_jumps_only_when_told() {
        let at = DateTime::from_timestamp(1_764_500_000, 0).unwrap();
        let clock = WorldClock::start(at);
        assert!(clock.now() - at < TimeDelta::minutes(1));
        clock.advance(Duration::from_mins(15));
        let moved = clock.now() - at;
        assert!(moved >= TimeDelta::minutes(15) && moved < TimeDelta::minutes(16));
    }
}
