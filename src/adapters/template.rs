//! Copies what a setup made into fresh trees. Every file is a copy of its own (shared blocks where the file system can):
//! what tests write in one tree is seen in no other. Links are made again and never followed.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File, FileTimes, Permissions},
    io::{self, Read as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use memchr::memmem;

/// Larger files are not searched for the place where they were made.
const SEARCHED: u64 = 16 << 20;

/// Puts everything of `from` that is not among `but` into the directory `to`. What stands there already as another kind
/// of thing stays.
pub fn spread(from: &Path, to: &Path, but: &BTreeSet<Vec<u8>>) -> Result<()> {
    let mut modes = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        let failed = || format!("copy {}", from.join(&dir).display());
        for entry in fs::read_dir(from.join(&dir)).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let path = dir.join(entry.file_name());
            if but.contains(path.as_os_str().as_bytes()) {
                continue;
            }
            let (source, target) = (entry.path(), to.join(&path));
            let kind = entry.file_type().with_context(failed)?;
            let copied = if kind.is_dir() {
                directory(&source, &target).map(|mode| {
                    if let Some(mode) = mode {
                        open.push(path);
                        modes.push((target, mode));
                    }
                })
            } else if kind.is_symlink() {
                free(&target).and_then(|free| {
                    if free {
                        symlink(fs::read_link(&source)?, &target)
                    } else {
                        Ok(())
                    }
                })
            } else if kind.is_file() {
                free(&target).and_then(|free| if free { file(&source, &target) } else { Ok(()) })
            } else {
                // Sockets and pipes belong to processes that have ended.
                Ok(())
            };
            copied.with_context(|| format!("copy {}", source.display()))?;
        }
    }
    for (dir, mode) in modes {
        fs::set_permissions(&dir, mode).with_context(|| format!("set the mode of {}", dir.display()))?;
    }
    Ok(())
}

/// Makes it where it is missing. None: something else stands there.
fn directory(source: &Path, target: &Path) -> io::Result<Option<Permissions>> {
    let mode = fs::symlink_metadata(source)?.permissions();
    match fs::symlink_metadata(target) {
        Ok(found) if found.is_dir() => Ok(Some(found.permissions())),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(target)?;
            // Until it is filled it has to be writable.
            fs::set_permissions(target, Permissions::from_mode(0o700))?;
            Ok(Some(mode))
        }
        Err(error) => Err(error),
    }
}

/// Whether a file or link can be put there; another file or link makes room.
fn free(target: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(target) {
        Ok(found) if found.is_dir() => Ok(false),
        Ok(_) => fs::remove_file(target).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// With its times: build tools compare them.
fn file(source: &Path, target: &Path) -> io::Result<()> {
    fs::copy(source, target)?;
    let meta = fs::symlink_metadata(source)?;
    let times = FileTimes::new().set_modified(meta.modified()?);
    let copy = match File::options().write(true).open(target) {
        Ok(copy) => copy,
        // Not even its owner may write it; the time can be set all the same.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(target)?,
        Err(error) => return Err(error),
    };
    copy.set_times(times)
}

/// Whether a file or link below `dir`, not among `but`, names `place`: then it works nowhere else.
pub fn mentions(dir: &Path, place: &Path, but: &BTreeSet<Vec<u8>>) -> Result<bool> {
    let needle = memmem::Finder::new(place.as_os_str().as_bytes());
    let names = |text: &OsStr| needle.find(text.as_bytes()).is_some();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let failed = || format!("look through {}", dir.join(&below).display());
        for entry in fs::read_dir(dir.join(&below)).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let path = below.join(entry.file_name());
            let kind = entry.file_type().with_context(failed)?;
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            if but.contains(path.as_os_str().as_bytes()) {
                continue;
            }
            let found = if kind.is_symlink() {
                names(fs::read_link(entry.path()).with_context(failed)?.as_os_str())
            } else if kind.is_file() {
                let mut bytes = Vec::new();
                let file = File::open(entry.path()).with_context(failed)?;
                file.take(SEARCHED).read_to_end(&mut bytes).with_context(failed)?;
                needle.find(&bytes).is_some()
            } else {
                false
            };
            if found {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn plant(dir: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn copies_are_files_of_their_own_and_nothing_leaves_the_tree() {
        let home = tempfile::tempdir().unwrap();
        let (from, to, outside) = (
            home.path().join("from"),
            home.path().join("to"),
            home.path().join("outside"),
        );
        plant(
            &from,
            &[
                ("lib/a", "a"),
                ("lib/b", "b"),
                ("src/main", "old"),
                ("linked/x", "x"),
                ("kind", "file"),
            ],
        );
        plant(&to, &[("src/main", "new"), ("lib/b", "theirs"), ("kind/y", "y")]);
        fs::create_dir(&outside).unwrap();
        symlink("../outside", to.join("linked")).unwrap();
        symlink("lib/a", from.join("short")).unwrap();
        fs::set_permissions(from.join("lib/a"), Permissions::from_mode(0o555)).unwrap();
        fs::set_permissions(from.join("lib"), Permissions::from_mode(0o555)).unwrap();
        spread(&from, &to, &BTreeSet::from([b"src/main".to_vec()])).unwrap();

        let text = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!(
            (text("lib/a"), text("lib/b"), text("src/main")),
            ("a".into(), "b".into(), "new".into())
        );
        assert_eq!(fs::read_link(to.join("short")).unwrap(), Path::new("lib/a"));
        assert!(fs::read_dir(&outside).unwrap().next().is_none() && to.join("kind/y").exists());
        let (one, two) = (
            from.join("lib/a").metadata().unwrap(),
            to.join("lib/a").metadata().unwrap(),
        );
        assert_ne!(one.ino(), two.ino());
        assert_eq!((one.mode(), one.mtime_nsec()), (two.mode(), two.mtime_nsec()));
        fs::set_permissions(from.join("lib"), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(to.join("lib"), Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn what_names_its_place_is_found() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path();
        plant(dir, &[("bin/tool", "#!/srv/work/bin/python\n"), ("src/a", "x")]);
        let but = BTreeSet::from([b"bin/tool".to_vec()]);
        let names = |but: &BTreeSet<Vec<u8>>| mentions(dir, Path::new("/srv/work"), but).unwrap();
        assert!(names(&BTreeSet::new()) && !names(&but));
        symlink("/srv/work/src", dir.join("src/link")).unwrap();
        assert!(names(&but));
    }
}
