//! Patterns as a log is searched with them: one automaton for the words of which each pattern needs one, and behind it
//! the expressions, each compiled when a line first holds one of its words.

use std::{cmp::Reverse, sync::OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
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
    /// word has a digit is one in each of them; and where the expression does not even match with every such character
    /// taken for any other, it matches none.
    pub(super) fn settled(&self, text: &str) -> Option<bool> {
        let wide = self.wide.get_or_init(|| widened(&parse_hir(&self.text)?));
        if !wide.as_ref()?.is_match(text.as_bytes()) {
            return Some(false);
        }
        let regex = self.regex.get_or_init(|| build(&self.text).ok());
        let found = regex.as_ref()?.find(text.as_bytes())?;
        let is_word = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_' || **b == b'$';
        let before = text.as_bytes()[..found.start()].iter().rev().take_while(is_word);
        let behind = text.as_bytes()[found.end()..].iter().take_while(is_word);
        let mut around = before.chain(found.as_bytes()).chain(behind);
        (!around.any(u8::is_ascii_digit)).then_some(true)
    }
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
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
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
    words: Option<AhoCorasick>,
    /// Pattern of each word.
    of: Vec<usize>,
    /// Patterns without a word: they are tried on every line.
    wordless: Set,
    patterns: usize,
}

impl Search {
    /// Where the next candidate is, at or behind a place.
    pub(super) fn next(&self, text: &str, at: usize) -> Option<usize> {
        match &self.words {
            Some(words) if self.wordless.is_empty() => {
                Some(words.find(aho_corasick::Input::new(text).range(at..))?.start())
            }
            _ => (at < text.len()).then_some(at),
        }
    }

    /// The patterns that may match a text.
    pub(super) fn candidates(&self, text: &str) -> Set {
        let mut found = self.wordless.clone();
        match &self.words {
            Some(words) => {
                for word in words.find_overlapping_iter(text) {
                    found.insert(self.of[word.pattern().as_usize()]);
                }
            }
            None => (0..self.patterns).for_each(|n| found.insert(n)),
        }
        found
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

    fn is_empty(&self) -> bool {
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
