//! The environment of git commands, their caps and deadlines.

use super::*;

fn environment(call: &Call<'_>) -> Vec<(String, String)> {
    let command = call.command();
    command
        .as_std()
        .get_envs()
        .map(|(k, v)| {
            (
                k.to_string_lossy().into_owned(),
                v.unwrap_or_default().to_string_lossy().into_owned(),
            )
        })
        .collect()
}

#[test]
fn a_token_stands_in_the_environment_of_remote_commands_only() {
    let git = Git::default();
    let token = SecretString::from("fake-token-for-tests");
    let url = RemoteUrl::parse("https://forge.example/acme/web.git").unwrap();
    let encoded = base64::engine::general_purpose::STANDARD.encode("x-access-token:fake-token-for-tests");

    let call = git.bare(&["fetch"]).arg(&url.text).remote(&url, Some(&token));
    let env = environment(&call);
    assert!(env.iter().any(|(_, v)| v == "http.https://forge.example/.extraHeader"));
    assert!(env.iter().any(|(_, v)| v.contains(&encoded)));
    let argv = format!("{:?}", call.command().as_std().get_args().collect::<Vec<_>>());
    assert!(!argv.contains(&encoded) && !argv.contains("fake-token"), "{argv}");

    let local = environment(&git.bare(&["cat-file"]));
    assert!(
        !local
            .iter()
            .any(|(_, v)| v.contains(&encoded) || v.contains("extraHeader"))
    );
    assert!(local.contains(&("GIT_ALLOW_PROTOCOL".to_owned(), "none".to_owned())));
}

#[tokio::test]
async fn output_is_capped_and_a_deadline_kills() {
    let git = Git::default();
    let cut = git.bare(&["help", "-a"]).cut_at(10).run().await.unwrap();
    assert!(cut.truncated && cut.stdout.len() == 10);
    let error = git.bare(&["help", "-a"]).cap(10).ok().await.unwrap_err();
    assert_eq!(error.kind, GitErrorKind::TooLarge);

    // Waits for input for ever: `sleep` by another name.
    let slow = Git::new("tail").deadlines(Duration::from_millis(50), Duration::from_millis(50));
    let error = slow.bare(&["-f", "/dev/null"]).run().await.err().unwrap();
    assert_eq!(error.kind, GitErrorKind::Deadline);
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let error = Git::new("/nonexistent/git").version().await.unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Io);
    assert!(error.to_string().contains("/nonexistent/git"), "{error}");
}
