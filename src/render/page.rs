//! Lines of a page: wrapping, hanging indents, columns. No words of its own.

/// Widest line of anything that a terminal or a mail shows.
pub const WIDTH: usize = 80;

/// A page under construction.
#[derive(Debug, Default)]
pub struct Page(Vec<String>);

impl Page {
    pub fn line(&mut self, line: impl Into<String>) {
        self.0.push(line.into());
    }

    pub fn blank(&mut self) {
        if self.0.last().is_some_and(|last| !last.is_empty()) {
            self.0.push(String::new());
        }
    }

    /// Text after a label, wrapped, further lines below the first word of the text.
    pub fn hanging(&mut self, label: &str, column: usize, text: &str) {
        let room = WIDTH.saturating_sub(column).max(20);
        for (n, line) in wrap(text, room).into_iter().enumerate() {
            let label = if n == 0 { label } else { "" };
            self.0.push(format!("{label:column$}{line}").trim_end().to_owned());
        }
    }

    /// A paragraph, wrapped.
    pub fn paragraph(&mut self, text: &str) {
        self.hanging("", 0, text);
    }

    pub fn finish(mut self) -> String {
        while self.0.last().is_some_and(String::is_empty) {
            self.0.pop();
        }
        self.0.join("\n") + "\n"
    }
}

/// Words in lines of at most `width` characters; a word that is longer stands alone.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let needed = line.chars().count() + usize::from(!line.is_empty()) + word.chars().count();
        if !line.is_empty() && needed > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Width of the widest text, in characters.
pub fn widest<'a>(texts: impl IntoIterator<Item = &'a str>) -> usize {
    texts.into_iter().map(|text| text.chars().count()).max().unwrap_or(0)
}

pub use crate::text::count;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hanging_text_stays_in_its_column() {
        let mut page = Page::default();
        page.hanging("before", 10, &"word ".repeat(30));
        page.blank();
        page.blank();
        page.line("end");
        let text = page.finish();
        assert!(text.starts_with("before    word word"));
        assert!(text.lines().nth(1).unwrap().starts_with("          word"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.lines().filter(|line| line.is_empty()).count(), 1);
    }
}
