//! A page as one look finds it.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::signal::Signal;

/// What the look at one page found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeenPage {
    /// Without its query, which may hold anything.
    pub url: String,
    /// Where its visitors end up, where that is another host.
    pub sends_to: Option<String>,
    pub state: PageState,
    pub status: Option<u16>,
    pub ms: Option<u64>,
    /// How often it was asked.
    pub samples: usize,
    pub certificate: Certificate,
    pub domain: Domain,
    /// What a tick would tell of it.
    pub signals: Vec<Signal>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageState {
    Up,
    /// What its users feel.
    Down(String),
    /// Why it could not be judged.
    Blind(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certificate {
    /// It is served without TLS.
    None,
    Until(DateTime<Utc>),
    /// No connection got so far.
    Unknown,
}

/// The registration of the domain below which a page lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// It has an address instead of a name, or a name of this machine.
    None,
    Until {
        name: String,
        at: DateTime<Utc>,
    },
    Unknown(String),
}
