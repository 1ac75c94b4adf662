//! Effects by key, as `decide` names them. One place, so that keys cannot drift apart.

use super::{IncidentId, Sha, Status};
use crate::model::AttemptId;

pub fn push(attempt: &AttemptId, head: &Sha) -> String {
    format!("push:{attempt}:{}", head.short())
}
pub fn push_witness(attempt: &AttemptId, commit: &Sha) -> String {
    format!("push_witness:{attempt}:{}", commit.short())
}
/// Of the push's own key: a witness that is pushed again has to go again.
pub fn drop_witness(pushed: &str) -> String {
    format!("drop_witness:{}", pushed.split_once(':').map_or(pushed, |(_, of)| of))
}
pub fn rerun(incident: &IncidentId, run: u64, attempt: u64) -> String {
    format!("rerun:{incident}:{run}:{attempt}")
}
pub fn open_pull(incident: &IncidentId) -> String {
    format!("open_pr:{incident}")
}
pub fn body(incident: &IncidentId, slot: &str) -> String {
    format!("body:{incident}:{slot}")
}
pub fn comment(incident: &IncidentId, slot: &str) -> String {
    format!("comment:{incident}:{slot}")
}
pub fn label(incident: &IncidentId, label: &str) -> String {
    format!("label:{incident}:{label}")
}
pub fn ready(incident: &IncidentId) -> String {
    format!("ready:{incident}")
}
pub fn review(incident: &IncidentId) -> String {
    format!("review:{incident}")
}
pub fn close_pull(incident: &IncidentId) -> String {
    format!("close:{incident}")
}
pub fn merge(incident: &IncidentId, head: &Sha) -> String {
    format!("merge:{incident}:{head}")
}
pub fn note(incident: &IncidentId) -> String {
    format!("note:{incident}")
}
pub fn push_revert(incident: &IncidentId, head: &Sha) -> String {
    format!("push_revert:{incident}:{}", head.short())
}
pub fn revert_pull(incident: &IncidentId, merge: &Sha) -> String {
    format!("revert_pr:{incident}:{merge}")
}
pub fn merge_revert(incident: &IncidentId, head: &Sha) -> String {
    format!("merge_revert:{incident}:{head}")
}
pub fn mail(incident: &IncidentId, status: Status) -> String {
    format!("mail:{incident}:{}", status.as_str())
}
