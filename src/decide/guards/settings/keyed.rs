//! Build files in languages without a grammar here, of Elixir and Scala: a name, a mark and a value, within brackets.

use super::read::Out;
use crate::decide::guards::lines::number;

/// What stands between a name and its value.
const MARKS: [&str; 4] = ["++=", "+=", ":=", "="];

impl Out {
    /// `key: value`, `key := value`, `key ++= Seq("a", "b")`; brackets behind a name are its path.
    pub(super) fn keyed(&mut self, text: &str) {
        let mut open: Vec<Option<String>> = Vec::new();
        let mut key: Option<String> = None;
        let mut marked = false;
        for (at, raw) in text.lines().enumerate() {
            let line = raw.trim();
            if line.starts_with(['#', '@']) || line.starts_with("//") {
                continue;
            }
            for word in words(line) {
                match word.as_str() {
                    "[" | "(" | "{" => open.push(key.take()),
                    "]" | ")" | "}" => {
                        open.pop();
                        key = None;
                    }
                    "," => key = None,
                    mark if MARKS.contains(&mark) => marked = true,
                    name if name.ends_with(':') && name.len() > 1 => key = Some(name.trim_end_matches(':').to_owned()),
                    value => {
                        let path: Vec<String> = open.iter().flatten().cloned().collect();
                        self.keyed_value(path, key.as_ref(), value, number(at));
                        // What stands before a mark is the name of what follows it.
                        let named = value.starts_with(char::is_alphabetic) && !marked;
                        key = named.then(|| value.to_owned()).or(key);
                    }
                }
            }
            if open.is_empty() {
                key = None;
            }
            marked = false;
        }
        self.path.clear();
    }

    fn keyed_value(&mut self, path: Vec<String>, key: Option<&String>, value: &str, at: u32) {
        let bare = value.trim_matches(['"', '\'']).to_owned();
        let scalar = matches!(bare.as_str(), "true" | "false") || bare.parse::<f64>().is_ok();
        self.path = path;
        match key {
            Some(key) if scalar => self.below(key.clone(), |s| s.put(bare, at)),
            None if value.starts_with('"') && !self.path.is_empty() => self.below("[]", |s| s.put(bare, at)),
            _ => {}
        }
    }
}

/// Names with their colon, texts, marks and brackets.
fn words(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let mark = MARKS.iter().find(|m| rest.starts_with(**m));
        let end = match (first, mark) {
            ('"', _) => rest[1..].find('"').map_or(rest.len(), |n| n + 2),
            (_, Some(mark)) => mark.len(),
            (c, _) if c.is_alphanumeric() || matches!(c, '_' | '.') => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/')));
                let end = end.unwrap_or(rest.len());
                let colon = rest[end..].starts_with(": ");
                if colon { end + 1 } else { end }
            }
            (c, _) => c.len_utf8(),
        };
        let word = rest[..end].trim();
        if !word.is_empty() {
            out.push(word.to_owned());
        }
        rest = &rest[end..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::read_settings;

    fn shown(text: &str, name: &str) -> String {
        let found = read_settings(text, name).unwrap();
        let one = |s: &super::super::Setting| format!("{}={}", s.path.join("."), s.value);
        found.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_with_their_values() {
        assert_eq!(
            shown(
                "def project do\n  [\n    # strict\n    elixirc_options: [warnings_as_errors: true],\n    \
                 test_coverage: [summary: [threshold: 85]]\n  ]\nend\n",
                "mix.exs"
            ),
            "elixirc_options.warnings_as_errors=true test_coverage.summary.threshold=85"
        );
        assert_eq!(
            shown(
                "  .settings(\n    coverageMinimumStmtTotal := 80,\n    \
                 scalacOptions ++= Seq(\"-Xfatal-warnings\", \"-deprecation\"),\n  )\n",
                "build.sbt"
            ),
            "coverageMinimumStmtTotal=80 scalacOptions.[]=-Xfatal-warnings scalacOptions.[]=-deprecation"
        );
    }
}
