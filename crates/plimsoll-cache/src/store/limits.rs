//! Limits of the store.

/// Limits of the store.
#[derive(Debug, Clone, Copy)]
pub struct StoreLimits {
    /// Bytes for everything: objects, keys, tables, responses in progress.
    pub bytes: usize,
    /// Bytes of one object, as counted in memory; larger ones are not stored.
    pub object_bytes: usize,
    /// Values of one key; beyond it the oldest is removed.
    pub variants: usize,
    /// Fetches in progress.
    pub fills: usize,
    /// Followers of one fetch.
    pub followers: usize,
    /// How long an uncacheable key is remembered, in nanoseconds.
    pub pass_ns: u64,
    /// Number of such keys.
    pub passes: usize,
    /// Purges by prefix that are kept as records.
    pub prefixes: usize,
    /// Purges by key, and by tag, that are kept as records.
    pub hashes: usize,
}

impl StoreLimits {
    /// Default limits for a budget.
    pub fn of_bytes(bytes: usize) -> Self {
        Self {
            bytes,
            object_bytes: bytes / 8,
            variants: 16,
            fills: 4096,
            followers: 65_536,
            pass_ns: 60_000_000_000,
            passes: 65_536,
            prefixes: 64,
            hashes: 4096,
        }
    }
}
