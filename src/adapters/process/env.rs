//! The environment of children, built from nothing. What is not put in here never reaches a child.

use std::path::Path;

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
