//! Whether letters and digits stand in an order that no name has.

/// What one look at a word counts.
#[derive(Default)]
struct Count {
    length: usize,
    small: usize,
    capital: usize,
    digits: usize,
    vowels: usize,
    /// Changes between small letters, capitals and digits; a capital that begins a word is none.
    changes: usize,
    /// A letter behind a digit, or a small letter behind two capitals.
    odd: bool,
    letters_behind_digits: usize,
    groups_of_digits: usize,
    consonants: usize,
    longest_consonants: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Small,
    Capital,
    Digit,
}

fn kind(b: u8) -> Option<Kind> {
    match b {
        b'a'..=b'z' => Some(Kind::Small),
        b'A'..=b'Z' => Some(Kind::Capital),
        b'0'..=b'9' => Some(Kind::Digit),
        _ => None,
    }
}

impl Count {
    /// None for words that are joined.
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut count = Self {
            length: bytes.len(),
            ..Self::default()
        };
        let (mut before, mut previous) = (None, None);
        for b in bytes {
            let this = kind(*b)?;
            match this {
                Kind::Small => count.small += 1,
                Kind::Capital => count.capital += 1,
                Kind::Digit => count.digits += 1,
            }
            let vowel = matches!(b.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
            count.vowels += usize::from(vowel);
            count.consonants = if vowel || this == Kind::Digit {
                0
            } else {
                count.consonants + 1
            };
            count.longest_consonants = count.longest_consonants.max(count.consonants);
            if let Some(previous) = previous {
                count.change(before, previous, this);
            }
            count.groups_of_digits += usize::from(this == Kind::Digit && previous != Some(Kind::Digit));
            (before, previous) = (previous, Some(this));
        }
        Some(count)
    }

    fn change(&mut self, before: Option<Kind>, previous: Kind, this: Kind) {
        if previous == this {
            return;
        }
        let begins = previous == Kind::Capital && this == Kind::Small;
        self.changes += usize::from(!begins);
        let behind_digit = previous == Kind::Digit;
        self.letters_behind_digits += usize::from(behind_digit);
        self.odd |= behind_digit || (begins && before == Some(Kind::Capital));
    }
}

/// An id of eight characters or more.
pub(super) fn is_random(word: &[u8]) -> bool {
    if word.len() < 8 {
        return false;
    }
    let Some(count) = Count::of(word) else {
        return false;
    };
    let letters = count.small + count.capital;
    let restless = count.odd && count.changes * 4 >= count.length;
    let interleaved = count.length >= 10 && count.groups_of_digits >= 2 && count.letters_behind_digits >= 1;
    let unspeakable = count.digits > 0 && letters >= 6 && count.vowels == 0;
    let stumbling = count.letters_behind_digits >= 1 && count.longest_consonants >= 4;
    let mixed = count.small > 0 && count.capital > 0;
    let long = mixed && count.length >= 12 && count.letters_behind_digits >= 1 && count.changes * 5 >= count.length;
    let balanced = count.length >= 16
        && count.changes * 6 >= count.length
        && count.odd
        && count.capital * 4 >= count.length
        && count.small * 4 >= count.length;
    let whole = mixed && count.length >= 16 && count.odd && count.digits > 0;
    restless || interleaved || unspeakable || stumbling || long || balanced || whole
}

/// Behind an underscore, where services put their ids: letters of both cases with digits, many
/// capitals or no vowels.
pub(super) fn is_token(word: &[u8]) -> bool {
    Count::of(word).is_some_and(|count| {
        let mixed = count.small > 0 && count.capital > 0;
        let many = count.capital * 5 >= count.length;
        count.length >= 14 && mixed && (count.digits > 0 || many || count.longest_consonants >= 5)
    })
}

/// Shorter ones, where the place says that an id may stand there.
pub(super) fn is_mixed(word: &[u8]) -> bool {
    Count::of(word).is_some_and(|count| count.odd && count.changes >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random() {
        for id in [
            "V1StGXR8Z5jdHi6B",
            "7d9f8b6c5d",
            "x8k2m4q9p1",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "lhImKBeQdwkT",
            "bcdfghj5",
        ] {
            assert!(is_random(id.as_bytes()), "{id}");
        }
    }

    #[test]
    fn names_are_not() {
        for name in [
            "getTodoById",
            "HTTPServerError",
            "PrismaClientKnownRequestError",
            "sha256sum",
            "base64url",
            "oauth2client",
            "NullPointerException",
            "processTicksAndRejections",
            "createHmac",
            "Int32Array",
            "addEventListener",
            "HTTPPasswordMgrWithDefaultRealm",
            "tax_rate_2",
        ] {
            assert!(!is_random(name.as_bytes()), "{name}");
        }
    }
}
