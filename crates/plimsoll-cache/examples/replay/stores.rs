//! The two that threads can share: this store, and the library it might have been.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use plimsoll_cache::store::{Limits, Named, Store, Weigh};
use quick_cache::{OptionsBuilder, Weighter};

use crate::baselines::Policy;
use crate::traces::{self, Request};
use crate::{OVERHEAD, now};

/// A page that says its weight and holds nothing.
pub struct Weight(usize);

impl Weigh for Weight {
    fn heap_bytes(&self) -> usize {
        self.0
    }
}

/// The store of this crate.
pub struct Own {
    store: Store<Weight, ()>,
}

impl Own {
    pub fn new(budget: usize) -> Self {
        Self {
            store: Store::new(Limits::of_bytes(budget)),
        }
    }

    fn ask_shared(&self, request: Request) -> bool {
        let name = request.hash.to_ne_bytes();
        let key = Named {
            hash: request.hash,
            key: &name,
        };
        if self.store.get(&key, |_| true).is_some() {
            return true;
        }
        // Key, object and slot come to about 200 bytes, which the store counts itself.
        let page = Weight(request.bytes as usize + OVERHEAD - 200);
        self.store.put(&key, self.store.asked(), &[], |_| true, page);
        false
    }
}

impl Policy for Own {
    fn ask(&mut self, request: Request) -> bool {
        self.ask_shared(request)
    }
}

/// The hash is in the key already.
#[derive(Default, Clone)]
pub struct Ready(u64);

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
pub struct ByWeight;

impl Weighter<u64, Arc<Weight>> for ByWeight {
    fn weight(&self, _: &u64, page: &Arc<Weight>) -> u64 {
        page.0 as u64
    }
}

/// `quick_cache` with its usual shares.
pub struct Quick {
    cache: quick_cache::sync::Cache<u64, Arc<Weight>, ByWeight, BuildHasherDefault<Ready>>,
}

impl Quick {
    pub fn new(budget: usize) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(budget / 12_000)
            .weight_capacity(budget as u64)
            .build()
            .expect("both sizes are given");
        let cache = quick_cache::sync::Cache::with_options(
            options,
            ByWeight,
            BuildHasherDefault::default(),
            quick_cache::sync::DefaultLifecycle::default(),
        );
        Self { cache }
    }

    fn ask_shared(&self, request: Request) -> bool {
        if self.cache.get(&request.hash).is_some() {
            return true;
        }
        let page = Weight(request.bytes as usize + OVERHEAD);
        self.cache.insert(request.hash, Arc::new(page));
        false
    }
}

impl Policy for Quick {
    fn ask(&mut self, request: Request) -> bool {
        self.ask_shared(request)
    }
}

/// Nanoseconds per request with everything in memory, on one and on two threads, over many pages and over one.
pub fn cost() {
    println!("\nns per hit on each thread: 50,000 pages, one page");
    let many: Vec<Request> = traces::all(1).swap_remove(3).requests.into_iter().take(1_000_000).collect();
    let one = vec![many[0]; many.len()];
    for threads in [1, 2] {
        let own = Own::new(1 << 30);
        let quick = Quick::new(1 << 30);
        let rows: [(&str, &(dyn Fn(Request) -> bool + Sync)); 2] =
            [("store", &|request| own.ask_shared(request)), ("quick_cache", &|request| quick.ask_shared(request))];
        for (name, ask) in rows {
            let [many_ns, one_ns] = [&many, &one].map(|requests| {
                requests.iter().for_each(|request| {
                    ask(*request);
                });
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
