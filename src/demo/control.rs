//! The world's own switches over HTTP, for tests in other processes: `/__world/…` on the forge's address.

use serde_json::json;

use super::{
    act::Act,
    faults::{Fault, Site, Which},
    serve::{Call, Reply},
    town::Town,
};

pub(super) fn is_control(call: &Call) -> bool {
    call.site == Site::Forge && call.path.starts_with("/__world/")
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFault {
    #[serde(default)]
    on: Which,
    fault: Fault,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SetAct {
    /// Without it the act is performed now.
    after: Option<Which>,
    act: Act,
}

pub(super) fn answer(town: &Town, call: &Call) -> Reply {
    let done = || Reply::json(200, &json!({ "ok": true }));
    let wrong = |error: &serde_json::Error| Reply::json(400, &json!({ "message": error.to_string() }));
    match (call.method.as_str(), call.path.as_str()) {
        ("GET", "/__world/state") => Reply::json(200, &town.state()),
        ("GET", "/__world/replies") => Reply::json(200, &json!(town.log.replies())),
        ("POST", "/__world/fault") => match serde_json::from_slice::<SetFault>(&call.body) {
            Ok(set) => {
                town.fault(set.on, set.fault);
                done()
            }
            Err(error) => wrong(&error),
        },
        ("POST", "/__world/act") => match serde_json::from_slice::<SetAct>(&call.body) {
            Ok(SetAct {
                after: Some(which),
                act,
            }) => {
                town.after(which, act);
                done()
            }
            Ok(SetAct { after: None, act }) => {
                town.act(act);
                done()
            }
            Err(error) => wrong(&error),
        },
        ("POST", "/__world/calm") => {
            town.calm();
            done()
        }
        ("POST", "/__world/agent") => Reply::json(200, &json!({ "call": town.records.add(call.json()) })),
        _ => Reply::json(404, &json!({ "message": "the world has no such switch" })),
    }
}
