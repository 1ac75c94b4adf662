//! Statements of SQL as words, comments and texts aside, and what they destroy.

use super::lines::number;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    /// In upper case.
    pub(super) words: Vec<String>,
    pub(super) line: u32,
}

impl Statement {
    pub(super) fn shown(&self) -> String {
        let text = self.words.join(" ");
        super::content::visible(&text)
    }
}

/// The statements of a text up to the part that takes them back.
pub(super) fn statements(text: &str) -> Vec<Statement> {
    let mut out = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut start = 0;
    let mut line = 0;
    let mut chars = text.chars().peekable();
    let mut finish = |words: &mut Vec<String>, start: usize| {
        if !words.is_empty() {
            out.push(Statement {
                words: std::mem::take(words),
                line: number(start),
            });
        }
    };
    while let Some(c) = chars.next() {
        let breaks = !(c.is_alphanumeric() || c == '_' || c == '.');
        if breaks && !word.is_empty() {
            if words.is_empty() {
                start = line;
            }
            words.push(std::mem::take(&mut word).to_uppercase());
        }
        match c {
            '\n' => line += 1,
            '-' if chars.peek() == Some(&'-') => {
                let mut comment = String::new();
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    comment.push(c);
                }
                if is_way_back(&comment) {
                    break;
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                let mut before = ' ';
                for c in chars.by_ref() {
                    line += usize::from(c == '\n');
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            '\'' => {
                for c in chars.by_ref() {
                    line += usize::from(c == '\n');
                    if c == '\'' {
                        break;
                    }
                }
                words.push("''".to_owned());
            }
            '"' | '`' | '[' | ']' => {}
            ';' => finish(&mut words, start),
            '$' => words.push("$".to_owned()),
            '(' | ')' | ',' => words.push(c.to_string()),
            _ if breaks => {}
            _ => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word.to_uppercase());
    }
    finish(&mut words, start);
    out
}

/// Marks of migration tools.
fn is_way_back(comment: &str) -> bool {
    let plain: String = comment.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    matches!(
        plain.as_str(),
        "goosedown" | "migratedown" | "downmigration" | "down" | "rollback" | "undo" | "sqldown" | "tickdown"
    )
}

/// Why a statement cannot be taken back, or stops what runs.
pub(super) fn destroys(statement: &Statement) -> Option<&'static str> {
    let words: Vec<&str> = statement.words.iter().map(String::as_str).collect();
    let has = |w: &str| words.contains(&w);
    let follows = |a: &str, b: &[&str]| words.windows(2).any(|w| w[0] == a && b.contains(&w[1]));
    match words.first().copied().unwrap_or_default() {
        "SELECT" | "INSERT" | "WITH" | "COMMENT" | "SET" | "BEGIN" | "COMMIT" | "ANALYZE" | "EXPLAIN"
            if !has("DELETE") =>
        {
            None
        }
        "DELETE" if !has("WHERE") => Some("this deletes every row"),
        "DELETE" => Some("this deletes rows"),
        "UPDATE" if !has("WHERE") => Some("this rewrites every row"),
        "TRUNCATE" => Some("this empties a table"),
        "DROP" => Some("this drops what is there"),
        "EXECUTE" | "EXEC" | "DO" | "PREPARE" | "CALL" => Some("SQL that is put together while it runs"),
        "GRANT" | "REVOKE" => Some("this changes who may do what"),
        "RENAME" => Some("this renames what running code uses"),
        "CREATE" if follows("OR", &["REPLACE"]) => Some("this replaces what is there"),
        "CREATE" if has("$") && has("EXECUTE") => Some("SQL that is put together while it runs"),
        "ALTER" => alters(&words),
        _ => None,
    }
}

fn alters(words: &[&str]) -> Option<&'static str> {
    let pairs: Vec<(&str, &str)> = words.windows(2).map(|w| (w[0], w[1])).collect();
    let drops = pairs
        .iter()
        .any(|(a, b)| *a == "DROP" && !matches!(*b, "DEFAULT" | "NOT"));
    if drops {
        return Some("this drops what is there");
    }
    if words.contains(&"RENAME") {
        return Some("this renames what running code uses");
    }
    if words.contains(&"TYPE") && words.contains(&"ALTER") && words.iter().filter(|w| **w == "ALTER").count() > 1
        || words.contains(&"MODIFY")
        || words.contains(&"CHANGE")
    {
        return Some("this gives a column another type");
    }
    if pairs.contains(&("SET", "NOT")) {
        return Some("rows that are there may not allow this");
    }
    let adds = words.contains(&"ADD");
    let required = pairs.contains(&("NOT", "NULL")) && adds && !words.contains(&"DEFAULT") && !words.contains(&"CHECK");
    required.then_some("rows that are there have no value for this")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_destroys_and_what_adds() {
        for bad in [
            "ALTER TABLE a DROP COLUMN b;",
            "alter table a rename to b",
            "ALTER TABLE a ALTER COLUMN b TYPE smallint",
            "ALTER TABLE a MODIFY b INT",
            "TRUNCATE a",
            "DELETE FROM a;",
            "UPDATE a SET b = 1;",
            "EXECUTE 'x' || y;",
            "DO $$ BEGIN END $$;",
            "ALTER TABLE a ADD COLUMN b int NOT NULL",
            "DROP TABLE IF EXISTS a CASCADE",
        ] {
            assert!(statements(bad).iter().any(|s| destroys(s).is_some()), "{bad}");
        }
        for good in [
            "CREATE TABLE a (b text DEFAULT 'DROP TABLE x; DELETE');",
            "-- DROP TABLE a;\nALTER TABLE a ADD COLUMN b text;",
            "/* TRUNCATE a; */ CREATE INDEX CONCURRENTLY i ON a (b);",
            "ALTER TABLE a ADD COLUMN b int NOT NULL DEFAULT 0;",
            "ALTER TABLE a ALTER COLUMN b DROP NOT NULL;",
            "INSERT INTO a SELECT 1; UPDATE a SET b = 1 WHERE b IS NULL;",
            "CREATE TABLE a (b int);\n-- +goose Down\nDROP TABLE a;",
        ] {
            let found: Vec<_> = statements(good).iter().filter_map(destroys).collect();
            assert_eq!(found, Vec::<&str>::new(), "{good}");
        }
        assert_eq!(statements("\n\nDROP a;\nDROP b")[1].line, 4);
    }
}
