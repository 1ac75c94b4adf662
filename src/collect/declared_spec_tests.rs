use super::*;

const SPEC: &str = r#"{ // comment
    "request": { "url": "{url}/api/{project}/issues", "query": {"since": "{since}", "env": "{env?}"},
                 "headers": {"Authorization": "Bearer {secret:token?}"} },
    "pages": "link", "kind": "exception", "severity": "error" }"#;

fn used(values: &[(&str, &str)], secrets: &[(&str, &str)]) -> DeclaredUse {
    let own = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
    DeclaredUse {
        collector: "x".to_owned(),
        every: None,
        expect_every: None,
        values: values.iter().map(own).collect(),
        secrets: secrets.iter().map(|(k, v)| ((*k).to_owned(), (*v).into())).collect(),
    }
}

fn prepare(spec: &str, used: &DeclaredUse) -> Result<Prepared, String> {
    let at = "2026-11-29T03:00:00Z".parse().unwrap();
    let asked = Asked {
        used,
        since: at,
        until: at,
        deep: false,
    };
    Spec::parse(spec)?.prepare(&asked)
}

#[test]
fn placeholders_are_filled_where_they_stand() {
    let values = [("url", "https://x.example/base/"), ("project", "a/../b?c")];
    let ready = prepare(SPEC, &used(&values, &[("token", "fake-not-real")])).unwrap();
    assert_eq!(
        ready.url.as_str(),
        "https://x.example/base/api/a%2F..%2Fb%3Fc/issues?since=2026-11-29T03%3A00%3A00.000Z"
    );
    let (_, token) = &ready.headers[1];
    assert!(token.is_sensitive());
    assert_eq!(token.to_str().unwrap(), "Bearer fake-not-real");
    // Without the optional secret the header is left out.
    assert_eq!(prepare(SPEC, &used(&values, &[])).unwrap().headers.len(), 1);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let check = |spec: &str, used: &DeclaredUse, part: &str| {
        let why = prepare(spec, used).unwrap_err();
        assert!(why.contains(part), "{why}");
    };
    let url = used(&[("url", "https://x.example"), ("project", "p")], &[]);
    check(SPEC, &used(&[("url", "https://x.example")], &[]), "project");
    check(SPEC, &used(&[], &[]), "url");
    check(
        SPEC,
        &used(&[("url", "file:///etc"), ("project", "p")], &[]),
        "neither http nor https",
    );
    check("{", &url, "not JSON");
    check(r#"{"request":{"url":"{url}"},"kind":"alert"}"#, &url, "severity");
    check(
        r#"{"request":{"url":"{url}","verb":"GET"},"kind":"alert","severity":"error"}"#,
        &url,
        "verb",
    );
    check(
        r#"{"request":{"url":"{url}/{secret:k}"},"kind":"alert","severity":"error"}"#,
        &used(&[("url", "https://x.example")], &[("k", "v")]),
        "secret",
    );
    for (part, key) in [
        (
            r#""request":{"url":"{url}","query":{"key":"{secret:k}"}}"#,
            "request.query.key",
        ),
        (
            r#""request":{"url":"{url}","query":{"q":"a {secret:k?} b"}}"#,
            "request.query.q",
        ),
        (
            r#""request":{"url":"{url}","deep":{"key":"{secret:k}"}}"#,
            "request.deep.key",
        ),
        (
            r#""request":{"url":"{url}"},"detail":{"url":"{url}/1","query":{"key":"{secret:k}"},"most":1}"#,
            "detail.query.key",
        ),
        (
            r#""request":{"url":"{url}"},"detail":{"url":"{url}/{secret:k}","most":1}"#,
            "detail.url",
        ),
    ] {
        let used = used(&[("url", "https://x.example")], &[("k", "v")]);
        check(&format!(r#"{{{part},"kind":"alert","severity":"error"}}"#), &used, key);
    }
    for (part, key) in [
        (
            r#""headers":{"Authorization":"Bearer fake-0123456789abcdef"}"#,
            "request.headers.Authorization holds a secret",
        ),
        (
            r#""headers":{"X-Api-Key":"fake0123456789"}"#,
            "request.headers.X-Api-Key",
        ),
        (r#""query":{"api_key":"fake0123456789"}"#, "request.query.api_key"),
        (
            r#""method":"POST","body":{"password":"fake-0123456789"}"#,
            "request.body holds a secret",
        ),
    ] {
        let text = format!(r#"{{"request":{{"url":"{{url}}",{part}}},"kind":"alert","severity":"error"}}"#);
        check(&text, &url, key);
    }
    check(
        r#"{"request":{"url":"{url}","body":{}},"kind":"alert","severity":"error"}"#,
        &url,
        "body",
    );
    check(
        r#"{"request":{"url":"{url}","headers":{"X-A":"{project}\n"}},"kind":"alert","severity":"error"}"#,
        &url,
        "control",
    );
}

#[test]
fn a_body_takes_placeholders_in_its_texts_only() {
    let spec = r#"{"request":{"method":"POST","url":"{url}","body":{"q":["{project}"],"n":1}},"kind":"alert","severity":"info"}"#;
    let ready = prepare(spec, &used(&[("url", "https://x.example"), ("project", "a\"b")], &[])).unwrap();
    assert_eq!(&ready.body.unwrap()[..], br#"{"n":1,"q":["a\"b"]}"#);
}

#[test]
fn a_deep_look_asks_for_more_and_the_second_call_is_about_one_element() {
    let shipped = Spec::parse(include_str!("../../collectors/sentry.json")).unwrap();
    let used = used(
        &[("org", "acme"), ("environment", "production")],
        &[("token", "fake-not-real")],
    );
    let at = "2026-11-29T03:00:00Z".parse().unwrap();
    let asked = |deep| Asked {
        used: &used,
        since: at,
        until: at,
        deep,
    };
    let query = |deep| -> BTreeMap<String, String> {
        let url = shipped.prepare(&asked(deep)).unwrap().url;
        url.query_pairs().into_owned().collect()
    };
    let (shallow, deep) = (query(false), query(true));
    assert_eq!(shallow["query"], "is:unresolved level:[error,fatal]");
    assert_eq!(shallow["environment"], "production");
    assert_eq!(deep["query"], "is:unresolved");
    assert!(!deep.contains_key("environment") && !shallow.contains_key("project"));

    let (list, detail) = (
        shipped.prepare(&asked(false)).unwrap(),
        shipped.detail.as_ref().unwrap(),
    );
    let call = |item| shipped.prepare_detail(detail, &asked(false), &list, &item);
    let second = call(serde_json::json!({"id": "../7"})).unwrap();
    assert_eq!(
        second.url.as_str(),
        "https://sentry.io/api/0/organizations/acme/issues/..%2F7/events/latest/"
    );
    assert!(second.headers.iter().any(|(_, value)| value.is_sensitive()));
    assert!(call(serde_json::json!({"id": null})).unwrap_err().contains("id"));
}
