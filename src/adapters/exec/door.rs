//! The one way out of a network of its own: a port of the child's loopback, whose listening end goes to whoever started
//! this, through stdin. What may pass there is decided on the other side.

use std::{
    io::IoSlice,
    mem::MaybeUninit,
    net::{Ipv4Addr, TcpListener},
    os::fd::AsFd as _,
};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Opens it and hands it out. Returns its port.
pub(super) fn open() -> Result<u16, String> {
    let failed = |error: std::io::Error| format!("it has no way to the hosts that it may reach ({error})");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let ends = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&ends));
    sendmsg(
        std::io::stdin(),
        &[IoSlice::new(b"d")],
        &mut control,
        SendFlags::empty(),
    )
    .map_err(|error| failed(error.into()))?;
    Ok(port)
}

/// Variables by which programs find the way: those of curl and its like, of Node, and of Java.
pub(super) fn variables(port: u16) -> Vec<(&'static str, String)> {
    let address = format!("http://127.0.0.1:{port}");
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
    let mut variables: Vec<(&'static str, String)> = names.map(|name| (name, address.clone())).into();
    let java = ["http", "https"].map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"));
    variables.push(("JAVA_TOOL_OPTIONS", java.join(" ")));
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}
