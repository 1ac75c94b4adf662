//! The jq engine: programs over one JSON value, with no way to end the process, read its surroundings or the time.
//! Pure. It cannot stop a program that loops: whoever runs a program of the owner's that is not [`plain`] does so
//! in a limited child.

use jaq_core::{
    Compiler, Ctx, Native, Vars,
    data::JustLut,
    load::{
        Arena, File, Loader,
        lex::StrPart,
        parse::{BinaryOp, Pattern, Term},
    },
    path::Part,
};
use jaq_json::{Val, read};
use serde_json::Value;

/// Names that are not registered: with them a program could end the tick as if all were well, or tell its output
/// what this process knows.
const FORBIDDEN: [&str; 16] = [
    "halt",
    "halt_error",
    "env",
    "now",
    "localtime",
    "strflocaltime",
    "mktime_local",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
    "input",
    "inputs",
    "input_filename",
    "input_line_number",
    "getenv",
];

/// Longest program that is looked at; the parser recurses over it.
const MAX_PROGRAM: usize = 64 * 1024;
/// A `plain` program is at most this long.
const MAX_PLAIN: usize = 1024;
/// More results than this from one run are refused.
const MAX_OUTPUTS: usize = 10_000;

type Data = JustLut<Val>;

/// What went wrong with a program; for people, not yet redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JqFault {
    #[error("the program does not compile: {0}")]
    Compile(String),
    #[error("the program fails: {0}")]
    Run(String),
    #[error("the program gives more than {MAX_OUTPUTS} results")]
    TooMany,
    #[error("the input is not JSON: {0}")]
    Input(super::json::JsonFault),
}

/// A compiled program; may run any number of times.
pub struct Program(jaq_core::compile::Filter<Native<Data>>);

impl Program {
    pub fn compile(code: &str) -> Result<Self, JqFault> {
        if code.len() > MAX_PROGRAM {
            return Err(JqFault::Compile(format!("longer than {MAX_PROGRAM} bytes")));
        }
        let defs = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .filter(|def| !FORBIDDEN.contains(&def.name));
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs())
            .filter(|(name, _, _)| !FORBIDDEN.contains(name));
        let arena = Arena::default();
        let modules = Loader::new(defs)
            .load(&arena, File { code, path: () })
            .map_err(|errors| JqFault::Compile(load_errors(&errors)))?;
        let filter = Compiler::default()
            .with_funs(funs)
            .compile(modules)
            .map_err(|errors| JqFault::Compile(undefined(&errors)))?;
        Ok(Self(filter))
    }

    /// All results for one checked JSON text.
    pub fn run(&self, input: &[u8]) -> Result<Vec<Value>, JqFault> {
        let text = super::json::check(input).map_err(JqFault::Input)?;
        let input = read::parse_single(text.as_bytes()).map_err(|e| JqFault::Run(e.to_string()))?;
        let ctx = Ctx::<Data>::new(&self.0.lut, Vars::new([]));
        let mut results = Vec::new();
        for result in self.0.id.run((ctx, input)) {
            // A halt, a stray break or a tail call is no value and no error: refused like one.
            let value = result.map_err(|exception| match exception.get_err() {
                Ok(error) => JqFault::Run(error.to_string().chars().take(300).collect()),
                Err(_) => JqFault::Run("it ends without a result".to_owned()),
            })?;
            if results.len() >= MAX_OUTPUTS {
                return Err(JqFault::TooMany);
            }
            results.push(to_json(&value)?);
        }
        Ok(results)
    }
}

fn to_json(value: &Val) -> Result<Value, JqFault> {
    match value {
        Val::Null => Ok(Value::Null),
        Val::Bool(b) => Ok(Value::Bool(*b)),
        other => {
            let text = other.to_string();
            super::json::parse(text.as_bytes()).map_err(|_| JqFault::Run("a result is not JSON".to_owned()))
        }
    }
}

fn load_errors(errors: &jaq_core::load::Errors<&str, ()>) -> String {
    use jaq_core::load::Error;
    let short = |text: &str| -> String { text.chars().take(40).collect() };
    let first = errors.first().map(|(_, error)| match error {
        Error::Io(imports) => imports.first().map_or_else(String::new, |(path, _)| {
            format!("it imports {:?}, and imports are not allowed", short(path))
        }),
        Error::Lex(found) => found.first().map_or_else(String::new, |(expected, at)| {
            format!("expected {} at {:?}", expected.as_str(), short(at))
        }),
        Error::Parse(found) => found.first().map_or_else(String::new, |(expected, at)| {
            format!("expected {} at {:?}", expected.as_str(), short(at))
        }),
    });
    first.unwrap_or_default()
}

fn undefined(errors: &jaq_core::compile::Errors<&str, ()>) -> String {
    let first = errors.iter().flat_map(|(_, found)| found.iter()).next();
    first.map_or_else(String::new, |(name, kind)| {
        format!(
            "{} {:?} is not known here",
            kind.as_str(),
            name.chars().take(40).collect::<String>()
        )
    })
}

/// Filters whose work is bounded by their input. No regular expressions: slow inside a map.
const PLAIN_CALLS: [&str; 43] = [
    "true",
    "false",
    "null",
    "not",
    "length",
    "keys",
    "has",
    "any",
    "all",
    "map",
    "select",
    "empty",
    "type",
    "tostring",
    "tonumber",
    "ascii_downcase",
    "ascii_upcase",
    "startswith",
    "endswith",
    "contains",
    "inside",
    "first",
    "last",
    "add",
    "min",
    "max",
    "min_by",
    "max_by",
    "sort",
    "sort_by",
    "unique",
    "floor",
    "ceil",
    "round",
    "abs",
    "values",
    "to_entries",
    "isempty",
    "error",
    "ltrimstr",
    "rtrimstr",
    "fromjson",
    "join",
];

/// Can the program neither loop nor grow beyond its input? Such a program may run in this process.
pub fn plain(code: &str) -> bool {
    if code.len() > MAX_PLAIN {
        return false;
    }
    let Ok(tokens) = jaq_core::load::lex::Lexer::new(code).lex() else {
        return false;
    };
    jaq_core::load::parse::Parser::new(&tokens)
        .parse(jaq_core::load::parse::Parser::term)
        .is_ok_and(|term| is_plain(&term))
}

fn is_plain(term: &Term<&str>) -> bool {
    match term {
        Term::Id | Term::Num(_) | Term::Var(_) => true,
        Term::Str(format, parts) => {
            format.is_none()
                && parts.iter().all(|part| match part {
                    StrPart::Str(_) | StrPart::Char(_) => true,
                    StrPart::Term(inner) => is_plain(inner),
                })
        }
        Term::Arr(inner) => inner.as_deref().is_none_or(is_plain),
        Term::Obj(fields) => fields
            .iter()
            .all(|(key, value)| is_plain(key) && value.as_ref().is_none_or(is_plain)),
        Term::Neg(inner) => is_plain(inner),
        Term::BinOp(left, op, right) => plain_op(op) && is_plain(left) && is_plain(right),
        Term::TryCatch(tried, caught) => is_plain(tried) && caught.as_deref().is_none_or(is_plain),
        Term::IfThenElse(branches, last) => {
            branches.iter().all(|(when, then)| is_plain(when) && is_plain(then)) && last.as_deref().is_none_or(is_plain)
        }
        Term::Call(name, arguments) => PLAIN_CALLS.contains(name) && arguments.iter().all(is_plain),
        Term::Path(head, path) => {
            is_plain(head)
                && path.0.iter().all(|(part, _)| match part {
                    Part::Index(index) => is_plain(index),
                    Part::Range(from, to) => from.as_ref().is_none_or(is_plain) && to.as_ref().is_none_or(is_plain),
                })
        }
        Term::Recurse | Term::Label(..) | Term::Break(_) | Term::Fold(..) | Term::Def(..) => false,
    }
}

/// Multiplying repeats strings, an update may recurse: neither is plain.
fn plain_op(op: &BinaryOp<&str>) -> bool {
    match op {
        BinaryOp::Pipe(pattern) => pattern.as_ref().is_none_or(|p| matches!(p, Pattern::Var(_))),
        BinaryOp::Comma | BinaryOp::Alt | BinaryOp::Or | BinaryOp::And | BinaryOp::Cmp(_) => true,
        BinaryOp::Math(math) => matches!(math, jaq_core::ops::Math::Add | jaq_core::ops::Math::Sub),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: &str, input: &str) -> Result<Vec<Value>, JqFault> {
        Program::compile(code)?.run(input.as_bytes())
    }

    #[test]
    fn programs_run_over_json() {
        assert_eq!(run(".ok == true", r#"{"ok":true}"#), Ok(vec![Value::Bool(true)]));
        assert_eq!(run(".ok == true", "{}"), Ok(vec![Value::Bool(false)]));
        assert_eq!(
            run(".a[]|.b", r#"{"a":[{"b":1},{"b":"x"}]}"#),
            Ok(vec![1.into(), "x".into()])
        );
        assert_eq!(run("empty", "{}"), Ok(vec![]));
        assert_eq!(run(".m > 1", r#"{"m":1e999999999}"#), Ok(vec![Value::Bool(true)]));
        assert!(matches!(run(".a.b", r#"{"a":"x"}"#), Err(JqFault::Run(_))));
        assert!(matches!(run(". as", "{}"), Err(JqFault::Compile(_))));
    }

    #[test]
    fn nothing_reaches_out_of_a_program() {
        for code in [
            "halt",
            "halt_error",
            "halt_error(0)",
            "halt(0)",
            "env",
            "$ENV",
            "$ENV.HOME",
            "now",
            "localtime",
            "strflocaltime(\"%H\")",
            "debug",
            "debug(\"x\")",
            "stderr",
            "input",
            "inputs",
            "input_filename",
            "import \"a\" as a; .",
            "include \"a\"; .",
            "getpath([\"a\"]) | env.HOME",
            "error(env)",
        ] {
            assert!(
                matches!(run(code, "{}"), Err(JqFault::Compile(_))),
                "{code}: {:?}",
                run(code, "{}")
            );
        }
    }

    #[test]
    fn only_bounded_programs_are_plain() {
        for code in [
            ".ok == true",
            ".status | ascii_downcase == \"ok\"",
            "[.checks[] | .ok] | all",
            ".a.b // false",
            "if .x then .y else .z end",
            ".version",
            ".n as $n | $n > 3",
            "\"\\(.a)-x\"",
        ] {
            assert!(plain(code), "{code}");
        }
        for code in [
            "def f: f; f",
            "repeat(.)",
            "[range(1e9)]",
            "..",
            "reduce .[] as $x (0; . + $x)",
            "\"x\" * 1e9",
            "until(false; .)",
            "limit(5; repeat(1))",
            ".a |= .b",
            "recurse",
            "test(\"a\")",
            "label $x | 1",
            ". as",
        ] {
            assert!(!plain(code), "{code}");
        }
    }
}
