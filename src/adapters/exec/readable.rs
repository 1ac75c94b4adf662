//! What a child may read: the system's programs and libraries, of its settings what everybody may read, the tools that
//! its search path leads to, and what it was given. Nothing of the owner's beside that.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

use super::Plan;
use crate::adapters::process::Service;

const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/gnu/store",
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/var/lib/ca-certificates",
];

/// Settings that may be links to a place that is closed otherwise.
const LINKED: [&str; 3] = ["/etc/resolv.conf", "/etc/hosts", "/etc/localtime"];

/// What stands beside a directory of programs and belongs to it, in the layouts of the common version managers.
const PARTS: [&str; 17] = [
    "bin",
    "sbin",
    "shims",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "include",
    "share",
    "conf",
    "jmods",
    "version",
    "versions",
    "installs",
    "candidates",
    "tools",
    "plugins",
];
const PROGRAMS: [&str; 3] = ["bin", "sbin", "shims"];
/// Directories of the homes of persons.
const HOMES: [&str; 2] = ["home", "Users"];

/// The fewest directories and files that hold it all and nothing that is hidden.
pub(super) fn readable(plan: &Plan) -> BTreeSet<PathBuf> {
    let mut wanted: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    everybodys(Path::new("/etc"), &mut wanted);
    wanted.extend(
        LINKED
            .iter()
            .filter_map(|link| real(Path::new(link)))
            .filter(|file| is_everybodys(file)),
    );
    wanted.extend(plan.read.iter().cloned());
    tools(&plan.path, &mut wanted);
    let programs = || std::iter::once(&plan.program).chain(plan.services.iter().flat_map(Service::programs));
    wanted.extend(
        programs()
            .filter_map(|program| real(program))
            .flat_map(|program| with_parts(&program)),
    );
    let hidden: Vec<PathBuf> = plan.hide.iter().filter_map(|path| real(path)).collect();
    let mut shown = BTreeSet::new();
    for path in wanted.iter().filter_map(|path| real(path)) {
        without(path, &hidden, &mut shown);
    }
    // The programs that it is and needs, and where it works, are never hidden.
    shown.extend(programs().filter_map(|program| real(program)));
    shown.extend(std::env::current_dir());
    shown
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// `path`, or what lies beside the hidden in it. Links are left out: what they lead to is shown where it is.
fn without(path: PathBuf, hidden: &[PathBuf], shown: &mut BTreeSet<PathBuf>) {
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
        shown.insert(path);
        return;
    }
    for entry in entries(&path) {
        without(entry, hidden, shown);
    }
}

/// What lies in a directory, without links.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .map(|entry| entry.path())
        .collect()
}

/// What everybody may read at and below `path`: as root a child would else read more than any other user. Says whether
/// that is all of it.
fn everybodys(path: &Path, shown: &mut Vec<PathBuf>) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return false;
    };
    let mode = meta.permissions().mode();
    if !meta.is_dir() {
        let open = meta.is_file() && mode & 0o004 != 0;
        shown.extend(open.then(|| path.to_owned()));
        return open;
    }
    if mode & 0o005 != 0o005 {
        return false;
    }
    let before = shown.len();
    // Each is looked at, also after one that is closed.
    let mut all = true;
    for entry in entries(path) {
        all &= everybodys(&entry, shown);
    }
    if all {
        shown.truncate(before);
        shown.push(path.to_owned());
    }
    all
}

fn is_everybodys(file: &Path) -> bool {
    let open = |path: &Path, bits: u32| fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & bits == bits);
    open(file, 0o004) && file.ancestors().skip(1).all(|dir| open(dir, 0o001))
}

/// The directories of a search path with their parts, and what links in them lead to.
fn tools(path: &[PathBuf], wanted: &mut Vec<PathBuf>) {
    let dirs: BTreeSet<PathBuf> = path.iter().filter_map(|dir| real(dir)).collect();
    for dir in &dirs {
        wanted.extend(beside(dir));
    }
    for dir in &dirs {
        let links = fs::read_dir(dir).into_iter().flatten().flatten();
        let links = links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        for link in links.map(|entry| entry.path()).filter(|link| leads_away(link)) {
            let Some(program) = real(&link) else { continue };
            if !wanted.iter().any(|shown| program.starts_with(shown)) {
                wanted.extend(with_parts(&program));
            }
        }
    }
}

/// A link to a neighbour needs no look at where it ends.
fn leads_away(link: &Path) -> bool {
    fs::read_link(link).is_ok_and(|to| {
        let mut parts = to.components();
        !(matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none())
    })
}

/// A program's own file, and what belongs to it.
fn with_parts(program: &Path) -> Vec<PathBuf> {
    let mut all = vec![program.to_owned()];
    // A script of a package reads its package and those that it depends on.
    let packages = program
        .ancestors()
        .filter(|dir| dir.file_name().is_some_and(|name| name == "node_modules"));
    all.extend(packages.last().map(Path::to_owned));
    if let Some(dir) = program.parent()
        && is_named(dir, &PROGRAMS)
    {
        all.extend(beside(dir));
    }
    all
}

fn is_named(dir: &Path, names: &[&str]) -> bool {
    dir.file_name().is_some_and(|own| names.iter().any(|name| own == *name))
}

/// A directory of programs and its parts. What a person keeps in their home or under `.local/share` is no part of it.
fn beside(dir: &Path) -> Vec<PathBuf> {
    let mut all = vec![dir.to_owned()];
    if let Some(root) = dir.parent()
        && let Some(above) = root.parent()
        && root != Path::new("/root")
        && !is_named(above, &HOMES)
        && is_named(dir, &PROGRAMS)
    {
        let personal = is_named(root, &[".local"]);
        let parts = PARTS.iter().filter(|part| !(personal && **part == "share"));
        all.extend(parts.map(|part| root.join(part)).filter(|part| part.exists()));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Room(tempfile::TempDir);

    impl Room {
        fn new(files: &[(&str, u32)]) -> Self {
            let room = Self(tempfile::tempdir().unwrap());
            for (path, mode) in files {
                let file = room.at(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, "").unwrap();
                fs::set_permissions(&file, PermissionsExt::from_mode(*mode)).unwrap();
            }
            room
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }
    }

    fn covers(shown: impl IntoIterator<Item = PathBuf>, path: &Path) -> bool {
        shown.into_iter().any(|dir| path.starts_with(dir))
    }

    #[test]
    fn everything_but_the_hidden_is_shown() {
        let room = Room::new(&[("home/state/tree/file", 0o644), ("other/file", 0o644)]);
        symlink(room.at("home"), room.at("link")).unwrap();
        let mut shown = BTreeSet::new();
        without(room.at(""), &[room.at("home/state")], &mut shown);
        assert!(covers(shown.clone(), &room.at("other/file")));
        assert!(!covers(shown.clone(), &room.at("home/state/tree/file")));
        assert!(!covers(shown, &room.at("link")));
        let mut whole = BTreeSet::new();
        without(room.at(""), &[], &mut whole);
        assert_eq!(whole.len(), 1);
    }

    #[test]
    fn of_settings_only_what_everybody_reads() {
        let room = Room::new(&[
            ("etc/hosts", 0o644),
            ("etc/shadow", 0o640),
            ("etc/ssl/certs/ca.pem", 0o644),
            ("etc/keys/host", 0o644),
        ]);
        fs::set_permissions(room.at("etc/keys"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::set_permissions(room.at("etc"), PermissionsExt::from_mode(0o755)).unwrap();
        for dir in ["etc/ssl", "etc/ssl/certs"] {
            fs::set_permissions(room.at(dir), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let mut shown = Vec::new();
        assert!(!everybodys(&room.at("etc"), &mut shown));
        shown.sort();
        assert_eq!(shown, [room.at("etc/hosts"), room.at("etc/ssl")]);
    }

    #[test]
    fn a_search_path_leads_to_its_tools_only() {
        let room = Room::new(&[
            (".nvm/versions/node/v20/bin/node", 0o755),
            (".nvm/versions/node/v20/lib/node_modules/npm/cli.js", 0o755),
            (".cargo/bin/cargo", 0o755),
            (".cargo/credentials.toml", 0o600),
            (".local/bin/own", 0o755),
            (".local/share/keyrings/login", 0o600),
            (".local/share/agent/versions/2.1", 0o755),
            ("far/bin/linked", 0o755),
            ("far/lib/part", 0o644),
            ("app/node_modules/agent/cli.js", 0o755),
            ("app/node_modules/other/index.js", 0o644),
            ("app/.env", 0o600),
        ]);
        let link = |to: &str, name: &str| symlink(room.at(to), room.at(".local/bin").join(name)).unwrap();
        link(".local/share/agent/versions/2.1", "agent");
        link("far/bin/linked", "linked");
        link("app/node_modules/agent/cli.js", "script");
        let path = [".nvm/versions/node/v20/bin", ".cargo/bin", ".local/bin"].map(|dir| room.at(dir));
        let mut shown = Vec::new();
        tools(&path, &mut shown);
        for (path, expected) in [
            (".nvm/versions/node/v20/bin/node", true),
            (".nvm/versions/node/v20/lib/node_modules/npm/cli.js", true),
            (".cargo/bin/cargo", true),
            (".cargo/credentials.toml", false),
            (".local/bin/own", true),
            (".local/share/keyrings/login", false),
            (".local/share/agent/versions/2.1", true),
            ("far/lib/part", true),
            ("app/node_modules/other/index.js", true),
            ("app/.env", false),
        ] {
            assert_eq!(covers(shown.clone(), &room.at(path)), expected, "{path}");
        }
    }
}
