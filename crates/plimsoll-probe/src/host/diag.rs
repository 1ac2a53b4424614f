//! Reads the kernel's sockets over netlink (`sock_diag(7)`): cheaper than `/proc/net/tcp`, needs no privilege, and
//! reports a listener's backlog, which no file does.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
    sockopt,
};

use crate::parse::socket::{CLOSE_WAIT, ESTABLISHED, LISTEN, TcpSocket};

// Numbers of linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h and linux/unix_diag.h.
const HEADER_LEN: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const REQUEST_DUMP: u16 = 0x301;
const AF_UNIX: u8 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const INET_MESSAGE_LEN: usize = 72;
/// Bit of `INET_DIAG_INFO` among the attributes that are requested.
const SHOW_INFO: u8 = 1 << (ATTRIBUTE_INFO - 1);
/// `INET_DIAG_INFO`
const ATTRIBUTE_INFO: u16 = 2;
/// Offset of `tcpi_bytes_received` in `struct tcp_info`.
const BYTES_RECEIVED_AT: usize = 128;
const UNIX_MESSAGE_LEN: usize = 16;
/// `UDIAG_SHOW_RQLEN`
const SHOW_QUEUE: u32 = 0x10;
/// `UNIX_DIAG_RQLEN`
const ATTRIBUTE_QUEUE: u16 = 4;
/// `UDIAG_SHOW_NAME | UDIAG_SHOW_PEER`
const SHOW_ENDS: u32 = 0x5;
/// `UNIX_DIAG_NAME`
const ATTRIBUTE_NAME: u16 = 0;
/// `UNIX_DIAG_PEER`
const ATTRIBUTE_PEER: u16 = 2;

/// Maximum length of one message of the kernel, bytes.
const ANSWER_LEN: usize = 64 << 10;
/// Maximum number of messages for one request; 100,000 sockets need about 150.
const ANSWERS_MAX: usize = 4096;

/// Which sockets to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that listen.
    Listening,
    /// Every state.
    All,
}

impl Which {
    fn states(self) -> u32 {
        match self {
            Self::Listening => 1 << LISTEN,
            Self::All => u32::MAX,
        }
    }
}

/// A netlink socket of the network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Diag {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Diag {
    pub(crate) fn open() -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(SOCK_DIAG),
        )?;
        // The kernel responds immediately or not at all.
        let patience = Some(Duration::from_millis(200));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, patience)?;
        Ok(Self {
            socket,
            buffer: vec![0; ANSWER_LEN],
        })
    }

    /// Calls `each` with every TCP socket of both families.
    pub(crate) fn tcp(&mut self, which: Which, mut each: impl FnMut(TcpSocket)) -> io::Result<()> {
        for family in [AF_INET, AF_INET6] {
            self.dump(&tcp_request(family, which.states(), 0, 0), |body| {
                if let Some(socket) = tcp_message(body) {
                    each(socket);
                }
            })?;
        }
        Ok(())
    }

    /// The same for sockets of one local port that listen or are connected.
    pub(crate) fn tcp_of_port(
        &mut self,
        port: u16,
        mut each: impl FnMut(TcpSocket),
    ) -> io::Result<()> {
        for family in [AF_INET, AF_INET6] {
            let states = 1 << LISTEN | 1 << ESTABLISHED | 1 << CLOSE_WAIT;
            self.dump(&tcp_request(family, states, port, 0), |body| {
                // A kernel that does not choose lists all.
                if let Some(socket) = tcp_message(body).filter(|socket| socket.local.port() == port)
                {
                    each(socket);
                }
            })?;
        }
        Ok(())
    }

    /// Every connection to a local port in any state, with the bytes that were received over it; `None` where the kernel does
    /// not count them, as after its end.
    pub(crate) fn connections_to(
        &mut self,
        port: u16,
        mut each: impl FnMut(TcpSocket, Option<u64>),
    ) -> io::Result<()> {
        for family in [AF_INET, AF_INET6] {
            let states = !(1 << LISTEN);
            self.dump(&tcp_request(family, states, port, SHOW_INFO), |body| {
                if let Some(socket) = tcp_message(body).filter(|socket| socket.local.port() == port)
                {
                    each(socket, bytes_received(body));
                }
            })?;
        }
        Ok(())
    }

    /// Length and backlog of the accept queue of the listening unix socket with this file number.
    pub(crate) fn unix_queue(&mut self, inode: u64) -> io::Result<Option<(u32, u32)>> {
        let mut found = None;
        self.dump(&unix_request(1 << LISTEN, SHOW_QUEUE), |body| {
            found = found.or_else(|| {
                unix_message(body)
                    .filter(|message| u64::from(message.0) == inode)
                    .map(|message| (message.1, message.2))
            });
        })?;
        Ok(found)
    }

    /// The unix sockets that have another end, by the number of their file, with its path; `None` where that has none: this
    /// end is then the one that has a path, and was connected to.
    pub(crate) fn unix_peers(&mut self) -> io::Result<Vec<(u64, Option<String>)>> {
        let mut ends = Vec::new();
        let mut paths = HashMap::new();
        self.dump(&unix_request(u32::MAX, SHOW_ENDS), |body| {
            let Some(inode) = u32_at(body, 4) else { return };
            let peer = unix_attribute(body, ATTRIBUTE_PEER).and_then(|peer| u32_at(peer, 0));
            ends.extend(peer.map(|peer| (inode, peer)));
            let path = unix_attribute(body, ATTRIBUTE_NAME)
                .and_then(|path| std::str::from_utf8(path).ok());
            let path = path.map(|path| path.trim_end_matches('\0'));
            paths.extend(
                path.filter(|path| path.starts_with('/'))
                    .map(|path| (inode, path.to_owned())),
            );
        })?;
        let named = ends
            .into_iter()
            .map(|(inode, peer)| (u64::from(inode), paths.get(&peer).cloned()));
        Ok(named.collect())
    }

    fn dump(&mut self, request: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, request, SendFlags::empty(), &kernel)?;
        for _ in 0..ANSWERS_MAX {
            let (_, len) = recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::empty())?;
            let answer = self.buffer.get(..len).unwrap_or(&self.buffer);
            match messages(answer, &mut each) {
                DumpStatus::More => {}
                DumpStatus::Done => return Ok(()),
                DumpStatus::Refused(errno) => return Err(io::Error::from_raw_os_error(errno)),
            }
        }
        Err(io::Error::other("the kernel's answer does not end"))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum DumpStatus {
    More,
    Done,
    Refused(i32),
}

/// Calls `each` with the body of every message of a response.
fn messages(mut answer: &[u8], mut each: impl FnMut(&[u8])) -> DumpStatus {
    while let (Some(len), Some(kind)) = (u32_at(answer, 0), u16_at(answer, 4)) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let Some(body) = answer.get(HEADER_LEN..len) else {
            return DumpStatus::Done;
        };
        match kind {
            NLMSG_DONE => return DumpStatus::Done,
            NLMSG_ERROR => {
                let errno = u32_at(body, 0).map_or(0, u32::cast_signed);
                return DumpStatus::Refused(errno.saturating_neg());
            }
            _ => each(body),
        }
        answer = answer.get(aligned(len)..).unwrap_or(&[]);
    }
    DumpStatus::More
}

/// Lengths are rounded up to words.
fn aligned(len: usize) -> usize {
    len.saturating_add(3) & !3
}

fn header(body_len: usize) -> Vec<u8> {
    let len = u32::try_from(HEADER_LEN + body_len).expect("requests are short");
    let mut request = Vec::with_capacity(HEADER_LEN + body_len);
    request.extend(len.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    request
}

/// `struct inet_diag_req_v2`; of port 0, all.
fn tcp_request(family: u8, states: u32, port: u16, show: u8) -> Vec<u8> {
    let mut request = header(56);
    request.extend([family, IPPROTO_TCP, show, 0]);
    request.extend(states.to_ne_bytes());
    request.extend(port.to_be_bytes());
    request.extend([0; 46]);
    request
}

/// `struct unix_diag_req`
fn unix_request(states: u32, show: u32) -> Vec<u8> {
    let mut request = header(24);
    request.extend([AF_UNIX, 0, 0, 0]);
    request.extend(states.to_ne_bytes());
    request.extend(0_u32.to_ne_bytes());
    request.extend(show.to_ne_bytes());
    request.extend([0; 8]);
    request
}

/// `struct inet_diag_msg`
fn tcp_message(body: &[u8]) -> Option<TcpSocket> {
    let body = body.get(..INET_MESSAGE_LEN)?;
    let port = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let ip = |at: usize| -> Option<IpAddr> {
        let bytes: [u8; 16] = body.get(at..at + 16)?.try_into().ok()?;
        let [a, b, c, d, ..] = bytes;
        Some(match body[0] {
            AF_INET => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            _ => IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical(),
        })
    };
    Some(TcpSocket {
        state: body[1],
        local: SocketAddr::new(ip(8)?, port(4)?),
        remote: SocketAddr::new(ip(24)?, port(6)?),
        receive_queue: u32_at(body, 56)?,
        send_queue: u32_at(body, 60)?,
        inode: u64::from(u32_at(body, 68)?),
    })
}

/// File number, queue length and backlog of `struct unix_diag_msg` with its attributes.
fn unix_message(body: &[u8]) -> Option<(u32, u32, u32)> {
    let inode = u32_at(body, 4)?;
    let queue = unix_attribute(body, ATTRIBUTE_QUEUE)?;
    Some((inode, u32_at(queue, 0)?, u32_at(queue, 4)?))
}

/// `tcpi_bytes_received` of `struct inet_diag_msg` with its attributes.
fn bytes_received(body: &[u8]) -> Option<u64> {
    let info = attribute(body.get(INET_MESSAGE_LEN..)?, ATTRIBUTE_INFO)?;
    let count = info.get(BYTES_RECEIVED_AT..BYTES_RECEIVED_AT + 8)?;
    Some(u64::from_ne_bytes(count.try_into().ok()?))
}

/// Value of an attribute of `struct unix_diag_msg`.
fn unix_attribute(body: &[u8], kind: u16) -> Option<&[u8]> {
    attribute(body.get(UNIX_MESSAGE_LEN..)?, kind)
}

/// Value of an attribute among all.
fn attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let len = usize::from(u16_at(attributes, 0)?);
        if u16_at(attributes, 2)? == kind {
            return attributes.get(4..len);
        }
        // An attribute holds at least its own head.
        attributes = attributes.get(aligned(len.max(4))..)?;
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_ne_bytes(word.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use proptest::prelude::*;

    use super::*;

    fn listeners(diag: &mut Diag) -> Vec<TcpSocket> {
        let mut found = Vec::new();
        diag.tcp(Which::Listening, |socket| found.push(socket))
            .unwrap();
        found
    }

    #[test]
    fn a_listener_is_listed_with_its_backlog() {
        let socket = socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::STREAM, None);
        let socket = socket.unwrap();
        let any: SocketAddr = "[::1]:0".parse().unwrap();
        socket.bind(&any.into()).unwrap();
        socket.listen(7).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let mut diag = Diag::open().unwrap();
        let listed = listeners(&mut diag);
        let mine = listed.iter().find(|listed| listed.local == address);
        let mine = mine.expect("own listener is listed");
        assert_eq!((mine.receive_queue, mine.send_queue), (0, 7));
        let waiting = std::net::TcpStream::connect(address).unwrap();
        let listed = listeners(&mut diag);
        let mine = listed.iter().find(|listed| listed.local == address);
        assert_eq!(mine.unwrap().receive_queue, 1);
        drop(waiting);
    }

    #[test]
    fn both_ends_of_a_connection_are_listed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (local, remote) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        let mut ends = Vec::new();
        Diag::open()
            .unwrap()
            .tcp(Which::All, |socket| {
                ends.push((socket.local, socket.remote));
            })
            .unwrap();
        assert!(ends.contains(&(local, remote)) && ends.contains(&(remote, local)));
    }

    #[test]
    fn connections_to_a_port_tell_whether_they_were_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _taken = (
            std::net::TcpStream::connect(address).unwrap(),
            listener.accept().unwrap(),
        );
        let _waiting = std::net::TcpStream::connect(address).unwrap();
        let (mut taken, mut waiting, mut queue) = (0, 0, 0);
        let mut diag = Diag::open().unwrap();
        diag.tcp_of_port(address.port(), |socket| {
            match (socket.state, socket.inode) {
                (LISTEN, _) => queue += socket.receive_queue,
                (_, 0) => waiting += 1,
                _ => taken += 1,
            }
        })
        .unwrap();
        assert_eq!((taken, waiting, queue), (1, 1, 1));
    }

    #[test]
    fn a_unix_listener_tells_its_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let _waiting = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let table = std::fs::read_to_string("/proc/net/unix").unwrap();
        let path = path.to_str().unwrap();
        let inode = crate::parse::socket::unix_listener(&table, path).unwrap();
        let (queue, backlog) = Diag::open().unwrap().unix_queue(inode).unwrap().unwrap();
        assert_eq!(queue, 1);
        assert!(backlog >= 1);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            messages(&bytes, |body| {
                tcp_message(body);
                bytes_received(body);
                unix_message(body);
            });
            tcp_message(&bytes);
            unix_message(&bytes);
        }

        #[test]
        fn any_message_body_is_handed_on(body in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut answer = header(body.len());
            answer.extend(&body);
            let mut received = Vec::new();
            prop_assert_eq!(messages(&answer, |body| received = body.to_vec()), DumpStatus::More);
            prop_assert_eq!(received, body);
        }
    }
}
