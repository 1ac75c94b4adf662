//! Parse, start logging, call the verb, map the result to an exit code. Nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    tick::cli::main()
}
