//! What changed in production and around it, kept for as long as snapshots are: each change once, however many looks
//! saw it.

use chrono::{DateTime, Utc};
use rusqlite::Transaction;

use super::{Result, Store, TxError, parse_time, row_error, time};
use crate::model::{
    Sha, Slot,
    signal::{Change, ChangeKind},
};

/// Changes of one repo that are read back at most; the newest count.
const MOST: u32 = 200;

impl Store {
    /// Changes of a repo from `since` to `until`, newest first.
    pub fn changes(&self, repo: &Slot, since: DateTime<Utc>, until: DateTime<Utc>) -> Result<Vec<Change>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT at, target, source, kind, key, what, sha, url FROM change
                 WHERE repo = ?1 AND at >= ?2 AND at <= ?3 ORDER BY at DESC, key LIMIT ?4",
            )?;
            let mut rows = statement.query((repo.as_str(), time(since), time(until), MOST))?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                let kind: String = row.get(3)?;
                let sha: Option<String> = row.get(6)?;
                out.push(Change {
                    at: parse_time(&row.get::<_, String>(0)?)?,
                    repo: repo.clone(),
                    target: row.get(1)?,
                    source: row.get(2)?,
                    kind: parse_kind(&kind)?,
                    key: row.get(4)?,
                    what: row.get(5)?,
                    sha: sha.and_then(|sha| Sha::parse(&sha).ok()),
                    url: row.get(7)?,
                });
            }
            Ok(out)
        })
    }
}

pub(super) fn put_change(tx: &Transaction<'_>, change: &Change) -> Result<(), TxError> {
    tx.prepare_cached(
        "INSERT INTO change (repo, target, source, kind, key, at, what, sha, url)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT DO UPDATE SET what = excluded.what, sha = excluded.sha, url = excluded.url
         WHERE what IS NOT excluded.what OR sha IS NOT excluded.sha OR url IS NOT excluded.url",
    )?
    .execute((
        change.repo.as_str(),
        &change.target,
        &change.source,
        kind_word(change.kind),
        &change.key,
        time(change.at),
        &change.what,
        change.sha.as_ref().map(Sha::as_str),
        &change.url,
    ))?;
    Ok(())
}

pub(super) fn forget_changes(tx: &Transaction<'_>, before: DateTime<Utc>) -> Result<(), TxError> {
    tx.execute("DELETE FROM change WHERE at < ?1", [time(before)])?;
    Ok(())
}

pub(super) fn kind_word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Deployment => "deployment",
        ChangeKind::Merge => "merge",
        ChangeKind::Variable => "variable",
        ChangeKind::Expiry => "expiry",
        ChangeKind::Provider => "provider",
    }
}

pub(super) fn parse_kind(word: &str) -> Result<ChangeKind, TxError> {
    let all = [
        ChangeKind::Deployment,
        ChangeKind::Merge,
        ChangeKind::Variable,
        ChangeKind::Expiry,
        ChangeKind::Provider,
    ];
    all.into_iter()
        .find(|kind| kind_word(*kind) == word)
        .ok_or_else(|| row_error("change", &format!("{word:?} is no kind of change")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        TickEnd,
        testing::{at, lock, quiet, store},
    };

    fn change(minute: i64, key: &str, what: &str) -> Change {
        Change {
            at: at(minute),
            repo: Slot::parse("api").unwrap(),
            target: "api".to_owned(),
            source: "vercel".to_owned(),
            kind: ChangeKind::Deployment,
            key: key.to_owned(),
            what: what.to_owned(),
            sha: Sha::parse("0123456789abcdef0123456789abcdef01234567").ok(),
            url: None,
        }
    }

    fn tick(store: &mut Store, changes: &[Change]) {
        let lock = lock(store);
        let id = store.next_tick(at(0)).unwrap();
        let end = TickEnd {
            changes,
            ..quiet(&id, 0)
        };
        store.end_tick(&lock, &end).unwrap();
    }

    #[test]
    fn a_change_is_kept_once_with_its_last_words() {
        let (_dir, mut store) = store();
        let api = Slot::parse("api").unwrap();
        tick(&mut store, &[change(1, "a", "building"), change(2, "b", "live")]);
        tick(&mut store, &[change(1, "a", "live")]);
        let read = store.changes(&api, at(0), at(60)).unwrap();
        assert_eq!(read, [change(2, "b", "live"), change(1, "a", "live")]);
        assert_eq!(store.changes(&api, at(2), at(60)).unwrap().len(), 1);
        assert_eq!(store.changes(&Slot::parse("web").unwrap(), at(0), at(60)).unwrap(), []);
    }

    #[test]
    fn old_changes_are_forgotten() {
        let (_dir, mut store) = store();
        tick(&mut store, &[change(1, "a", "live"), change(5, "b", "live")]);
        let lock = lock(&store);
        store.housekept(&lock, "housekept", at(9), at(3)).unwrap();
        let left = store.changes(&Slot::parse("api").unwrap(), at(0), at(60)).unwrap();
        assert_eq!(left, [change(5, "b", "live")]);
    }
}
