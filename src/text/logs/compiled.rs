//! Patterns as a log is searched with them: one automaton for the words of which each pattern needs one, and behind it
//! the expressions, each compiled when a line first holds one of its words.

use std::{cell::OnceCell, cmp::Reverse, sync::OnceLock};

use aho_corasick::{
    AhoCorasick, AhoCorasickKind, Anchored, Input,
    automaton::{Automaton, StateID},
    dfa::DFA,
};
use regex_syntax::hir::Hir;

use super::{Level, Pattern, PatternKind, expression::begins_a_line, literals};

/// So much of a word is looked for.
const LONGEST_WORD: usize = 16;
/// Bits of a word of a set.
const BITS: usize = u64::BITS as usize;

#[derive(Debug)]
pub(super) struct Compiled {
    /// Words of each pattern; None where there is none to look for.
    words: Vec<Option<Vec<String>>>,
    /// Finds the words with one digit for all that the usual spelling may put in place of another.
    alike: OnceLock<Option<Alike>>,
    windowed: Vec<bool>,
    always: OnceLock<Search>,
    near_start: OnceLock<Search>,
    /// The longest window of any pattern, in seconds.
    pub(super) longest_window: u32,
    /// Marks of a start, then all others, those first that name an event before others do.
    order: Vec<usize>,
    /// Some pattern asks where a line begins, so that framing before it matters.
    pub(super) anchored: bool,
}

impl Compiled {
    pub(super) fn new(list: &[Pattern]) -> Self {
        let hirs: Vec<Option<Hir>> = list.iter().map(|pattern| pattern.regex.as_ref()?.hir()).collect();
        let words = list.iter().zip(&hirs).map(|(pattern, hir)| match hir {
            Some(hir) => literals::required(hir),
            None if pattern.regex.is_none() => Some(Level::WORDS_FROM_ERROR.map(str::to_owned).to_vec()),
            None => None,
        });
        let words: Vec<Option<Vec<String>>> = words.map(|words| Some(beginnings(words?))).collect();
        Self {
            words,
            windowed: list.iter().map(|pattern| pattern.within_seconds.is_some()).collect(),
            alike: OnceLock::new(),
            always: OnceLock::new(),
            near_start: OnceLock::new(),
            longest_window: list
                .iter()
                .filter_map(|pattern| pattern.within_seconds)
                .max()
                .unwrap_or(0),
            order: by_priority(list),
            anchored: hirs.iter().flatten().any(begins_a_line),
        }
    }

    /// How candidates are found; those of patterns with a window only near a start.
    pub(super) fn search(&self, near_start: bool) -> &Search {
        if near_start {
            self.near_start.get_or_init(|| self.build(|_| true))
        } else {
            self.always.get_or_init(|| self.build(|n| !self.windowed[n]))
        }
    }

    /// Patterns without a window that may match some text of the usual spelling that this one has, in the order in
    /// which they are tried.
    pub(super) fn of_spelling(&self, text: &str) -> impl Iterator<Item = usize> {
        let mut may = Set::new(self.words.len());
        match self.alike.get_or_init(|| Alike::new(&self.words)) {
            Some(alike) => alike.find(text, &mut may),
            None => (0..self.words.len()).for_each(|n| may.insert(n)),
        }
        let order = self.order.iter().copied().filter(|n| !self.windowed[*n]);
        order.filter(move |n| may.contains(*n) || self.words[*n].is_none())
    }

    /// The candidates in the order in which they are tried.
    pub(super) fn by_priority(&self, candidates: &Set) -> impl Iterator<Item = usize> {
        self.order.iter().copied().filter(|n| candidates.contains(*n))
    }

    fn build(&self, wanted: impl Fn(usize) -> bool) -> Search {
        let mut texts: Vec<&str> = Vec::new();
        let mut of = Vec::new();
        let mut wordless = Set::new(self.words.len());
        for (n, words) in self.words.iter().enumerate().filter(|(n, _)| wanted(*n)) {
            match words {
                Some(words) => {
                    texts.extend(words.iter().map(String::as_str));
                    of.resize(texts.len(), n);
                }
                None => wordless.insert(n),
            }
        }
        let words = DFA::builder()
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(texts);
        Search {
            words: words.ok(),
            of,
            wordless,
            patterns: self.words.len(),
        }
    }
}

/// Finds candidates in a log, and which patterns may match them.
#[derive(Debug)]
pub(super) struct Search {
    words: Option<DFA>,
    /// Pattern of each word.
    of: Vec<usize>,
    /// Patterns without a word: they are tried on every line.
    wordless: Set,
    patterns: usize,
}

impl Search {
    /// A place in each of the lines that are candidates. The text begins with a line. None where all of them are.
    pub(super) fn lines(&self, text: &[u8]) -> Option<Vec<usize>> {
        let words = self.words.as_ref().filter(|_| self.wordless.is_empty())?;
        let start = words.start_state(Anchored::No).ok()?;
        let mut walks = [0, 1, 2, 3].map(|n| {
            let bound = |part: usize| match memchr::memchr(b'\n', &text[text.len() * part / WALKS..]) {
                Some(newline) if part > 0 => text.len() * part / WALKS + newline + 1,
                _ if part > 0 => text.len(),
                _ => 0,
            };
            let end = if n + 1 == WALKS { text.len() } else { bound(n + 1) };
            Walk::new(words, start, &text[..end], bound(n))
        });
        while together(words, &mut walks) {}
        for walk in &mut walks {
            while walk.at < walk.text.len() {
                walk.step();
            }
        }
        Some(walks.into_iter().flat_map(|walk| walk.found).collect())
    }

    /// The patterns that may match a text.
    pub(super) fn candidates(&self, text: &str) -> Set {
        let mut found = self.wordless.clone();
        let words = self.words.as_ref();
        match words.and_then(|words| words.try_find_overlapping_iter(Input::new(text)).ok()) {
            Some(words) => {
                for word in words {
                    found.insert(self.of[word.pattern().as_usize()]);
                }
            }
            None => (0..self.patterns).for_each(|n| found.insert(n)),
        }
        found
    }
}

/// The candidates of a text, found when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    always: OnceCell<Option<Vec<usize>>>,
    near_start: OnceCell<Option<Vec<usize>>>,
}

impl Ahead {
    /// Whether the line between two places is known to be a candidate.
    pub(super) fn holds(&self, start: usize, end: usize) -> bool {
        match self.always.get() {
            Some(Some(lines)) => lines
                .get(lines.partition_point(|line| *line < start))
                .is_some_and(|line| *line < end),
            Some(None) => true,
            None => false,
        }
    }

    /// A place in the next line that is a candidate, at or behind the one that starts at a place. Places only grow.
    pub(super) fn next(&self, compiled: &Compiled, near_start: bool, text: &str, at: usize) -> Option<usize> {
        let lines = if near_start { &self.near_start } else { &self.always };
        let from = at;
        let found = lines.get_or_init(|| {
            let mut lines = compiled.search(near_start).lines(&text.as_bytes()[from..])?;
            for line in &mut lines {
                *line += from;
            }
            Some(lines)
        });
        match found {
            Some(lines) => lines.get(lines.partition_point(|line| *line < at)).copied(),
            None => (at < text.len()).then_some(at),
        }
    }
}

/// So many parts of a text are searched at once.
const WALKS: usize = 4;

/// Goes on with all walks until one is at something special; false where one of them is at its end. Each step has to
/// wait for the one before it, but not for those of other walks: four at once take half of the time of one by one.
fn together(words: &DFA, walks: &mut [Walk<'_>; WALKS]) -> bool {
    let most = walks.iter().map(|walk| walk.text.len() - walk.at).min().unwrap_or(0);
    let [a, b, c, d] = walks.each_ref().map(|walk| &walk.text[walk.at..walk.at + most]);
    let [mut in_a, mut in_b, mut in_c, mut in_d] = walks.each_ref().map(|walk| walk.state);
    let next = |state, byte| words.next_state(Anchored::No, state, byte);
    let mut steps = 0;
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        (in_a, in_b, in_c, in_d) = (next(in_a, *a), next(in_b, *b), next(in_c, *c), next(in_d, *d));
        steps += 1;
        if [in_a, in_b, in_c, in_d].iter().any(|state| words.is_special(*state)) {
            break;
        }
    }
    for (walk, state) in walks.iter_mut().zip([in_a, in_b, in_c, in_d]) {
        walk.state = state;
        walk.at += steps;
        walk.look();
    }
    walks.iter().all(|walk| walk.at < walk.text.len())
}

/// A search of some lines.
struct Walk<'a> {
    words: &'a DFA,
    start: StateID,
    state: StateID,
    text: &'a [u8],
    /// What comes before it led to the state.
    at: usize,
    found: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn new(words: &'a DFA, start: StateID, text: &'a [u8], at: usize) -> Self {
        Self {
            words,
            start,
            state: start,
            text,
            at,
            found: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.state = self.words.next_state(Anchored::No, self.state, self.text[self.at]);
        self.at += 1;
        self.look();
    }

    /// A line with a word is passed over.
    fn look(&mut self) {
        if self.words.is_special(self.state) && self.words.is_match(self.state) {
            let last = self.at - 1;
            self.found.push(last);
            let end = memchr::memchr(b'\n', &self.text[last..]);
            self.at = end.map_or(self.text.len(), |end| last + end + 1);
            self.state = self.start;
        }
    }
}

/// A set of small numbers.
#[derive(Debug, Clone)]
pub(super) struct Set(Vec<u64>);

impl Set {
    fn new(most: usize) -> Self {
        Self(vec![0; most.div_ceil(BITS)])
    }

    fn insert(&mut self, n: usize) {
        self.0[n / BITS] |= 1 << (n % BITS);
    }

    fn contains(&self, n: usize) -> bool {
        self.0[n / BITS] & (1 << (n % BITS)) != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }
}

/// Of long words the beginnings: they are as rare, and the automaton stays small enough to be quick.
fn beginnings(words: Vec<String>) -> Vec<String> {
    let cut = |mut word: String| {
        word.truncate(word.floor_char_boundary(LONGEST_WORD));
        word
    };
    literals::least(words.into_iter().map(cut).collect())
}

fn by_priority(list: &[Pattern]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_key(|n| match list[*n].kind {
        PatternKind::Start => None,
        _ => Some(Reverse(list[*n].priority)),
    });
    order
}

/// The words of patterns as all texts of one usual spelling may hold them.
#[derive(Debug)]
struct Alike {
    words: AhoCorasick,
    /// Pattern of each word.
    of: Vec<usize>,
}

impl Alike {
    fn new(words: &[Option<Vec<String>>]) -> Option<Self> {
        let all = words
            .iter()
            .enumerate()
            .flat_map(|(n, words)| words.iter().flatten().map(move |word| (n, word)));
        let (of, masked): (Vec<usize>, Vec<Vec<u8>>) = all.map(|(n, word)| (n, masked(word))).unzip();
        let words = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(masked)
            .ok()?;
        Some(Self { words, of })
    }

    fn find(&self, text: &str, found: &mut Set) {
        for word in self.words.find_overlapping_iter(&masked(text)) {
            found.insert(self.of[word.pattern().as_usize()]);
        }
    }
}

/// In lower case, and one digit for all hexadecimal ones.
fn masked(text: &str) -> Vec<u8> {
    let mask = |b: u8| {
        if b.is_ascii_hexdigit() {
            b'0'
        } else {
            b.to_ascii_lowercase()
        }
    };
    text.bytes().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_digit_may_stand_for_another() {
        let words = ["401", "dead", "error 1", "refused"].map(|word| Some(vec![word.to_owned()]));
        let alike = Alike::new(&words).unwrap();
        for (text, wanted) in [
            ("status 502 of x", &[0][..]),
            ("status 52 of x", &[]),
            ("id xADF0x of x", &[0, 1]),
            ("Error 17 REFUSED", &[2, 3]),
            ("err", &[]),
        ] {
            let mut found = Set::new(words.len());
            alike.find(text, &mut found);
            let found: Vec<usize> = (0..words.len()).filter(|n| found.contains(*n)).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
