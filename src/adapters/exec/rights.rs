//! What a child may do that other users may not: nothing. A child of root keeps root's number, without its power.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Gives up every capability for good, also what the exec of a root process would give back.
pub(super) fn drop_all() -> Result<(), String> {
    let failed = |what: &str, error: rustix::io::Errno| format!("it keeps capabilities ({what}: {error})");
    set_no_new_privs(true).map_err(|error| failed("no_new_privs", error))?;
    clear_ambient_capability_set().map_err(|error| failed("ambient set", error))?;
    let is_root = rustix::process::geteuid().is_root() || rustix::process::getuid().is_root();
    // A kernel that does not know a number says so; numbers have no gaps.
    for capability in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        if !capability_is_in_bounding_set(capability).unwrap_or(false) {
            continue;
        }
        let removed = remove_capability_from_bounding_set(capability);
        // Others than root get nothing from that set without new privileges, and may not change it.
        if is_root {
            removed.map_err(|error| failed("bounding set", error))?;
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(|error| failed("own sets", error))
}
