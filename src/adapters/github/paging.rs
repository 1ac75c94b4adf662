//! Lists over several pages: the `Link` header is followed, never built, within a bound, and never twice to the
//! same address.

use std::collections::BTreeSet;

use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::{edge::Edge, error::GitHubError};

/// What was read of a list.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    /// More pages exist than were asked for.
    pub(super) more: bool,
}

impl<T> Listed<T> {
    /// The items, for callers to whom a missing one would be a wrong answer.
    pub(super) fn whole(self, what: &str) -> Result<Vec<T>, GitHubError> {
        if self.more {
            Err(GitHubError::shape(
                what,
                "more pages than tick reads; not judged on a part",
            ))
        } else {
            Ok(self.items)
        }
    }
}

/// At most `pages` pages. `field` names the array inside an envelope; plain arrays have none.
pub(super) async fn list<T: DeserializeOwned>(
    edge: &Edge,
    first: Url,
    field: Option<&str>,
    pages: usize,
) -> Result<Listed<T>, GitHubError> {
    let mut seen = BTreeSet::new();
    let mut items = Vec::new();
    let mut next = Some(first);
    for _ in 0..pages {
        let Some(url) = next.take() else { break };
        if !seen.insert(url.to_string()) {
            return Err(GitHubError::shape(
                url.path(),
                "the pages of the list go round in a circle",
            ));
        }
        let reply = edge.get(&url).await?;
        let mut value: Value = reply.json(edge)?;
        let array = match field {
            Some(field) => value.get_mut(field).map(Value::take).unwrap_or_default(),
            None => value,
        };
        let page: Vec<T> = serde_json::from_value(array)
            .map_err(|e| GitHubError::shape(&reply.attempt, format!("the list is not as documented ({e})")))?;
        items.extend(page);
        next = next_page(&reply.headers, &url);
        if let Some(next) = next.as_ref().filter(|n| n.origin() != edge.api().origin()) {
            let host = edge.line(next.host_str().unwrap_or_default());
            return Err(GitHubError::shape(
                &reply.attempt,
                format!("the next page is on another host ({host})"),
            ));
        }
    }
    Ok(Listed {
        items,
        more: next.is_some(),
    })
}

/// The address with `rel="next"`.
fn next_page(headers: &HeaderMap, base: &Url) -> Option<Url> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    link.split(',').find_map(|part| {
        let (target, params) = part.split_once(';')?;
        let is_next = params
            .split(';')
            .any(|p| matches!(p.trim().split_once('='), Some(("rel", v)) if v.trim_matches('"') == "next"));
        let target = target.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_next.then(|| base.join(target).ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_next_page_is_read_from_the_link_header() {
        let base = Url::parse("https://api.example.invalid/repos/a/b/issues").unwrap();
        let check = |link: &'static str, expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::LINK, HeaderValue::from_static(link));
            assert_eq!(next_page(&headers, &base).as_ref().map(Url::as_str), expected);
        };
        check(
            r#"<https://api.example.invalid/repositories/1/issues?page=2>; rel="next", <https://api.example.invalid/x?page=9>; rel="last""#,
            Some("https://api.example.invalid/repositories/1/issues?page=2"),
        );
        check(r#"<https://api.example.invalid/x?page=1>; rel="prev""#, None);
        check("garbage", None);
        check("</y?page=2>; rel=next", Some("https://api.example.invalid/y?page=2"));
    }
}
