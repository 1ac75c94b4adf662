//! Puts the paragraphs of a body together, within what the host takes.

use super::Marker;

/// The host refuses more than 65,536 characters.
pub(super) const BODY_MOST: usize = 60_000;

/// Paragraphs of a body, within the host's limit: folded parts go first.
pub(super) struct Page {
    marker: String,
    parts: Vec<Part>,
}

struct Part {
    text: String,
    folded: bool,
}

impl Page {
    pub(super) fn new(marker: &Marker) -> Self {
        Self {
            marker: marker.to_string(),
            parts: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, text: String) {
        if !text.is_empty() {
            self.parts.push(Part { text, folded: false });
        }
    }

    /// The empty lines keep the summary's HTML apart from the Markdown inside.
    pub(super) fn fold(&mut self, summary: &str, blocks: &[String]) {
        if !blocks.is_empty() {
            let text = format!(
                "<details><summary>{summary}</summary>\n\n{}\n\n</details>",
                blocks.join("\n\n")
            );
            self.parts.push(Part { text, folded: true });
        }
    }

    pub(super) fn finish(mut self) -> String {
        let length = |page: &Self| page.parts.iter().map(|p| p.text.chars().count() + 2).sum::<usize>();
        while length(&self) + self.marker.len() > BODY_MOST {
            match self.parts.iter().rposition(|p| p.folded) {
                Some(last) => {
                    self.parts[last] = Part {
                        text: "(a part was left out for its length: `tick show`)".to_owned(),
                        folded: false,
                    };
                }
                None => break,
            }
        }
        let mut out = self.marker;
        for part in self.parts {
            out.push_str("\n\n");
            out.push_str(part.text.trim_end());
        }
        out.push('\n');
        out
    }
}
