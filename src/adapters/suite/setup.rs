//! The commands that prepare a checkout for its tests. They run on the base alone, before any code of an agent exists,
//! and may reach the hosts that packages come from.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::{
    OUTPUT_CAP, SuiteChild, SuiteOptions,
    room::{Room, locate},
    run::environment,
};
use crate::{adapters::process::Network, config::CommandLine};

/// The child for one command in the tree `dir`; its home is kept for the tests, its temporary files are not.
pub fn setup_child(
    command: &CommandLine,
    dir: &Path,
    home: &Path,
    hosts: &BTreeSet<String>,
    deadline: Duration,
    options: &SuiteOptions,
) -> Result<SuiteChild, String> {
    let (program, args) = command.argv.split_first().ok_or("the command is empty")?;
    let room = Room {
        dir: options.scratch.clone(),
        home: home.to_owned(),
        tmp: options.scratch.clone(),
    };
    // What is only there to be downloaded once more takes no room in the copies.
    let caches = [
        ("npm_config_cache", "npm"),
        ("PIP_CACHE_DIR", "pip"),
        ("UV_CACHE_DIR", "uv"),
    ];
    let caches = caches.map(|(name, below)| {
        let place = options.scratch.join(below).to_string_lossy().into_owned();
        (name.to_owned(), place)
    });
    Ok(SuiteChild {
        program: locate(program, dir, options)?,
        args: args.to_vec(),
        env: environment(&room, &caches, options),
        cwd: dir.to_owned(),
        writable: vec![room.dir.clone(), room.home.clone()],
        stdin: Vec::new(),
        deadline,
        run_id: options.run_id.clone(),
        network: Network::Hosts(hosts.clone()),
        stdout_cap: OUTPUT_CAP,
        stderr_cap: OUTPUT_CAP,
    })
}
