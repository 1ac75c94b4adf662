//! Worlds whose demo was killed. A world is held by a kernel lock on a file in it, which ends with its owner however that
//! ends; nothing is told by a process id, which may have been given to somebody else since.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, OFlags, flock};

use super::children::{end_strays, in_use};

/// How a world's directory is called: this, and sixteen hexadecimal digits.
pub const NAME: &str = "tick-world-";
const MARK: &str = "owner";
const SAID: &str = "held by tick demo while it runs; what is left without a holder is removed by a later one\n";

/// Held for as long as the world is in use.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "the lock is what counts")] File);

/// Marks a new world as one that may be removed once its owner is gone. One that has no mark stays.
pub fn hold(root: &Path) -> Result<Held> {
    // Named only once it is locked: a mark is never seen without its holder.
    let fresh = root.join(format!("{MARK}.new"));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh);
    let mut file = made.with_context(|| format!("make {}", fresh.display()))?;
    file.write_all(SAID.as_bytes())?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).context("hold the world")?;
    fs::rename(&fresh, root.join(MARK)).context("mark the world")?;
    Ok(Held(file))
}

/// Removes the worlds below `dir` that nobody holds, and gives back how many.
pub fn sweep(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_name));
    named.filter(|entry| remove(&entry.path())).count()
}

fn is_name(name: &str) -> bool {
    let digits = name.strip_prefix(NAME).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Only a directory of this user's, with a mark that a demo made and nobody holds, and in which nobody else works.
fn remove(root: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let own_dir = fs::symlink_metadata(root).is_ok_and(|meta| meta.is_dir() && meta.uid() == user);
    let Some(mark) = own_dir.then(|| mark(root, user)).flatten() else {
        return false;
    };
    if flock(&mark, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    // Whoever was first has removed it meanwhile.
    let same = mark.metadata().is_ok_and(|held| {
        fs::symlink_metadata(root.join(MARK)).is_ok_and(|there| (held.dev(), held.ino()) == (there.dev(), there.ino()))
    });
    if !same || in_use(root) {
        return false;
    }
    end_strays(root);
    fs::remove_dir_all(root).is_ok()
}

fn mark(root: &Path, user: u32) -> Option<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(root.join(MARK))
        .ok()?;
    let meta = file.metadata().ok()?;
    let mut said = String::new();
    let plain = meta.is_file() && meta.uid() == user && meta.nlink() == 1;
    (plain && Read::by_ref(&mut file).take(200).read_to_string(&mut said).is_ok() && said == SAID).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(dir: &Path, digit: char) -> std::path::PathBuf {
        let root = dir.join(format!("{NAME}{}", digit.to_string().repeat(16)));
        fs::create_dir(&root).unwrap();
        fs::write(root.join("file"), "x").unwrap();
        root
    }

    #[test]
    fn only_what_nobody_holds_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (held, left) = (world(dir.path(), 'a'), world(dir.path(), 'b'));
        let holder = hold(&held).unwrap();
        drop(hold(&left).unwrap());
        assert_eq!(sweep(dir.path()), 1);
        assert!(held.join("file").exists() && !left.exists());
        drop(holder);
        assert_eq!(sweep(dir.path()), 1, "its owner is gone");
        assert!(!held.exists());
        assert_eq!(sweep(dir.path()), 0);
    }

    #[test]
    fn what_is_not_a_demos_stays() {
        let dir = tempfile::tempdir().unwrap();
        // Kept by its owner's wish, or made by an older version: it has no mark.
        let kept = world(dir.path(), '1');
        let other = world(dir.path(), '2');
        fs::write(other.join(MARK), "me\n").unwrap();
        let linked = world(dir.path(), '3');
        let away = dir.path().join("away");
        fs::write(&away, SAID).unwrap();
        std::os::unix::fs::symlink(&away, linked.join(MARK)).unwrap();
        let hard = world(dir.path(), '4');
        fs::hard_link(&away, hard.join(MARK)).unwrap();
        let folder = world(dir.path(), '5');
        fs::create_dir(folder.join(MARK)).unwrap();
        // A link to somebody's folder that looks like a world, and other names.
        let target = dir.path().join("target");
        fs::create_dir(&target).unwrap();
        drop(hold(&target).unwrap());
        std::os::unix::fs::symlink(&target, dir.path().join(format!("{NAME}{}", "6".repeat(16)))).unwrap();
        for name in [
            "tick-world-",
            "tick-world-0123",
            "tick-world-012345678901234g",
            "my-tick-world-0123456789abcdef",
        ] {
            fs::create_dir(dir.path().join(name)).unwrap();
            drop(hold(&dir.path().join(name)).unwrap());
        }
        let before = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(sweep(dir.path()), 0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before);
        assert!(
            [kept, other, linked, hard, folder]
                .iter()
                .all(|root| root.join("file").exists())
        );
        assert!(target.join(MARK).exists());
    }

    #[test]
    fn a_link_within_a_world_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let left = world(dir.path(), 'c');
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("mine"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, left.join("link")).unwrap();
        drop(hold(&left).unwrap());
        assert_eq!(sweep(dir.path()), 1);
        assert!(!left.exists() && outside.join("mine").exists());
    }
}
