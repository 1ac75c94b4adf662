//! Whether a cause smells of security: a way in, or something that got out. Whoever reads a pull request, a branch or a
//! commit would learn of it before it is mended, so such a cause goes to the owner alone.

/// What it smells of, and words that say so, in any spelling: `SQL-Injection`, `sql_injection`, `SqlInjection`.
const SMELLS: [(&str, &[&str]); 9] = [
    (
        "a known vulnerability",
        &[
            "cve",
            "ghsa",
            "rustsec",
            "vulnerability",
            "vulnerabilities",
            "vulnerable",
            "exploit",
            "exploited",
            "zero day",
        ],
    ),
    (
        "injection",
        &[
            "sql injection",
            "nosql injection",
            "command injection",
            "shell injection",
            "code injection",
            "template injection",
            "header injection",
            "ldap injection",
            "xpath injection",
            "log injection",
            "injection attack",
            "xml external entity",
            "xxe",
        ],
    ),
    (
        "code of strangers",
        &[
            "remote code execution",
            "arbitrary code",
            "rce",
            "prototype pollution",
            "untrusted deserialization",
            "unsafe deserialization",
            "insecure deserialization",
            "deserialization of untrusted data",
        ],
    ),
    ("cross-site scripting", &["xss", "cross site scripting"]),
    (
        "path traversal",
        &[
            "path traversal",
            "directory traversal",
            "zip slip",
            "zipslip",
            "outside of the allowed directory",
            "arbitrary file",
        ],
    ),
    (
        "a forged request",
        &[
            "ssrf",
            "server side request forgery",
            "cross site request forgery",
            "request smuggling",
            "open redirect",
        ],
    ),
    (
        "broken memory",
        &[
            "addresssanitizer",
            "address sanitizer",
            "heap buffer overflow",
            "stack buffer overflow",
            "buffer overflow detected",
            "stack smashing detected",
            "use after free",
            "heap use after free",
            "double free",
            "out of bounds write",
        ],
    ),
    (
        "a way around access control",
        &[
            "authentication bypass",
            "auth bypass",
            "authorization bypass",
            "privilege escalation",
            "broken access control",
            "insecure direct object reference",
            "account takeover",
            "session fixation",
            "session hijacking",
            "signature bypass",
            "algorithm confusion",
            "padding oracle",
            "timing attack",
            "cross tenant",
            "tenant isolation",
        ],
    ),
    (
        "something that got out",
        &[
            "data breach",
            "data leak",
            "leaked secret",
            "secret leaked",
            "leaked credential",
            "leaked credentials",
            "exposed secret",
            "exposed credential",
            "exposed credentials",
            "secret scanning",
            "private key exposed",
            "key exposed",
            "password exposed",
            "token leaked",
            "key leaked",
        ],
    ),
];

/// What these texts smell of, if of anything.
pub fn smell<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<&'static str> {
    texts.into_iter().find_map(|text| {
        let words = words(text);
        let says = |phrase: &str| words.contains(&format!(" {phrase} "));
        SMELLS
            .iter()
            .find(|(_, phrases)| phrases.iter().any(|phrase| says(phrase)))
            .map(|(what, _)| *what)
    })
}

/// Lower case words between single spaces, also at both ends; a new word begins where small letters are followed by a large one.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    let mut before = ' ';
    for c in text.chars() {
        let camel = before.is_lowercase() && c.is_uppercase();
        if (camel || !c.is_alphanumeric()) && !out.ends_with(' ') {
            out.push(' ');
        }
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        }
        before = c;
    }
    if !out.ends_with(' ') {
        out.push(' ');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_in_is_smelt_in_any_spelling() {
        for (text, what) in [
            ("SQL injection in the search of orders", "injection"),
            ("FAIL tests/test_search.py::test_rejects_sql_injection", "injection"),
            ("SqlInjectionError: unescaped quote", "injection"),
            ("Detected CVE-2024-12345 in lodash", "a known vulnerability"),
            ("found 3 vulnerabilities (1 high)", "a known vulnerability"),
            (
                "ERROR: AddressSanitizer: heap-buffer-overflow on address",
                "broken memory",
            ),
            ("*** stack smashing detected ***: terminated", "broken memory"),
            ("Path-Traversal attempt: ../../etc/passwd was served", "path traversal"),
            ("possible XSS in comment body", "cross-site scripting"),
            ("PrototypePollution: __proto__ was set", "code of strangers"),
            (
                "cross-tenant read: order of acme shown to globex",
                "a way around access control",
            ),
            ("key leaked in build log", "something that got out"),
        ] {
            assert_eq!(smell([text]), Some(what), "{text}");
        }
        assert_eq!(smell(["division by zero", "an SSRF"]), Some("a forged request"));
    }

    #[test]
    fn what_only_sounds_like_it_is_repaired_as_ever() {
        for text in [
            "ZeroDivisionError: division by zero",
            "CSRF token mismatch",
            "dependency injection failed: no provider for Cart",
            "invalid token",
            "permission denied: /var/data",
            "TypeError: cannot read properties of undefined (reading 'password')",
            "MediaCvent: force of resources",
            "source rcelib not found",
            "index out of bounds: the len is 3 but the index is 7",
            "exploitation of the cache is low",
            "401 Unauthorized",
            "the traversal of the tree did not end",
        ] {
            assert_eq!(smell([text]), None, "{text}");
        }
        assert_eq!(smell([]), None);
    }
}
