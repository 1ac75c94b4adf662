//! What stands around a test run: its own directories outside the tree, and the programs it may start.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Directories of one child, outside the tree.
pub(super) struct Room {
    pub(super) dir: PathBuf,
    pub(super) home: PathBuf,
    pub(super) tmp: PathBuf,
}

impl Room {
    /// Empty directories for one child.
    pub(super) fn make(scratch: &Path, index: usize) -> Result<Self, String> {
        let dir = scratch.join(format!("run-{index}"));
        let failed = |error: std::io::Error| format!("could not make its directory {}: {error}", dir.display());
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let room = Self {
            home: dir.join("home"),
            tmp: dir.join("tmp"),
            dir: dir.clone(),
        };
        for path in [&room.home, &room.tmp] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(failed)?;
        }
        Ok(room)
    }
}

/// The absolute path of a program: as named, or on the list of directories.
pub(super) fn locate(program: &str, path: &[PathBuf]) -> Result<PathBuf, String> {
    let runs =
        |file: &Path| fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let named = Path::new(program);
    if program.contains('/') {
        if !named.is_absolute() {
            return Err(format!(
                "name {program} by an absolute path, or by a name that is found on PATH"
            ));
        }
        return if runs(named) {
            Ok(named.to_owned())
        } else {
            Err(format!("{program} is not a program"))
        };
    }
    let found = path
        .iter()
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|file| runs(file));
    found.ok_or_else(|| format!("{program} was not found on PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_inside_the_tree_is_not_started() {
        assert!(locate("./node", &[]).unwrap_err().contains("absolute"));
        assert!(locate("no-such-program", &[PathBuf::from("/usr/bin")]).is_err());
        assert!(
            locate("sh", &[PathBuf::from("/bin"), PathBuf::from("/usr/bin")])
                .unwrap()
                .is_absolute()
        );
    }
}
