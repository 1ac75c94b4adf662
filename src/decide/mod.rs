//! Pure decisions: facts in, values out. No clock, file, network, process or log.

pub mod verdict;
