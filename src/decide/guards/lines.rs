//! Line differences of one change. Bounded: two large sides that have little in common count as wholly replaced.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::FileChange;

/// Beyond this many differing lines a side is not compared line by line.
const COMPARE: usize = 4_000;

pub(super) struct Lines<'a> {
    new: Vec<&'a str>,
    ops: Vec<DiffOp>,
}

impl<'a> Lines<'a> {
    /// Of text sides; a binary or other side has no lines.
    pub(super) fn of(change: &'a FileChange) -> Self {
        let text = |side: &'a Option<super::Side>| {
            let side = side
                .as_ref()
                .filter(|s| s.mode & 0o170_000 == 0o100_000 && !super::content::is_binary(s));
            side.map(|s| split(&s.bytes)).unwrap_or_default()
        };
        let (old, new) = (text(&change.old), text(&change.new));
        let ops = diff(&old, &new);
        Self { new, ops }
    }

    pub(super) fn added(&self) -> impl Iterator<Item = (u32, &'a str)> {
        self.ops
            .iter()
            .flat_map(|op| match op {
                DiffOp::Insert { .. } | DiffOp::Replace { .. } => op.new_range(),
                DiffOp::Equal { .. } | DiffOp::Delete { .. } => 0..0,
            })
            .map(|i| (number(i), self.new[i]))
    }

    pub(super) fn counts(&self) -> (u32, u32) {
        let mut added = 0;
        let mut removed = 0;
        for op in &self.ops {
            if !matches!(op, DiffOp::Equal { .. }) {
                added += op.new_range().len();
                removed += op.old_range().len();
            }
        }
        (count(added), count(removed))
    }
}

pub(super) fn number(index: usize) -> u32 {
    count(index + 1)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Lines without their ends; none of bytes that are not UTF-8.
pub(super) fn split(bytes: &[u8]) -> Vec<&str> {
    let mut lines: Vec<&str> = std::str::from_utf8(bytes).unwrap_or_default().split('\n').collect();
    if lines.last().is_some_and(|l| l.is_empty()) {
        lines.pop();
    }
    lines
}

/// Exact where it matters; both ends are cut off first.
pub(super) fn diff<T: Ord + std::hash::Hash>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (o, n) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut ops = Vec::new();
    if head > 0 {
        ops.push(DiffOp::Equal {
            old_index: 0,
            new_index: 0,
            len: head,
        });
    }
    if o.len() > COMPARE || n.len() > COMPARE {
        ops.push(DiffOp::Replace {
            old_index: head,
            old_len: o.len(),
            new_index: head,
            new_len: n.len(),
        });
    } else {
        ops.extend(
            capture_diff_slices(Algorithm::Myers, o, n)
                .into_iter()
                .map(|op| shift(op, head)),
        );
    }
    if tail > 0 {
        ops.push(DiffOp::Equal {
            old_index: old.len() - tail,
            new_index: new.len() - tail,
            len: tail,
        });
    }
    ops
}

fn shift(op: DiffOp, by: usize) -> DiffOp {
    let (tag, old, new) = op.as_tag_tuple();
    let (old_index, new_index) = (old.start + by, new.start + by);
    match tag {
        similar::DiffTag::Equal => DiffOp::Equal {
            old_index,
            new_index,
            len: old.len(),
        },
        similar::DiffTag::Delete => DiffOp::Delete {
            old_index,
            old_len: old.len(),
            new_index,
        },
        similar::DiffTag::Insert => DiffOp::Insert {
            old_index,
            new_index,
            new_len: new.len(),
        },
        similar::DiffTag::Replace => DiffOp::Replace {
            old_index,
            old_len: old.len(),
            new_index,
            new_len: new.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn ops_cover_both_sides_in_order() {
        for (old, new) in [
            ("abcd", "abxcd"),
            ("", "ab"),
            ("ab", ""),
            ("abc", "xyz"),
            ("aab", "ab"),
            ("a", "a"),
        ] {
            let (o, n): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
            let ops = diff(&o, &n);
            let mut at = (0, 0);
            for op in &ops {
                assert_eq!((op.old_range().start, op.new_range().start), at, "{old} {new} {ops:?}");
                at = (op.old_range().end, op.new_range().end);
            }
            assert_eq!(at, (o.len(), n.len()));
        }
    }
}
