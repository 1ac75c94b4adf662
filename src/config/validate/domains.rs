//! Names whose registration is watched.

use url::{Host, Url};

use super::Checks;
use crate::config::{
    REGISTRIES,
    problem::{JsonPath, quote_str},
    raw,
};

const EXAMPLE: &str = "\"acme.example\"";

impl Checks<'_> {
    pub(super) fn registries(&mut self, raw: &raw::Network) -> Url {
        let at = JsonPath::default().key("network").key("registries");
        self.url(&raw.registries, at, REGISTRIES)
            .unwrap_or_else(|| Url::parse(REGISTRIES).expect("a constant URL"))
    }

    /// Each name as registries spell it: lower case, in ASCII, without the root's dot.
    pub(super) fn domains(&mut self, raw: &[String], at: &JsonPath) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (n, text) in raw.iter().enumerate() {
            let here = at.index(n);
            match name(text) {
                None => {
                    let what = format!("{} is not the name of a domain", quote_str(text));
                    self.problem(here, what, EXAMPLE);
                }
                Some(name) if names.contains(&name) => {
                    let what = format!("{} stands twice", quote_str(text));
                    self.problem(here, what, "each name once");
                }
                Some(name) => names.push(name),
            }
        }
        names
    }
}

fn name(text: &str) -> Option<String> {
    let Ok(Host::Domain(name)) = Host::parse(text.strip_suffix('.').unwrap_or(text)) else {
        return None;
    };
    let labels: Vec<&str> = name.split('.').collect();
    let plain = |label: &&str| {
        let inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && label.len() <= 63 && label.chars().all(inner)
    };
    (labels.len() > 1 && labels.iter().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_registries_spell_it() {
        let cases = [
            ("shop.example", Some("shop.example")),
            ("Shop.EXAMPLE.", Some("shop.example")),
            ("www.shop.co.uk", Some("www.shop.co.uk")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("https://shop.example", None),
            ("shop.example/", None),
            ("shop.example:443", None),
            ("shop_1.example", None),
            ("shop..example", None),
            ("127.0.0.1", None),
            ("[::1]", None),
            ("localhost", None),
            (".", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
    }
}
