//! The thread-safe candidates: this store, and the library it was compared with.

use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use plimsoll_cache::store::{RawKey, Store, StoreLimits, Weigh, allocated};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, OptionsBuilder, Weighter};

use crate::baselines::EvictionPolicy;
use crate::traces::{self, PageRequest};
use crate::{OVERHEAD, now};

/// Operations that both support from any thread.
pub(crate) trait ConcurrentCache<V> {
    fn has(&self, hash: u64, key: &[u8]) -> bool;
    fn put(&self, hash: u64, key: &[u8], value: V);
}

/// A page that reports a weight and holds nothing.
pub(crate) struct Weight(usize);

impl Weigh for Weight {
    fn heap_bytes(&self) -> usize {
        self.0
    }
}

/// A page addressed by hash; both stores count about 200 bytes for key and slots besides.
fn get_or_put<S: ConcurrentCache<Weight>>(store: &S, request: PageRequest) -> bool {
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
pub(crate) struct PlimsollStore<V> {
    pub(crate) store: Store<V, ()>,
}

impl<V: Weigh> PlimsollStore<V> {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            store: Store::new(StoreLimits::of_bytes(budget)),
        }
    }
}

impl<V: Weigh> ConcurrentCache<V> for PlimsollStore<V> {
    fn has(&self, hash: u64, key: &[u8]) -> bool {
        self.store.get(&RawKey { hash, key }, |_| true).is_some()
    }

    fn put(&self, hash: u64, key: &[u8], value: V) {
        self.store.put(
            &RawKey { hash, key },
            self.store.purge_epoch(),
            &[],
            |_| true,
            value,
        );
    }
}

impl EvictionPolicy for PlimsollStore<Weight> {
    fn access(&mut self, request: PageRequest) -> bool {
        get_or_put(self, request)
    }
}

/// A key as `quick_cache` would hold it.
#[derive(PartialEq, Eq)]
struct QuickCacheKey {
    hash: u64,
    key: Box<[u8]>,
}

impl Hash for QuickCacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

struct QuickCacheKeyRef<'a> {
    hash: u64,
    key: &'a [u8],
}

impl Hash for QuickCacheKeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<QuickCacheKey> for QuickCacheKeyRef<'_> {
    fn equivalent(&self, key: &QuickCacheKey) -> bool {
        *key.key == *self.key
    }
}

/// The key already contains the hash.
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

impl<V: Weigh> Weighter<QuickCacheKey, Arc<V>> for ByWeight {
    fn weight(&self, key: &QuickCacheKey, value: &Arc<V>) -> u64 {
        // Entry of the slab, half as much for its growth, table, ghost and the counts of the `Arc`.
        (value.heap_bytes() + allocated(size_of::<V>() + 16) + allocated(key.key.len()) + 120)
            as u64
    }
}

/// `quick_cache` with its default number of shards.
pub(crate) struct Quick<V: Weigh> {
    cache: Cache<QuickCacheKey, Arc<V>, ByWeight, BuildHasherDefault<Ready>>,
}

/// Average bytes of a page of the traces.
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

impl<V: Weigh> ConcurrentCache<V> for Quick<V> {
    fn has(&self, hash: u64, key: &[u8]) -> bool {
        self.cache.get(&QuickCacheKeyRef { hash, key }).is_some()
    }

    fn put(&self, hash: u64, key: &[u8], value: V) {
        let key = QuickCacheKey {
            hash,
            key: key.into(),
        };
        self.cache.insert(key, Arc::new(value));
    }
}

impl EvictionPolicy for Quick<Weight> {
    fn access(&mut self, request: PageRequest) -> bool {
        get_or_put(self, request)
    }
}

/// Nanoseconds per request with everything in memory, on one and on two threads, over many pages and over one.
pub(crate) fn cost() {
    println!("\nns per hit on each thread: over 20,000 pages, over one page");
    let many: Vec<PageRequest> = traces::feed(1)
        .requests
        .into_iter()
        .take(1_000_000)
        .collect();
    let single = vec![many[0]; many.len()];
    let own = PlimsollStore::new(1 << 30);
    let quick = Quick::new(1 << 30, items_of(13_000));
    for threads in [1, 2] {
        for (name, access) in [
            (
                "store",
                &(|request| get_or_put(&own, request)) as &(dyn Fn(PageRequest) -> bool + Sync),
            ),
            ("quick_cache", &|request| get_or_put(&quick, request)),
        ] {
            let [many_ns, single_ns] = [&many, &single].map(|requests| {
                for request in requests {
                    access(*request);
                }
                per_hit(requests, threads, access)
            });
            println!("  {name:12} {threads} threads {many_ns:6.0} {single_ns:6.0}");
        }
    }
}

fn per_hit(
    requests: &[PageRequest],
    threads: usize,
    access: &(dyn Fn(PageRequest) -> bool + Sync),
) -> f64 {
    let begun = now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for request in requests {
                    assert!(access(*request), "everything is in memory");
                }
            });
        }
    });
    begun.elapsed().as_nanos() as f64 / requests.len() as f64
}
