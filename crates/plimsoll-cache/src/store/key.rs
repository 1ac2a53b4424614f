//! How a key is asked for without owning it.

use crate::key::{KeyRef, Seed};

/// What is asked for, without owning it.
pub trait Lookup {
    /// The key's hash, all 64 bits well mixed and unpredictable to strangers.
    fn hash(&self) -> u64;
    /// Whether these bytes are the key.
    fn is(&self, key: &[u8]) -> bool;
    /// The key's bytes, asked for on a miss only. A purge by prefix compares them from their beginning.
    fn to_key(&self) -> Box<[u8]>;
}

/// A key that stands somewhere as bytes.
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
pub struct Hashed<'a> {
    hash: u64,
    key: KeyRef<'a>,
}

impl<'a> Hashed<'a> {
    /// Hashed once, for all that is done with it.
    pub fn new(key: KeyRef<'a>, seed: Seed) -> Self {
        Self {
            hash: key.hash(seed),
            key,
        }
    }
}

impl Lookup for Hashed<'_> {
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
