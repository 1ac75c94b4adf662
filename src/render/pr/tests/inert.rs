//! Whatever text from outside says: no image, no link, no mention, no closing word, no markup.

use std::sync::LazyLock;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;

/// Every text that can come from outside, or from an agent, is this one.
pub(super) fn filled(text: &str) -> Parts {
    let mut p = parts();
    let text = || text.to_owned();
    p.culprit = Culprit {
        file: text(),
        line: Some(1),
        function: Some(text()),
    };
    (p.error, p.place, p.author, p.why) = (text(), text(), text(), text());
    p.samples = vec![raw(&text()), raw(&text())];
    p.said = raw(&text());
    p.change.paths = vec![text(), text()];
    (p.finding.path, p.finding.rule, p.finding.why) = (text(), text(), text());
    (p.finding.was, p.finding.is) = (text(), text());
    p.change.findings = vec![p.finding.clone()];
    (p.proof.red, p.proof.sandbox) = (text(), text());
    p.proof.witness_ids = vec![text()];
    p.proof.commands = vec![text()];
    p.proof.not_proven = vec![text()];
    (p.audit.agent, p.audit.reasons) = (text(), vec![text()]);
    p.asks = vec![text()];
    p.ignored = vec![text()];
    p
}

/// What a reader's browser would make of the page. Fails on anything alive that we did not put there.
fn assert_inert(body: &str) {
    let ours_html = ["<details>", "<summary>", "</summary>", "</details>", "<!-- tick:"];
    let mut in_code = false;
    for event in Parser::new_ext(
        body,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM,
    ) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("a live link or image in:\n{body}"),
            Event::Html(html) | Event::InlineHtml(html) => {
                assert!(
                    ours_html.iter().any(|o| html.trim_start().starts_with(o)),
                    "foreign HTML {html:?} in:\n{body}"
                );
                assert_quiet(&html, body);
            }
            Event::Text(text) if !in_code => assert_quiet(&text, body),
            _ => {}
        }
    }
}

static REFERENCE: LazyLock<regex::Regex> = LazyLock::new(|| regex::Regex::new(r"#\d|\bgh-\d").unwrap());

/// Plain text in which a host finds nothing to link.
fn assert_quiet(text: &str, body: &str) {
    let low = text.to_ascii_lowercase();
    let alive = low.contains('@')
        || low.contains("://")
        || low.contains("www.")
        || low.contains("[skip")
        || REFERENCE.is_match(&low);
    assert!(!alive, "{text:?} is alive in:\n{body}");
}

/// Title and body in which every text from outside is this one.
pub(crate) fn page(text: &str, readers: Readers) -> (String, String) {
    with(&filled(text), readers, MERGES, true, |w| (pr_title(w), pr_body(w)))
}

/// A page for readers, whose samples, place and words of people and agents hold production's text, but not its template.
pub(crate) fn page_of_production(text: &str, readers: Readers) -> (String, String) {
    let mut p = parts();
    p.samples = vec![raw(text)];
    (p.place, p.error, p.proof.red) = (text.to_owned(), text.to_owned(), text.to_owned());
    p.said = raw(text);
    p.audit.reasons = vec![text.to_owned()];
    with(&p, readers, MERGES, true, |w| (pr_title(w), pr_body(w)))
}

pub(crate) fn assert_all_inert(text: &str) {
    let p = filled(text);
    for readers in [Readers::Team, Readers::Strangers] {
        for (next, proven) in [(MERGES, true), (Next::Draft, true), (ASKS, true), (ASKS, false)] {
            let (title, body) = with(&p, readers, next, proven, |w| (pr_title(w), pr_body(w)));
            assert_inert(&body);
            assert_quiet(&title, &title);
            assert!(!title.contains(['\n', '[', '<', '`', '!']), "{title:?}");
            let marker = Marker::find(&body).unwrap();
            assert_eq!((marker.incident, marker.head), (p.incident.clone(), p.head.clone()));
        }
    }
}

#[test]
fn known_tricks_stay_inert() {
    for text in [
        "![x](https://example.invalid/p.png?d=1)",
        "Fixes #1, closes #2, resolves example/repo#3",
        "closes GH-1",
        "GH-1",
        "@everyone @octocat/admins",
        "<!-- hidden --> <img src=x onerror=y>",
        "```\n~~~\n# Task\n[a](https://example.invalid)",
        "\n</details>\n\n[a](https://example.invalid)\n",
        "a | b |\n|---|---|\n| [x](https://example.invalid) |",
        "www.example.invalid",
        "https://example.invalid/login",
        "[skip ci] x\n\nCo-authored-by: admin <admin@example.invalid>",
        "`` ` ``` `@octocat` ",
        "\\`@octocat\\`",
        "    indented @octocat",
        "-->\n@octocat",
        "[x]: https://example.invalid\n[x]",
        "&#64;octocat &lt;img&gt;",
        "",
        "`",
        "x\r@octocat",
        "\u{202e}@octocat\u{2028}# head",
    ] {
        assert_all_inert(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_text_stays_inert(pieces in prop::collection::vec(prop_oneof![
        Just("`".to_owned()), Just("```".to_owned()), Just("~~~".to_owned()), Just("\n".to_owned()), Just("\n\n".to_owned()),
        Just("\r\n".to_owned()), Just("|".to_owned()), Just("@octocat".to_owned()), Just("#12".to_owned()),
        Just("fixes GH-3".to_owned()), Just("<b>".to_owned()), Just("</details>".to_owned()), Just("<!--".to_owned()),
        Just("-->".to_owned()), Just("![a](https://example.invalid)".to_owned()), Just("[a](b)".to_owned()),
        Just("www.example.invalid".to_owned()), Just("https://example.invalid".to_owned()), Just("\\".to_owned()),
        Just(" ".to_owned()), Just("    ".to_owned()), Just("> ".to_owned()), Just("- ".to_owned()), Just("&#64;a".to_owned()),
        "\\PC{0,12}",
    ], 0..12)) {
        assert_all_inert(&pieces.concat());
    }
}
