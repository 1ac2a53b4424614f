//! Limits for clients.

use std::time::Duration;

use crate::document::{SettingsMap as _, count, settings, size, size_as, time};

settings! {
    /// Limits for clients.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EdgeLimits, LIMITS "limits" {
        /// Maximum connections.
        connections_max: u32 = 65_536, "connections": count(1..=10_000_000);
        /// Maximum connections per address; 0 is unlimited.
        per_address_max: u32 = 0, "per_address": count(0..=10_000_000), unsaid;
        /// Maximum size of a request head.
        head_len_max: u32 = 32 << 10, "head": size_as::<u32>(1 << 10..=1 << 20).such_as(SIZE_VALID);
        /// Maximum size of a request body.
        body_len_max: u64 = 64 << 20, "body": size(0..=u64::MAX).such_as(SIZE_VALID);
        /// Total bytes buffered for slow clients and servers; above it, requests are shed.
        memory_max: u64 = 512 << 20, "memory": size(1 << 20..=1 << 50).such_as(SIZE_VALID);
        /// Time-out of a request head, and before it of the TLS handshake and the PROXY header.
        head_timeout: Duration = Duration::from_secs(10), "head_timeout": time();
        /// Time between two reads of a request body.
        body_timeout: Duration = Duration::from_secs(30), "body_timeout": time();
        /// Idle time between two requests.
        idle_timeout: Duration = Duration::from_mins(1), "idle_timeout": time();
        /// Time during which a client reads nothing of its response.
        write_timeout: Duration = Duration::from_secs(30), "write_timeout": time();
    }
}

const SIZE_VALID: &str = "a size such as 64MiB";

impl Default for EdgeLimits {
    fn default() -> Self {
        Self::defaults()
    }
}
