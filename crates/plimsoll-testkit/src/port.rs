//! Ports for servers that need their port in advance.
//!
//! A port that the system chose and that was closed again may be reused before such a server binds it: listeners and
//! outgoing connections without a fixed port share one range (`ip_local_port_range`, 32768 to 60999 by default).
//! The ports of this module are below it, where a port is only used when requested by number.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;
/// Distance between the starting points of concurrent processes.
const STRIDE: u32 = 101;

thread_local! {
    /// Where servers of this thread listen: a network namespace is the thread's too.
    static HOST: Cell<IpAddr> = const { Cell::new(IpAddr::V4(Ipv4Addr::LOCALHOST)) };
}

/// Has this thread's servers listen at another address of its network from now on.
pub(crate) fn listen_at(host: IpAddr) {
    HOST.set(host);
}

/// An address of this thread's servers, loopback as a rule, on which nothing listens, and that is given out only once in this
/// process.
///
/// # Panics
/// When all ports are in use.
#[must_use]
pub fn unused() -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(STRIDE);
    let host = HOST.get();
    (0..COUNT)
        .map(|_| FIRST + start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .map(|port| SocketAddr::new(host, port.try_into().unwrap_or(u16::MAX)))
        .find(|address| TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok())
        .expect("one of twelve thousand ports is free")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_is_given_once_and_none_that_is_taken() {
        let mut given: BTreeSet<SocketAddr> = (0..50).map(|_| unused()).collect();
        let next = given.last().unwrap().port() + 1;
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, next));
        given.extend((0..50).map(|_| unused()));
        assert_eq!(given.len(), 100);
        assert!(
            given
                .iter()
                .all(|address| (20_000..32_000).contains(&address.port()))
        );
    }
}
