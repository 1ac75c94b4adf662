//! `tick logs`: what the log engine makes of a log, from files or standard input, in constant memory.

use std::{
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use clap::Args;

use super::Global;
use crate::{
    config::{
        load::{LoadError, Purpose, Sources, load_for},
        problem::Problem,
    },
    exit::{Exit, Fault},
    render,
    text::{
        Redactor,
        logs::{Patterns, Reading},
    },
};

const CHUNK: usize = 256 * 1024;

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Logs to read, one after the other; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub files: Vec<PathBuf>,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    /// Patterns to use instead of those of the home or the shipped ones
    #[arg(long, value_name = "FILE")]
    pub patterns: Option<PathBuf>,
}

pub fn run(args: &LogsArgs, global: &Global, input: impl Read, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (patterns, redactor) = means(args, global)?;
    let mut input = Some(input);
    let mut reading = Reading::new(&patterns, &redactor, global.clock().now());
    for file in &args.files {
        // A log that begins at its beginning begins with the start of its process.
        reading = reading.whole();
        let read = if file == Path::new("-") {
            input.take().map_or(Ok(()), |input| pump(input, &mut reading))
        } else {
            File::open(file).and_then(|log| pump(log, &mut reading))
        };
        read.map_err(|error| {
            Fault::new(Exit::Usage, format!("read the log {}: {error}", file.display()))
                .advise("name a file that can be read, or - for standard input")
        })?;
        reading.end_of_log();
    }
    let found = reading.finish();
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &render::logs::json(&found))?;
        writeln!(out)?;
    } else {
        out.write_all(render::logs::text(&found).as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn pump(mut log: impl Read, reading: &mut Reading) -> std::io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match log.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => reading.push(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Patterns and known secrets of the home; without a configuration the shipped patterns serve.
fn means(args: &LogsArgs, global: &Global) -> Result<(Patterns, Redactor), Fault> {
    let (patterns, redactor) = match load_for(Sources::of_process(global.home.as_deref())?, Purpose::Look) {
        Ok(config) => (config.patterns.clone(), config.redactor()),
        Err(LoadError::Missing { .. }) => (Patterns::shipped(None), Redactor::default()),
        Err(error) => return Err(error.into()),
    };
    let Some(own) = &args.patterns else {
        return Ok((patterns, redactor));
    };
    let text = std::fs::read_to_string(own).map_err(|error| {
        Fault::new(Exit::Usage, format!("read the patterns {}: {error}", own.display()))
            .advise("the shipped ones are in collectors/patterns.json of the source")
    })?;
    let patterns = Patterns::parse(&text, None).map_err(|faults| {
        let name = own.display().to_string();
        let problems: Vec<Problem> = faults
            .into_iter()
            .map(|fault| Problem::of_pattern(&name, fault))
            .collect();
        Fault::new(Exit::Config, render::config::problems(&name, &problems))
    })?;
    Ok((patterns, redactor))
}
