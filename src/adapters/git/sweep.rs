//! Removal of a directory that a child may have filled: never through a link, at any depth, whatever the modes.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, statat, unlinkat},
    io::Errno,
};

use super::{GitError, GitErrorKind, Result};

/// Removes an attempt's directory and all that is in it. Nothing there: done.
pub fn sweep(dir: &Path) -> Result<()> {
    remove(dir).map_err(|e| {
        let detail = format!("{e}; remove it by hand if it belongs to another user");
        GitError::new(GitErrorKind::Io, format!("remove {}", dir.display()), detail)
    })
}

fn remove(dir: &Path) -> Result<(), Errno> {
    match statat(CWD, dir, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        Err(e) => return Err(e),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
            return unlinkat(CWD, dir, AtFlags::empty());
        }
        Ok(_) => {}
    }
    chmodat(CWD, dir, Mode::RWXU, AtFlags::empty())?;
    let top = open(CWD, dir)?;
    let mut hoisted = 0;
    // Flat on purpose: a directory is emptied by moving its own directories up to the top, so that no depth of
    // nesting takes more than two descriptors or any stack.
    loop {
        let names = names(top.as_fd())?;
        if names.is_empty() {
            break;
        }
        for name in &names {
            if !unlink(top.as_fd(), name)? {
                flatten(top.as_fd(), name, &mut hoisted)?;
            }
        }
    }
    unlinkat(CWD, dir, AtFlags::REMOVEDIR)
}

fn open(at: BorrowedFd<'_>, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    openat(
        at,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

fn names(dir: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut out = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            out.push(name);
        }
    }
    Ok(out)
}

/// False for a directory.
fn unlink(at: BorrowedFd<'_>, name: &CStr) -> Result<bool, Errno> {
    let stat = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return Ok(false);
    }
    unlinkat(at, name, AtFlags::empty())?;
    Ok(true)
}

fn flatten(top: BorrowedFd<'_>, name: &CStr, hoisted: &mut u64) -> Result<(), Errno> {
    // The child that could exchange this directory for a link is dead by now.
    chmodat(top, name, Mode::RWXU, AtFlags::empty())?;
    let dir = open(top, name)?;
    for inner in names(dir.as_fd())? {
        if unlink(dir.as_fd(), &inner)? {
            continue;
        }
        chmodat(dir.as_fd(), &inner, Mode::RWXU, AtFlags::empty())?;
        loop {
            *hoisted += 1;
            let target = format!(".sweep-{hoisted}");
            match renameat(dir.as_fd(), &inner, top, &target) {
                // The name is taken by something that was there before.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                other => break other?,
            }
        }
    }
    unlinkat(top, name, AtFlags::REMOVEDIR)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::sweep;

    #[test]
    fn links_are_removed_and_their_targets_stay() {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("keep"), "x").unwrap();
        let dir = home.path().join("attempt");
        fs::create_dir_all(dir.join("tree/a")).unwrap();
        std::os::unix::fs::symlink(&outside, dir.join("tree/link")).unwrap();
        std::os::unix::fs::symlink("../..", dir.join("tree/a/up")).unwrap();
        fs::create_dir(dir.join(".sweep-1")).unwrap();
        fs::write(dir.join(".sweep-1/x"), "x").unwrap();
        fs::create_dir(dir.join("tree/locked")).unwrap();
        fs::write(dir.join("tree/locked/x"), "x").unwrap();
        fs::set_permissions(dir.join("tree/locked"), fs::Permissions::from_mode(0o000)).unwrap();
        sweep(&dir).unwrap();
        assert!(!dir.exists() && outside.join("keep").exists());
        sweep(&dir).unwrap();

        // The attempt's path itself replaced by a link.
        std::os::unix::fs::symlink(&outside, &dir).unwrap();
        sweep(&dir).unwrap();
        assert!(!dir.exists() && outside.join("keep").exists());
    }

    #[test]
    fn any_depth() {
        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("deep");
        fs::create_dir(&dir).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = openat(CWD, &dir, flags, Mode::empty()).unwrap();
        for _ in 0..3000 {
            mkdirat(&at, "ddddddddddddddddddddd", Mode::RWXU).unwrap();
            at = openat(&at, "ddddddddddddddddddddd", flags, Mode::empty()).unwrap();
        }
        sweep(&dir).unwrap();
        assert!(!dir.exists());
    }
}
