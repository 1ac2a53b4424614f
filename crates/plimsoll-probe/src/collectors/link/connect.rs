//! Connections to a host or a Unix socket, within a time.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::PATIENCE_MIN;
use crate::clock;
use crate::untrusted::credentials::connect_as;
use crate::untrusted::{Credentials, NamedFile, path_of};

pub(super) fn connect_tcp(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    // A name may have many addresses that do not respond: all of them share this time.
    let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
    let deadline_ns = clock::now_ns().saturating_add(patience_ns);
    let mut refused = io::Error::from(ErrorKind::NotFound);
    for address in plimsoll_names::host::resolve(host, port)? {
        let left = Duration::from_nanos(deadline_ns.saturating_sub(clock::now_ns()));
        match TcpStream::connect_timeout(&address, left.max(PATIENCE_MIN)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The standard library's `connect` blocks without limit while the listener's queue is full.
pub(super) fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let (handle, _) = NamedFile::new(path, None).socket()?;
    let socket = unix_socket(patience)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path_of(&handle))?)?;
    Ok(UnixStream::from(socket))
}

/// The same to a socket that a process names: in its own root, with its rights, and only if that process or another
/// one of its user listens there. Otherwise any user could make this process connect, with its rights, to any
/// socket.
pub(super) fn connect_named(
    path: &Path,
    pid: u32,
    with_own_rights: bool,
    patience: Duration,
) -> io::Result<UnixStream> {
    let (handle, root) = NamedFile::new(path, Some(pid)).socket()?;
    let socket = unix_socket(patience)?;
    let address = SocketAddrUnix::new(path_of(&handle))?;
    let rights = root.credentials().filter(|_| !with_own_rights);
    connect_as(rights, || Ok(rustix::net::connect(&socket, &address)?))?;
    let peer = getsockopt(&socket, PeerCredentials)?;
    let theirs = Credentials::of(pid);
    let is_same = u32::try_from(peer.pid()).is_ok_and(|peer| peer == pid)
        || theirs.is_some_and(|theirs| theirs.uid == peer.uid());
    if !is_same {
        let text = format!(
            "pid {} of user {} listens there, but pid {pid}, which names it, belongs to another user; to watch it \
             anyway, name it under `watch:`",
            peer.pid(),
            peer.uid()
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    Ok(UnixStream::from(socket))
}

fn unix_socket(patience: Duration) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    Ok(socket)
}
