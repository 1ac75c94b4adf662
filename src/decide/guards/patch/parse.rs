//! Reads the text of a patch: git's extended headers, quoted names, hunks, binary blocks.

use super::{Body, FilePatch, Hunk, PatchError, binary};

/// None stands for no file.
type Name = Option<Vec<u8>>;

struct Reader<'a> {
    lines: Vec<&'a [u8]>,
    at: usize,
}

/// How a patch is made whatever is configured.
const HOW: &str = "make it with: git -c color.ui=never diff --no-ext-diff --no-textconv --binary --src-prefix=a/ --dst-prefix=b/ BASE HEAD";

/// All files of a patch, in its order. What stands between them and is no message of a commit is an error: nobody can
/// say what it would change.
pub fn parse(diff: &[u8]) -> Result<Vec<FilePatch>, PatchError> {
    let diff = diff.strip_prefix(b"\xef\xbb\xbf").unwrap_or(diff);
    let mut reader = Reader {
        lines: diff.split_inclusive(|b| *b == b'\n').collect(),
        at: 0,
    };
    let mut out = Vec::new();
    let mut message = false;
    while let Some(line) = reader.peek() {
        if line.starts_with(b"diff --git ") {
            out.push(reader.git_file()?);
            message = false;
        } else if line.starts_with(b"--- ") && reader.ahead(1).is_some_and(|l| l.starts_with(b"+++ ")) {
            out.push(reader.plain_file()?);
            message = false;
        } else if line.starts_with(b"@@ -") || line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ")
        {
            return Err(reader.error("a hunk without a file, or a combined diff"));
        } else {
            message |= is_commit(line);
            if !message && !is_between(line) {
                return Err(reader.error(format!("this is no part of a patch; {HOW}")));
            }
            reader.at += 1;
        }
    }
    if out.is_empty() && diff.iter().any(|b| !b.is_ascii_whitespace()) {
        return Err(PatchError::new(1, format!("no change can be read in it; {HOW}")));
    }
    once(&out)?;
    Ok(out)
}

/// The head of a commit as `git show`, `git log` and `git format-patch` write it; its message follows.
fn is_commit(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"commit ").or(line.strip_prefix(b"From "));
    rest.is_some_and(|r| r.len() >= 7 && r[..7].iter().all(u8::is_ascii_hexdigit))
}

/// Lines that other programs put between files, and the end of a mail.
fn is_between(line: &[u8]) -> bool {
    let starts = [b"diff -".as_slice(), b"Index: ", b"====", b"-- "];
    let version = line.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    line.is_empty() || line == b"--" || version || starts.iter().any(|s| line.starts_with(s)) && !line.contains(&0x1b)
}

/// A path that is changed twice has a state in between, which no base shows.
fn once(patches: &[FilePatch]) -> Result<(), PatchError> {
    let mut seen = std::collections::BTreeSet::new();
    for patch in patches {
        if let Some(path) = patch.new_path.as_ref().filter(|p| !seen.insert((*p).clone())) {
            let name = String::from_utf8_lossy(path);
            let why = format!("{name:?} is changed a second time; {HOW}");
            return Err(PatchError::new(patch.line, why));
        }
    }
    Ok(())
}

/// The paths of the base that these patches read, or may not find there.
pub fn base_paths(patches: &[FilePatch]) -> Vec<Vec<u8>> {
    let mut paths: Vec<Vec<u8>> = patches
        .iter()
        .filter_map(|p| p.old_path.clone().or_else(|| p.new_path.clone()))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a [u8]> {
        self.ahead(0)
    }

    /// A line without its end.
    fn ahead(&self, n: usize) -> Option<&'a [u8]> {
        self.lines.get(self.at + n).map(|l| chomp(l))
    }

    fn error(&self, why: impl Into<String>) -> PatchError {
        PatchError::new(self.at + 1, why)
    }

    fn git_file(&mut self) -> Result<FilePatch, PatchError> {
        let head = self.peek().unwrap_or_default();
        let mut file = self.new_file();
        let names = &head[b"diff --git ".len()..];
        if is_without_prefix(names) {
            return Err(self.error(format!("the names have no a/ and b/ before them; {HOW}")));
        }
        let (mut old, mut new) = split_names(names).unzip();
        let (mut created, mut deleted) = (false, false);
        self.at += 1;
        while let Some(line) = self.peek() {
            if let Some(mode) = line.strip_prefix(b"old mode ") {
                file.old_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = line.strip_prefix(b"new mode ") {
                file.new_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = line.strip_prefix(b"new file mode ") {
                file.new_mode = Some(self.mode(mode)?);
                created = true;
            } else if let Some(mode) = line.strip_prefix(b"deleted file mode ") {
                file.old_mode = Some(self.mode(mode)?);
                deleted = true;
            } else if let Some(name) = line.strip_prefix(b"rename from ").or(line.strip_prefix(b"copy from ")) {
                old = Some(self.name(name)?);
                file.copy |= line.starts_with(b"copy");
            } else if let Some(name) = line.strip_prefix(b"rename to ").or(line.strip_prefix(b"copy to ")) {
                new = Some(self.name(name)?);
            } else if let Some(index) = line.strip_prefix(b"index ") {
                if let Some(at) = index.iter().position(|b| *b == b' ') {
                    let mode = self.mode(&index[at + 1..])?;
                    file.old_mode = file.old_mode.or(Some(mode));
                    file.new_mode = file.new_mode.or(Some(mode));
                }
            } else if !line.starts_with(b"similarity index ") && !line.starts_with(b"dissimilarity index ") {
                break;
            }
            self.at += 1;
        }
        if self.peek().is_some_and(|l| l.starts_with(b"--- ")) {
            let (from, to) = self.names()?;
            // What the extended headers say is exact; these lines say it where there are none.
            old = old.or(from);
            new = new.or(to);
            file.body = Body::Hunks(self.hunks()?);
        } else if self.peek().is_some_and(|l| l == b"GIT binary patch") {
            self.at += 1;
            file.body = self.binary()?;
        } else if self.peek().is_some_and(|l| l.starts_with(b"Binary files ")) {
            self.at += 1;
            file.body = Body::Unknown;
        }
        file.old_path = if created { None } else { old };
        file.new_path = if deleted { None } else { new };
        if file.old_path.is_none() && file.new_path.is_none() {
            return Err(PatchError::new(file.line, "the file's name cannot be read"));
        }
        Ok(file)
    }

    fn plain_file(&mut self) -> Result<FilePatch, PatchError> {
        let mut file = self.new_file();
        (file.old_path, file.new_path) = self.names()?;
        file.body = Body::Hunks(self.hunks()?);
        Ok(file)
    }

    fn new_file(&self) -> FilePatch {
        FilePatch {
            old_path: None,
            new_path: None,
            copy: false,
            old_mode: None,
            new_mode: None,
            body: Body::Same,
            line: self.at + 1,
        }
    }

    fn mode(&self, text: &[u8]) -> Result<u32, PatchError> {
        let text = std::str::from_utf8(text).unwrap_or_default();
        let mode = u32::from_str_radix(text.trim(), 8).ok();
        let known = [0o100_644, 0o100_755, 0o120_000, 0o160_000, 0o100_664];
        let mode = mode.filter(|m| known.contains(m));
        mode.ok_or_else(|| self.error(format!("{text:?} is no mode of a file")))
    }

    /// `--- a/x` and `+++ b/y`.
    fn names(&mut self) -> Result<(Name, Name), PatchError> {
        let mut sides = [None, None];
        for (side, mark) in sides.iter_mut().zip([b"--- ".as_slice(), b"+++ "]) {
            let line = self.peek().and_then(|l| l.strip_prefix(mark));
            let line = line.ok_or_else(|| self.error("the second name is missing"))?;
            // Behind a tab stands a date.
            let name = line.split(|b| *b == b'\t').next().unwrap_or_default();
            let name = self.name(name)?;
            if name != b"/dev/null" {
                *side = Some(strip_first(&name));
            }
            self.at += 1;
        }
        let [old, new] = sides;
        Ok((old, new))
    }

    fn name(&self, text: &[u8]) -> Result<Vec<u8>, PatchError> {
        if text.first() != Some(&b'"') {
            return Ok(text.to_vec());
        }
        let (name, rest) = unquote(text).ok_or_else(|| self.error("a quoted name has no end"))?;
        if rest.is_empty() {
            Ok(name)
        } else {
            Err(self.error("text behind a quoted name"))
        }
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, PatchError> {
        let mut out = Vec::new();
        while let Some(line) = self.peek().filter(|l| l.starts_with(b"@@ -")) {
            let (start, old_count, new_count) =
                ranges(line).ok_or_else(|| self.error("the range of a hunk cannot be read"))?;
            let mut hunk = Hunk {
                start,
                line: self.at + 1,
                ..Hunk::default()
            };
            self.at += 1;
            while hunk.old.len() < old_count || hunk.new.len() < new_count {
                self.hunk_line(&mut hunk)?;
            }
            if hunk.old.len() != old_count || hunk.new.len() != new_count {
                return Err(self.error("a hunk has other lines than its head says"));
            }
            self.no_newline(&mut hunk);
            out.push(hunk);
        }
        Ok(out)
    }

    fn hunk_line(&mut self, hunk: &mut Hunk) -> Result<(), PatchError> {
        let raw = self.lines.get(self.at).copied();
        let raw = raw.ok_or_else(|| self.error("the patch ends within a hunk"))?;
        let body = || raw[1..].to_vec();
        match raw.first() {
            Some(b' ') => {
                hunk.old.push(body());
                hunk.new.push(body());
            }
            // An empty context line whose blank was cut off.
            Some(b'\n') => {
                hunk.old.push(raw.to_vec());
                hunk.new.push(raw.to_vec());
            }
            Some(b'-') => hunk.old.push(body()),
            Some(b'+') => hunk.new.push(body()),
            Some(b'\\') => {
                self.no_newline(hunk);
                return Ok(());
            }
            _ => return Err(self.error("this is no line of a hunk")),
        }
        self.at += 1;
        Ok(())
    }

    /// `\ No newline at end of file` speaks of the line before it.
    fn no_newline(&mut self, hunk: &mut Hunk) {
        while self.peek().is_some_and(|l| l.starts_with(b"\\")) {
            let before = self.lines.get(self.at - 1).and_then(|l| l.first());
            if before != Some(&b'+') {
                cut_end(&mut hunk.old);
            }
            if before != Some(&b'-') {
                cut_end(&mut hunk.new);
            }
            self.at += 1;
        }
    }

    fn binary(&mut self) -> Result<Body, PatchError> {
        let forward = self.binary_block()?;
        // The way back, which nobody needs here.
        if self
            .peek()
            .is_some_and(|l| l.starts_with(b"literal ") || l.starts_with(b"delta "))
        {
            self.binary_block()?;
        }
        Ok(forward)
    }

    fn binary_block(&mut self) -> Result<Body, PatchError> {
        let head = self.peek().unwrap_or_default();
        let (delta, size) = match (head.strip_prefix(b"literal "), head.strip_prefix(b"delta ")) {
            (Some(size), _) => (false, size),
            (None, Some(size)) => (true, size),
            (None, None) => return Err(self.error("a binary block has no head")),
        };
        let size = std::str::from_utf8(size)
            .ok()
            .and_then(|s| s.trim().parse::<usize>().ok());
        let size = size.ok_or_else(|| self.error("a binary block has no size"))?;
        self.at += 1;
        let mut packed = Vec::new();
        while let Some(line) = self.peek().filter(|l| !l.is_empty()) {
            let part = binary::decode_line(line).ok_or_else(|| self.error("this is no line of a binary block"))?;
            packed.extend_from_slice(&part);
            self.at += 1;
        }
        self.at += usize::from(self.peek().is_some());
        let bytes = binary::inflate(&packed, size).ok_or_else(|| self.error("a binary block is damaged"))?;
        Ok(if delta {
            Body::Delta(bytes)
        } else {
            Body::Literal(bytes)
        })
    }
}

fn chomp(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn cut_end(lines: &mut [Vec<u8>]) {
    if let Some(last) = lines.last_mut()
        && last.last() == Some(&b'\n')
    {
        last.pop();
    }
}

/// `@@ -start,count +start,count @@`: start of the old side and both counts.
fn ranges(line: &[u8]) -> Option<(usize, usize, usize)> {
    let text = std::str::from_utf8(line.strip_prefix(b"@@ -")?.split(|b| *b == b'@').next()?).ok()?;
    let (old, new) = text.trim().split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((start, old_count), (_, new_count)) = (range(old)?, range(new)?);
    Some((start, old_count, new_count))
}

fn strip_first(name: &[u8]) -> Vec<u8> {
    let at = name.iter().position(|b| *b == b'/');
    at.map_or_else(|| name.to_vec(), |at| name[at + 1..].to_vec())
}

/// Both names of `diff --git a/x b/x`, where they are the same or quoted.
fn split_names(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if text.first() == Some(&b'"') {
        let (old, rest) = unquote(text)?;
        let rest = rest.strip_prefix(b" ")?;
        let new = unquote(rest).map_or_else(|| rest.to_vec(), |(new, _)| new);
        return Some((strip_first(&old), strip_first(&new)));
    }
    if text.last() == Some(&b'"') {
        let at = text.windows(2).position(|w| w == b" \"")?;
        let (new, _) = unquote(&text[at + 1..])?;
        return Some((strip_first(&text[..at]), strip_first(&new)));
    }
    // Unquoted names may hold blanks; they are equal, so the middle is where both halves agree.
    let found = (0..text.len()).filter(|i| text[*i] == b' ').find_map(|i| {
        let (old, new) = (strip_first(&text[..i]), strip_first(&text[i + 1..]));
        (old == new && !old.is_empty()).then_some((old, new))
    });
    found.or_else(|| {
        let at = text.windows(3).position(|w| w == b" b/")?;
        Some((strip_first(&text[..at]), strip_first(&text[at + 1..])))
    })
}

/// Both names are one, to the first letter: `x.py x.py`.
fn is_without_prefix(text: &[u8]) -> bool {
    let half = text.len() / 2;
    text.len() % 2 == 1 && text[half] == b' ' && text[..half] == text[half + 1..]
}

/// A name in double quotes with the escapes of C, and what stands behind it.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        match first {
            b'"' => return Some((out, rest)),
            b'\\' => {
                let (escape, after) = rest.split_first()?;
                rest = after;
                out.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'0'..=b'3' => {
                        let (digits, after) = (rest.get(..2)?, rest.get(2..)?);
                        rest = after;
                        let text = [&[*escape], digits].concat();
                        u8::from_str_radix(std::str::from_utf8(&text).ok()?, 8).ok()?
                    }
                    other => *other,
                });
            }
            other => out.push(*other),
        }
    }
}
