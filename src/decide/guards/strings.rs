//! Lengths of string literals, regular expressions and block comments at the beginning of a text. What is not closed
//! runs to the end of its line or of the text.

/// Length of a string in one of these quotes; it ends with its line where it is not closed.
pub(super) fn plain_string(rest: &str, quotes: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|c| quotes.contains(*c))?;
    Some(1 + quoted_end(&rest[1..], quote))
}

fn quoted_end(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return i + c.len_utf8();
        } else if c == '\n' {
            return i;
        }
    }
    rest.len()
}

pub(super) fn python_string(rest: &str) -> Option<usize> {
    let prefix = rest.bytes().take(3).take_while(|b| b"rbfutRBFUT".contains(b)).count();
    let body = &rest[prefix..];
    let quote = body.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let triple = if quote == '"' { "\"\"\"" } else { "'''" };
    if let Some(inner) = body.strip_prefix(triple) {
        let mut from = 0;
        loop {
            let Some(end) = inner[from..].find(triple) else {
                return Some(rest.len());
            };
            let end = from + end;
            let slashes = inner[..end].bytes().rev().take_while(|b| *b == b'\\').count();
            if slashes % 2 == 0 {
                return Some(prefix + 3 + end + 3);
            }
            from = end + 1;
        }
    }
    Some(prefix + 1 + quoted_end(&body[1..], quote))
}

pub(super) fn rust_string(rest: &str) -> Option<usize> {
    let prefix = rest.bytes().take(2).take_while(|b| b"brc".contains(b)).count();
    let raw = rest[..prefix].contains('r');
    let body = &rest[prefix..];
    if raw {
        let hashes = body.bytes().take_while(|b| *b == b'#').count();
        if body[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 1;
            return Some(
                prefix
                    + body[start..]
                        .find(&close)
                        .map_or(body.len(), |i| start + i + close.len()),
            );
        }
        return None;
    }
    if let Some(inner) = body.strip_prefix('"') {
        // A Rust string may span lines.
        let mut escaped = false;
        for (i, c) in inner.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Some(prefix + 1 + i + 1),
                _ => {}
            }
        }
        return Some(rest.len());
    }
    let inner = body.strip_prefix('\'')?;
    let mut chars = inner.chars();
    let first = chars.next()?;
    if first == '\\' {
        return Some(prefix + 1 + quoted_end(inner, '\''));
    }
    // A character; else a lifetime, whose quote is a mark.
    (chars.next() == Some('\'')).then(|| prefix + 2 + first.len_utf8())
}

pub(super) fn block_comment(rest: &str, nested: bool) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") && (nested || depth == 0) {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Templates within templates; beyond this the rest of the file is one text.
const NESTED: usize = 20;

/// A template literal with what stands in its `${}`.
pub(super) fn template(rest: &str, nested: usize) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    let mut depth = 0_usize;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'`' if depth == 0 => return at + 1,
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                depth += 1;
                at += 1;
            }
            b'{' if depth > 0 => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'`' if nested == NESTED => return rest.len(),
            b'`' => {
                at += template(&rest[at..], nested + 1);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

pub(super) fn regex(rest: &str) -> Option<usize> {
    let mut escaped = false;
    let mut class = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => {
                let flags = rest[i + 1..].bytes().take_while(u8::is_ascii_alphabetic).count();
                return Some(i + 1 + flags);
            }
            _ => {}
        }
    }
    None
}
