//! Text of the config file to a JSON value: comments and trailing commas are allowed, everything else that JSON
//! does not know is not, and a key that stands twice is a problem (the second would win in silence).

use jsonc_parser::{CollectOptions, ParseOptions, ast, common::Ranged, parse_to_ast};
use serde_json::Value;

use super::problem::{JsonPath, Problem, quote_raw};

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The value of a file, with one problem for each key that stands twice in one object, and for each number that none of
/// ours can hold.
pub(super) fn parse(text: &str) -> Result<(Value, Vec<Problem>), Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        Problem::new(
            JsonPath::default(),
            format!(
                "line {}, column {} is not JSON: {}",
                error.line_display(),
                error.column_display(),
                lower_first(&error.kind().to_string())
            ),
        )
        .example("{ \"mode\": \"observe\" } // comments are allowed")
    })?;
    let Some(root) = parsed.value else {
        return Err(Problem::new(JsonPath::default(), "the file is empty").example("{}"));
    };
    let mut problems = Vec::new();
    find_wrong(&root, &JsonPath::default(), text, &mut problems);
    Ok((root.into(), problems))
}

fn find_wrong(value: &ast::Value<'_>, path: &JsonPath, text: &str, problems: &mut Vec<Problem>) {
    match value {
        ast::Value::Object(object) => {
            let mut seen = std::collections::BTreeMap::new();
            for property in &object.properties {
                let name = property.name.as_str();
                let here = path.key(name);
                if let Some(first) = seen.insert(name, property.start()) {
                    let lines = (line_of(text, first), line_of(text, property.start()));
                    problems.push(
                        Problem::new(
                            here.clone(),
                            format!("stands twice, in line {} and line {}", lines.0, lines.1),
                        )
                        .example("one of the two"),
                    );
                }
                find_wrong(&property.value, &here, text, problems);
            }
        }
        ast::Value::Array(array) => {
            for (n, element) in array.elements.iter().enumerate() {
                find_wrong(element, &path.index(n), text, problems);
            }
        }
        ast::Value::NumberLit(number) if number.value.parse::<f64>().is_ok_and(f64::is_infinite) => {
            let what = format!("{} is a number out of range", quote_raw(number.value));
            problems.push(Problem::new(path.clone(), what));
        }
        ast::Value::StringLit(_)
        | ast::Value::NumberLit(_)
        | ast::Value::BooleanLit(_)
        | ast::Value::NullKeyword(_) => {}
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|c| c.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_json_here() {
        let (value, problems) = parse("// a\n{ \"a\": [1, 2,], /* b */ }").unwrap();
        assert_eq!(value, serde_json::json!({"a": [1, 2]}));
        assert_eq!(problems, []);
    }

    #[test]
    fn other_dialects_are_refused_with_the_line() {
        for text in [
            "{a: 1}",
            "{\"a\": 'x'}",
            "{\"a\": 0x10}",
            "{\"a\" 1}",
            "{\"a\": 1 \"b\": 2}",
            "{",
            "",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let problem = parse("{\n  \"a\": +1\n}").unwrap_err();
        assert!(problem.what.starts_with("line 2, column"), "{}", problem.what);
    }

    #[test]
    fn a_number_that_fits_nowhere_is_called_one() {
        let (_, problems) = parse("{\"a\": [1, -1e400], \"b\": \"1e400\", \"c\": 1e300}").unwrap();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path.to_string(), "a[1]");
        assert_eq!(problems[0].what, "-1e400 is a number out of range");
    }

    #[test]
    fn a_key_that_stands_twice_is_named_with_both_lines() {
        let (_, problems) = parse("{\"a\": {\"b\": 1,\n\"b\": 2}}").unwrap();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path.to_string(), "a.b");
        assert_eq!(problems[0].what, "stands twice, in line 1 and line 2");
    }
}
