//! Who runs this process, and where: recorded beside every answer of a person.

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
