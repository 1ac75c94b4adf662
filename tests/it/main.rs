//! The one test binary. Each module is one subject; everything here goes through the built program or through files
//! of the repository, never through private functions.

#[cfg(test)]
mod alertmanager;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod blind;
#[cfg(test)]
mod bombs;
#[cfg(test)]
mod causes;
#[cfg(test)]
mod cheats;
#[cfg(test)]
mod clocks;
#[cfg(test)]
mod collect;
#[cfg(test)]
mod config_cli;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod exec;
#[cfg(test)]
mod fake_reds;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod heartbeat;
#[cfg(test)]
mod injection;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod look;
#[cfg(test)]
mod mail_server;
#[cfg(test)]
mod merges;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod papers;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod pushes;
#[cfg(test)]
mod railway;
#[cfg(test)]
mod repairs;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod services;
#[cfg(test)]
mod silence;
#[cfg(test)]
mod spies;
#[cfg(test)]
mod spine;
#[cfg(test)]
mod state;
#[cfg(test)]
mod storms;
#[cfg(test)]
mod street;
#[cfg(test)]
mod support;
#[cfg(test)]
mod told;
mod undo;
#[cfg(test)]
mod units;
#[cfg(test)]
mod verbs;
#[cfg(test)]
mod vercel;
#[cfg(test)]
mod watched;
#[cfg(test)]
mod whole;
