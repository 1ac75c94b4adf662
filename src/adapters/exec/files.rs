//! Which files a child may read and write, by Landlock: it can only allow, so everything else is closed.

use landlock::{
    ABI, Access, AccessFs, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use super::{Plan, readable::readable};

/// Truncation is covered from here on; an older kernel holds only part of what is asked.
const WANTED: ABI = ABI::V3;
/// From here on it also keeps signals and nameless sockets inside.
const SCOPES: ABI = ABI::V6;

/// The devices that programs cannot do without. No terminals, which are the owner's, and no shared memory.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

pub(super) fn confine(plan: &Plan) -> Result<(), String> {
    let status = restrict(plan).map_err(|error| format!("Landlock failed: {error}"))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::FullyEnforced, _) => {}
        (RulesetStatus::PartiallyEnforced, _) => return Err("this kernel's Landlock is too old".to_owned()),
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            return Err("Landlock is switched off in this kernel".to_owned());
        }
        (RulesetStatus::NotEnforced, _) => return Err("this kernel has no Landlock".to_owned()),
    }
    let scoped = scope().is_ok_and(|status| status.ruleset == RulesetStatus::FullyEnforced);
    let held = scoped.then_some(());
    held.ok_or_else(|| "this kernel's Landlock does not hold signals to other processes".to_owned())
}

fn restrict(plan: &Plan) -> Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .create()?
        .add_rules(path_beneath_rules(readable(plan), AccessFs::from_read(WANTED)))?
        .add_rules(path_beneath_rules(&plan.write, AccessFs::from_all(WANTED)))?
        .add_rules(path_beneath_rules(DEVICES, AccessFs::from_file(WANTED)))?
        .restrict_self()
}

/// A layer of its own: where the kernel lacks it, the files are held all the same. Every layer forbids moving a file into
/// another directory unless it says otherwise, and this one has nothing to say about files.
fn scope() -> Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::Refer)?
        .scope(Scope::from_all(SCOPES))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::Refer))?
        .restrict_self()
}
