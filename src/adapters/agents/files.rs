//! The private directory of one run, and the transcript that stays of it.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, OpenOptions},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::{AgentCall, Role};
use crate::{
    adapters::process::RawRun,
    config::read_plain,
    text::{Redactor, Untrusted},
};

/// Most that is kept of one run's output.
const TRANSCRIPT_CAP: usize = 8 << 20;

/// Removed with all that the agent left in it when this is dropped.
pub(super) struct Files {
    pub(super) root: PathBuf,
    pub(super) home: PathBuf,
    pub(super) tmp: PathBuf,
    /// Working directory of a role that has no tree.
    pub(super) empty: PathBuf,
    pub(super) schema: PathBuf,
    pub(super) input: PathBuf,
}

impl Files {
    pub(super) fn make(call: &AgentCall<'_>) -> anyhow::Result<Self> {
        let root = call.scratch.join(call.run_id.as_str());
        let files = Self {
            home: root.join("home"),
            tmp: root.join("tmp"),
            empty: root.join("empty"),
            schema: root.join("schema.json"),
            input: root.join("input.json"),
            root,
        };
        private_dir(call.scratch)?;
        if files.root.symlink_metadata().is_ok() {
            // A run of this id died half-way.
            fs::remove_dir_all(&files.root).with_context(|| format!("remove {}", files.root.display()))?;
        }
        for dir in [&files.root, &files.home, &files.tmp, &files.empty] {
            private_dir(dir)?;
        }
        write_private(&files.schema, call.schema.as_bytes())?;
        write_private(&files.input, &serde_json::to_vec(&call.input)?)?;
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.root) {
            tracing::warn!(path = %self.root.display(), %error, "cannot remove the directory of an agent run");
        }
    }
}

/// The owner's own templates, by the names of the shipped ones that they replace.
pub fn prompt_overrides(dir: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for role in Role::ALL {
        let name = format!("{}.md", role.name());
        let path = dir.join(&name);
        match read_plain(&path) {
            Ok(text) => {
                found.insert(name, text);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("read the prompt {}", path.display())),
        }
    }
    Ok(found)
}

/// What the agent wrote, redacted, readable by the owner only.
pub(super) fn keep_transcript(path: &Path, raw: &RawRun, redactor: &Redactor) -> anyhow::Result<()> {
    if let Some(dir) = path.parent() {
        private_dir(dir)?;
    }
    let mut text = readable(&raw.stdout, redactor);
    if !raw.stderr.is_empty() {
        text.push_str("\n--- stderr ---\n");
        text.push_str(&readable(&raw.stderr, redactor));
    }
    write_private(path, text.as_bytes())
}

fn readable(bytes: &[u8], redactor: &Redactor) -> String {
    let kept = bytes.get(..TRANSCRIPT_CAP).unwrap_or(bytes);
    let mut text = Untrusted::new(&String::from_utf8_lossy(kept), redactor)
        .analyse()
        .to_owned();
    if kept.len() < bytes.len() {
        text.push_str("\n--- cut here ---\n");
    }
    text
}

fn private_dir(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("make the directory {}", path.display()))
}

fn write_private(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(no_follow)
        .open(path)
        .and_then(|mut file| file.write_all(content))
        .with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_the_owner_are_found_by_name() {
        let dir = tempfile::tempdir().unwrap();
        assert!(prompt_overrides(&dir.path().join("missing")).unwrap().is_empty());
        fs::write(dir.path().join("fix.md"), "ours").unwrap();
        fs::write(dir.path().join("notes.md"), "not a prompt").unwrap();
        let found = prompt_overrides(dir.path()).unwrap();
        assert_eq!(found, BTreeMap::from([("fix.md".to_owned(), "ours".to_owned())]));
        fs::create_dir(dir.path().join("audit.md")).unwrap();
        assert!(prompt_overrides(dir.path()).is_err());
    }
}
