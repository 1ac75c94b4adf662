//! Untrusted text in places that interpret text: Markdown lines, commit messages, mail headers, consoles of CI
//! hosts. Each function gives one bounded line that is only text there; none of them redacts.

use super::Untrusted;

/// A Markdown code span that renders as text only: no link, image, mention, HTML, issue reference or CI marker.
pub fn markdown_line(text: &Untrusted, max: usize) -> String {
    let line = break_references(&break_ci_markers(&one_line(text.analyse(), max)));
    if line.is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_run(&line, '`') + 1);
    // A span may neither start nor end with a tick of its own.
    let pad = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{line}{pad}{ticks}")
}

/// Plain text for a commit message or a title: mentions, references and CI markers are broken visibly.
pub fn commit_line(text: &Untrusted, max: usize) -> String {
    let line = break_references(&break_ci_markers(&one_line(text.analyse(), max)));
    line.replace('@', "(at)").replace("://", ": //")
}

/// One header value: no line break of any kind, at most `max` bytes.
pub fn header_value(text: &Untrusted, max: usize) -> String {
    let line = one_line(text.analyse(), usize::MAX);
    line[..line.floor_char_boundary(max)].trim_end().to_owned()
}

/// One line for a terminal or a CI console, where it never is a workflow command.
pub fn console_line(text: &Untrusted, max: usize) -> String {
    console_inert(&one_line(text.analyse(), max))
}

/// A line that no CI host takes for a command of its own.
pub(super) fn console_inert(line: &str) -> String {
    let line = line.replace("##[", "# #[").replace("##vso[", "# #vso[");
    let start = line.len() - line.trim_start().len();
    if line[start..].starts_with("::") {
        format!("{}: {}", &line[..start], &line[start + 1..])
    } else {
        line
    }
}

/// Line breaks become one space each, the length is bounded in characters.
fn one_line(text: &str, max: usize) -> String {
    super::short(
        &super::clean(text).trim().replace(['\n', '\t'], " "),
        max.saturating_add(1),
    )
}

/// Markers by which a CI host skips its checks, in any place of a message.
pub(super) fn break_ci_markers(text: &str) -> String {
    const MARKERS: [(&str, &str); 8] = [
        ("[skip ci]", "(skip ci)"),
        ("[ci skip]", "(ci skip)"),
        ("[no ci]", "(no ci)"),
        ("[skip actions]", "(skip actions)"),
        ("[actions skip]", "(actions skip)"),
        ("skip-checks:", "skip-checks ="),
        ("skip-checks=", "skip-checks ="),
        ("***no_ci***", "* * *no_ci"),
    ];
    if !text.contains(['[', '*', ':', '=']) {
        return text.to_owned();
    }
    let mut text = text.to_owned();
    for (marker, harmless) in MARKERS {
        let lower = text.to_ascii_lowercase();
        if !lower.contains(marker) {
            continue;
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (at, _) in lower.match_indices(marker) {
            out.push_str(&text[from..at]);
            out.push_str(harmless);
            from = at + marker.len();
        }
        out.push_str(&text[from..]);
        text = out;
    }
    text
}

/// `#12` and `GH-12` are references to issues, with a closing keyword before them even commands.
fn break_references(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (head, tail) = rest.split_at(c.len_utf8());
        out.push_str(head);
        let digit_next = tail.starts_with(|d: char| d.is_ascii_digit());
        if digit_next && (c == '#' || (c == '-' && ends_with_gh(&out))) {
            out.push(' ');
        }
        rest = tail;
    }
    out
}

fn ends_with_gh(out: &str) -> bool {
    let bytes = out.as_bytes();
    bytes.len() >= 3 && bytes[bytes.len() - 3..].eq_ignore_ascii_case(b"gh-")
}

pub(super) fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Redactor;

    fn untrusted(text: &str) -> Untrusted {
        Untrusted::new(text, &Redactor::default())
    }

    #[test]
    fn markdown_lines_are_code() {
        assert_eq!(
            markdown_line(&untrusted("![x](http://a) @all"), 80),
            "`![x](http://a) @all`"
        );
        assert_eq!(markdown_line(&untrusted("a ``b` c"), 80), "```a ``b` c```");
        assert_eq!(markdown_line(&untrusted("`b`"), 80), "`` `b` ``");
        assert_eq!(
            markdown_line(&untrusted("Fixes #12, GH-3 [Skip CI]\nx"), 80),
            "`Fixes # 12, GH- 3 (skip ci) x`"
        );
        assert_eq!(markdown_line(&untrusted("aaaaaa"), 3), "`aaa…`");
        assert_eq!(markdown_line(&untrusted(""), 3), "");
    }

    #[test]
    fn commit_lines_mention_nobody() {
        assert_eq!(
            commit_line(&untrusted("closes x/y#3 @bob http://a [ci skip]"), 90),
            "closes x/y# 3 (at)bob http: //a (ci skip)"
        );
    }

    #[test]
    fn headers_are_one_short_line() {
        assert_eq!(header_value(&untrusted("S\r\nBcc: v\r\n\r\nb"), 998), "S Bcc: v  b");
        assert_eq!(header_value(&untrusted("éé"), 3), "é");
    }

    #[test]
    fn console_lines_are_no_commands() {
        assert_eq!(console_line(&untrusted(" ::error::x"), 80), ": :error::x");
        assert_eq!(
            console_line(&untrusted("##[error]x ##vso[a]"), 80),
            "# #[error]x # #vso[a]"
        );
        assert_eq!(console_line(&untrusted("std::io"), 80), "std::io");
    }

    proptest! {
        #[test]
        fn console_never_starts_a_command(text in "[ \t\n:#\\[vso]{0,30}") {
            let line = console_line(&untrusted(&text), 200);
            prop_assert!(!line.trim_start().starts_with("::"));
            prop_assert!(!line.contains("##[") && !line.contains("##vso[") && !line.contains('\n'));
        }

        #[test]
        fn markdown_span_is_never_closed_from_inside(text in "[`a \n#1]{0,30}") {
            let line = markdown_line(&untrusted(&text), 200);
            let ticks = line.len() - line.trim_start_matches('`').len();
            if !line.is_empty() {
                let inner = &line[ticks..line.len() - ticks];
                prop_assert!(longest_run(inner, '`') < ticks);
            }
        }
    }
}
