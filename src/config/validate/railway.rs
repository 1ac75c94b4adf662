//! Services on Railway: which token, and what it needs to be told beside it.

use url::Url;

use super::Checks;
use crate::config::{
    RAILWAY_API, RailwayToken, RailwayUse,
    problem::{JsonPath, quote_str},
    raw,
};

const PROJECT_TOKEN: &str = "RAILWAY_TOKEN";
const ACCOUNT_TOKEN: &str = "RAILWAY_API_TOKEN";

impl Checks<'_> {
    pub(super) fn railway_api(&mut self, raw: &raw::RailwayApi) -> Url {
        self.url(&raw.api, JsonPath::default().key("railway").key("api"), RAILWAY_API)
            .unwrap_or_else(|| Url::parse(RAILWAY_API).expect("a constant URL"))
    }

    pub(super) fn railway(&mut self, raw: &raw::Railway, at: &JsonPath) -> RailwayUse {
        let given = [
            ("service", Some(&raw.service), "\"api\""),
            (
                "project",
                raw.project.as_ref(),
                "\"5b1d8c8e-0000-4000-8000-000000000000\"",
            ),
            ("environment", raw.environment.as_ref(), "\"production\""),
            ("filter", raw.filter.as_ref(), "\"@level:error\""),
        ];
        for (key, value, example) in given {
            if value.is_some_and(|value| value.trim().is_empty()) {
                self.problem(at.key(key), "is empty", example);
            }
        }
        if let Some(filter) = &raw.filter
            && filter.matches('(').count() != filter.matches(')').count()
        {
            let what = format!("{} has a parenthesis without its other half", quote_str(filter));
            self.problem(at.key("filter"), what, "\"@level:error OR panic\"");
        }
        let token = self.railway_token(raw, at);
        if raw.project.is_none() && matches!(token, Some(RailwayToken::Account { .. })) {
            let what = format!("is not given, and {ACCOUNT_TOKEN} sees more than one project");
            self.problem(at.key("project"), what, "\"5b1d8c8e-0000-4000-8000-000000000000\"");
        }
        RailwayUse {
            service: raw.service.trim().to_owned(),
            project: raw.project.clone(),
            environment: raw.environment.clone(),
            token,
            filter: raw.filter.clone(),
            stderr_is_error: raw.stderr_is_error,
        }
    }

    /// A token of a project opens less than one of an account, so it is taken where both are there.
    fn railway_token(&mut self, raw: &raw::Railway, at: &JsonPath) -> Option<RailwayToken> {
        let env = self.context.env;
        let (variable, path, account) = match &raw.token {
            Some(variable) => (variable.as_str(), at.key("token"), false),
            None if env.get(PROJECT_TOKEN).is_some() => (PROJECT_TOKEN, at.clone(), false),
            None if env.get(ACCOUNT_TOKEN).is_some() => (ACCOUNT_TOKEN, at.clone(), true),
            None => {
                let what =
                    format!("needs {PROJECT_TOKEN} or {ACCOUNT_TOKEN}; neither is set in the environment or .env");
                self.absent(at.clone(), what, PROJECT_TOKEN);
                return None;
            }
        };
        let value = self.secret(variable, path)?;
        let variable = variable.to_owned();
        Some(if account {
            RailwayToken::Account { variable, value }
        } else {
            RailwayToken::Project { variable, value }
        })
    }
}
