//! pytest: our plugin goes along and writes the report.

use std::path::{Path, PathBuf};

use super::{Only, SuiteOptions, command::Detected};

pub(super) const PLUGIN: &str = concat!(include_str!("intact.py"), include_str!("plugin.py"));
/// A module of this name is looked for in the directory that PYTHONPATH names.
pub(super) const PLUGIN_FILE: &str = "tick_pytest_report.py";
/// Last, so that they win: the plugin, and going on after whatever fails.
pub(super) const ARGS: [&str; 4] = [
    "-p",
    "tick_pytest_report",
    "--continue-on-collection-errors",
    "--maxfail=0",
];

/// With these it runs no test, or waits for a person.
const MUDDLED: [&str; 14] = [
    "--collect-only",
    "--collectonly",
    "--co",
    "--setup-only",
    "--setup-plan",
    "--fixtures",
    "--funcargs",
    "--markers",
    "--help",
    "-h",
    "--version",
    "-V",
    "--pdb",
    "--trace",
];

pub(super) fn pytest(program: &str, before: Vec<String>, args: &[String]) -> Result<Detected, String> {
    if let Some(word) = args.iter().find(|word| MUDDLED.contains(&word.as_str())) {
        return Err(format!("`pytest` cannot be read with {word}"));
    }
    Ok(Detected::Pytest {
        program: program.to_owned(),
        before,
        args: args.to_vec(),
    })
}

/// Where Python looks for modules: beside our plugin, then where the owner says.
pub(super) fn path(plugin: &str, options: &SuiteOptions) -> String {
    let owners = options
        .toolchain_env
        .iter()
        .chain(&options.env)
        .filter(|(name, _)| name == "PYTHONPATH");
    let plugin = Path::new(plugin).parent().unwrap_or(Path::new("/"));
    owners.fold(plugin.to_string_lossy().into_owned(), |path, (_, more)| {
        format!("{path}:{more}")
    })
}

/// The files of a run of single tests; without any, the ids.
pub(super) fn chosen<'a>(dir: &Path, only: &'a Only) -> (Vec<PathBuf>, &'a [String]) {
    let files: Vec<PathBuf> = only.files.iter().map(|file| dir.join(file)).collect();
    let ids = if files.is_empty() { only.ids.as_slice() } else { &[] };
    (files, ids)
}
