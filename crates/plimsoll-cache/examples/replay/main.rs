//! Replays traces through the store and the alternatives it was chosen from, and times the store: the metrics of
//! decision 0141.
//!
//! `cargo run --release -p plimsoll-cache --example replay` prints everything; `… replay ratios`, `cost`, `million` or
//! `million quick_cache` prints one section.

#![expect(clippy::print_stdout, reason = "it prints tables")]

mod baselines;
mod million;
mod stores;
mod traces;

use std::time::Instant;

use self::baselines::{EvictionPolicy, Lru, Sieve, TinyLfu};
use self::stores::{PlimsollStore, Quick};
use self::traces::CacheTrace;

/// Overhead of a page besides its bytes, for policies that do not count it themselves: key, header block, table slots.
pub(crate) const OVERHEAD: usize = 400;

const SEED: u64 = 141;

fn main() {
    let section = std::env::args().nth(1);
    let is_selected = |name: &str| section.as_deref().is_none_or(|section| section == name);
    if is_selected("ratios") {
        ratios();
    }
    if is_selected("cost") {
        stores::cost();
    }
    if is_selected("million") {
        million::print();
    }
}

/// Duration of a measurement.
#[expect(clippy::disallowed_methods, reason = "the example measures")]
fn now() -> Instant {
    Instant::now()
}

fn ratios() {
    println!(
        "seed {SEED}, {} requests each; hits by count, by bytes, ns per request on one thread",
        traces::REQUESTS
    );
    for trace in traces::all(SEED) {
        for mebibytes in [16, 64, 256] {
            let budget = mebibytes << 20;
            println!("\n{}, {mebibytes} MiB", trace.name);
            replay("LRU", &trace, &mut Lru::new(budget));
            replay("SIEVE", &trace, &mut Sieve::new(budget));
            replay("W-TinyLFU", &trace, &mut TinyLfu::new(budget));
            replay(
                "quick_cache",
                &trace,
                &mut Quick::new(budget, stores::items_of(13_000)),
            );
            replay("store", &trace, &mut PlimsollStore::new(budget));
        }
    }
}

fn replay(name: &str, trace: &CacheTrace, policy: &mut dyn EvictionPolicy) {
    let (mut hits, mut hit_bytes, mut bytes) = (0_u64, 0_u64, 0_u64);
    let begun = now();
    for request in &trace.requests {
        bytes += u64::from(request.bytes);
        if policy.access(*request) {
            hits += 1;
            hit_bytes += u64::from(request.bytes);
        }
    }
    let ns = begun.elapsed().as_nanos() as f64 / trace.requests.len() as f64;
    let by_count = 100.0 * hits as f64 / trace.requests.len() as f64;
    let by_bytes = 100.0 * hit_bytes as f64 / bytes as f64;
    println!("  {name:12} {by_count:6.2} % {by_bytes:6.2} % {ns:6.0} ns");
}
