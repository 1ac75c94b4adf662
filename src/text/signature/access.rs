//! Lines of an access log. A request that was answered well says nothing about a cause, so neither its path nor its
//! status tells two such lines apart; with a failure both do.

const METHODS: [&str; 9] = [
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE",
];
/// So far behind the request its status is looked for.
const NEAR: usize = 24;

/// A request in quotes that was answered well, from behind the opening quote to the end of its status.
pub(super) struct Answered<'a> {
    pub(super) method: &'static str,
    /// From the closing quote to the status.
    pub(super) between: &'a str,
    pub(super) length: usize,
}

/// Reads `GET /a/b HTTP/1.1" 200`, also with `status:` or more quoted words before the number.
pub(super) fn answered(text: &str) -> Option<Answered<'_>> {
    let method = METHODS.iter().find(|method| text.starts_with(**method))?;
    let rest = text[method.len()..].strip_prefix(' ')?;
    let (request, behind) = rest.split_once('"')?;
    let (_, version) = request.rsplit_once(' ')?;
    if !version.starts_with("HTTP/") {
        return None;
    }
    let near = &behind[..behind.floor_char_boundary(NEAR)];
    let at = near.find(|c: char| c.is_ascii_digit())?;
    let status = &behind[at..];
    let digits = status.bytes().take_while(u8::is_ascii_digit).count();
    let alone = !near[..at].contains("//") && !status[digits..].starts_with(['.', ':', '-']);
    let well = alone && digits == 3 && (b'1'..=b'3').contains(&status.as_bytes()[0]);
    well.then(|| Answered {
        method,
        between: &behind[..at],
        length: text.len() - behind.len() + at + digits,
    })
}

/// A line of an access log without what the client says of itself: `… HTTP/1.1" 404 153 "<referrer>" "<agent>"`.
pub(super) fn without_agent(line: &str) -> &str {
    if !line.ends_with('"') {
        return line;
    }
    let Some(at) = line.find(" HTTP/") else { return line };
    let Some(quote) = line[at..].find("\" ") else {
        return line;
    };
    let behind = &line[at + quote + 2..];
    let numbers = behind
        .bytes()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b' ' | b'-'))
        .count();
    let said = behind[numbers..].starts_with('"') && behind[numbers..].matches('"').count() == 4;
    if numbers >= 4 && said {
        line[..at + quote + 2 + numbers].trim_end()
    } else {
        line
    }
}

/// Whether the word is the method of a request, so that a path behind it is a route.
pub(super) fn is_method(word: &str) -> bool {
    METHODS.contains(&word)
}
