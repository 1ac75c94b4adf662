//! An expression of a pattern, and what can be told from its text about what it matches.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition,
};

/// Compiled size of one expression.
const LARGEST: usize = 1 << 20;
/// And of one that is widened.
const LARGEST_WIDE: usize = 4 << 20;

/// An expression that is compiled when it is first needed.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    text: String,
    regex: OnceLock<Option<Regex>>,
    /// Takes any hexadecimal digit where the expression takes one.
    wide: OnceLock<Option<Regex>>,
    reach: OnceLock<Reach>,
}

/// What an expression asks of the text around a match.
#[derive(Debug, Clone, Copy)]
struct Reach {
    begins_a_line: bool,
    /// No match goes beyond a line or asks where the text ends.
    within_a_line: bool,
}

impl Expression {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            regex: OnceLock::new(),
            wide: OnceLock::new(),
            reach: OnceLock::new(),
        }
    }

    pub(super) fn hir(&self) -> Option<Hir> {
        parse_hir(&self.text)
    }

    fn reach(&self) -> Reach {
        *self.reach.get_or_init(|| {
            let hir = self.hir();
            Reach {
                begins_a_line: hir.as_ref().is_none_or(begins_a_line),
                within_a_line: hir.as_ref().is_some_and(is_within_a_line),
            }
        })
    }

    /// It asks where a line begins, so that framing before it matters.
    pub(super) fn begins_a_line(&self) -> bool {
        self.reach().begins_a_line
    }

    /// Neither asks where a line begins, nor looks at more than one.
    pub(super) fn is_within_a_line(&self) -> bool {
        let reach = self.reach();
        reach.within_a_line && !reach.begins_a_line
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
        let wide = self.wide.get_or_init(|| widened(&self.hir()?));
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

pub(super) fn begins_a_line(hir: &Hir) -> bool {
    let looks = hir.properties().look_set();
    [Look::Start, Look::StartLF, Look::StartCRLF]
        .into_iter()
        .any(|look| looks.contains(look))
}

fn is_within_a_line(hir: &Hir) -> bool {
    !hir.properties().look_set().contains(Look::End) && !may_take(hir, b'\n')
}

/// Whether a match may have this byte in it.
fn may_take(hir: &Hir, byte: u8) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&byte),
        HirKind::Class(Class::Bytes(class)) => class
            .ranges()
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&byte)),
        HirKind::Class(Class::Unicode(class)) => {
            let c = char::from(byte);
            class
                .ranges()
                .iter()
                .any(|range| (range.start()..=range.end()).contains(&c))
        }
        HirKind::Repetition(repeated) => may_take(&repeated.sub, byte),
        HirKind::Capture(group) => may_take(&group.sub, byte),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(|part| may_take(part, byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_what_an_expression_asks_of_the_text_around() {
        for (text, within_a_line) in [
            (r"\brefused\b.*x \S+$", true),
            (r"(?i)got [0-9]{3}", true),
            (r"a\sb", false),
            ("a[^x]b", false),
            (r"a\nb", false),
            ("(?s)a.b", false),
            ("^a", false),
            (r"(?-m)a$", false),
            (r"a\z", false),
        ] {
            assert_eq!(Expression::new(text).is_within_a_line(), within_a_line, "{text}");
        }
        assert!(Expression::new("^a").begins_a_line() && !Expression::new("a$").begins_a_line());
    }
}
