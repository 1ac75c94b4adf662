//! Values of literals, however they are written.

/// A string in plain double quotes: prefixes, kind of quotes and raw marks are nothing.
pub(in crate::decide::guards) fn text(raw: &str) -> String {
    format!("\"{}\"", inner(raw))
}

/// What stands between the quotes.
pub(in crate::decide::guards) fn inner(raw: &str) -> &str {
    if let Some(symbol) = raw.strip_prefix(':')
        && !symbol.starts_with(['"', '\''])
    {
        return symbol;
    }
    let open = raw.find(['"', '\'', '`']);
    let Some(open) = open.filter(|at| *at <= 4) else {
        return raw;
    };
    let quote = &raw[open..=open];
    let rest = &raw[open + 1..];
    let Some(end) = rest.rfind(quote) else {
        return rest;
    };
    let body = &rest[..end];
    let twice = format!("{quote}{quote}");
    match body.strip_prefix(&twice).and_then(|b| b.strip_suffix(&twice)) {
        Some(body) => body,
        None => body,
    }
}

/// A number by its value: `1_000`, `1000u64` and `1e3` are the same.
pub(in crate::decide::guards) fn number(raw: &str) -> String {
    let plain: String = raw.chars().filter(|c| !matches!(c, '_' | ' ')).collect();
    let lower = plain.to_ascii_lowercase();
    let (sign, digits) = lower.strip_prefix('-').map_or(("", lower.as_str()), |d| ("-", d));
    for (prefix, base) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = digits.strip_prefix(prefix) {
            let value = u64::from_str_radix(rest.trim_end_matches(['l', 'n']), base).ok();
            return value.map_or_else(|| plain.clone(), |v| format!("{sign}{v}"));
        }
    }
    let end = digits
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e')))
        .unwrap_or(digits.len());
    let value: Option<f64> = format!("{sign}{}", &digits[..end]).parse().ok();
    value.map_or(plain, |v| format!("{v}"))
}

/// The value of a literal that is a number.
pub(in crate::decide::guards) fn value(raw: &str) -> Option<f64> {
    number(raw).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_by_value() {
        for raw in [
            "\"a\"",
            "'a'",
            "`a`",
            "b'a'",
            "r#\"a\"#",
            "\"\"\"a\"\"\"",
            ":a",
            "f\"a\"",
            "rb'a'",
        ] {
            assert_eq!(text(raw), "\"a\"", "{raw}");
        }
        assert_eq!(text("\"\""), "\"\"");
        for (raw, want) in [
            ("1_000", "1000"),
            ("1000u64", "1000"),
            ("1e3", "1000"),
            ("0.10", "0.1"),
            ("-5", "-5"),
            ("0x10", "16"),
            ("10L", "10"),
            ("1.5f", "1.5"),
            ("- 3", "-3"),
        ] {
            assert_eq!(number(raw), want, "{raw}");
        }
    }
}
