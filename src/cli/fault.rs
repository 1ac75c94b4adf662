//! The one way in which an error leaves the program: its words on stderr, its code to the caller.

use std::io::{ErrorKind, Write};

use crate::{
    adapters::{git::GitError, github::GitHubError},
    config::load::LoadError,
    exit::{Exit, Fault},
    render,
    store::StoreError,
    text::{Redactor, clean},
};

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Fault(fault) => fault,
            LoadError::Missing { file } => Self::new(
                Exit::Config,
                format!("no configuration: {} does not exist", file.display()),
            )
            .advise("what it may say: tick config schema; {} is one already"),
            LoadError::Wrong { file, problems } => {
                let name = file
                    .file_name()
                    .map_or_else(|| file.display().to_string(), |n| n.to_string_lossy().into_owned());
                Self::new(Exit::Config, render::config::problems(&name, &problems))
            }
        }
    }
}

/// Prints an error with its causes and what mends it, and says with which code the process ends. An error that
/// carries no code of its own is a bug.
pub fn report(error: &anyhow::Error, redactor: &Redactor, out: &mut dyn Write) -> Exit {
    let (exit, advice) = error.chain().find_map(known).unwrap_or((Exit::Bug, Vec::new()));
    let mut chain = error.chain().map(ToString::to_string);
    let heading = chain.next().unwrap_or_default();
    let text = render::fault::fault(&heading, &chain.collect::<Vec<_>>(), &advice, exit);
    // Nothing can be done when even the message cannot be written.
    let _ignored = out.write_all(redactor.redact(&clean(&text)).as_bytes());
    exit
}

/// Code and advice of a cause that carries them. A disk that takes nothing more is no bug, wherever it shows.
fn known(cause: &(dyn std::error::Error + 'static)) -> Option<(Exit, Vec<String>)> {
    if let Some(fault) = cause.downcast_ref::<Fault>() {
        return Some((fault.exit, fault.advice.clone()));
    }
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        let fault = Fault::from(error);
        return Some((fault.exit, fault.advice));
    }
    if cause.is::<GitHubError>() {
        return Some((
            Exit::CouldNot,
            vec!["try again when GitHub answers, or mend the token".to_owned()],
        ));
    }
    if cause.downcast_ref::<GitError>().is_some_and(|error| error.remote) {
        return Some((
            Exit::CouldNot,
            vec!["try again when the host answers, or mend the token".to_owned()],
        ));
    }
    let advice = match cause.downcast_ref::<std::io::Error>()?.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem => {
            "free some space, or mount it writable"
        }
        ErrorKind::PermissionDenied => {
            "tick runs as a user who may not do that; look at the owner and mode of the file"
        }
        ErrorKind::IsADirectory | ErrorKind::NotADirectory => "look at what stands there",
        _ => return None,
    };
    Some((Exit::CouldNot, vec![advice.to_owned()]))
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn told(error: &anyhow::Error) -> (String, Exit) {
        let mut out = Vec::new();
        let exit = report(error, &Redactor::default(), &mut out);
        (String::from_utf8(out).unwrap(), exit)
    }

    #[test]
    fn a_fault_keeps_its_code_under_any_context() {
        let fault = Fault::new(Exit::CouldNot, "no space left on device").advise("free some space");
        let error = Err::<(), _>(fault)
            .context("cannot write signals/latest.json")
            .unwrap_err();
        let (text, exit) = told(&error);
        assert_eq!(exit, Exit::CouldNot);
        insta::assert_snapshot!(text, @r"
        cannot write signals/latest.json
          because no space left on device
          free some space
        exit 75: could not now (disk, state, mail)
        ");
    }

    #[test]
    fn a_ledger_or_a_disk_that_fails_in_the_middle_is_no_bug() {
        let damaged = StoreError::Damaged {
            path: "state/tick.db".into(),
            why: "malformed".to_owned(),
        };
        let full = std::io::Error::from(ErrorKind::StorageFull);
        for error in [anyhow::Error::new(damaged), anyhow::Error::new(full)] {
            let (text, exit) = told(&error.context("advance an incident"));
            assert_eq!(exit, Exit::CouldNot, "{text}");
        }
        let other = std::io::Error::from(ErrorKind::InvalidInput);
        assert_eq!(told(&anyhow::Error::new(other)).1, Exit::Bug);
    }

    #[test]
    fn what_carries_no_code_is_a_bug() {
        let (text, exit) = told(&anyhow::anyhow!("index\u{1b}[31m out of bounds"));
        assert_eq!(exit, Exit::Bug);
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
