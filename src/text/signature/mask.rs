//! Replaces the volatile parts of one line by their kind. What tells causes apart stays: names, codes, statuses.
//! Hand-written and linear; it knows shapes and no products.

use super::{
    access, bytes, calendar, frames,
    output::Output,
    pairs,
    people::is_person,
    shapes::{self, Shape},
    words::{Context, parts, plain},
};

/// The line with its volatile parts masked and its white space made single.
pub(super) fn mask(line: &str) -> String {
    let line = line.trim().trim_end_matches(['.', ' ']);
    let mut scan = Scan {
        rest: line,
        out: Output::new(line.len()),
        words: Context::new(line),
        record: pairs::is_record(line),
        key: "",
    };
    while let Some(first) = scan.rest.bytes().next() {
        let key = std::mem::take(&mut scan.key);
        let kind = bytes::kind(first);
        if kind & bytes::SPACE != 0 {
            scan.space(first as char);
        } else if kind & bytes::MARK != 0 {
            scan.mark(first, key);
        } else if kind & bytes::FOREIGN != 0 {
            scan.foreign();
        } else {
            scan.run();
        }
    }
    scan.out.finish()
}

struct Scan<'a> {
    rest: &'a str,
    out: Output,
    words: Context<'a>,
    /// The line is a list of `key=value`.
    record: bool,
    /// The run that ends right before the rest.
    key: &'a str,
}

impl<'a> Scan<'a> {
    /// Drawn lines, typographic quotes and spaces outside ASCII; all else is a letter.
    fn foreign(&mut self) {
        let c = self.rest.chars().next().unwrap_or(' ');
        if c.is_whitespace() || matches!(c, '─' | '⎯' | '━' | '═') {
            self.space(c);
        } else if bytes::is_quote(c) {
            self.out.push(c);
            self.words.quoted = false;
            self.rest = &self.rest[c.len_utf8()..];
        } else {
            self.run();
        }
    }

    fn space(&mut self, c: char) {
        self.out.separate(' ');
        self.rest = match self.rest.as_bytes() {
            [b' ', next, ..] if *next != b' ' => &self.rest[1..],
            _ => self.rest.trim_start_matches(c),
        };
    }

    fn mark(&mut self, first: u8, key: &'a str) {
        let rest = self.rest;
        if first == b'[' && rest.starts_with("[redacted:") {
            let end = rest.find(']').map_or(rest.len(), |end| end + 1);
            self.out.mask(redacted_as(&rest[..end]));
            self.rest = &rest[end..];
            return;
        }
        if self.is_ruling(first) {
            return self.space(first as char);
        }
        if first == b')' && rest.starts_with(")=(") {
            // A database names the column and shows the row's value.
            self.out.push_str(")=(");
            self.out.mask("<v>");
            self.rest = rest[3..].find(')').map_or("", |end| &rest[3 + end..]);
            return;
        }
        self.rest = &rest[1..];
        if first == b'"'
            && let Some(request) = access::answered(self.rest)
        {
            for piece in ["\"", request.method, " <path>\"", request.between] {
                self.out.push_str(piece);
            }
            self.out.mask("<n>");
            self.rest = &self.rest[request.length..];
            return self.words.forget();
        }
        self.words.quoted = matches!(first, b'"' | b'\'' | b'`');
        if is_stumbled_over(&rest[..1], self.rest, &self.words) {
            return self.whole("<v>");
        }
        match first {
            b',' | b';' => self.out.separate(first as char),
            b'(' | b')' | b'[' | b']' | b'{' | b'}' => self.out.bracket(first as char),
            b'=' => {
                self.out.push('=');
                if let Some(length) = pairs::varying_value(key, self.rest, self.record) {
                    self.out.mask("<v>");
                    self.rest = &self.rest[length..];
                }
            }
            _ => self.out.push(first as char),
        }
    }

    fn run(&mut self) {
        let rest = self.rest;
        let (mut end, has) = bytes::run(rest, false);
        if has == bytes::LOWER && !self.words.expects_a_value() {
            // Most of a line is plain words.
            self.rest = &rest[end..];
            self.key = &rest[..end];
            self.words.quoted = false;
            return plain(self.key, &mut self.words, &mut self.out);
        }
        let first = rest.as_bytes()[0];
        if self.is_ruling(first) {
            return self.space(first as char);
        }
        let address = has & bytes::JOINT != 0 && is_web_address(&rest[..end]);
        if address {
            end = bytes::run(rest, true).0;
        }
        let (run, tail) = rest.split_at(end);
        self.words.tail = tail;
        self.rest = tail;
        self.key = run;
        if let Some(length) = calendar::date(rest, run) {
            self.whole("<time>");
            self.rest = &rest[length..];
        } else if is_stumbled_over(run, tail, &self.words) {
            self.out.mask("<v>");
        } else if !self.words.quoted && is_person(run, tail, &self.words) {
            self.whole("<user>");
        } else if has & (bytes::JOINT | bytes::FOREIGN) == 0 {
            parts(run, &mut self.words, &mut self.out);
        } else {
            self.joined(run, address);
        }
        self.words.quoted = false;
        self.rest = &self.rest[std::mem::take(&mut self.words.consumed)..];
    }

    /// A path that varies: one of the machine, or a deep one. In quotes it is a name, unless there are ids in it.
    fn is_place(&self, core: &str, shape: &Shape, from: usize) -> bool {
        let numbered = self.out.masked_since(from);
        shapes::is_path(core)
            && if self.words.quoted {
                numbered && shape.slashes >= 4
            } else {
                shape.slashes >= 4 || shapes::is_of_machine(core)
            }
    }

    /// A line drawn with characters, of whatever length.
    fn is_ruling(&self, b: u8) -> bool {
        let least = if self.out.is_empty() { 3 } else { 5 };
        matches!(b, b'=' | b'-' | b'_' | b'~' | b'*' | b'#')
            && self.out.at_start_of_word()
            && self.rest.len() >= least
            && self.rest.bytes().take(least).all(|other| other == b)
    }

    fn whole(&mut self, mask: &str) {
        self.out.mask(mask);
        self.words.forget();
    }

    /// A run that is more than one word.
    fn joined(&mut self, run: &'a str, address: bool) {
        let core = run.trim_end_matches(['.', ':', '!', '?']);
        let tail = &run[core.len()..];
        let core = if core.starts_with('/') {
            frames::rootless(core)
        } else {
            core
        };
        let shape = Shape::of(core);
        if address {
            self.url(core);
        } else if shape.dots > 0 && self.out.ends_with_host_in_bracket() && shape.is_host() {
            self.whole("<host>");
        } else if let Some(masked) = shapes::whole(core, &shape, self.words.tail) {
            self.whole(masked);
        } else if let Some(path) = shapes::temporary(core) {
            self.out.mask("<tmp>");
            parts(path, &mut self.words, &mut self.out);
        } else {
            let (from, behind) = (self.out.len(), self.words.previous);
            parts(core, &mut self.words, &mut self.out);
            if shape.slashes > 1 && !access::is_method(behind) && self.is_place(core, &shape, from) {
                self.out.replace_from(from, "<path>");
            }
        }
        self.out.push_str(tail);
    }

    /// Scheme and host stay, so do the words of the path; queries, ports and ids go.
    fn url(&mut self, run: &'a str) {
        let run = run.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = run.split_once("://").unwrap_or(("", run));
        self.out.push_str(scheme);
        self.out.push_str("://");
        let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let host = authority.split(':').next().unwrap_or_default();
        if shapes::is_address(authority) || shapes::is_numbered_host(host) {
            self.out.mask("<host>");
        } else {
            parts(host, &mut Context::new(host), &mut self.out);
        }
        parts(path, &mut Context::new(path), &mut self.out);
        self.words.forget();
    }
}

fn is_web_address(run: &str) -> bool {
    run.as_bytes().contains(&b':') && run.contains("://")
}

/// A parser names the character that it stumbled over.
fn is_stumbled_over(run: &str, tail: &str, words: &Context<'_>) -> bool {
    words.previous == "token"
        && words.before.ends_with("nexpected")
        && run.chars().nth(1).is_none()
        && (tail.is_empty() || tail.starts_with([' ', ',']))
}

/// A redacted value counts as the mask that the value itself would have got.
fn redacted_as(mark: &str) -> &'static str {
    match mark {
        "[redacted:mail]" => "<mail>",
        "[redacted:ip]" => "<host>",
        "[redacted:phone]" | "[redacted:card]" => "<n>",
        _ => "<secret>",
    }
}
