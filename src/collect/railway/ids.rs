//! From what the config says to the ids that the service knows, and lists of several pages.

use serde_json::{Value, json};

use super::{
    api::{self, Api},
    memory::Ids,
    shapes::{Connection, Environments, Follows, Named, Opened, Services, Variable, Variables},
};
use crate::{collect::context::Blind, config::RailwayUse};

/// Elements of one page, and pages of one list.
const FIRST: u32 = 200;
const PAGES: usize = 5;
const USUAL_ENVIRONMENT: &str = "production";

/// The ids of the service that is meant.
pub(super) async fn find(api: &Api<'_>, used: &RailwayUse) -> Result<Ids, Blind> {
    let (project, environment) = if api.of_project() {
        of_token(api, used).await?
    } else {
        let project = used.project.clone().unwrap_or_default();
        let wanted = used.environment.as_deref().unwrap_or(USUAL_ENVIRONMENT);
        let asked = json!({ "projectId": project });
        let all = all(api, &api::ENVIRONMENTS, asked, |page: Environments| page.environments).await?;
        let environment = chosen(&all, wanted, "environment")?;
        (project, environment)
    };
    let asked = json!({ "projectId": project, "environmentId": environment });
    let all = all(api, &api::SERVICES, asked, |page: Services| page.environment.services).await?;
    let service = chosen(&all, &used.service, "service")?;
    Ok(Ids {
        project,
        environment,
        service,
    })
}

/// A project token knows what it opens; the config may only agree.
async fn of_token(api: &Api<'_>, used: &RailwayUse) -> Result<(String, String), Blind> {
    let Opened { token } = api.ask(&api::TOKEN, json!({})).await?;
    let differs = |what: &str, wanted: Option<&String>, id: &str, name: &str| {
        let wanted = wanted.filter(|wanted| *wanted != id && !wanted.eq_ignore_ascii_case(name))?;
        let what = format!(
            "{} opens the {what} {name}, and the config says {wanted}; name the variable of the right token as railway.token",
            api.variable()
        );
        Some(Blind::new("other-place", what))
    };
    let project = differs("project", used.project.as_ref(), &token.project_id, &token.project.name);
    let environment = differs(
        "environment",
        used.environment.as_ref(),
        &token.environment_id,
        &token.environment.name,
    );
    match project.or(environment) {
        Some(blind) => Err(blind),
        None => Ok((token.project_id, token.environment_id)),
    }
}

/// By id, or by name in any case of letters.
fn chosen(all: &[Named], wanted: &str, what: &str) -> Result<String, Blind> {
    let fits: Vec<&Named> = all
        .iter()
        .filter(|one| one.id == wanted || one.name.eq_ignore_ascii_case(wanted))
        .collect();
    if let [one] = fits[..] {
        return Ok(one.id.clone());
    }
    let names: Vec<&str> = all.iter().take(20).map(|one| one.name.as_str()).collect();
    let names = names.join(", ");
    Err(if fits.is_empty() {
        Blind::new("not-found", format!("no {what} is called {wanted}; there is: {names}"))
    } else {
        Blind::new(
            "not-found",
            format!("more than one {what} is called {wanted}; give its id in the config"),
        )
    })
}

/// Every variable of an environment, without values.
pub(super) async fn variables(api: &Api<'_>, ids: &Ids) -> Result<Vec<Variable>, Blind> {
    let asked = json!({ "projectId": ids.project, "environmentId": ids.environment });
    all(api, &api::VARIABLES, asked, |page: Variables| {
        page.environment.variables
    })
    .await
}

async fn all<T, A: serde::de::DeserializeOwned>(
    api: &Api<'_>,
    query: &api::Query,
    mut asked: Value,
    list: impl Fn(A) -> Connection<T>,
) -> Result<Vec<T>, Blind> {
    let wrong = |what: &str| Err(Blind::new("pages", format!("{}: the list {what}", query.name)));
    asked["first"] = FIRST.into();
    let mut found = Vec::new();
    for _ in 0..PAGES {
        let page = list(api.ask(query, asked.clone()).await?);
        let next = page.next();
        found.extend(page.into_nodes());
        // A list that was not read to its end says nothing of what is missing in it.
        match next {
            Follows::Nothing => return Ok(found),
            Follows::After(next) if asked["after"] != next => asked["after"] = next.into(),
            Follows::After(_) => return wrong("leads back to the same page"),
            Follows::Lost => return wrong("goes on, and does not say where"),
        }
    }
    wrong(&format!("has more than {PAGES} pages"))
}
