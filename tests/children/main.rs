//! What starts children within the test process: the runner looks for its descendants, so these tests must not share
//! a process with others that have children of their own.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod confined;
#[cfg(test)]
mod injection;
#[cfg(test)]
mod process;
#[cfg(test)]
mod services;
