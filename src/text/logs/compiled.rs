//! Patterns as a log is searched with them: one automaton for the words of which each pattern needs one, and behind it
//! the expressions, each compiled when a line first holds one of its words.

use std::{cell::OnceCell, cmp::Reverse, sync::OnceLock};

use aho_corasick::{
    Anchored, Input,
    automaton::{Automaton, StateID},
    dfa::DFA,
};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition,
};

use super::{Level, Pattern, PatternKind, literals};

/// Compiled size of one expression.
const LARGEST: usize = 1 << 20;
/// And of one that is widened.
const LARGEST_WIDE: usize = 4 << 20;
/// So much of a word is looked for.
const LONGEST_WORD: usize = 16;
/// Bits of a word of a set.
const BITS: usize = u64::BITS as usize;

/// An expression that is compiled when it is first needed.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    text: String,
    regex: OnceLock<Option<Regex>>,
    /// Takes any hexadecimal digit where the expression takes one.
    wide: OnceLock<Option<Regex>>,
    begins_a_line: OnceLock<bool>,
}

impl Expression {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            regex: OnceLock::new(),
            wide: OnceLock::new(),
            begins_a_line: OnceLock::new(),
        }
    }

    /// It asks where a line begins, so that framing before it matters.
    pub(super) fn begins_a_line(&self) -> bool {
        *self
            .begins_a_line
            .get_or_init(|| parse_hir(&self.text).is_none_or(|hir| begins_a_line(&hir)))
    }

    /// One that does not compile matches nothing; checks before have said so.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let regex = self.regex.get_or_init(|| build(&self.text).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(text.as_bytes()))
    }

    /// Whether all texts of the usual spelling that this one has match, or none does; None where that is not certain.
    ///
    /// They differ in digits, and in the letters of ids, which are words that have a digit. So a match around which no
    /// word has a digit is one in each of them, and so is one around which they are statuses that the spelling keeps;
    /// and where the expression does not even match with every such character taken for any other, it matches none.
    pub(super) fn settled(&self, text: &str, usual: Option<&str>) -> Option<bool> {
        let wide = self.wide.get_or_init(|| widened(&parse_hir(&self.text)?));
        if !wide.as_ref()?.is_match(text.as_bytes()) {
            return Some(false);
        }
        let regex = self.regex.get_or_init(|| build(&self.text).ok());
        let found = regex.as_ref()?.find(text.as_bytes())?;
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'$';
        let part = |word: &&u8| is_word(word);
        let from = found.start() - text.as_bytes()[..found.start()].iter().rev().take_while(part).count();
        let to = found.end() + text.as_bytes()[found.end()..].iter().take_while(part).count();
        let mut at = from;
        let one = text.as_bytes()[from..to].split(|b| !is_word(b)).all(|word| {
            let range = at..at + word.len();
            at = range.end + 1;
            let kept = || usual.is_some_and(|usual| is_status(word) && usual.as_bytes()[range] == *word);
            !word.iter().any(u8::is_ascii_digit) || kept()
        });
        one.then_some(true)
    }
}

/// Three digits of which the first is 4 or 5. The usual spelling makes no other word into one.
fn is_status(word: &[u8]) -> bool {
    matches!(word, [b'4' | b'5', rest @ ..] if rest.len() == 2 && rest.iter().all(u8::is_ascii_digit))
}

fn widened(hir: &Hir) -> Option<Regex> {
    RegexBuilder::new(&wide(hir).to_string())
        .unicode(false)
        .multi_line(true)
        .size_limit(LARGEST_WIDE)
        .build()
        .ok()
}

/// The same with every hexadecimal digit where there is one.
fn wide(hir: &Hir) -> Hir {
    const DIGITS: [(u8, u8); 2] = [(b'0', b'9'), (b'a', b'f')];
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => hir.clone(),
        HirKind::Literal(literal) => Hir::concat(
            literal
                .0
                .iter()
                .map(|b| wide_class(ClassBytes::new([ClassBytesRange::new(*b, *b)])))
                .collect(),
        ),
        HirKind::Class(Class::Bytes(class)) => wide_class(class.clone()),
        HirKind::Class(Class::Unicode(class)) => {
            let digits = ClassUnicode::new(DIGITS.map(|(a, b)| ClassUnicodeRange::new(a.into(), b.into())));
            let mut common = class.clone();
            common.intersect(&digits);
            let mut class = class.clone();
            if !common.ranges().is_empty() {
                class.union(&digits);
            }
            Hir::class(Class::Unicode(class))
        }
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(wide(&repetition.sub)),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => wide(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(wide).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(wide).collect()),
    }
}

fn wide_class(mut class: ClassBytes) -> Hir {
    let digits = ClassBytes::new([ClassBytesRange::new(b'0', b'9'), ClassBytesRange::new(b'a', b'f')]);
    let mut common = class.clone();
    common.intersect(&digits);
    if !common.ranges().is_empty() {
        class.union(&digits);
    }
    Hir::class(Class::Bytes(class))
}

pub(super) fn build(regex: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(regex)
        .unicode(false)
        .multi_line(true)
        .size_limit(LARGEST)
        .build()
}

pub(super) fn parse_hir(regex: &str) -> Option<Hir> {
    regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .multi_line(true)
        .build()
        .parse(regex)
        .ok()
}

#[derive(Debug)]
pub(super) struct Compiled {
    /// Words of each pattern; None where there is none to look for.
    words: Vec<Option<Vec<String>>>,
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
        let hirs: Vec<Option<Hir>> = list
            .iter()
            .map(|pattern| parse_hir(&pattern.regex.as_ref()?.text))
            .collect();
        let words = list.iter().zip(&hirs).map(|(pattern, hir)| match hir {
            Some(hir) => literals::required(hir),
            None if pattern.regex.is_none() => Some(Level::WORDS_FROM_ERROR.map(str::to_owned).to_vec()),
            None => None,
        });
        Self {
            words: words.map(|words| Some(beginnings(words?))).collect(),
            windowed: list.iter().map(|pattern| pattern.within_seconds.is_some()).collect(),
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

    /// Patterns without a window, in the order in which they are tried.
    pub(super) fn without_window(&self) -> impl Iterator<Item = usize> {
        self.order.iter().copied().filter(|n| !self.windowed[*n])
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

fn begins_a_line(hir: &Hir) -> bool {
    let looks = hir.properties().look_set();
    [Look::Start, Look::StartLF, Look::StartCRLF]
        .into_iter()
        .any(|look| looks.contains(look))
}
