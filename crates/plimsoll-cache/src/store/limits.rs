//! What bounds the store.

/// What the store may hold.
#[derive(Debug, Clone, Copy)]
pub struct StoreLimits {
    /// Bytes for everything: objects, keys, tables, answers on their way.
    pub bytes: usize,
    /// Bytes of one object, of memory as counted; larger ones are not stored.
    pub object_bytes: usize,
    /// Values of one key; the oldest leaves.
    pub variants: usize,
    /// Fetches under way.
    pub fills: usize,
    /// Followers of one fetch.
    pub followers: usize,
    /// How long an uncacheable key is remembered, in nanoseconds.
    pub pass_ns: u64,
    /// How many such keys are.
    pub passes: usize,
    /// Purges by prefix that are kept as records.
    pub prefixes: usize,
    /// Purges by key, and by tag, that are kept as records.
    pub hashes: usize,
}

impl StoreLimits {
    /// The usual ones for a budget of so many bytes.
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
