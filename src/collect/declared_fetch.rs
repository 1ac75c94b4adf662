//! The calls of a declared collector: the pages of its list, and the second call about each element of it.

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::{
    context::{Blind, Session},
    declared_spec::{Asked, Detail, Pages, Prepared, Spec},
    github::next_link,
    paging::Walk,
    probe::check_json,
};
use crate::{
    adapters::http::{Redirects, Request, Response, RetryPolicy},
    text::json as strict,
};

const MOST_PAGES: usize = 20;
/// Second calls that one source gets at once; most services limit how many a caller may have open.
const AT_ONCE: usize = 6;
/// What a second call can meet that the next one meets too.
const FOR_ALL: [&str; 3] = ["http-401", "http-403", "http-429"];

/// The list of a look.
pub(super) struct List<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) spec: &'a Spec,
    pub(super) asked: Asked<'a>,
    pub(super) prepared: Prepared,
}

impl List<'_> {
    /// The body, with the arrays of all pages joined.
    pub(super) async fn read(&self) -> Result<Vec<u8>, Blind> {
        let mut walk = Walk::new(self.prepared.url.clone());
        let mut all = Vec::new();
        for n in 0..MOST_PAGES {
            let Some(url) = walk.next() else { break };
            let page = Prepared {
                url,
                ..self.prepared.clone()
            };
            let response = self.call(&page).await?;
            let next = self.follow(&response);
            if n == 0 && next.is_none() {
                return Ok(response.body.to_vec());
            }
            all.extend(elements(&response.body)?);
            walk.step(&response.body, next)?;
        }
        if walk.next().is_some() {
            let why = format!("the list has more than {MOST_PAGES} pages");
            return Err(Blind::new("pages", why));
        }
        Ok(Value::Array(all).to_string().into_bytes())
    }

    /// Runs `judge` on `{item, detail}` of each element of the list, in its order, and gives what came out and what could
    /// not be read. `detail` is null where the source keeps nothing more of an element; and of one whose detail cannot be
    /// read, which is said, while the source reads others.
    pub(super) async fn each<T>(
        &self,
        body: &[u8],
        detail: &Detail,
        judge: impl AsyncFn(Vec<u8>) -> Result<T, Blind>,
    ) -> Result<(Vec<T>, Vec<Blind>), Blind> {
        let items = elements(body)?;
        let with = async |item: &Value, detail: Value| {
            let both = json!({ "item": item, "detail": detail });
            judge(both.to_string().into_bytes()).await
        };
        let (mut read, mut missed) = (Vec::new(), Vec::new());
        let mut unread = Vec::new();
        let calls = items.iter().take(detail.most).map(async |item| {
            let detail = self.detail(detail, item).await?;
            with(item, detail).await
        });
        let mut results = stream::iter(calls).buffered(AT_ONCE).enumerate();
        while let Some((n, result)) = results.next().await {
            match result {
                Ok(one) => read.push((n, one)),
                Err(blind) if FOR_ALL.contains(&blind.cause.as_str()) => return Err(blind),
                Err(blind) => unread.push((n, blind)),
            }
        }
        // Where none of several can be read, the source itself has a problem, and the next look reads all of them.
        let listed = !read.is_empty() || unread.len() == 1;
        for (n, blind) in unread {
            if listed && let Ok(one) = with(&items[n], Value::Null).await {
                read.push((n, one));
            }
            missed.push(blind);
        }
        read.sort_by_key(|(n, _)| *n);
        if items.len() > detail.most {
            let why = format!("{} entries, of which {} are read", items.len(), detail.most);
            missed.push(Blind::new("too-many", why));
        }
        Ok((read.into_iter().map(|(_, one)| one).collect(), missed))
    }

    async fn detail(&self, detail: &Detail, item: &Value) -> Result<Value, Blind> {
        let call = self
            .spec
            .prepare_detail(detail, &self.asked, &self.prepared, item)
            .map_err(|why| Blind::new("shape", why))?;
        match self.call(&call).await {
            Ok(response) => parsed(&response.body),
            Err(blind) if blind.cause == "http-404" => Ok(Value::Null),
            Err(blind) => Err(blind),
        }
    }

    fn follow(&self, response: &Response) -> Option<url::Url> {
        let link = response.header("link").filter(|_| self.spec.pages == Pages::Link);
        link.and_then(next_link)
    }

    async fn call(&self, call: &Prepared) -> Result<Response, Blind> {
        let request = Request {
            method: call.method.clone(),
            url: &call.url,
            headers: call.headers.clone(),
            body: call.body.clone(),
            deadline: self.spec.timeout(),
            cap: self.spec.cap_kib.saturating_mul(1024),
            redirects: Redirects::SameOrigin,
            retry: RetryPolicy::from_config(&self.session.ctx.config.retry),
        };
        let _permit = self.session.permit().await;
        let response = self
            .session
            .ctx
            .http
            .send(request)
            .await
            .map_err(|error| Blind::new(error.cause(), error.to_string()))?;
        let code = response.status.as_u16();
        if !response.status.is_success() {
            let advice = match code {
                401 | 403 => ": check the collector's secret in the config",
                429 => ": the service limits our calls",
                _ => "",
            };
            return Err(Blind::new(
                format!("http-{code}"),
                format!("{} {}: HTTP {code}{advice}", call.method, call.url.path()),
            ));
        }
        check_json(&response)?;
        Ok(response)
    }
}

fn elements(body: &[u8]) -> Result<Vec<Value>, Blind> {
    match parsed(body)? {
        Value::Array(items) => Ok(items),
        _ => Err(Blind::new("shape", "a page of the list is not an array")),
    }
}

fn parsed(body: &[u8]) -> Result<Value, Blind> {
    strict::parse(body).map_err(|fault| Blind::new(fault.cause(), fault.to_string()))
}
