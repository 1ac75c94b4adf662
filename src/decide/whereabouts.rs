//! Which file of the repository a trace means. Production may have it below another folder than the repository does.

use serde::{Deserialize, Serialize};

/// What became of the path that a trace names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whereabouts {
    /// The repository has it under that very path.
    AsSaid,
    /// One file of the repository, under this path.
    Is(String),
    /// So many files could be meant.
    OneOf(usize),
    Nowhere,
}

/// A file is meant where one of the two paths is the end of the other; the longest such end counts.
pub fn whereabouts<'a>(said: &str, files: impl IntoIterator<Item = &'a str>) -> Whereabouts {
    let said = said.replace('\\', "/");
    let said = said.trim_start_matches("./").trim_start_matches('/');
    let parts: Vec<&str> = said.split('/').collect();
    let mut longest = 0;
    let mut meant: Vec<&str> = Vec::new();
    for file in files {
        if file == said {
            return Whereabouts::AsSaid;
        }
        let names = file.rsplit('/');
        let alike = names
            .clone()
            .zip(parts.iter().rev())
            .take_while(|(a, b)| a == *b)
            .count();
        if alike < longest.max(1) || alike != parts.len().min(names.count()) {
            continue;
        }
        if alike > longest {
            meant.clear();
        }
        longest = alike;
        meant.push(file);
    }
    match meant.as_slice() {
        [] => Whereabouts::Nowhere,
        [one] => Whereabouts::Is((*one).to_owned()),
        several => Whereabouts::OneOf(several.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_means_the_file_whose_path_ends_alike() {
        let files = [
            "README.md",
            "price.py",
            "shop/price.py",
            "a/x.py",
            "b/x.py",
            "web/src/cart.ts",
        ];
        let is = |path: &str| Whereabouts::Is(path.to_owned());
        for (said, want) in [
            ("shop/price.py", Whereabouts::AsSaid),
            ("./shop/price.py", Whereabouts::AsSaid),
            ("app/shop/price.py", is("shop/price.py")),
            ("C:\\srv\\shop\\price.py", is("shop/price.py")),
            ("src/cart.ts", is("web/src/cart.ts")),
            ("cart.ts", is("web/src/cart.ts")),
            ("app/price.py", is("price.py")),
            ("x.py", Whereabouts::OneOf(2)),
            ("app/b/x.py", is("b/x.py")),
            // The name alone is no file: its folder is another one.
            ("lib/cart.ts", Whereabouts::Nowhere),
            ("app/c/x.py", Whereabouts::Nowhere),
            ("hop/price.py", is("price.py")),
            ("", Whereabouts::Nowhere),
        ] {
            assert_eq!(whereabouts(said, files), want, "{said}");
        }
    }
}
