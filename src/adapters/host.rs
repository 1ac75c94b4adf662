//! Who runs this process, and where: recorded beside every answer of a person. And what others see of it: nothing.

/// `user@host`; what cannot be read is `unknown`.
pub fn user_at_host() -> String {
    let uid = rustix::process::getuid().as_raw();
    let user = std::fs::read_to_string("/etc/passwd")
        .unwrap_or_default()
        .lines()
        .find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse::<u32>().ok()? == uid).then(|| name.to_owned())
        })
        .unwrap_or_else(|| format!("uid {uid}"));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{user}@{host}")
}

/// From here on nobody but root looks into this process, which holds secrets from its start: no core dump, no memory,
/// and no environment for other processes of the same user.
pub fn close_to_others() {
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Lowering a limit of one's own is always allowed.
    let _ignored = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    #[cfg(target_os = "linux")]
    // Children get it back at their exec.
    let _ignored = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_holds_secrets_is_closed() {
        close_to_others();
        let core = rustix::process::getrlimit(rustix::process::Resource::Core);
        assert_eq!(core.current, Some(0));
        let dumpable = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(dumpable, rustix::process::DumpableBehavior::NotDumpable);
    }
}
