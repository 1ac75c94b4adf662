//! Which files a child may write and read, by Landlock. It can only allow, so hiding a directory means to allow
//! everything beside it.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, path_beneath_rules,
};

use super::Plan;

/// Truncation is covered from here on; an older kernel holds only part of what is asked.
const WANTED: ABI = ABI::V3;

pub(super) fn confine(plan: &Plan) -> Result<(), String> {
    let status = restrict(plan).map_err(|error| format!("Landlock failed: {error}"))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::FullyEnforced, _) => Ok(()),
        (RulesetStatus::PartiallyEnforced, _) => Err("this kernel's Landlock is too old".to_owned()),
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            Err("Landlock is switched off in this kernel".to_owned())
        }
        (RulesetStatus::NotEnforced, _) => Err("this kernel has no Landlock".to_owned()),
    }
}

fn restrict(plan: &Plan) -> Result<RestrictionStatus, RulesetError> {
    let cwd = std::env::current_dir().ok();
    let readable = beside(&plan.hide).into_iter().chain(cwd);
    Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(WANTED)))?
        .add_rules(path_beneath_rules(&plan.write, AccessFs::from_all(WANTED)))?
        .add_rules(path_beneath_rules(["/dev"], AccessFs::from_all(WANTED)))?
        .restrict_self()
}

/// The fewest directories and files that hold everything but what is hidden.
fn beside(hide: &[PathBuf]) -> Vec<PathBuf> {
    let hidden: Vec<PathBuf> = hide.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut shown = Vec::new();
    let mut open = vec![PathBuf::from("/")];
    while let Some(path) = open.pop() {
        if hidden.iter().any(|hidden| path.starts_with(hidden)) {
            continue;
        }
        if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            open.extend(entries(&path));
        } else {
            shown.push(path);
        }
    }
    shown
}

/// What lies in a directory, links resolved: one that leads to a hidden place must not open it.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            // A link upwards would be walked for ever, so links are not walked: their targets are shown elsewhere.
            (!is_link).then_some(path)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_hidden_is_shown() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("home/state/tree")).unwrap();
        std::fs::create_dir(base.join("other")).unwrap();
        std::os::unix::fs::symlink(base.join("home"), base.join("link")).unwrap();

        let shown = beside(&[base.join("home")]);
        let covers = |path: &str| {
            let path = base.join(path);
            shown.iter().any(|dir| path.starts_with(dir))
        };
        assert!(covers("other/file"));
        assert!(!covers("home/state/tree"));
        assert!(!covers("link"));
        assert!(shown.iter().any(|path| Path::new("/usr/bin").starts_with(path)));
        assert_eq!(beside(&[]), [PathBuf::from("/")]);
    }
}
