//! What `tick config check` looks at beside the file itself: prompts that can be filled, programs that compile, declared
//! collectors that fit together. A tick finds out by itself, but in the night.

use chrono::{DateTime, Utc};

use crate::{
    adapters::agents,
    collect,
    config::{
        Config, Target,
        problem::{JsonPath, Problem, Step},
        read_plain,
    },
    render::prompt::PromptSet,
    text::jq::Program,
};

/// Every problem of the files of the home, under the key or the file that holds it.
pub fn files(config: &Config, now: DateTime<Utc>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let at = JsonPath::default();
    let prompts = agents::prompt_overrides(&config.home.prompts).and_then(|own| PromptSet::with(&own));
    if let Err(error) = prompts {
        let problem = Problem::new(at.key("prompts"), format!("{error:#}"));
        problems.push(problem.example("the template of the program: remove the file"));
    }
    if let Ok(gate) = read_plain(&config.home.collectors.join("gate.jq")) {
        program(&gate, &at.key("collectors/gate.jq"), &mut problems);
    }
    for repo in config.repos.values() {
        let here = at.key("repos").key(repo.slot.as_str());
        for target in &repo.targets {
            let own = repo.targets.len() == 1 && target.name == repo.slot.as_str();
            let here = if own {
                here.clone()
            } else {
                here.key("targets").key(&target.name)
            };
            of_target(config, target, &here, now, &mut problems);
        }
    }
    problems.sort();
    problems.dedup();
    problems
}

/// What a wrong config file does not account for already: below a key that is wrong nothing more is said.
pub fn beside(of_config: &[Problem], of_files: Vec<Problem>) -> Vec<Problem> {
    let told = |path: &JsonPath| of_config.iter().any(|problem| path.0.starts_with(&problem.path.0));
    let within = |path: &JsonPath| of_config.iter().any(|problem| problem.path.0.starts_with(&path.0));
    let is_collector = |path: &JsonPath| path.0.iter().any(|step| *step == Step::Key("collectors".to_owned()));
    let mut left = of_files;
    left.retain(|problem| !(told(&problem.path) || is_collector(&problem.path) && within(&problem.path)));
    left
}

fn of_target(config: &Config, target: &Target, at: &JsonPath, now: DateTime<Utc>, problems: &mut Vec<Problem>) {
    for (n, probe) in target.health.iter().enumerate() {
        let here = at.key("health").index(n);
        let programs = [
            (&probe.jq, here.key("expect").key("jq")),
            (&probe.release, here.key("release")),
            (&probe.requests, here.key("requests")),
        ];
        for (text, at) in programs {
            if let Some(text) = text {
                program(text, &at, problems);
            }
        }
    }
    for (n, probe) in target.jsonrpc.iter().enumerate() {
        let here = at.key("jsonrpc").index(n).key("jq");
        if let Some(text) = &probe.jq {
            program(text, &here, problems);
        }
    }
    for (n, path) in target.logs.iter().enumerate() {
        // One that is not there yet may come; what is there and is no file stays none.
        if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            let what = format!("{} is no regular file, so it cannot be followed", path.display());
            let problem = Problem::new(at.key("logs").index(n), what);
            problems.push(problem.example("\"/var/log/app.log\""));
        }
    }
    for used in &target.declared {
        let here = at.key("collectors").key(&used.collector);
        let misfits = collect::check(&config.home.collectors, used, now).into_iter();
        problems.extend(misfits.map(|misfit| Problem::new(here.clone(), misfit.what).example(misfit.example)));
    }
}

fn program(text: &str, at: &JsonPath, problems: &mut Vec<Problem>) {
    if let Err(fault) = Program::compile(text) {
        problems.push(Problem::new(at.clone(), fault.to_string()).example("\".ok == true\""));
    }
}
