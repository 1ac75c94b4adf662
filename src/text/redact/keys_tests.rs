//! Values beside names that say what they are, and what looks like that.

use crate::text::Redactor;

fn redact(text: &str) -> String {
    Redactor::default().redact(text)
}

#[test]
fn values_go_and_their_surroundings_stay() {
    for (text, want) in [
        ("DB_PASSWORD=hunter2&retry=1", "DB_PASSWORD=[redacted:key]&retry=1"),
        (
            r#"{"api_key":"fake0fake","n":1}"#,
            r#"{"api_key":"[redacted:key]","n":1}"#,
        ),
        (
            r#"msg=\"authToken\\":\\"fake0fake0\\"\" end"#,
            r#"msg=\"authToken\\":\\"[redacted:key]\\"\" end"#,
        ),
        (
            "Authorization: Bearer fake0fake0 done",
            "Authorization: Bearer [redacted:key] done",
        ),
        (
            r#""authorization":"Basic ZmFrZTpmYWtl""#,
            r#""authorization":"Basic [redacted:key]""#,
        ),
        (
            "cookie: theme=dark; session=fake0fake; Path=/",
            "cookie: theme=dark; session=[redacted:cookie]; Path=/",
        ),
        ("run --token fake0fake0 -v", "run --token [redacted:key] -v"),
        (r#"["--password","fake pw"]"#, r#"["--password","[redacted:key]"]"#),
        ("password: str = \"fake0fake\"", "password: str = \"[redacted:key]\""),
        ("<password>fake0fake</password>", "<password>[redacted:key]</password>"),
        ("DB_PASS=Fake0&Fake1", "DB_PASS=[redacted:key]"),
        (
            "Authorization: Acme fake0fake0fake0fake0",
            "Authorization: Acme [redacted:key]",
        ),
        ("config/master.key: fake0fake0", "config/master.key: [redacted:key]"),
        ("SECRET_KEY_BASE=fake0fake0", "SECRET_KEY_BASE=[redacted:key]"),
        (r#"{"pass":"Fake0Fake1"}"#, r#"{"pass":"[redacted:key]"}"#),
        ("db.pass=Fake0Fake1 ok", "db.pass=[redacted:key] ok"),
        (
            "logged in with password Fake0Fake1 at",
            "logged in with password [redacted:key] at",
        ),
        (
            "https://h/?token%3Dfake0fake0%26a%3D1",
            "https://h/?token%3D[redacted:key]%26a%3D1",
        ),
        ("sent bearer fake0fake0fake0fake0", "sent bearer [redacted:bearer]"),
        (
            "failed with password \"fake0fake\"",
            "failed with password \"[redacted:key]\"",
        ),
        (
            "token \"9f8e7d6c5b4a39281706f5e4d3c2b1a0\" expired",
            "token \"[redacted:key]\" expired",
        ),
        (
            "Server=h;User Id=sa;Password=F@ke w0rd;Encrypt=true",
            "Server=h;User Id=sa;Password=[redacted:key];Encrypt=true",
        ),
        ("password: 'it''sfake0'", "password: '[redacted:key]'"),
        (r#"{"password": ["fake0fake"]}"#, r#"{"password": ["[redacted:key]"]}"#),
    ] {
        assert_eq!(redact(text), want);
    }
}

#[test]
fn placeholders_code_and_prose_stay() {
    for text in [
        "password = os.environ[\"DB_PASSWORD\"]",
        "let secret: &str = config.secret.as_deref().unwrap_or_default();",
        "token: ${{ secrets.DEPLOY_TOKEN }}",
        "API_KEY=${API_KEY}",
        "password=[REDACTED]",
        "{\"password\":null,\"token\":\"\"}",
        "the secret of a good password: length",
        "Unexpected token: export",
        "max_tokens=4096",
        "Authorization: Bearer ***",
        "error: api_key is missing",
        "PWD=/home/app",
        "# pass 12",
        "pass=12, fail=0",
        "pass: 3 of 4 in 12ms",
        "password Required",
        "password argon2id",
        "{\"password\": \"must be at least eight characters\"}",
        "std::token::Secret",
        "token == other_token0",
        "csrf_token=undefined",
        "DB_PASSWORD=op://shop/db/password",
        "config set --secret dbPassword",
        "pub password: SecretString,",
        "mutation Login($email: String!, $password: String!) { login }",
        "tls.key: /etc/shop/tls.key",
        "Access denied for user 'app'@'10.0.0.2' (using password: YES)",
        "Access denied for user 'app'@'10.0.0.2' (using password: NO)",
        "the password \"is required\"",
        "unexpected token \"}\" in JSON",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn hostile_repetition_is_linear() {
    for piece in [
        "token=",
        "cookie: a=b;",
        "\"token\":\"",
        "bearer ",
        "tokentoken",
        "password:\\\\\\\"",
        "token=(",
        "token: x = ",
        "\"token\":\"( ",
    ] {
        let text = piece.repeat(5_000);
        assert!(!redact(&text).is_empty());
    }
}
