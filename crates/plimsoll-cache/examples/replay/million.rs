//! A million pages of 1 kB: their share of the process's memory, and the slowest call while other threads work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_cache::store::{How, Weigh, allocated};
use rustix::time::{ClockId, clock_gettime};

use crate::now;
use crate::stores::{self, ConcurrentCache, PlimsollStore, Quick};
use crate::traces::mixed;

const PAGES: u64 = 1_000_000;

/// Room for a million, so that half a million more must evict others.
const BUDGET: usize = 1_700_000_000;

/// A page of 1 kB with a header block, as an edge holds it.
pub(crate) struct ReplayPage {
    head: Box<[u8]>,
    body: Box<[u8]>,
}

impl ReplayPage {
    fn new() -> Self {
        Self {
            head: vec![1; 200].into(),
            body: vec![2; 1_000].into(),
        }
    }
}

impl Weigh for ReplayPage {
    fn heap_bytes(&self) -> usize {
        allocated(self.head.len()) + allocated(self.body.len())
    }
}

/// Histograms of call durations: wall time, and CPU time, which other processes cannot lengthen.
#[derive(Default)]
struct Spent {
    worst: Duration,
    worst_cpu: Duration,
    over_100_us: u64,
    calls: u64,
}

impl Spent {
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let cpu = cpu_time();
        let begun = now();
        let done = call();
        let spent = begun.elapsed();
        self.worst_cpu = self.worst_cpu.max(cpu_time().saturating_sub(cpu));
        self.worst = self.worst.max(spent);
        self.over_100_us += u64::from(spent > Duration::from_micros(100));
        self.calls += 1;
        done
    }

    fn print(&self, what: &str) {
        let Self {
            worst,
            worst_cpu,
            over_100_us,
            calls,
        } = self;
        println!(
            "  {what:28} {calls:8} calls, worst {worst:9.2?}, of it CPU {worst_cpu:9.2?}, {over_100_us} over 100 µs"
        );
    }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime)
        .try_into()
        .expect("a thread's time is not negative")
}

/// Fills the store, or `quick_cache` if requested, with a million pages and half a million more, and purges.
pub(crate) fn print() {
    println!(
        "\na million pages of 1 kB (header block 200 B, key 60 B), a second thread that looks up all the while"
    );
    let before = resident_bytes();
    // Each in a process of its own: the second would reuse memory freed by the first.
    if std::env::args().nth(2).as_deref() == Some("quick_cache") {
        fill(
            "quick_cache",
            &Quick::new(BUDGET, stores::items_of(1_500)),
            before,
        );
    } else {
        let own = PlimsollStore::new(BUDGET);
        fill("store", &own, before);
        purge(&own);
    }
}

fn fill<S: ConcurrentCache<ReplayPage> + Sync>(name: &str, store: &S, resident_before: usize) {
    let filled = AtomicBool::new(false);
    println!(" {name}");
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(store, &filled));
        let mut spent = Spent::default();
        (0..PAGES).for_each(|page| put(store, page, &mut spent));
        spent.print("put, growing");
        let resident = resident_bytes() - resident_before;
        println!("  {} B resident for each", resident as u64 / PAGES);
        let mut spent = Spent::default();
        (PAGES..PAGES + PAGES / 2).for_each(|page| put(store, page, &mut spent));
        spent.print("put, with evictions");
        filled.store(true, Ordering::Release);
        reader
            .join()
            .expect("the reader ends")
            .print("get, beside all this");
    });
}

fn purge(own: &PlimsollStore<ReplayPage>) {
    let filled = AtomicBool::new(false);
    let counted = own.store.metrics();
    println!(
        "  {} objects of {} B as counted",
        counted.objects,
        counted.bytes / counted.objects
    );
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(own, &filled));
        let mut spent = Spent::default();
        spent.time(|| own.store.purge_everything(How::Soft));
        spent.print("purge of everything, soft");
        let mut spent = Spent::default();
        spent.time(|| {
            own.store
                .purge_prefix(b"https://news.example/2026/", How::Hard);
        });
        spent.print("purge of everything, hard");
        filled.store(true, Ordering::Release);
        reader
            .join()
            .expect("the reader ends")
            .print("get, beside purges");
    });
    println!("  {} objects are left", own.store.metrics().objects);
}

fn put<S: ConcurrentCache<ReplayPage>>(store: &S, page: u64, spent: &mut Spent) {
    let name = name(page);
    let value = ReplayPage::new();
    spent.time(|| store.put(mixed(page), name.as_bytes(), value));
}

fn read_until<S: ConcurrentCache<ReplayPage>>(store: &S, filled: &AtomicBool) -> Spent {
    let mut spent = Spent::default();
    let mut page = 0;
    while !filled.load(Ordering::Acquire) {
        page = (page + 7_919) % PAGES;
        let name = name(page);
        spent.time(|| store.has(mixed(page), name.as_bytes()));
    }
    spent
}

fn name(page: u64) -> String {
    format!("https://news.example/2026/11/22/politics/article-{page:010}")
}

/// Resident pages of this process (`/proc/self/statm`, second number).
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .expect("a number of pages");
    pages * 4096
}
