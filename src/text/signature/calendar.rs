//! Dates spelled with the names of days and months.

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The length of the date that the text begins with, `first` being its first word: `Sun Jun 19 03:40:11 2005`,
/// `19 Jun 2005`, `Jun 19 03:40:11`. A month alone is a word.
pub(super) fn date(text: &str, first: &str) -> Option<usize> {
    let first = first.trim_end_matches(',');
    if first.len() > 4 || !(is_one_of(first, &DAYS) || is_one_of(first, &MONTHS) || starts_a_day(first, text)) {
        return None;
    }
    let (mut month, mut day, mut clock, mut year) = (false, false, false, false);
    let mut end = 0;
    let mut at = 0;
    for word in text.split(' ').take(9) {
        let next = at + word.len() + 1;
        let bare = word.trim_end_matches([',', ']', ')']);
        let known = if bare.is_empty() {
            word.is_empty()
        } else if is_one_of(bare, &DAYS) {
            at == 0
        } else if is_one_of(bare, &MONTHS) {
            !std::mem::replace(&mut month, true)
        } else if is_number(bare, 1..=2) {
            !std::mem::replace(&mut day, true)
        } else if is_number(bare, 4..=4) {
            !std::mem::replace(&mut year, true)
        } else if is_clock(bare) {
            !std::mem::replace(&mut clock, true)
        } else {
            clock && is_zone(bare)
        };
        if !known {
            break;
        }
        if !bare.is_empty() {
            end = at + bare.len();
        }
        if bare.len() < word.len() && !word.ends_with(',') {
            break;
        }
        at = next;
    }
    (month && day && (clock || year)).then_some(end.min(text.len()))
}

/// `19 Jun`: a number is a date only before a month.
fn starts_a_day(first: &str, text: &str) -> bool {
    is_number(first, 1..=2)
        && text[first.len()..]
            .strip_prefix(' ')
            .is_some_and(|rest| rest.len() > 3 && MONTHS.iter().any(|month| rest.starts_with(month)))
}

fn is_one_of(word: &str, names: &[&str]) -> bool {
    word.len() == 3 && word.as_bytes()[0].is_ascii_uppercase() && names.contains(&word)
}

fn is_number(word: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}

fn is_clock(word: &str) -> bool {
    word.len() >= 4
        && word.contains(':')
        && word.as_bytes()[0].is_ascii_digit()
        && word
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b','))
}

fn is_zone(word: &str) -> bool {
    let named = (3..=4).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_uppercase());
    let offset =
        word.len() >= 5 && word.starts_with(['+', '-']) && word[1..].bytes().all(|b| b.is_ascii_digit() || b == b':');
    named || offset
}
