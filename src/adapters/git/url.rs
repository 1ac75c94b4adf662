//! Addresses of remotes: checked before git sees them.

use super::{GitError, Result};

/// A checked address of a remote: no credentials in it, a protocol that is let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteUrl {
    pub(super) text: String,
    pub(super) protocol: &'static str,
    /// Origin that the token is for.
    pub(super) http_base: Option<String>,
}

impl RemoteUrl {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let attempted = "use the git URL of a repository";
        if text.starts_with('/') {
            return Ok(Self {
                text: text.to_owned(),
                protocol: "file",
                http_base: None,
            });
        }
        let url = url::Url::parse(text)
            .map_err(|e| GitError::input(attempted, format!("{e}; an example is https://github.com/acme/web.git")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(GitError::input(
                attempted,
                "it carries credentials; put the token into GITHUB_TOKEN",
            ));
        }
        let protocol = match url.scheme() {
            "https" => "https",
            "http" => "http",
            "file" => "file",
            other => {
                let detail = format!("the protocol {other} is not used; https, http and file are");
                return Err(GitError::input(attempted, detail));
            }
        };
        Ok(Self {
            text: url.to_string(),
            protocol,
            http_base: (protocol != "file").then(|| format!("{}/", url.origin().ascii_serialization())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RemoteUrl;

    #[test]
    fn urls_with_credentials_or_commands_are_refused() {
        for bad in [
            "https://user:word@forge.example/a.git",
            "https://token@forge.example/a.git",
            "ext::sh -c true",
            "ssh://git@forge.example/a.git",
            "git@forge.example:a.git",
            "-u./payload",
            "",
        ] {
            assert!(RemoteUrl::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(RemoteUrl::parse("http://127.0.0.1:81/a.git").unwrap().protocol, "http");
        assert_eq!(RemoteUrl::parse("/srv/a.git").unwrap().protocol, "file");
    }
}
