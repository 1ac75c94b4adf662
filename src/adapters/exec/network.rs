//! A network of its own for a child that needs none but the loopback: nothing outside is reached, and two runs cannot
//! talk through a port.

use rustix::{
    io::Errno,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink},
    thread::UnshareFlags,
};

/// The loopback is the first interface of every network.
const LOOPBACK: i32 = 1;
const REPLY: usize = 4096;

/// Leaves the machine's network. Needs a process of one thread, and rights or a kernel that lets everybody make
/// namespaces of users.
pub(super) fn leave() -> Result<(), String> {
    let failed = |what: &str, error: Errno| format!("its network is open ({what}: {error})");
    match enter(UnshareFlags::NEWNET) {
        Ok(()) => {}
        Err(Errno::PERM) => own_namespace().map_err(|(what, error)| failed(what, error))?,
        Err(error) => return Err(failed("no network of its own", error)),
    }
    // Outside is closed by now whatever becomes of this.
    raise_loopback().map_err(|error| format!("it has no loopback ({error})"))
}

#[expect(
    deprecated,
    reason = "its successor is unsafe because of a flag that is not used here"
)]
fn enter(flags: UnshareFlags) -> Result<(), Errno> {
    rustix::thread::unshare(flags)
}

/// The same user and group, in a namespace in which they may make a network.
fn own_namespace() -> Result<(), (&'static str, Errno)> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    enter(UnshareFlags::NEWUSER | UnshareFlags::NEWNET).map_err(|error| ("no namespace of users", error))?;
    let write = |path: &str, text: String| {
        std::fs::write(path, text).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    };
    // What is closed to others is root's in /proc. There is nothing to hide: this process has the child's environment.
    let _ignored = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
    // Without this nobody but root may map a group.
    write("/proc/self/setgroups", "deny".to_owned()).map_err(|error| ("setgroups", error))?;
    write("/proc/self/uid_map", format!("{uid} {uid} 1")).map_err(|error| ("uid_map", error))?;
    write("/proc/self/gid_map", format!("{gid} {gid} 1")).map_err(|error| ("gid_map", error))
}

fn raise_loopback() -> Result<(), Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // The protocol of interfaces and routes.
        None,
    )?;
    rustix::net::sendto(&socket, &up(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut reply = [0_u8; REPLY];
    let (read, _whole) = rustix::net::recv(&socket, &mut reply[..], RecvFlags::empty())?;
    match refusal(&reply[..read]) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw_os_error(-error)),
        None => Err(Errno::PROTO),
    }
}

/// The message "set the flag UP of the loopback, and say whether that worked".
fn up() -> Vec<u8> {
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 1 | 4;
    const UP: u32 = 1;
    const LENGTH: u32 = 32;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    // Number of the message, and of its sender: the kernel's business.
    message.extend([0_u8; 8]);
    // Family and kind of the interface: any.
    message.extend([0_u8; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    // Its flags, and which of them to change.
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message
}

/// The number in an answer, 0 for "done".
fn refusal(reply: &[u8]) -> Option<i32> {
    const ERROR: u16 = 2;
    let kind = u16::from_ne_bytes(reply.get(4..6)?.try_into().ok()?);
    let number = i32::from_ne_bytes(reply.get(16..20)?.try_into().ok()?);
    (kind == ERROR).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_long_as_they_say() {
        let message = up();
        assert_eq!(
            u32::from_ne_bytes(message[..4].try_into().unwrap()) as usize,
            message.len()
        );
    }

    #[test]
    fn an_answer_is_a_number() {
        let mut reply = vec![0_u8; 36];
        assert_eq!(refusal(&reply), None, "another kind of message");
        reply[4] = 2;
        assert_eq!(refusal(&reply), Some(0));
        reply[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(refusal(&reply), Some(-1));
        assert_eq!(refusal(&reply[..18]), None, "cut");
    }
}
