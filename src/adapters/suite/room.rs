//! What stands around a test run: its own directories outside the tree, and the programs it may start.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};

use super::SuiteOptions;
use crate::{
    adapters::process::{Ready, Service},
    config::{CommandLine, ServiceReady},
};

/// Directories of one child, outside the tree.
pub(super) struct Room {
    pub(super) dir: PathBuf,
    pub(super) home: PathBuf,
    pub(super) tmp: PathBuf,
}

impl Room {
    /// Empty directories for one child, and its home where that is given.
    pub(super) fn make(scratch: &Path, index: usize, home: Option<&Path>) -> Result<Self, String> {
        let dir = scratch.join(format!("run-{index}"));
        let failed = |error: std::io::Error| format!("could not make its directory {}: {error}", dir.display());
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let room = Self {
            home: home.map_or_else(|| dir.join("home"), Path::to_owned),
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

/// The files of a directory that have a name which begins so.
pub(super) fn named(dir: &Path, start: &str) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("could not read its directory {}: {error}", dir.display());
    let entries = fs::read_dir(dir).map_err(failed)?;
    let names = entries.map(|entry| Ok(entry.map_err(failed)?.file_name()));
    let names = names.collect::<Result<Vec<_>, String>>()?;
    let named = names.iter().filter(|name| name.to_string_lossy().starts_with(start));
    Ok(named.map(|name| dir.join(name)).collect())
}

/// The absolute path of a program: as named, within the tree, or on the list of directories.
pub(super) fn locate(program: &str, dir: &Path, options: &SuiteOptions) -> Result<PathBuf, String> {
    let runs =
        |file: &Path| fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let found = if Path::new(program).is_absolute() {
        Some(PathBuf::from(program))
    } else if program.contains('/') {
        let same = options
            .reference
            .as_deref()
            .is_some_and(|base| unchanged(Path::new(program), base, dir));
        if !same {
            return Err(format!("{program} is not the program that the base has there"));
        }
        Some(dir.join(program))
    } else {
        let places = options.path.iter().filter(|place| place.is_absolute());
        places.map(|place| place.join(program)).find(|file| runs(file))
    };
    let found = found.ok_or_else(|| format!("{program} was not found on PATH"))?;
    if runs(&found) {
        Ok(found)
    } else {
        Err(format!("{program} is not a program"))
    }
}

/// The services of the tests, with the programs that they are.
pub(super) fn services(dir: &Path, options: &SuiteOptions) -> Result<Vec<Service>, String> {
    let line = |command: &CommandLine| -> Result<(PathBuf, Vec<String>), String> {
        let (program, args) = command.argv.split_first().ok_or("a service has an empty command")?;
        let failed = |why: String| format!("its service `{}`: {why}", command.text);
        Ok((locate(program, dir, options).map_err(failed)?, args.to_vec()))
    };
    let services = options.services.iter().map(|service| {
        Ok(Service {
            name: service
                .start
                .last()
                .map(|command| command.text.clone())
                .unwrap_or_default(),
            start: service.start.iter().map(line).collect::<Result<_, String>>()?,
            ready: match &service.ready {
                ServiceReady::Port(port) => Ready::Port(*port),
                ServiceReady::Command(command) => {
                    let (program, args) = line(command)?;
                    Ready::Command(program, args)
                }
            },
            within: service.within,
        })
    });
    services.collect()
}

/// Whether a path leads to the same thing in two trees: a fix must not bring the program that judges it.
fn unchanged(path: &Path, base: &Path, dir: &Path) -> bool {
    let (mut old, mut new) = (base.to_owned(), dir.to_owned());
    for part in path.components() {
        let Component::Normal(part) = part else {
            if part == Component::CurDir {
                continue;
            }
            return false;
        };
        old.push(part);
        new.push(part);
        let (Ok(was), Ok(is)) = (fs::symlink_metadata(&old), fs::symlink_metadata(&new)) else {
            return false;
        };
        let same = match (was.is_symlink(), is.is_symlink()) {
            (true, true) => fs::read_link(&old).ok() == fs::read_link(&new).ok(),
            (false, false) if was.is_file() => is.is_file() && fs::read(&old).ok() == fs::read(&new).ok(),
            (false, false) => was.is_dir() && is.is_dir(),
            (true, false) | (false, true) => false,
        };
        if !same {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{
        super::testing::{options, plant},
        *,
    };

    #[test]
    fn programs_are_found_by_path_or_name() {
        let here = Path::new("/");
        let options = options(here);
        assert!(locate("sh", here, &options).unwrap().is_absolute());
        assert_eq!(locate("/bin/sh", here, &options).unwrap(), Path::new("/bin/sh"));
        for (program, expected) in [
            ("no-such-program", "not found on PATH"),
            ("/no/such/program", "not a program"),
            ("bin/sh", "not the program that the base has"),
        ] {
            assert!(
                locate(program, here, &options).unwrap_err().contains(expected),
                "{program}"
            );
        }
    }

    #[test]
    fn a_program_in_the_tree_has_to_be_the_bases() {
        let dir = tempfile::tempdir().unwrap();
        let (base, head) = (dir.path().join("base"), dir.path().join("head"));
        for tree in [&base, &head] {
            plant(tree, &[("env/bin/tool", "one"), ("other", "")]);
            symlink("/bin/sh", tree.join("env/bin/python3")).unwrap();
        }
        let same = |path: &str| unchanged(Path::new(path), &base, &head);
        assert!(same("env/bin/python3") && same("./env/bin/tool"));
        assert!(!same("env/../env/bin/tool") && !same("env/bin/none"));
        fs::write(head.join("env/bin/tool"), "two").unwrap();
        fs::remove_file(head.join("env/bin/python3")).unwrap();
        symlink("/bin/true", head.join("env/bin/python3")).unwrap();
        assert!(!same("env/bin/tool") && !same("env/bin/python3"));
        fs::rename(head.join("env"), head.join("moved")).unwrap();
        symlink("moved", head.join("env")).unwrap();
        assert!(!same("env/bin/tool"), "a directory became a link");
    }
}
