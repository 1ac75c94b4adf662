//! The request file of a declared collector: what is asked, with which placeholders, and how its answer is paged.
//! Pure: file text and values in, one checked request out.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use bytes::Bytes;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use http::{HeaderName, HeaderValue, Method, header};
use regex::Regex;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::{
    config::DeclaredUse,
    model::signal::{Severity, SignalKind},
    text::{json as strict, redact::holds_secret},
};

/// A brace that opens a JSON object is followed by a quote or a space.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{[A-Za-z][^{}\s]*\}").ok());

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    request: RequestSpec,
    #[serde(default)]
    pub(super) pages: Pages,
    /// A second call for each element of the list. The program is then run once for each, on `{item, detail}`.
    #[serde(default)]
    pub(super) detail: Option<Detail>,
    /// The program gets `{answer, values}` instead of the answer alone: it may depend on what the config says.
    #[serde(default)]
    with_values: bool,
    /// Values that hold where the config gives none.
    #[serde(default)]
    defaults: BTreeMap<String, String>,
    /// Seconds that an event takes to show at the source. What is younger is left to the next look, so that the times of
    /// two looks neither overlap nor leave a gap.
    #[serde(default)]
    settle_seconds: u32,
    /// How far the first look goes back.
    #[serde(default = "first_look_hours")]
    first_look_hours: u32,
    /// Counts are of the time from `{since}` to `{now}` alone; first and last sight are then cut to it.
    #[serde(default)]
    pub(super) windowed: bool,
    /// Largest page in KiB of decoded text.
    #[serde(default = "cap_kib")]
    pub(super) cap_kib: usize,
    #[serde(default = "timeout_seconds")]
    pub(super) timeout_seconds: u64,
    /// Of signals that do not say their own.
    pub(super) kind: SignalKind,
    pub(super) severity: Severity,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestSpec {
    #[serde(default)]
    method: Verb,
    url: String,
    #[serde(default)]
    query: BTreeMap<String, String>,
    /// Entries of the query that are others with `--deep`; null leaves one out.
    #[serde(default)]
    deep: BTreeMap<String, Option<String>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// For POST: a JSON document, whose texts may hold placeholders.
    #[serde(default)]
    body: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Detail {
    /// GET with the headers of the list. `{item:FIELD}` is a field of the element.
    url: String,
    #[serde(default)]
    query: BTreeMap<String, String>,
    /// Elements that are asked for in one look.
    pub(super) most: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
enum Verb {
    #[default]
    #[serde(rename = "GET")]
    Get,
    #[serde(rename = "POST")]
    Post,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pages {
    #[default]
    None,
    /// The `Link` header names the next page; its arrays are joined.
    Link,
}

fn cap_kib() -> usize {
    4096
}

fn first_look_hours() -> u32 {
    24
}

fn timeout_seconds() -> u64 {
    20
}

/// What one look asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) used: &'a DeclaredUse,
    pub(super) since: DateTime<Utc>,
    pub(super) until: DateTime<Utc>,
    pub(super) deep: bool,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Option<Bytes>,
}

impl Spec {
    /// JSON with comments; every mistake is named.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parsed = jsonc_parser::parse_to_ast(
            text,
            &jsonc_parser::CollectOptions::default(),
            &jsonc_parser::ParseOptions::default(),
        )
        .map_err(|error| format!("the request file is not JSON: {error}"))?;
        let value: serde_json::Value = parsed.value.map(Into::into).unwrap_or_default();
        let spec: Self = serde_json::from_value(value).map_err(|error| format!("the request file: {error}"))?;
        if spec.with_values && spec.detail.is_some() {
            return Err("the request file has both detail and with_values".to_owned());
        }
        if spec.request.body.is_some() && spec.request.method == Verb::Get {
            return Err("the request file has a body for a GET".to_owned());
        }
        let mut address = spec.address();
        if let Some((key, _)) = address.iter().find(|(_, text)| text.contains("{secret:")) {
            return Err(format!(
                "{key}: a secret cannot stand in the address, which is written to logs; use a header"
            ));
        }
        let headers = pairs(&spec.request.headers);
        address.extend(headers.map(|(name, text)| (format!("request.headers.{name}"), text)));
        let body = spec.request.body.as_ref().map(ToString::to_string).unwrap_or_default();
        address.push(("request.body".to_owned(), &body));
        if let Some((key, _)) = address.iter().find(|(key, text)| is_secret(key, text)) {
            return Err(format!(
                "{key} holds a secret as text, and this file may be shared: put the secret into .env, name its \
                 variable in the collector's `secrets`, and write {{secret:NAME}} here"
            ));
        }
        Ok(spec)
    }

    /// The key and text of each part of an address.
    fn address(&self) -> Vec<(String, &str)> {
        let request = &self.request;
        let deep = request.deep.iter();
        let deep = deep.filter_map(|(name, text)| Some((format!("request.deep.{name}"), text.as_deref()?)));
        let of = |place: &'static str| move |(name, text)| (format!("{place}.{name}"), text);
        let detail = self.detail.iter().flat_map(|detail| {
            let query = pairs(&detail.query).map(of("detail.query"));
            query.chain([("detail.url".to_owned(), detail.url.as_str())])
        });
        let parts = [("request.url".to_owned(), request.url.as_str())].into_iter();
        parts
            .chain(pairs(&request.query).map(of("request.query")))
            .chain(deep)
            .chain(detail)
            .collect()
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.clamp(1, 300))
    }

    pub(super) fn first_look(&self) -> TimeDelta {
        TimeDelta::hours(self.first_look_hours.into())
    }

    pub(super) fn settle(&self) -> TimeDelta {
        TimeDelta::seconds(self.settle_seconds.into())
    }

    /// What the program gets of an answer, which is JSON.
    pub(super) fn with_values(&self, answer: Vec<u8>, used: &DeclaredUse) -> Vec<u8> {
        if !self.with_values {
            return answer;
        }
        let mut values = self.defaults.clone();
        values.extend(used.values.clone());
        let mut both = format!("{{\"values\":{},\"answer\":", json!(values)).into_bytes();
        both.extend_from_slice(strict::without_mark(&answer));
        both.push(b'}');
        both
    }

    pub(super) fn prepare(&self, asked: &Asked<'_>) -> Result<Prepared, String> {
        let fill = self.fill(asked, None);
        let mut query: BTreeMap<&str, &str> = pairs(&self.request.query).collect();
        if asked.deep {
            for (name, template) in &self.request.deep {
                match template {
                    Some(template) => query.insert(name, template),
                    None => query.remove(name.as_str()),
                };
            }
        }
        let url = url(&fill, &self.request.url, query)?;
        let mut headers = vec![(header::ACCEPT, HeaderValue::from_static("application/json"))];
        for (name, template) in &self.request.headers {
            let Some(value) = fill.text(template, Escape::No)? else {
                continue;
            };
            let name: HeaderName = name.parse().map_err(|_| format!("{name:?} is not a header name"))?;
            let mut line = HeaderValue::from_str(&value.text)
                .map_err(|_| format!("the value of header {name} has a control character"))?;
            line.set_sensitive(value.secret);
            headers.push((name, line));
        }
        let body = match &self.request.body {
            None => None,
            Some(body) => {
                headers.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
                Some(Bytes::from(fill.json(body)?.to_string()))
            }
        };
        Ok(Prepared {
            method: match self.request.method {
                Verb::Get => Method::GET,
                Verb::Post => Method::POST,
            },
            url,
            headers,
            body,
        })
    }

    /// The second call, about one element of the list.
    pub(super) fn prepare_detail(
        &self,
        detail: &Detail,
        asked: &Asked<'_>,
        list: &Prepared,
        item: &serde_json::Value,
    ) -> Result<Prepared, String> {
        let url = url(&self.fill(asked, Some(item)), &detail.url, pairs(&detail.query))?;
        if url.origin() != list.url.origin() {
            return Err("the second call goes to another host than the first".to_owned());
        }
        Ok(Prepared {
            method: Method::GET,
            url,
            headers: list.headers.clone(),
            body: None,
        })
    }

    fn fill<'a>(&'a self, asked: &Asked<'a>, item: Option<&'a serde_json::Value>) -> Fill<'a> {
        Fill {
            asked: *asked,
            defaults: &self.defaults,
            item,
        }
    }
}

fn pairs(map: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    map.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Whether the text is a secret itself, by its format or by the name of its place. A placeholder is none.
fn is_secret(key: &str, text: &str) -> bool {
    let name = key.rsplit('.').next().unwrap_or(key);
    let plain = PLACEHOLDER.as_ref().map(|pattern| pattern.replace_all(text, ""));
    plain.is_some_and(|plain| holds_secret(&plain) || holds_secret(&json!({ name: plain }).to_string()))
}

/// A placeholder at the very start is a base address of the owner's; any other one is a piece of a path.
fn url<'t>(
    fill: &Fill<'_>,
    template: &str,
    query: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Url, String> {
    let (base, rest) = match template.strip_prefix('{').and_then(|t| t.split_once('}')) {
        Some((name, rest)) => (fill.value(name)?.to_owned(), rest),
        None => (String::new(), template),
    };
    let rest = fill
        .text(rest, Escape::Path)?
        .filter(|filled| !filled.secret)
        .ok_or("a secret cannot stand in the address; use a header")?;
    let text = format!("{}{}", base.trim_end_matches('/'), rest.text);
    let mut url = Url::parse(&text).map_err(|error| format!("the address is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("the address is neither http nor https".to_owned());
    }
    for (name, template) in query {
        if let Some(value) = fill.text(template, Escape::No)?.filter(|filled| !filled.secret) {
            url.query_pairs_mut().append_pair(name, &value.text);
        }
    }
    Ok(url)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    Path,
}

struct Filled {
    text: String,
    secret: bool,
}

/// Values of the placeholders: `{name}`, `{secret:name}`, `{item:field}`, `{since}`, `{now}`; a `?` at the end makes one
/// optional.
struct Fill<'a> {
    asked: Asked<'a>,
    defaults: &'a BTreeMap<String, String>,
    item: Option<&'a serde_json::Value>,
}

impl Fill<'_> {
    fn value(&self, name: &str) -> Result<&str, String> {
        let given = self.asked.used.values.get(name);
        given
            .or_else(|| self.defaults.get(name))
            .map(String::as_str)
            .ok_or_else(|| format!("the config gives no value for {name:?}; add it under \"values\""))
    }

    fn secret(&self, name: &str) -> Option<&SecretString> {
        self.asked.used.secrets.get(name)
    }

    fn field(&self, name: &str) -> Result<String, String> {
        use serde_json::Value;
        match self.item.and_then(|item| item.get(name)) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(_) | None => Err(format!("an element of the list has no {name:?}")),
        }
    }

    /// None when an optional placeholder has no value: then the whole entry is left out.
    fn text(&self, template: &str, escape: Escape) -> Result<Option<Filled>, String> {
        let mut filled = Filled {
            text: String::new(),
            secret: false,
        };
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| format!("a placeholder in {template:?} has no end"))?;
            let (name, optional) = match name.strip_suffix('?') {
                Some(name) => (name, true),
                None => (name, false),
            };
            filled.text.push_str(before);
            rest = after;
            let found = match name.split_once(':') {
                Some(("secret", secret)) => {
                    filled.secret = true;
                    self.secret(secret)
                        .map(|value| value.expose_secret().to_owned())
                        .ok_or_else(|| {
                            format!("the config gives no secret for {secret:?}; name its variable under \"secrets\"")
                        })
                }
                Some(("item", field)) => self.field(field),
                _ if name == "since" => Ok(rfc3339(self.asked.since)),
                _ if name == "now" => Ok(rfc3339(self.asked.until)),
                _ => self.value(name).map(str::to_owned),
            };
            match found {
                Ok(value) if escape == Escape::Path => filled.text.push_str(&path_piece(&value)),
                Ok(value) => filled.text.push_str(&value),
                Err(_) if optional => return Ok(None),
                Err(why) => return Err(why),
            }
        }
        filled.text.push_str(rest);
        Ok(Some(filled))
    }

    fn json(&self, value: &serde_json::Value) -> Result<serde_json::Value, String> {
        use serde_json::Value;
        Ok(match value {
            Value::String(template) => match self.text(template, Escape::No)? {
                Some(filled) => Value::String(filled.text),
                None => Value::Null,
            },
            Value::Array(items) => Value::Array(items.iter().map(|item| self.json(item)).collect::<Result<_, _>>()?),
            Value::Object(fields) => {
                let filled = fields.iter().map(|(key, item)| Ok((key.clone(), self.json(item)?)));
                Value::Object(filled.collect::<Result<_, String>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }
}

fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// One piece of a path: nothing in it can start another piece, a query or a fragment.
fn path_piece(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
    let dots = value.bytes().all(|byte| byte == b'.');
    value
        .bytes()
        .map(|byte| {
            if plain(byte) || (byte == b'.' && !dots) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "declared_spec_tests.rs"]
mod tests;
