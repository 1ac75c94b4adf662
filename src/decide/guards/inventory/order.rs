//! The same statements in another order: what acts on one thing twice gives another state between.

use super::Case;

/// The first statement of the head that changed its place with another of the same object.
pub(super) fn turned(old: &Case, new: &Case) -> Option<(u32, String)> {
    let (was, is) = (&old.statements, &new.statements);
    if was.len() != is.len() || was.len() > 200 {
        return None;
    }
    let (mut a, mut b): (Vec<&str>, Vec<&str>) = (
        was.iter().map(|s| s.flat.as_str()).collect(),
        is.iter().map(|s| s.flat.as_str()).collect(),
    );
    let moved: Vec<usize> = (0..is.len()).filter(|n| a[*n] != b[*n]).collect();
    a.sort_unstable();
    b.sort_unstable();
    if a != b {
        return None;
    }
    let first = &is[*moved.first()?];
    let acts = first.acts_on.as_ref()?;
    let other = moved.iter().skip(1).any(|n| is[*n].acts_on.as_ref() == Some(acts));
    other.then(|| (first.line, first.flat.clone()))
}
