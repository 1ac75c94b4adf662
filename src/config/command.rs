//! One command of the config: split like POSIX words, without any expansion. What only a shell would understand is
//! refused, with the owner's explicit choice (`sh -c '…'`) as the example.

use super::CommandLine;

/// What is wrong with a command, and a right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadCommand {
    pub(super) what: String,
    pub(super) example: String,
}

/// First words that are no program anywhere.
const SHELL_ONLY: &[&str] = &[
    "cd", "pushd", "popd", "source", ".", "export", "unset", "alias", "unalias", "set", "shopt", "setopt", "eval",
    "exec", "ulimit", "umask", "trap", "if", "for", "while", "until", "case", "function", "declare", "local",
    "readonly", "typeset", "let", "(", "{", "!", "[[",
];

/// Program and arguments of a command.
pub(super) fn parse_command(text: &str) -> Result<CommandLine, BadCommand> {
    let bad = |what: String, example: String| BadCommand { what, example };
    if text.contains('\0') {
        return Err(bad("holds a NUL character".into(), "npm test".into()));
    }
    let through_shell = || format!("sh -c {}", shell_words::quote(text.trim()));
    if let Some(word) = text.split_whitespace().next().filter(|word| SHELL_ONLY.contains(word)) {
        return Err(bad(
            format!("begins with {word}, which only a shell knows"),
            through_shell(),
        ));
    }
    if let Some(found) = shell_syntax(text) {
        return Err(bad(format!("needs a shell ({found})"), through_shell()));
    }
    let argv = shell_words::split(text).map_err(|_| bad("has a quote that is not closed".into(), "npm test".into()))?;
    match argv.first().map(String::as_str) {
        None | Some("") => Err(bad("is empty".into(), "npm test".into())),
        Some(first) if first.contains('=') => {
            let example = format!("env {}", text.trim());
            Err(bad("sets a variable before the program".into(), example))
        }
        Some(_) => Ok(CommandLine {
            text: text.to_owned(),
            argv,
        }),
    }
}

/// The first thing that a shell would act upon. Dollar and backtick act within double quotes too.
fn shell_syntax(text: &str) -> Option<&'static str> {
    let (mut single, mut double, mut escaped) = (false, false, false);
    for c in text.chars() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '\\' if !single => escaped = true,
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            '$' if !single => return Some("an unquoted dollar"),
            '`' if !single => return Some("an unquoted backtick"),
            '|' if !single && !double => return Some("an unquoted pipe"),
            '&' if !single && !double => return Some("an unquoted ampersand"),
            ';' if !single && !double => return Some("an unquoted semicolon"),
            '<' | '>' if !single && !double => return Some("an unquoted redirection"),
            '\n' | '\r' if !single && !double => return Some("a line break"),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_only_a_shell_knows_are_named() {
        for (text, word) in [
            ("cd tests && pytest", "cd"),
            (" source .venv/bin/activate", "source"),
            ("export A=1", "export"),
        ] {
            let bad = parse_command(text).unwrap_err();
            assert_eq!(bad.what, format!("begins with {word}, which only a shell knows"));
            assert!(bad.example.starts_with("sh -c "), "{}", bad.example);
        }
        for text in ["cdtest x", "./cd tests", "npm run export", "true", "test -f x"] {
            assert!(parse_command(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn words_are_split_and_nothing_is_expanded() {
        for (text, argv) in [
            ("npm test", vec!["npm", "test"]),
            (
                "python3 -m unittest discover -s 'my tests'",
                vec!["python3", "-m", "unittest", "discover", "-s", "my tests"],
            ),
            (
                "sh -c 'a | b && c > d; echo $X `id`'",
                vec!["sh", "-c", "a | b && c > d; echo $X `id`"],
            ),
            ("grep \"a|b\" \\; *.txt", vec!["grep", "a|b", ";", "*.txt"]),
        ] {
            assert_eq!(parse_command(text).unwrap().argv, argv, "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_refused_with_the_way_out() {
        for text in [
            "a | b",
            "a & b",
            "a; b",
            "a > b",
            "a < b",
            "echo $HOME",
            "echo \"$HOME\"",
            "echo `id`",
            "echo \"`id`\"",
            "a\nb",
        ] {
            let bad = parse_command(text).unwrap_err();
            assert!(bad.what.starts_with("needs a shell"), "{text}: {}", bad.what);
            let again = parse_command(&bad.example).unwrap();
            assert_eq!(again.argv, ["sh", "-c", text], "the example must load");
        }
    }

    #[test]
    fn commands_that_cannot_start_are_refused() {
        for text in ["", "  ", "''", "npm 'test", "A=b npm test", "a\0b"] {
            assert!(parse_command(text).is_err(), "{text:?}");
        }
        assert_eq!(parse_command("A=b npm test").unwrap_err().example, "env A=b npm test");
    }
}
