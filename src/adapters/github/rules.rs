//! What a branch demands of a merge: rulesets and classic protection, added up. A part that this token may not read
//! is named in `unread`, never taken for "no rule".

use serde_json::Value;

use super::{GitHub, GitHubError, GitHubErrorKind, PAGES, RepoInfo, error::message_of, paging::list, repo::is_absent};
use crate::model::{
    RepoName,
    pull::{RequiredCheck, Rules},
};

impl GitHub {
    pub async fn rules(&self, repo: &RepoName, info: &RepoInfo, branch: &str) -> Result<Rules, GitHubError> {
        let mut rules = Rules {
            squash_allowed: info.squash_allowed,
            public: info.public,
            ..Rules::default()
        };
        for rule in self.ruleset_rules(repo, branch).await? {
            add_rule(&mut rules, &rule);
        }
        self.add_classic(&mut rules, repo, branch).await?;
        rules.required_checks.sort();
        rules.required_checks.dedup();
        Ok(rules)
    }

    async fn ruleset_rules(&self, repo: &RepoName, branch: &str) -> Result<Vec<Value>, GitHubError> {
        let url = self.repo_url(repo, &["rules", "branches", branch], &[("per_page", "100")]);
        match list(&self.edge, url, None, PAGES).await {
            Ok(listed) => listed.whole("read the rules of the branch"),
            Err(e) if is_absent(&e) => Ok(Vec::new()),
            Err(e) if e.kind == GitHubErrorKind::Permission && plan_has_none(&e.what) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    async fn add_classic(&self, rules: &mut Rules, repo: &RepoName, branch: &str) -> Result<(), GitHubError> {
        let reply = self
            .edge
            .get(&self.repo_url(repo, &["branches", branch, "protection"], &[]))
            .await?;
        if reply.status.as_u16() == 404 {
            return self
                .confirm_unprotected(rules, repo, branch, &message_of(&reply.body))
                .await;
        }
        if reply.status.as_u16() == 401 && !self.edge.has_token() {
            return self.add_branch_summary(rules, repo, branch).await;
        }
        if reply.status.as_u16() == 403 {
            let error = reply.error(&self.edge);
            return match error.kind {
                GitHubErrorKind::Permission if plan_has_none(&error.what) => Ok(()),
                GitHubErrorKind::Permission => self.add_branch_summary(rules, repo, branch).await,
                _ => Err(error),
            };
        }
        add_protection(rules, &reply.json(&self.edge)?);
        Ok(())
    }

    /// 404 means "not protected" only in those words: a token without the right may see the same status.
    async fn confirm_unprotected(
        &self,
        rules: &mut Rules,
        repo: &RepoName,
        branch: &str,
        said: &str,
    ) -> Result<(), GitHubError> {
        if said.to_ascii_lowercase().contains("not protected") {
            return Ok(());
        }
        self.add_branch_summary(rules, repo, branch).await
    }

    /// The branch itself tells whether it is protected and names its required checks, but not the reviews it needs.
    async fn add_branch_summary(&self, rules: &mut Rules, repo: &RepoName, branch: &str) -> Result<(), GitHubError> {
        let reply = self.edge.get(&self.repo_url(repo, &["branches", branch], &[])).await?;
        let value: Value = reply.json(&self.edge)?;
        let protection = &value["protection"];
        let on = protection["enabled"].as_bool().or_else(|| value["protected"].as_bool());
        match on {
            Some(false) => return Ok(()),
            Some(true) => {}
            None => {
                return Err(GitHubError::shape(
                    &reply.attempt,
                    "the branch does not say whether it is protected",
                ));
            }
        }
        if protection["required_status_checks"]["enforcement_level"] != "off" {
            add_checks(rules, &protection["required_status_checks"]);
        }
        rules.unread = Some(format!(
            "the protection of {} ({} Administration: read)",
            self.edge.line(branch),
            if self.edge.has_token() {
                "the token needs"
            } else {
                "that needs a token with"
            }
        ));
        Ok(())
    }
}

/// Private repositories of a free plan answer 403 to both calls: they can not have rules.
fn plan_has_none(said: &str) -> bool {
    said.contains("Upgrade to GitHub")
}

fn add_rule(rules: &mut Rules, rule: &Value) {
    let parameters = &rule["parameters"];
    match rule["type"].as_str().unwrap_or_default() {
        "required_status_checks" => {
            for check in parameters["required_status_checks"].as_array().into_iter().flatten() {
                push_check(rules, &check["context"], &check["integration_id"]);
            }
        }
        "pull_request" => {
            add_reviews(rules, &parameters["required_approving_review_count"]);
            rules.code_owner_review |= parameters["require_code_owner_review"] == true;
            rules.conversation_resolution |= parameters["required_review_thread_resolution"] == true;
            if let Some(methods) = parameters["allowed_merge_methods"].as_array() {
                rules.squash_allowed &= methods.iter().any(|m| m == "squash");
            }
        }
        "merge_queue" => rules.merge_queue = true,
        "required_linear_history" => rules.linear_history = true,
        "required_signatures" => rules.signed_commits = true,
        "required_deployments" => {
            let names = parameters["required_deployment_environments"].as_array();
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            rules.required_deployments.extend(names.map(str::to_owned));
        }
        _ => {}
    }
}

fn add_protection(rules: &mut Rules, protection: &Value) {
    add_checks(rules, &protection["required_status_checks"]);
    let reviews = &protection["required_pull_request_reviews"];
    add_reviews(rules, &reviews["required_approving_review_count"]);
    rules.code_owner_review |= reviews["require_code_owner_reviews"] == true;
    rules.conversation_resolution |= protection["required_conversation_resolution"]["enabled"] == true;
    rules.signed_commits |= protection["required_signatures"]["enabled"] == true;
    rules.linear_history |= protection["required_linear_history"]["enabled"] == true;
}

fn add_reviews(rules: &mut Rules, count: &Value) {
    let count = count.as_u64().unwrap_or(0);
    rules.required_approvals = rules.required_approvals.max(u32::try_from(count).unwrap_or(u32::MAX));
}

/// `checks` names the app; `contexts` repeats the names without it.
fn add_checks(rules: &mut Rules, required: &Value) {
    let checks = required["checks"].as_array();
    for check in checks.into_iter().flatten() {
        push_check(rules, &check["context"], &check["app_id"]);
    }
    for context in required["contexts"].as_array().into_iter().flatten() {
        let known = checks.into_iter().flatten().any(|c| c["context"] == *context);
        if !known {
            push_check(rules, context, &Value::Null);
        }
    }
}

fn push_check(rules: &mut Rules, name: &Value, app: &Value) {
    if let Some(name) = name.as_str() {
        rules.required_checks.push(RequiredCheck {
            name: name.to_owned(),
            // Null and -1 mean any app.
            app_id: app.as_u64().filter(|id| *id > 0),
        });
    }
}
