//! Ports for servers that must be told where to listen before they do.
//!
//! A port that the system chose and took back may be somebody else's before such a server has it: each listener and
//! each connection that does not care takes one from the same range (`ip_local_port_range`, 32768 to 60999 by default).
//! Those given here lie below, where a port goes only to who asks for it by its number.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;
/// How far apart the processes that run at the same time begin.
const STRIDE: u32 = 101;

/// An address on loopback that nobody listens at, and that is given to nobody else in this process.
///
/// # Panics
/// When all ports are taken.
#[must_use]
pub fn unused() -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(STRIDE);
    (0..COUNT)
        .map(|_| FIRST + start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port.try_into().unwrap_or(u16::MAX))))
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
