//! `/proc/net/tcp`, `/proc/net/tcp6`, `/proc/net/udp`, `/proc/net/udp6` and `/proc/net/unix`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// TCP states as the kernel numbers them (`include/net/tcp_states.h`), index 0 unused.
pub(crate) const STATES: [&str; 13] = [
    "unknown",
    "established",
    "syn_sent",
    "syn_received",
    "fin_wait_1",
    "fin_wait_2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
    "syn_received",
];

/// State number of `ESTABLISHED`.
pub(crate) const ESTABLISHED: u8 = 1;
/// State number of `CLOSE_WAIT`.
pub(crate) const CLOSE_WAIT: u8 = 8;
/// State number of `TIME_WAIT`.
pub(crate) const TIME_WAIT: u8 = 6;
/// State number of `LISTEN`.
pub(crate) const LISTEN: u8 = 10;

/// One TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpSocket {
    /// State number, an index of [`STATES`].
    pub(crate) state: u8,
    /// This end.
    pub(crate) local: SocketAddr,
    /// The other end.
    pub(crate) remote: SocketAddr,
    /// Bytes not read yet; of a listener, connections not accepted yet.
    pub(crate) receive_queue: u32,
    /// Bytes not acknowledged yet; of a listener, its backlog by `sock_diag`, 0 in `/proc/net/tcp`.
    pub(crate) send_queue: u32,
    /// Inode of the socket; 0 when no process holds it any more.
    pub(crate) inode: u64,
}

/// The path of a socket below `/run` as it is there: `/var/run` is a link to it.
pub(crate) fn socket_path(written: &str) -> String {
    match written.strip_prefix("/var/run/") {
        Some(rest) => format!("/run/{rest}"),
        None => written.to_owned(),
    }
}

/// Parses one line of `/proc/net/tcp` or `tcp6`; `None` for the heading and for other lines.
pub(crate) fn tcp_line(line: &str) -> Option<TcpSocket> {
    let mut words = line.split_whitespace();
    let local = address(words.nth(1)?)?;
    let remote = address(words.next()?)?;
    let state = u8::from_str_radix(words.next()?, 16).ok()?;
    let (send, receive) = words.next()?.split_once(':')?;
    Some(TcpSocket {
        state,
        local,
        remote,
        receive_queue: u32::from_str_radix(receive, 16).ok()?,
        send_queue: u32::from_str_radix(send, 16).ok()?,
        inode: words.nth(4)?.parse().ok()?,
    })
}

/// `0100007F:1F90`: words of the address in the machine's byte order, the port as a number.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok();
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut bytes = [0_u8; 16];
            for (index, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(index * 8)?.to_ne_bytes());
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}

/// Datagrams dropped at the socket of this inode, of `/proc/net/udp` or `udp6`; `None` where it is not listed.
pub(crate) fn udp_drops(text: &str, inode: u64) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_it = words.nth(9)?.parse::<u64>() == Ok(inode);
        words.nth(2).filter(|_| is_it)?.parse().ok()
    })
}

/// Inode of the socket in the link of a descriptor, `socket:[5]`; `None` where it is not a socket.
pub(crate) fn socket_link(link: &str) -> Option<u64> {
    let inode = link.strip_prefix("socket:[")?;
    inode.strip_suffix(']')?.parse().ok()
}

/// Number of the file of the socket that listens at `path`, of `/proc/net/unix`.
pub(crate) fn unix_listener(text: &str, path: &str) -> Option<u64> {
    /// `SO_ACCEPTCON`: the socket listens.
    const LISTENS: u32 = 1 << 16;
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(words.get(3)?, 16).ok()?;
        (flags & LISTENS != 0 && *words.get(7)? == path)
            .then(|| words.get(6)?.parse().ok())
            .flatten()
    })
}
