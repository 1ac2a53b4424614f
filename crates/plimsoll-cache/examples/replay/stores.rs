//! The two that threads can share: this store, and the library it might have been.

use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use plimsoll_cache::store::{Limits, Named, Store, Weigh, allocated};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, OptionsBuilder, Weighter};

use crate::baselines::Policy;
use crate::traces::{self, Request};
use crate::{OVERHEAD, now};

/// What both can do for any thread.
pub(crate) trait Shared<V> {
    fn has(&self, hash: u64, key: &[u8]) -> bool;
    fn put(&self, hash: u64, key: &[u8], value: V);
}

/// A page that says its weight and holds nothing.
pub(crate) struct Weight(usize);

impl Weigh for Weight {
    fn heap_bytes(&self) -> usize {
        self.0
    }
}

/// A page that is asked for by hash; both stores count about 200 bytes for key and places besides.
fn ask<S: Shared<Weight>>(store: &S, request: Request) -> bool {
    let key = request.hash.to_ne_bytes();
    let has = store.has(request.hash, &key);
    if !has {
        store.put(
            request.hash,
            &key,
            Weight(request.bytes as usize + OVERHEAD - 200),
        );
    }
    has
}

/// The store of this crate.
pub(crate) struct Own<V> {
    pub(crate) store: Store<V, ()>,
}

impl<V: Weigh> Own<V> {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            store: Store::new(Limits::of_bytes(budget)),
        }
    }
}

impl<V: Weigh> Shared<V> for Own<V> {
    fn has(&self, hash: u64, key: &[u8]) -> bool {
        self.store.get(&Named { hash, key }, |_| true).is_some()
    }

    fn put(&self, hash: u64, key: &[u8], value: V) {
        self.store.put(
            &Named { hash, key },
            self.store.asked(),
            &[],
            |_| true,
            value,
        );
    }
}

impl Policy for Own<Weight> {
    fn ask(&mut self, request: Request) -> bool {
        ask(self, request)
    }
}

/// A key as `quick_cache` would hold it.
#[derive(PartialEq, Eq)]
struct Key {
    hash: u64,
    key: Box<[u8]>,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

struct KeyRef<'a> {
    hash: u64,
    key: &'a [u8],
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *key.key == *self.key
    }
}

/// The hash is in the key already.
#[derive(Default, Clone)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Clone)]
struct ByWeight;

impl<V: Weigh> Weighter<Key, Arc<V>> for ByWeight {
    fn weight(&self, key: &Key, value: &Arc<V>) -> u64 {
        // Entry of the slab, half as much for its growth, table, ghost and the counts of the `Arc`.
        (value.heap_bytes() + allocated(size_of::<V>() + 16) + allocated(key.key.len()) + 120)
            as u64
    }
}

/// `quick_cache` with as many shards as it takes by itself.
pub(crate) struct Quick<V: Weigh> {
    cache: Cache<Key, Arc<V>, ByWeight, BuildHasherDefault<Ready>>,
}

/// How many bytes a page of the traces is on average.
pub(crate) fn items_of(bytes: usize) -> impl Fn(usize) -> usize {
    move |budget| budget / bytes
}

impl<V: Weigh> Quick<V> {
    pub(crate) fn new(budget: usize, items: impl Fn(usize) -> usize) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(items(budget))
            .weight_capacity(budget as u64)
            .build()
            .expect("both sizes are given");
        let hasher = BuildHasherDefault::default();
        Self {
            cache: Cache::with_options(options, ByWeight, hasher, DefaultLifecycle::default()),
        }
    }
}

impl<V: Weigh> Shared<V> for Quick<V> {
    fn has(&self, hash: u64, key: &[u8]) -> bool {
        self.cache.get(&KeyRef { hash, key }).is_some()
    }

    fn put(&self, hash: u64, key: &[u8], value: V) {
        let key = Key {
            hash,
            key: key.into(),
        };
        self.cache.insert(key, Arc::new(value));
    }
}

impl Policy for Quick<Weight> {
    fn ask(&mut self, request: Request) -> bool {
        ask(self, request)
    }
}

/// Nanoseconds per request with everything in memory, on one and on two threads, over many pages and over one.
pub(crate) fn cost() {
    println!("\nns per hit on each thread: over 20,000 pages, over one page");
    let many: Vec<Request> = traces::feed(1)
        .requests
        .into_iter()
        .take(1_000_000)
        .collect();
    let one = vec![many[0]; many.len()];
    let own = Own::new(1 << 30);
    let quick = Quick::new(1 << 30, items_of(13_000));
    for threads in [1, 2] {
        for (name, ask) in [
            (
                "store",
                &(|request| ask(&own, request)) as &(dyn Fn(Request) -> bool + Sync),
            ),
            ("quick_cache", &|request| ask(&quick, request)),
        ] {
            let [many_ns, one_ns] = [&many, &one].map(|requests| {
                for request in requests {
                    ask(*request);
                }
                per_hit(requests, threads, ask)
            });
            println!("  {name:12} {threads} threads {many_ns:6.0} {one_ns:6.0}");
        }
    }
}

fn per_hit(requests: &[Request], threads: usize, ask: &(dyn Fn(Request) -> bool + Sync)) -> f64 {
    let begun = now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for request in requests {
                    assert!(ask(*request), "everything is in memory");
                }
            });
        }
    });
    begun.elapsed().as_nanos() as f64 / requests.len() as f64
}
