//! Ports of the loopback address for servers that must be told where to listen before they do.
//!
//! They lie below those that the system hands out (`ip_local_port_range`, from 32768 by default): one of those may be
//! some connection's own end before the server has it.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;
/// How far apart processes that run at the same time begin.
const STRIDE: u32 = 101;

/// A port on which nobody listens now, and that was given to nobody else in this process.
pub(crate) fn free_port() -> Result<u16> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(STRIDE);
    (0..COUNT)
        .map(|_| FIRST + start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .filter_map(|port| u16::try_from(port).ok())
        .find(|&port| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).is_ok())
        .context("none of the ports from 20000 to 32000 is free: end what listens there")
}

/// So many of them.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>> {
    (0..count).map(|_| free_port()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_are_none_that_the_system_hands_out() {
        let mut ports = free_ports(50).unwrap();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| (20_000..32_000).contains(port)));
    }
}
