//! Paths of tick's own folders in what others say: a test, a compiler or an agent names its files where it saw them. Who
//! reads that has only the repository, so a file of a work tree is named as there.

use std::borrow::Cow;

use memchr::memmem::Finder;

/// Folders below the state that hold a folder a run, and the names that a work tree has in one.
const ROOMS: [&str; 5] = ["proofs", "worktrees", "audits", "runs", "setups"];
const TREES: [&str; 9] = ["work", "tree", "base", "red", "head", "fresh", "own", "parent", "reach"];
/// Deeper than any work tree stands.
const DEEPEST: usize = 6;
const ADDRESS: &str = "file://";

/// Where the state lies, by each path that leads there.
#[derive(Clone, Default)]
pub struct OwnPlaces {
    states: Vec<Finder<'static>>,
}

impl OwnPlaces {
    /// Absolute paths; anything else names no place and is left out.
    pub fn new<'a>(states: impl IntoIterator<Item = &'a str>) -> Self {
        let mut paths: Vec<&str> = Vec::new();
        for state in states.into_iter().map(|state| state.trim_end_matches('/')) {
            if state.len() > 1 && state.starts_with('/') && !paths.contains(&state) {
                paths.push(state);
            }
        }
        let states = paths.into_iter().map(|path| Finder::new(path).into_owned());
        Self {
            states: states.collect(),
        }
    }

    /// The text with files of work trees named as in the repository, and no path to the rest of the state.
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for state in &self.states {
            if let Some(shown) = replaced(&text, state) {
                text = Cow::Owned(shown);
            }
        }
        text
    }
}

fn replaced(text: &str, state: &Finder<'_>) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    for at in state.find_iter(text.as_bytes()) {
        let after = at + state.needle().len();
        let address = text[..at].ends_with(ADDRESS);
        let begins = address || !text[..at].ends_with(|c: char| c == '/' || is_name(c));
        if at < copied || !begins || goes_on(&text[after..]) {
            continue;
        }
        let (shown, length) = below(&text[after..]);
        out.push_str(&text[copied..at - if address { ADDRESS.len() } else { 0 }]);
        out.push_str(shown);
        copied = after + length;
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// What stands for the state and the first bytes of what follows it, and how many bytes that are.
fn below(rest: &str) -> (&'static str, usize) {
    let mut at = 0;
    let mut scratch = None;
    for depth in 0..DEEPEST {
        let Some(name) = rest[at..].strip_prefix('/').map(first_name) else {
            break;
        };
        at += 1 + name.len();
        let more = rest[at..].starts_with('/') && !first_name(&rest[at + 1..]).is_empty();
        match (depth, name) {
            (0, room) if !ROOMS.contains(&room) => break,
            // The incident, attempt or repo that it is about.
            (0 | 1, _) => {}
            (_, "scratch") => scratch = Some(at),
            (_, "home") => return ("$HOME", at),
            (_, "tmp") => return ("$TMPDIR", at),
            (_, "agent.git") => return (".git", at),
            // A run of a tree has the tree's name.
            (_, tree) if scratch.is_none() && is_tree(tree) => {
                return if more { ("", at + 1) } else { ("the work tree", at) };
            }
            (_, run) if scratch.is_some() && run.starts_with("run-") => scratch = Some(at),
            _ => {}
        }
    }
    scratch.map_or(("state", 0), |at| ("(scratch)", at))
}

/// The last name of the state's path is the beginning of a longer one.
fn goes_on(rest: &str) -> bool {
    rest.trim_start_matches('.').starts_with(is_name)
}

fn is_tree(name: &str) -> bool {
    TREES.contains(&name) || name.starts_with("undone-")
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Up to the next slash, or what ends a path within a sentence.
fn first_name(text: &str) -> &str {
    let end = text.find(|c: char| !is_name(c) && !matches!(c, '@' | '+' | '~' | '[' | '$'));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        let own = OwnPlaces::new(["/home/me/tick/state/", "/tmp/s", "/tmp/s", "relative", "/"]);
        assert_eq!(own.shown(text), want, "{text}");
        assert_eq!(own.shown(want), want, "shown twice");
    }

    #[test]
    fn a_file_of_a_work_tree_is_the_repositorys() {
        check(
            "cannot import name 'X' from 'shop' (/home/me/tick/state/proofs/4aa226a2-1.1/work/shop/price.py)",
            "cannot import name 'X' from 'shop' (shop/price.py)",
        );
        check(
            "/tmp/s/worktrees/4aa-1.2/tree/src/a.rs:3:1: error",
            "src/a.rs:3:1: error",
        );
        check("/tmp/s/proofs/4aa-1.2/again/head/a.go:3", "a.go:3");
        check("/tmp/s/proofs/4aa-1.2/undone-2/a.go:3", "a.go:3");
        check("/tmp/s/setups/work/work/pkg/a.go:3", "pkg/a.go:3");
        check("/tmp/s/setups/web/0a1b/tree/[id]/page.tsx", "[id]/page.tsx");
        check("at file:///tmp/s/proofs/4aa-1.2/work/src/a.mjs:3:9", "at src/a.mjs:3:9");
        check("/tmp/s/proofs/a/work/x, /tmp/s/proofs/a/red/y", "x, y");
        check("rootdir: /tmp/s/proofs/4aa-1.2/work", "rootdir: the work tree");
        check("keep /tmp/s/setups/web/work: no room", "keep the work tree: no room");
        check("in '/tmp/s/proofs/4aa/work/'", "in 'the work tree/'");
    }

    #[test]
    fn no_path_leads_to_the_rest_of_the_state() {
        check("/tmp/s/proofs/4aa-1.2/scratch/red/run-0/home/.npmrc", "$HOME/.npmrc");
        check("/tmp/s/proofs/4aa-1.2/scratch/red/run-0/tmp/x", "$TMPDIR/x");
        check("/tmp/s/proofs/4aa-1.2/scratch/red/run-0/report", "(scratch)/report");
        check("/tmp/s/setups/web/home/.cache/x", "$HOME/.cache/x");
        check("/tmp/s/worktrees/4aa-1.2/agent.git/index.lock", ".git/index.lock");
        check("open /home/me/tick/state/tick.db: full", "open state/tick.db: full");
        check(
            "/tmp/s/repos/web.git is no repository",
            "state/repos/web.git is no repository",
        );
        check("look into /tmp/s.", "look into state.");
    }

    #[test]
    fn other_paths_stay() {
        for text in [
            "/home/me/tick/statement/proofs/a/work/x",
            "/mnt/tmp/s/proofs/a/work/x",
            "/tmp/s.old/proofs/a/work/x",
            "https://host/tmp/s/proofs/a/work/x",
            "/srv/app/work/shop/price.py",
            "/home/me/tick/logs/agents/fix.log",
            "nothing of ours",
        ] {
            check(text, text);
        }
        assert_eq!(
            OwnPlaces::default().shown("/tmp/s/proofs/a/work/x"),
            "/tmp/s/proofs/a/work/x"
        );
    }
}
