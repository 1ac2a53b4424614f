//! Tests of the store against a model, and with threads.

mod eviction;
mod fills;
mod model;
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::{RawKey, Store, StoreLimits, Weigh};

/// A value with an id.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TestValue {
    id: u64,
    variant: u64,
    bytes: usize,
}

impl Weigh for TestValue {
    fn heap_bytes(&self) -> usize {
        self.bytes
    }
}

type TestStore = Store<TestValue, u64>;

/// Two hashes for many keys, so that colliding keys are distinguished by their bytes.
fn named(key: &[u8]) -> RawKey<'_> {
    let sum: u64 = key.iter().map(|byte| u64::from(*byte)).sum();
    RawKey {
        hash: (sum % 5).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        key,
    }
}

/// A hash for each number.
fn numbered(number: u64) -> (u64, [u8; 8]) {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 31), number.to_be_bytes())
}

fn store(bytes: usize) -> Arc<TestStore> {
    Arc::new(Store::new(StoreLimits::of_bytes(bytes)))
}

/// Bytes used without objects and fills: the shards and their tables.
fn empty_bytes(store: &TestStore) -> usize {
    let tables: usize = store
        .shards
        .iter()
        .map(|shard| super::lock(shard).paid)
        .sum();
    tables + store.shards.len() * size_of::<std::sync::Mutex<super::Shard<TestValue, u64>>>()
}

/// Counts wake-ups.
#[derive(Debug, Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    fn waker() -> (Arc<Self>, Waker) {
        let woken = Arc::new(Self::default());
        (Arc::clone(&woken), Waker::from(woken))
    }

    fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}
