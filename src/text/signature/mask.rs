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
    let line = access::without_agent(line.trim()).trim_end_matches(['.', ' ']);
    let mut scan = Scan {
        rest: line,
        out: Output::new(line.len()),
        words: Context::new(line),
        record: pairs::is_record(line),
        statement: statement(line),
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
    /// What is left of the line behind the verb of a statement of SQL.
    statement: usize,
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
            let near = &rest[..rest.floor_char_boundary(40)];
            let end = near.find(']').map_or(near.len(), |end| end + 1);
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
        if self.words.quoted
            && let Some(length) = self.quoted_input(first)
        {
            self.out.push(first as char);
            self.out.mask("<v>");
            self.rest = &self.rest[length..];
            return self.words.forget();
        }
        if is_stumbled_over(&rest[..1], self.rest, &self.words) {
            return self.whole("<v>");
        }
        match first {
            b',' | b';' => self.out.separate(first as char),
            b'(' if self.rest.starts_with(')') && self.out.ends_with_host() => {
                // Whose name could not be found.
                self.out.push_str("(<host>");
            }
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

    /// The length of what was put in and could not be read, where the words before the quote say so. Nothing that the
    /// code names follows them.
    fn quoted_input(&self, quote: u8) -> Option<usize> {
        const READING: [&str; 8] = [
            "For input string: ",
            "could not convert string to float: ",
            "invalid literal for int() with base <n>: ",
            "Invalid UUID string: ",
            "invalid UUID: ",
            "failed for value ",
            "is not a valid ObjectId: ",
            "Duplicate entry ",
        ];
        let said = self.out.tail(64);
        let typed = || {
            let (_, kind) = said.rsplit_once("input syntax for type ")?;
            kind.ends_with(": ").then_some(())
        };
        let said = said.trim_end_matches('\\');
        let indexed = || said.ends_with(": ") && said.contains("dup key: {");
        let parsed = || said.ends_with(": parsing ") && said.contains("strconv.");
        if !READING.iter().any(|words| said.ends_with(words))
            && typed().is_none()
            && !parsed()
            && !indexed()
            && !self.is_literal(quote, said)
        {
            return None;
        }
        self.rest.bytes().position(|b| b == quote)
    }

    /// A value in a statement of SQL.
    fn is_literal(&self, quote: u8, said: &str) -> bool {
        quote == b'\'' && self.rest.len() < self.statement && said.ends_with(['(', ',', '=', ' ', '['])
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
            end = address_end(rest);
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
        let core = run.trim_end_matches(['.', ':', '!', '?', '-']);
        let tail = &run[core.len()..];
        let core = if let Some(path) = core.strip_prefix("file://").filter(|path| frames::is_source(path)) {
            frames::below_top(path)
        } else if core.starts_with('/') && frames::is_source(without_place(core)) {
            frames::below_top(core)
        } else if core.starts_with('/') {
            frames::rootless(core)
        } else {
            core
        };
        let shape = Shape::of(core);
        if address && core.contains("://") {
            self.url(core);
        } else if shape.dots > 0 && self.out.ends_with_host_in_bracket() && shape.is_host() {
            self.whole("<host>");
        } else if let Some(masked) = shapes::whole(core, &shape, self.words.tail) {
            let version = masked == "<host>" && self.words.previous.eq_ignore_ascii_case("version");
            self.whole(if version { "<n>" } else { masked });
            let behind = self.words.tail.as_bytes();
            if masked == "<time>"
                && matches!(behind, [b' ', b'A' | b'P', b'M', ..])
                && !behind.get(3).is_some_and(u8::is_ascii_alphanumeric)
            {
                self.words.consumed = 3;
            }
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

/// How much of the line stands behind the verb of a statement of SQL.
fn statement(line: &str) -> usize {
    const VERBS: [(&str, &str); 4] = [
        ("INSERT INTO ", "VALUES"),
        ("SELECT ", " FROM "),
        ("UPDATE ", " SET "),
        ("DELETE FROM ", " WHERE "),
    ];
    let behind = |(verb, more): (&str, &str)| {
        let at = line.find(verb)?;
        line[at..].contains(more).then_some(line.len() - at)
    };
    VERBS.into_iter().find_map(behind).unwrap_or(0)
}

/// A path without the line and column behind it.
fn without_place(path: &str) -> &str {
    path.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':')
}

/// How long the address is that this begins with. What was redacted in its query is part of it.
fn address_end(text: &str) -> usize {
    let mut end = bytes::run(text, true).0;
    while text[..end].contains('?') && text[end..].starts_with("[redacted:") {
        let Some(mark) = text[end..].find(']') else { break };
        end += mark + 1;
        let more = text
            .as_bytes()
            .get(end)
            .is_some_and(|b| matches!(b, b'&' | b'#' | b'%'));
        end += if more { bytes::run(&text[end..], true).0 } else { 0 };
    }
    end
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
        _ => "<n>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volatile_parts_go() {
        for (line, want) in [
            ("user 17 not found", "user <n> not found"),
            (
                "req 5d1c2c1e-1111-4222-8333-944445555666 took 12ms",
                "req <uuid> took <time>",
            ),
            ("connect ECONNREFUSED 10.56.56.155:8080", "connect ECONNREFUSED <host>"),
            ("at 2026-01-02T03:04:05.678Z: boom", "at <time>: boom"),
            ("since Mon Jun 19 03:40:11 2006, boom", "since <time>, boom"),
            ("for jane@corp.example.org", "for <mail>"),
            ("for [redacted:mail]", "for <mail>"),
            (
                "GET https://api.example/v2/quotes?user=[redacted:query]&b=1&q=[redacted:query] failed",
                "GET https://api.example/v2/quotes failed",
            ),
            ("commit b5cbdb1cd78158a9 of 0xdeadBEEF", "commit <n> of <n>"),
            ("open /tmp/job_vbvcmwzh/package.tgz", "open <tmp>/package.tgz"),
            (
                "GET https://feed.example.com:81/v2/quotes?nonce=fb52",
                "GET https://feed.example.com/v2/quotes",
            ),
            ("H.map is not a function", "<v>.map is not a function"),
            ("of `lhImKBeQdwkT`", "of `<n>`"),
            ("listen :::44347", "listen <host>"),
            ("6.35s   left", "<time> left"),
            ("E unique-381 failed", "E unique-<n> failed"),
            ("pod api-7d9f8b6c5d-x2x9z is gone", "pod api-<n> is gone"),
            (
                "session opened for user ann by (uid=0)",
                "session opened for user <user> by (uid=<v>)",
            ),
            ("no answer for ann from 10.1.2.3", "no answer for <user> from <host>"),
            ("name ns.example.net [10.1.2.3] differs", "name <host> [<host>] differs"),
            (
                "wrote 2 blocks in 3 KB, 1 block left",
                "wrote <n> block in <size>, <n> block left",
            ),
            (
                "a=1, b=zoo, c=\"x y\" and status=failed",
                "a=<v>, b=<v>, c=<v> and status=failed",
            ),
            ("moved /srv/data/part_7/file to /var/lib/x", "moved <path> to <path>"),
            ("slot R02-M1-N0-C:J12-U11 is hot", "slot <n> is hot"),
            (
                "INSERT INTO \"rates\" (\"pair\") VALUES ('wxxmdr', 3)",
                "INSERT INTO \"rates\" (\"pair\") VALUES ('<v>', <n>)",
            ),
            ("(version 25.2.1.38 (official))", "(version <n> (official))"),
            ("node rabbit@mq8 is down", "node rabbit@mq<n> is down"),
            (
                "Duplicate entry 'ann' for key 'name'",
                "Duplicate entry '<v>' for key 'name'",
            ),
            ("at 0x7f12 thread T5", "at <n> thread <n>"),
            ("assert 422 == 421", "assert <n> == <n>"),
            ("assert 422 == 200", "assert 422 == <n>"),
            (
                "strconv.Atoi: parsing \"xhcl\": invalid syntax",
                "strconv.Atoi: parsing \"<v>\": invalid syntax",
            ),
        ] {
            assert_eq!(mask(line), want, "{line}");
        }
    }

    #[test]
    fn what_tells_causes_apart_stays() {
        for line in [
            "null value in column \"tax_rate_2\" of relation \"invoices\"",
            "exited with exit code 137",
            "code: '23505'",
            "response failed 403",
            "HTTP 502 Bad Gateway",
            "error TS2307: Cannot find module",
            "Error code: P1012",
            "Minified React error #418",
            "signal 9",
            "\"code\": -32000",
            "getTodoById of HTTPServerError",
            "utf8 sha256 base64",
            "password authentication failed for user \"reporting\"",
            "user not found from here on",
            "cannot open '/etc/app/a.conf'",
            "POST /account/settings/billing/plans failed",
            "enabled=true cached=false state=warm ready=yes",
            "May be late in the Fall",
        ] {
            assert_eq!(mask(line), line);
        }
    }

    #[test]
    fn lists_of_any_length_look_alike() {
        for (line, want) in [
            ("delete blk_1 blk_22 blk_333", "delete blk_<n>"),
            ("delete blk_1", "delete blk_<n>"),
            ("nodes [1, 2, 3, 4] and [7]", "nodes [<n>] and [<n>]"),
            ("node-1 0x1f ok, node-22 0x2f ok", "node-<n> <n> ok"),
            ("the the words", "the the words"),
        ] {
            assert_eq!(mask(line), want, "{line}");
        }
    }

    #[test]
    fn answered_requests_look_alike_and_failed_ones_do_not() {
        let line = |path: &str, status: u16| format!("10.1.2.3 \"GET {path} HTTP/1.1\" status: {status} len: 17");
        assert_eq!(mask(&line("/a/b", 200)), mask(&line("/c", 204)));
        assert_ne!(mask(&line("/a/b", 500)), mask(&line("/c", 500)));
        assert_ne!(mask(&line("/a/b", 500)), mask(&line("/a/b", 502)));
    }

    #[test]
    fn work_grows_with_the_line_and_no_faster() {
        for piece in [
            "a=(",
            "\"",
            "user ",
            "<n> ",
            "1:",
            "/a1",
            "Jun 1 ",
            "404 ",
            "[redacted:",
            "x-1_",
            "é",
            "==",
        ] {
            assert!(mask(&piece.repeat(100_000 / piece.len())).len() < 300_000, "{piece}");
        }
    }
}
