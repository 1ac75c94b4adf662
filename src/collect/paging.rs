//! From page to page of a list. A list that comes back to where it was, or leads to another host, was not read: what
//! stands on it is not known. Pure.

use sha2::{Digest, Sha256};
use url::Url;

use super::context::Blind;

/// The way through one list.
pub(super) struct Walk {
    next: Option<Url>,
    /// Where it was, and what stood there.
    been: Vec<(Url, [u8; 32])>,
    at: Option<Url>,
}

impl Walk {
    pub(super) fn new(first: Url) -> Self {
        Self {
            next: Some(first),
            been: Vec::new(),
            at: None,
        }
    }

    /// The page to read now, if there is one.
    pub(super) fn next(&mut self) -> Option<Url> {
        self.at = self.next.take();
        self.at.clone()
    }

    /// What stands on the page that was read, and which one follows.
    pub(super) fn step(&mut self, body: &[u8], next: Option<Url>) -> Result<(), Blind> {
        let Some(at) = self.at.take() else { return Ok(()) };
        let digest: [u8; 32] = Sha256::digest(body).into();
        let again = self.been.iter().any(|(_, was)| *was == digest);
        if again && next.is_some() {
            return Err(Blind::new("pages", "a page of the list came a second time"));
        }
        self.been.push((at, digest));
        if let Some(to) = &next {
            let origin = self.been[0].0.origin();
            if to.origin() != origin {
                let why = format!(
                    "the next page is at {}, which is not the host of the first",
                    to.authority()
                );
                return Err(Blind::new("pages", why));
            }
            if self.been.iter().any(|(was, _)| was == to) {
                return Err(Blind::new(
                    "pages",
                    "the list leads back to a page that was read already",
                ));
            }
        }
        self.next = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pages: &[(&str, &str, Option<&str>)], expected: &str) {
        let url = |text: &str| Url::parse(&format!("https://{text}")).unwrap();
        let mut walk = Walk::new(url(pages[0].0));
        let mut read = 0;
        for (at, body, next) in pages {
            assert_eq!(walk.next(), Some(url(at)));
            read += 1;
            if let Err(blind) = walk.step(body.as_bytes(), next.map(url)) {
                assert!(
                    !expected.is_empty() && blind.detail.contains(expected),
                    "{}",
                    blind.detail
                );
                return;
            }
        }
        assert_eq!((expected, walk.next(), read), ("", None, pages.len()));
    }

    #[test]
    fn a_list_ends_or_goes_on_to_what_was_not_read() {
        check(&[("a/1", "x", Some("a/2")), ("a/2", "y", None)], "");
        // The last two may be empty, and so alike.
        check(&[("a/1", "[]", Some("a/2")), ("a/2", "[]", None)], "");
        check(&[("a/1", "x", Some("a/1"))], "leads back");
        check(&[("a/1", "x", Some("a/2")), ("a/2", "y", Some("a/1"))], "leads back");
        check(&[("a/1", "x", Some("a/2")), ("a/2", "x", Some("a/3"))], "a second time");
        check(&[("a/1", "x", Some("b/2"))], "not the host");
    }
}
