//! Files of ours that are kept for a while: what a folder holds, and the removal of what is old.

use std::{fs, io, path::Path};

use chrono::{DateTime, Utc};

/// Plain files of a folder with their last change. A folder that is not there holds none; links are not looked at.
pub fn list(dir: &Path) -> io::Result<Vec<(String, DateTime<Utc>)>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut out = Vec::new();
    for entry in entries {
        let entry = entry?;
        let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), entry.metadata()) else {
            continue;
        };
        if meta.is_file() {
            out.push((name, meta.modified()?.into()));
        }
    }
    Ok(out)
}

/// Removes one; that another process was faster is no error.
pub fn remove(dir: &Path, name: &str) -> io::Result<()> {
    match fs::remove_file(dir.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_are_listed_and_removed_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a.log"), "a").unwrap();
        fs::create_dir(at("agents")).unwrap();
        std::os::unix::fs::symlink(at("a.log"), at("link.log")).unwrap();
        let names: Vec<String> = list(dir.path()).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a.log"]);
        remove(dir.path(), "a.log").unwrap();
        remove(dir.path(), "a.log").unwrap();
        assert!(list(&at("nowhere")).unwrap().is_empty());
    }
}
