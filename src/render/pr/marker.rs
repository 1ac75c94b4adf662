//! The hidden first line of our pull requests. It identifies them, and nothing is decided by it alone.

use std::fmt;

use crate::model::{IncidentId, Sha};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    pub incident: IncidentId,
    /// The head that the body speaks of.
    pub head: Sha,
    /// The merge that this pull request takes back.
    pub reverts: Option<Sha>,
}

impl Marker {
    pub fn fix(incident: &IncidentId, head: &Sha) -> Self {
        Self {
            incident: incident.clone(),
            head: head.clone(),
            reverts: None,
        }
    }

    pub fn revert(incident: &IncidentId, head: &Sha, merge: &Sha) -> Self {
        Self {
            reverts: Some(merge.clone()),
            ..Self::fix(incident, head)
        }
    }

    /// From a body; only its first line counts, so that a quotation is no marker.
    pub fn find(body: &str) -> Option<Self> {
        let line = body.lines().next()?.trim_end();
        let inner = line.strip_prefix("<!-- tick:")?.strip_suffix(" -->")?;
        let (mut incident, mut head, mut reverts) = (None, None, None);
        for field in inner.split(' ') {
            match field.split_once('=')? {
                ("incident", v) => incident = Some(IncidentId::parse(v).ok()?),
                ("head", v) => head = Some(Sha::parse(v).ok()?),
                ("reverts", v) => reverts = Some(Sha::parse(v).ok()?),
                _ => return None,
            }
        }
        Some(Self {
            incident: incident?,
            head: head?,
            reverts,
        })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<!-- tick:incident={} head={}", self.incident, self.head)?;
        if let Some(merge) = &self.reverts {
            write!(f, " reverts={merge}")?;
        }
        f.write_str(" -->")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_found_again_on_the_first_line_only() {
        let incident = IncidentId::parse("7f3a91c07f3a91c0-2").unwrap();
        let sha = Sha::parse(&"a".repeat(40)).unwrap();
        for marker in [Marker::fix(&incident, &sha), Marker::revert(&incident, &sha, &sha)] {
            let body = format!("{marker}\r\n\r\ntext");
            assert_eq!(Marker::find(&body), Some(marker.clone()));
            assert_eq!(Marker::find(&format!("> {body}")), None);
            assert_eq!(Marker::find(&format!("x\n{body}")), None);
        }
        assert_eq!(Marker::find("<!-- tick:incident=../../x head=1 -->"), None);
        assert_eq!(Marker::find(""), None);
    }
}
