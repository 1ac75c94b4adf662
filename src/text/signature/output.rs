//! The masked line as it grows. Repeated masks that only commas, spaces or joints separate become one, so that lists
//! of any length and numbers of any number of groups look alike.

/// So many words a member of a list has at most.
const LONGEST_CYCLE: usize = 4;

pub(super) struct Output {
    text: String,
    /// Where the word in hand begins.
    word: usize,
    /// The words before it, the last one last, as long as only separators stand between.
    words: [(usize, usize); 2 * LONGEST_CYCLE],
    count: usize,
    /// Words since the last one with a mask in it; whether the one in hand has one.
    unmasked: usize,
    masked: bool,
}

impl Output {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            text: String::with_capacity(capacity + 16),
            word: 0,
            words: [(0, 0); 2 * LONGEST_CYCLE],
            count: 0,
            unmasked: LONGEST_CYCLE,
            masked: false,
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.close();
        self.text.truncate(self.text.trim_end().len());
        self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// So many of the last bytes, or a few more.
    pub(super) fn tail(&self, most: usize) -> &str {
        &self.text[self.text.floor_char_boundary(self.text.len().saturating_sub(most))..]
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn push(&mut self, c: char) {
        // A text may have been masked before.
        self.masked |= c == '<';
        self.text.push(c);
    }

    pub(super) fn mask(&mut self, mask: &str) {
        self.masked = true;
        self.text.push_str(mask);
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn at_start_of_word(&self) -> bool {
        self.text.is_empty() || self.text.ends_with(' ')
    }

    /// A word of small letters; behind a number without the sign of the plural.
    pub(super) fn push_noun(&mut self, word: &str) {
        let plural = word.len() >= 4
            && word.ends_with('s')
            && !word.ends_with("ss")
            && !word.ends_with("us")
            && !word.ends_with("is");
        let sign = usize::from(plural && self.text.ends_with("<n> "));
        self.text.push_str(&word[..word.len() - sign]);
    }

    /// Whether a masked number and this byte stand at the end.
    pub(super) fn ends_in_number_and(&self, last: u8) -> bool {
        let bytes = self.text.as_bytes();
        bytes.last() == Some(&last) && bytes[..bytes.len() - 1].ends_with(b"<n>")
    }

    /// A space, a comma or a semicolon.
    pub(super) fn separate(&mut self, c: char) {
        self.close();
        if c != ' ' || !self.at_start_of_word() {
            self.text.push(c);
        }
        self.word = self.text.len();
    }

    pub(super) fn bracket(&mut self, c: char) {
        if matches!(c, ')' | ']' | '}') {
            self.close();
        }
        self.text.push(c);
        self.word = self.text.len();
        self.count = 0;
    }

    /// A number or an id; with its sign, and with the groups before it that it is joined to.
    pub(super) fn push_number(&mut self) {
        const MASK: &str = "<n>";
        let mut text = self.text.as_str();
        if let Some(before) = text.strip_suffix(['-', '.', '_', ':', '/', '+']) {
            let signed =
                text.ends_with(['-', '+']) && !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '>');
            if signed || before.ends_with(MASK) {
                text = before;
            }
        }
        let length = text.len();
        self.masked = true;
        self.text.truncate(length);
        if !self.text.ends_with(MASK) {
            self.text.push_str(MASK);
        }
    }

    /// An address and an opening bracket: what follows is the name of that host.
    pub(super) fn ends_with_host_in_bracket(&self) -> bool {
        self.text
            .strip_suffix(['(', '['])
            .is_some_and(|text| text.trim_end().ends_with("<host>"))
    }

    pub(super) fn ends_with_host(&self) -> bool {
        self.text.trim_end().ends_with("<host>")
    }

    pub(super) fn masked_since(&self, from: usize) -> bool {
        self.text[from..].contains("<n>") || self.text[from..].contains("<uuid>")
    }

    pub(super) fn replace_from(&mut self, from: usize, mask: &str) {
        self.text.truncate(from);
        self.mask(mask);
    }

    /// Ends the word in hand. When the last words repeat those before them, they go.
    fn close(&mut self) {
        if self.word == self.text.len() {
            return;
        }
        if self.count == self.words.len() {
            self.words.rotate_left(1);
            self.count -= 1;
        }
        self.words[self.count] = (self.word, self.text.len());
        self.count += 1;
        self.word = self.text.len();
        self.unmasked = if self.masked { 0 } else { self.unmasked + 1 };
        self.masked = false;
        if self.unmasked < LONGEST_CYCLE {
            self.drop_repeated();
        }
    }

    fn drop_repeated(&mut self) {
        for cycle in 1..=self.count / 2 {
            let (middle, start) = (self.count - cycle, self.count - 2 * cycle);
            if self.is_repeated(start, middle) {
                self.text.truncate(self.words[middle - 1].1);
                self.count = middle;
                self.word = self.text.len();
                return;
            }
        }
    }

    fn is_repeated(&self, start: usize, middle: usize) -> bool {
        let word = |at: usize| &self.text[self.words[at].0..self.words[at].1];
        let mut masked = false;
        for at in start..middle {
            if word(at) != word(at + middle - start) {
                return false;
            }
            masked |= word(at).contains('<');
        }
        masked
    }
}
