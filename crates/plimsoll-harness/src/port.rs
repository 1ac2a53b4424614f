//! Free loopback ports for servers whose port must be configured before they start.
//!
//! They are below the ephemeral range (`ip_local_port_range`, from 32768 by default): an ephemeral port may become the
//! local port of a connection before the server binds it.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;
/// Distance of the first ports of concurrent processes.
const STRIDE: u32 = 101;

/// A port without a listener that was not returned before in this process.
///
/// # Errors
///
/// If no port of the range is free.
pub fn free_port() -> Result<u16> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(STRIDE);
    (0..COUNT)
        .map(|_| FIRST + start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .filter_map(|port| u16::try_from(port).ok())
        .find(|&port| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).is_ok())
        .context("none of the ports from 20000 to 32000 is free: end what listens there")
}

/// `count` free ports.
///
/// # Errors
///
/// If fewer ports of the range are free.
pub fn free_ports(count: usize) -> Result<Vec<u16>> {
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
