//! One line a rule: what is written, and what is said about it.

use super::*;
use crate::config::{Agent, AgentKind, load::from_text};

fn env() -> Environment {
    Environment::new([("PATH", "/bin:/usr/bin"), ("WEB_KEY", "not-a-real-key")])
}

fn home() -> Home {
    Home::at(Path::new("/nonexistent/home"))
}

fn config(text: &str) -> Config {
    from_text(text, &home(), &env()).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn told(text: &str) -> Vec<String> {
    let Err(problems) = from_text(text, &home(), &env()) else {
        panic!("{text} must not load");
    };
    problems
        .iter()
        .map(|p| format!("{} {} | {}", p.path, p.what, p.example.as_deref().unwrap_or("-")))
        .collect()
}

fn check(text: &str, expected: &str) {
    assert_eq!(told(text), [expected], "{text}");
}

#[test]
fn addresses_are_http_and_hold_no_password() {
    let probe = |url: &str| format!("{{\"repos\": {{\"web\": {{\"health\": [{{\"url\": \"{url}\"}}]}}}}}}");
    let example = "\"https://acme.example/health\"";
    for (url, what) in [
        ("acme.example/health", "\"acme.example/health\" has no scheme"),
        ("localhost:80/health", "\"localhost:80/health\" has no scheme"),
        (
            "ftp://acme.example/",
            "\"ftp://acme.example/\" scheme is \"ftp\", not http or https",
        ),
        (
            "file:///etc/passwd",
            "\"file:///etc/passwd\" scheme is \"file\", not http or https",
        ),
        (
            "https://a:b@acme.example/",
            "holds a user name or a password; put it into the environment",
        ),
        ("https://", "\"https://\" is not a URL (empty host)"),
    ] {
        check(&probe(url), &format!("repos.web.health[0].url {what} | {example}"));
    }
}

#[test]
fn patterns_are_bounded_and_never_match_everything() {
    let ci = |re: &str| {
        format!(
            "{{\"detection\": {{\"ciNonblockingRe\": {}}}}}",
            serde_json::Value::from(re)
        )
    };
    let say = |re: &str, what: &str| {
        let quoted = quote_str(re);
        check(
            &ci(re),
            &format!("detection.ciNonblockingRe {quoted} {what} | \"^codecov/\""),
        );
    };
    say(".*", "matches every check, so none would block a merge");
    say("a|", "matches every check, so none would block a merge");
    say("^(a", "is not a regular expression: unclosed group, column 2");
    say(
        "(a{1000}){1000}",
        "is too large (more than 1048576 bytes when compiled)",
    );
    assert!(config(&ci("")).detection.ci_nonblocking.is_none());
    assert!(config(&ci("^codecov/")).detection.ci_nonblocking.is_some());
}

#[test]
fn commands_are_checked_where_they_stand() {
    check(
        "{\"defaults\": {\"test\": [\"npm test | tee out\"]}, \"repos\": {\"a\": {}, \"b\": {}}}",
        "defaults.test[0] \"npm test | tee out\" needs a shell (an unquoted pipe) | \"sh -c 'npm test | tee out'\"",
    );
    check(
        "{\"repos\": {\"web\": {\"setup\": [\"npm ci\", \"\"]}}}",
        "repos.web.setup[1] \"\" is empty | \"npm test\"",
    );
    check(
        "{\"repos\": {\"web\": {\"report\": {\"junit\": \"/tmp/a.xml\"}}}}",
        "repos.web.report.junit \"/tmp/a.xml\" matches no path of a repository | \"build/test-results/**/*.xml\"",
    );
}

#[test]
fn what_stands_around_the_tests_is_checked() {
    let service = |start: &str, ready: &str| {
        format!("{{\"repos\": {{\"web\": {{\"services\": [{{\"start\": [{start}], \"ready\": \"{ready}\"}}]}}}}}}")
    };
    for (start, ready, what) in [
        ("", "tcp:5433", "start has no command | [\"scripts/test-db 5433\"]"),
        (
            "\"db\"",
            "tcp:0",
            "ready \"tcp:0\" names no port of the loopback | \"tcp:5433\"",
        ),
        (
            "\"db\"",
            "tcp:db:1",
            "ready \"tcp:db:1\" names no port of the loopback | \"tcp:5433\"",
        ),
        (
            "\"db\"",
            "ask | grep up",
            "ready \"ask | grep up\" needs a shell (an unquoted pipe) | \"tcp:5433\"",
        ),
    ] {
        check(&service(start, ready), &format!("repos.web.services[0].{what}"));
    }
    for (name, what) in [
        ("PATH", "is not a variable that the tests can be given"),
        ("A B", "is not a variable that the tests can be given"),
        (
            "CI",
            "is set in one run of the tests and not in another, to see that both are the same",
        ),
    ] {
        check(
            &format!("{{\"repos\": {{\"web\": {{\"env\": {{\"{name}\": \"x\"}}}}}}}}"),
            &format!("repos.web.env.{name} \"{name}\" {what} | DATABASE_URL"),
        );
    }
}

#[test]
fn a_repo_is_named_once_and_sanely() {
    check(
        "{\"repos\": {\"a\": {\"github\": \"acme/web\"}, \"b\": {\"github\": \"Acme/Web\"}}}",
        "repos.b.github \"Acme/Web\" is the repository of slot a already | one slot with targets",
    );
    check(
        "{\"repos\": {\"../x\": {}}}",
        "repos.../x \"../x\" is not a repo slot (lower-case letters, digits, - and _, at most 40) | web",
    );
    for branch in ["-x", "a..b", "a b", "", "a/.b", "x.lock"] {
        let text = format!("{{\"repos\": {{\"web\": {{\"branch\": \"{branch}\"}}}}}}");
        check(
            &text,
            &format!("repos.web.branch \"{branch}\" is not a branch name | \"main\""),
        );
    }
}

#[test]
fn rungs_and_clone_urls_follow_from_the_repository() {
    let config = config(
        "{\"mode\": \"active\", \"github\": {\"web\": \"http://127.0.0.1:1/\"},
          \"repos\": {\"site\": {}, \"web\": {\"github\": \"acme/web\"}, \"api\": {\"github\": \"acme/api\", \"mode\": \"observe\"}}}",
    );
    let repo = |name: &str| config.repo(&Slot::parse(name).unwrap()).unwrap();
    assert_eq!(repo("site").mode, Mode::Diagnose);
    assert_eq!(repo("web").mode, Mode::Active);
    assert_eq!(repo("api").mode, Mode::Observe);
    assert_eq!(repo("web").git_url.as_deref(), Some("http://127.0.0.1:1/acme/web.git"));
    assert_eq!(repo("site").targets.len(), 1);
    assert_eq!(repo("site").targets[0].name, "site");
}

#[test]
fn probes_are_checked_in_every_part() {
    assert_eq!(
        told(
            "{\"repos\": {\"web\": {
               \"health\": [{\"url\": \"https://a.example/x\", \"expect\": {\"jq\": \".ok ==\"}, \"headers\": {\"X Y\": \"WEB_KEY\"}},
                            {\"url\": \"https://a.example/x\"}, {\"url\": \"https://b.example/x\"}],
               \"jsonrpc\": [{\"url\": \"https://a.example\", \"method\": \" \", \"params\": 3, \"max_lag\": 2}],
               \"collectors\": {\"nagios\": {\"secrets\": {\"token\": \"NAGIOS_TOKEN\"}}}}}}"
        ),
        [
            "repos.web.collectors.nagios is not a declared collector (there is: alertmanager, exceptions, sentry, statuspage) | collectors/nagios.json and collectors/nagios.jq",
            "repos.web.collectors.nagios.secrets.token names NAGIOS_TOKEN, which is not set in the environment or .env | NAGIOS_TOKEN=… in .env",
            "repos.web.health[0].expect.jq \".ok ==\" is not a jq program | \".ok == true\"",
            "repos.web.health[0].headers.X Y \"X Y\" is not a header name | Authorization",
            "repos.web.health[1].name is the second probe that is called \"a.example/x\" | a name of its own",
            "repos.web.jsonrpc[0].max_lag needs a reference to compare with | \"reference\": \"https://rpc.other.example\"",
            "repos.web.jsonrpc[0].method is empty | \"eth_blockNumber\"",
            "repos.web.jsonrpc[0].params 3 is no list and no object | []",
        ]
    );
}

#[test]
fn targets_take_the_place_of_the_repos_own_probes() {
    check(
        "{\"repos\": {\"web\": {\"health\": [{\"url\": \"https://a.example\"}], \"targets\": {\"x\": {}}}}}",
        "repos.web.targets stands beside sources (health, logs, …) of the repo itself | move those into one of the targets",
    );
    let config = config("{\"repos\": {\"web\": {\"targets\": {\"a\": {}, \"b\": {}}}}}");
    let names: Vec<&str> = config
        .repos
        .values()
        .flat_map(|r| &r.targets)
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn half_configured_mail_names_what_is_missing() {
    check(
        "{\"notify\": {\"email\": true}}",
        "notify.email is true, but not set in the environment or .env: SMTP_URL, NOTIFY_EMAIL_FROM, NOTIFY_EMAIL_TO | SMTP_URL=… in .env",
    );
    check(
        "{\"notify\": {\"file\": \"mail\", \"to\": [\"a@b.example\\r\\nBcc: c@d.example\"]}}",
        "notify.to \"a@b.example\\r\\nBcc: c@d.example\" is not a mail address | \"owner@host\"",
    );
    for (url, good) in [
        ("smtps://u:p@mail.acme.example", true),
        ("smtp://u:p@mail.acme.example:587?tls=required", true),
        ("smtp://127.0.0.1:25", true),
        ("smtp://u:p@mail.acme.example:587", false),
        ("https://mail.acme.example", false),
        ("mail.acme.example", false),
    ] {
        let env = Environment::new([
            ("SMTP_URL", url),
            ("NOTIFY_EMAIL_FROM", "a@b.example"),
            ("NOTIFY_EMAIL_TO", "a@b.example"),
        ]);
        let loaded = from_text("{\"notify\": {\"email\": true}}", &home(), &env);
        assert_eq!(loaded.is_ok(), good, "{url}: {:?}", loaded.err());
    }
    let full = Environment::new([
        ("SMTP_URL", "smtp://127.0.0.1:1"),
        ("NOTIFY_EMAIL_FROM", "tick <tick@acme.example>"),
        ("NOTIFY_EMAIL_TO", "a@acme.example, b@acme.example"),
    ]);
    let config = from_text("{\"notify\": {\"email\": true}}", &home(), &full).unwrap();
    assert_eq!(config.notify.to.len(), 2);
    assert!(matches!(config.notify.mail, MailBackend::Smtp(_)));
    assert!(matches!(self::config("{}").notify.mail, MailBackend::Off));
}

#[test]
fn agents_are_found_by_path_and_get_only_what_is_named() {
    let config = config(
        "{\"agents\": {\"fix\": [\"mine\"], \"audit\": [\"mine\", \"claude\"],
           \"define\": {\"mine\": {\"kind\": \"command\", \"program\": \"sh\", \"env\": [\"WEB_KEY\"]}}}}",
    );
    let mine: &Agent = &config.agents.defined["mine"];
    assert!(mine.program.is_absolute() && mine.program.ends_with("sh"));
    assert_eq!(mine.kind, AgentKind::Command);
    assert_eq!(mine.env.keys().collect::<Vec<_>>(), ["WEB_KEY"]);
    assert_eq!(config.agents.fix, ["mine"]);
    assert!(config.agents.defined["claude"].program.is_absolute());
    assert!(config.secrets.get("WEB_KEY").is_some());

    check(
        "{\"agents\": {\"fix\": [\"codex\"]}}",
        "agents.fix[0] \"codex\" is not an agent that agents.define names | \"claude\"",
    );
    check(
        "{\"agents\": {\"define\": {\"m\": {\"kind\": \"command\"}}}}",
        "agents.define.m.program is missing | \"/usr/local/bin/my-agent\"",
    );
    check(
        "{\"agents\": {\"define\": {\"m\": {\"kind\": \"command\", \"program\": \"./m\"}}}}",
        "agents.define.m.program \"./m\" is neither an absolute path nor a plain name | \"/usr/local/bin/my-agent\"",
    );
    check(
        "{\"agents\": {\"define\": {\"m\": {\"kind\": \"command\", \"program\": \"sh\", \"env\": [\"GITHUB_TOKEN\"]}}}}",
        "agents.define.m.env[0] \"GITHUB_TOKEN\" is set by tick for every child | \"ANTHROPIC_API_KEY\"",
    );
}

#[test]
fn a_missing_agent_is_a_warning_since_looking_must_go_on() {
    let text = "{\"agents\": {\"define\": {\"m\": {\"kind\": \"command\", \"program\": \"no-such-agent\"}}}}";
    let config = config(text);
    assert!(
        config
            .warnings
            .iter()
            .any(|w| w.starts_with("agent m: no program no-such-agent in"))
    );
    assert!(config.agents.defined["m"].program.is_absolute());
}

#[test]
fn globs_are_read_and_extend_the_built_in_list() {
    let config =
        config("{\"sensitivePaths\": [\"**/ledger/**\"], \"severity\": {\"needsHumanPaths\": [\"migrations/**\"]}}");
    assert_eq!(config.sensitive, ["**/ledger/**", "migrations/**"]);
    check(
        "{\"sensitivePaths\": [\"a/[\"]}",
        "sensitivePaths[0] \"a/[\" is not a glob (unclosed character class; missing ']') | \"**/ledger/**\"",
    );
    check(
        "{\"sensitivePaths\": [\"/abs/**\"]}",
        "sensitivePaths[0] \"/abs/**\" matches no path of a repository | \"**/ledger/**\"",
    );
}

#[test]
fn known_variables_fill_a_shipped_collector() {
    let text =
        "{\"repos\": {\"my-web\": {\"collectors\": {\"sentry\": {\"values\": {\"environment\": \"production\"}}}}}}";
    let env = [
        ("SENTRY_AUTH_TOKEN", "not-a-real-token"),
        ("SENTRY_ORG", "acme"),
        ("SENTRY_PROJECT_MY_WEB", "web"),
    ];
    let config = from_text(text, &home(), &Environment::new(env)).unwrap();
    let used = &config.repos.values().next().unwrap().targets[0].declared[0];
    let values: Vec<_> = used.values.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(
        values,
        [("environment", "production"), ("org", "acme"), ("project", "web")]
    );
    assert!(used.secrets.contains_key("token"));
    assert_eq!(
        told(text),
        [
            "repos.my-web.collectors.sentry.secrets.token names SENTRY_AUTH_TOKEN, which is not set in the environment or .env | SENTRY_AUTH_TOKEN=… in .env",
            "repos.my-web.collectors.sentry.values.org is not given, and SENTRY_ORG is not set in the environment or .env | \"acme\"",
        ]
    );
}

/// What stands in the place of a variable's name is often the secret itself: it would go to the journal or into a mail.
#[test]
fn a_secret_in_the_place_of_a_name_is_not_shown() {
    for secret in [
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "S3cretPassw0rd",
        "correct_horse",
        "AKIAFAKEFAKE12345678",
    ] {
        let text =
            format!("{{\"repos\": {{\"api\": {{\"railway\": {{\"service\": \"api\", \"token\": \"{secret}\"}}}}}}}}");
        let said = told(&text).join("\n");
        assert!(
            said.contains("repos.api.railway.token") && said.contains("not shown"),
            "{said}"
        );
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn a_service_on_railway_needs_a_token_and_an_account_the_project() {
    let text = |railway: &str| format!("{{\"repos\": {{\"api\": {{\"railway\": {{{railway}}}}}}}}}");
    let with = |variable: &'static str, railway: &str| {
        from_text(
            &text(railway),
            &home(),
            &Environment::new([(variable, "not-a-real-token")]),
        )
    };
    check(
        &text("\"service\": \"api\""),
        "repos.api.railway needs RAILWAY_TOKEN or RAILWAY_API_TOKEN; neither is set in the environment or .env | RAILWAY_TOKEN=… in .env",
    );
    check(
        &text("\"service\": \"api\", \"token\": \"STAGING\""),
        "repos.api.railway.token names STAGING, which is not set in the environment or .env | STAGING=… in .env",
    );
    let used = |config: &Config| {
        config.repos.values().next().unwrap().targets[0]
            .railway
            .clone()
            .unwrap()
    };
    let config = with("RAILWAY_TOKEN", "\"service\": \"api\"").unwrap();
    assert!(matches!(
        used(&config).token,
        Some(crate::config::RailwayToken::Project { .. })
    ));
    assert!(
        config.secrets.get("RAILWAY_TOKEN").is_some(),
        "it is redacted everywhere"
    );
    assert_eq!(config.railway_api.as_str(), "https://backboard.railway.com/graphql/v2");
    let problems = with("RAILWAY_API_TOKEN", "\"service\": \" \"").unwrap_err();
    let told: Vec<String> = problems.iter().map(|p| format!("{} {}", p.path, p.what)).collect();
    assert_eq!(
        told,
        [
            "repos.api.railway.project is not given, and RAILWAY_API_TOKEN sees more than one project",
            "repos.api.railway.service is empty",
        ]
    );
    let account = with("RAILWAY_API_TOKEN", "\"service\": \"api\", \"project\": \"p\"").unwrap();
    assert!(matches!(
        used(&account).token,
        Some(crate::config::RailwayToken::Account { .. })
    ));
}

#[test]
fn a_project_on_vercel_needs_its_token_and_names_that_can_be() {
    let vercel = |text: &str| format!("{{\"repos\": {{\"web\": {{\"vercel\": {text}}}}}}}");
    check(
        &vercel("{\"project\": \"web\"}"),
        "repos.web.vercel names VERCEL_TOKEN, which is not set in the environment or .env | VERCEL_TOKEN=… in .env",
    );
    let root = |text: &str| serde_json::from_str::<raw::Root>(text).unwrap();
    let env = Environment::new([("VERCEL_TOKEN", "vercel-token-of-nobody"), ("PATH", "/nonexistent/bin")]);
    let of = |text: &str| {
        let context = Context {
            env: &env,
            home: &Home::at(Path::new("/nonexistent")),
            collectors: BTreeMap::new(),
            patterns: None,
        };
        validate(&root(text), &context)
    };
    let (config, problems) = of(&vercel(
        "{\"project\": \"web\", \"team\": \"acme\", \"cli\": \"vercel\"}",
    ));
    assert!(problems.is_empty(), "{problems:?}");
    assert!(
        config
            .warnings
            .iter()
            .any(|w| w.starts_with("repos.web.vercel.cli: no program vercel")),
        "{:?}",
        config.warnings
    );
    assert!(config.secrets.get("VERCEL_TOKEN").is_some());
    let (_, problems) = of(&vercel(
        "{\"project\": \"a/../b\", \"team\": \"\", \"cli\": \"./vercel\"}",
    ));
    let places: Vec<String> = problems.iter().map(|p| p.path.to_string()).collect();
    assert_eq!(
        places,
        [
            "repos.web.vercel.cli",
            "repos.web.vercel.project",
            "repos.web.vercel.team"
        ]
    );
}
