//! Lookup keys without ownership.

use crate::key::{KeyRef, Seed};

/// A lookup key.
pub trait Lookup {
    /// The key's 64-bit hash, well mixed and unpredictable to outsiders.
    fn hash(&self) -> u64;
    /// Whether these bytes are the key.
    fn is(&self, key: &[u8]) -> bool;
    /// The key's bytes, needed on a miss only. A purge by prefix compares them from their beginning.
    fn to_key(&self) -> Box<[u8]>;
}

/// A key available as bytes.
#[derive(Debug, Clone, Copy)]
pub struct RawKey<'a> {
    /// See [`Lookup::hash`].
    pub hash: u64,
    /// The bytes.
    pub key: &'a [u8],
}

impl Lookup for RawKey<'_> {
    fn hash(&self) -> u64 {
        self.hash
    }

    fn is(&self, key: &[u8]) -> bool {
        self.key == key
    }

    fn to_key(&self) -> Box<[u8]> {
        self.key.into()
    }
}

/// A request's key with its hash.
#[derive(Debug, Clone, Copy)]
pub struct HashedKey<'a> {
    hash: u64,
    key: KeyRef<'a>,
}

impl<'a> HashedKey<'a> {
    /// Hashed once for all operations.
    pub fn new(key: KeyRef<'a>, seed: Seed) -> Self {
        Self {
            hash: key.hash(seed),
            key,
        }
    }

    /// A key whose hash is already computed.
    pub const fn with_hash(key: KeyRef<'a>, hash: u64) -> Self {
        Self { hash, key }
    }
}

impl Lookup for HashedKey<'_> {
    fn hash(&self) -> u64 {
        self.hash
    }

    fn is(&self, key: &[u8]) -> bool {
        self.key.is_written(key)
    }

    fn to_key(&self) -> Box<[u8]> {
        self.key.to_key().into_bytes()
    }
}
