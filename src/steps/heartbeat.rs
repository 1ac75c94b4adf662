//! A sign of life to a switch outside, which alarms when none comes: of a tick that no longer runs nobody else would tell.

use std::time::Duration;

use secrecy::ExposeSecret;
use url::Url;

use super::Ctx;
use crate::adapters::http::{Http, Request};

const LONGEST: Duration = Duration::from_secs(5);
const CAP: usize = 64 << 10;

/// At the end of a tick that went through, whatever it found. A beat that does not arrive changes nothing here: the switch
/// tells of it.
pub async fn beat(ctx: &Ctx) {
    let Some(address) = ctx.config.secrets.heartbeat() else {
        return;
    };
    // What is no address was told when the configuration was read.
    let Ok(url) = Url::parse(address.expose_secret()) else {
        return;
    };
    let http = Http::new(ctx.redactor.clone(), ctx.config.allow_private_hosts.clone());
    let mut request = Request::get(&url);
    request.deadline = LONGEST;
    request.cap = CAP;
    let why = match http.send(request).await {
        Ok(answer) if answer.status.is_success() => return,
        Ok(answer) => format!("HTTP {}", answer.status.as_u16()),
        Err(error) => error.failure.to_string(),
    };
    tracing::warn!("the heartbeat did not arrive at HEARTBEAT_URL: {why}; look at the address, and at the switch");
}
