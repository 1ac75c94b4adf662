//! The environment of children, built from nothing. What is not put in here never reaches a child.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use secrecy::SecretString;

use crate::text::fence::Nonce;

pub type Env = Vec<(String, SecretString)>;

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What every child gets: where programs, its home and its temporary files are, and a fixed locale, zone and terminal.
pub fn base_env(path: &str, home: &Path, tmp: &Path, lang: &str) -> Env {
    [
        ("PATH", path.to_owned()),
        ("HOME", home.display().to_string()),
        ("TMPDIR", tmp.display().to_string()),
        ("LANG", lang.to_owned()),
        ("TZ", "UTC".to_owned()),
        ("TERM", "dumb".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.into()))
    .collect()
}

/// The search path that this process was started with: children find the owner's toolchain by it. Its relative
/// entries are left out, since a child's working directory is not to be trusted.
#[expect(
    clippy::disallowed_methods,
    reason = "the path is handed on to children, it configures nothing here"
)]
pub fn own_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    let absolute: Vec<&str> = own.split(':').filter(|entry| entry.starts_with('/')).collect();
    if absolute.is_empty() {
        SYSTEM_PATH.to_owned()
    } else {
        absolute.join(":")
    }
}

/// Where a program of this name is on a search path; the name itself where it is a path or is not found. A child whose
/// search path is not our own, and whose program is only a name, is started by a copy of this whole process instead of
/// by a spawn, which costs the more the larger we are.
pub fn located(program: &Path, search_path: &OsStr) -> PathBuf {
    if program.components().count() > 1 {
        return program.to_owned();
    }
    let places = std::env::split_paths(search_path).map(|dir| dir.join(program));
    let mut found = places.filter(|file| file.is_file());
    found.next().unwrap_or_else(|| program.to_owned())
}

/// 128 fresh random bits, for the fences of one prompt.
pub fn random_nonce() -> anyhow::Result<Nonce> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("cannot read random bytes from the system: {error}"))?;
    Ok(Nonce::new(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_has_absolute_entries_only() {
        assert!(own_path().split(':').all(|entry| entry.starts_with('/')));
    }

    #[test]
    fn nonces_differ() {
        let (one, two) = (random_nonce().unwrap(), random_nonce().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.as_str().len(), 32);
    }
}
