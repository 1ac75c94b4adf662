//! What the outside refused, and how to mend it.

use crate::model::pull::PushRefusal;

/// A push that the host did not take: its words, and what a person does about it.
pub fn push_refused(refusal: PushRefusal, said: &str) -> String {
    let mend = match refusal {
        PushRefusal::Rights => {
            "GITHUB_TOKEN may not write here: give it contents: read and write (and workflows, for a change under \
             .github/workflows) on this repository"
        }
        PushRefusal::Rule => {
            "a rule of the repository forbids it: let the account of GITHUB_TOKEN create and push branches named fix/auto-*"
        }
        PushRefusal::Moved => {
            "the branch is not where tick left it: delete it, or have its head judged with tick retry ID --keep-branch"
        }
        PushRefusal::Other => "see what the host says",
    };
    format!("{said}; {mend}; then: tick retry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_how_to_mend_it() {
        let said = |refusal| push_refused(refusal, "[remote rejected]");
        for (refusal, mend) in [
            (PushRefusal::Rights, "contents: read and write"),
            (PushRefusal::Rule, "branches named fix/auto-*"),
            (PushRefusal::Moved, "--keep-branch"),
            (PushRefusal::Other, "what the host says"),
        ] {
            let text = said(refusal);
            assert!(
                text.starts_with("[remote rejected]; ") && text.contains(mend) && text.ends_with("tick retry"),
                "{text}"
            );
        }
    }
}
