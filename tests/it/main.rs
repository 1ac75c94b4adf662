//! One test binary: end to end (world and faults), command line, architecture.

mod spine;
