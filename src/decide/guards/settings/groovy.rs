//! Gradle's build files in Groovy: blocks, and in each line a name with a value.

use super::read::Out;
use crate::decide::guards::lines::number;

impl Out {
    /// Blocks are the path; `name value`, `name = value` and `name(value)` are settings.
    pub(super) fn groovy(&mut self, text: &str) {
        let mut open: Vec<String> = Vec::new();
        for (at, raw) in text.lines().enumerate() {
            let mut rest = raw
                .split("//")
                .next()
                .filter(|_| !raw.contains("://"))
                .unwrap_or(raw)
                .trim();
            // Blocks may open and close within a line.
            loop {
                rest = rest.trim_start_matches([' ', ';']);
                if let Some(after) = rest.strip_prefix('}') {
                    open.pop();
                    rest = after;
                    continue;
                }
                let end = rest.find(['{', '}']).unwrap_or(rest.len());
                let (head, tail) = rest.split_at(end);
                if let Some(inside) = tail.strip_prefix('{') {
                    open.push(name_of(head));
                    rest = inside;
                    continue;
                }
                self.path.clone_from(&open);
                self.groovy_line(head.trim(), number(at));
                rest = tail;
                if rest.is_empty() {
                    break;
                }
            }
        }
        self.path.clear();
    }

    fn groovy_line(&mut self, line: &str, at: u32) {
        if line.is_empty() || self.path.len() > 40 || self.path.iter().any(|p| p == "dependencies") {
            return;
        }
        let bare = |text: &str| text.trim().trim_matches(['\'', '"', '(', ')']).to_owned();
        if let Some((key, value)) = line.split_once('=').filter(|(k, _)| !k.contains(['\'', '"'])) {
            let key = key.trim().rsplit('.').next().unwrap_or_default().to_owned();
            return self.below(key, |s| s.put(bare(value), at));
        }
        let end = line.find([' ', '(']).unwrap_or(line.len());
        let (name, values) = line.split_at(end);
        let (owner, key) = name.rsplit_once('.').unwrap_or(("", name));
        let values: Vec<String> = values.split(',').map(bare).filter(|v| !v.is_empty()).collect();
        let plugin = self.path.last().is_some_and(|p| p == "plugins");
        if plugin {
            let id = values
                .first()
                .map_or("", |v| v.split(['\'', '"']).next().unwrap_or_default());
            return self.below("[]", |s| s.put(id.to_owned(), at));
        }
        if !owner.is_empty() {
            self.path.push(owner.to_owned());
        }
        if values.is_empty() {
            self.below(key.to_owned(), |s| s.put("", at));
        }
        for value in values {
            let flag = matches!(value.as_str(), "true" | "false") || value.parse::<f64>().is_ok();
            self.below(key.to_owned(), |s| {
                if flag {
                    s.put(value, at);
                } else {
                    s.below("[]", |s| s.put(value, at));
                }
            });
        }
    }
}

/// `test`, `tasks.named('test')`, `tasks.withType(Test).configureEach`
fn name_of(head: &str) -> String {
    let head = head.trim().trim_end_matches('=').trim();
    let quoted = head.split(['\'', '"']).nth(1);
    quoted
        .unwrap_or(head.split('(').next().unwrap_or(head))
        .trim()
        .to_owned()
}
