//! A million pages of 1 kB: what they take of the process's memory, and how long the slowest call takes while others
//! work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_cache::store::{How, Limits, Named, Store, Weigh, allocated};

use crate::now;
use crate::traces::mixed;

const PAGES: u64 = 1_000_000;

/// A page of 1 kB with a header block, as an edge holds it.
struct Page {
    head: Box<[u8]>,
    body: Box<[u8]>,
}

impl Page {
    fn new() -> Self {
        Self {
            head: vec![1; 200].into(),
            body: vec![2; 1_000].into(),
        }
    }
}

impl Weigh for Page {
    fn heap_bytes(&self) -> usize {
        allocated(self.head.len()) + allocated(self.body.len())
    }
}

/// How often calls took how long.
#[derive(Default)]
struct Spent {
    worst: Duration,
    over_100_us: u64,
    calls: u64,
}

impl Spent {
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let begun = now();
        let done = call();
        let spent = begun.elapsed();
        self.worst = self.worst.max(spent);
        self.over_100_us += u64::from(spent > Duration::from_micros(100));
        self.calls += 1;
        done
    }

    fn print(&self, what: &str) {
        let Self {
            worst,
            over_100_us,
            calls,
        } = self;
        println!("  {what:34} {calls:9} calls, worst {worst:10.2?}, over 100 µs: {over_100_us}");
    }
}

/// Fills a store with a million pages and goes on for half a million more.
pub fn print() {
    println!("\na million pages of 1 kB (header block 200 B, key 60 B), a thread that looks up all the while");
    let resident_before = resident_bytes();
    let store: Store<Page, ()> = Store::new(Limits::of_bytes(1_700_000_000));
    let filled = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(&store, &filled));
        fill(&store, resident_before);
        filled.store(true, Ordering::Release);
        reader.join().expect("the reader ends").print("lookups beside all this");
    });
}

fn fill(store: &Store<Page, ()>, resident_before: usize) {
    let mut spent = Spent::default();
    for page in 0..PAGES {
        put(store, page, &mut spent);
    }
    spent.print("put, growing");
    let resident = resident_bytes() - resident_before;
    let figures = store.figures();
    println!(
        "  {} objects, {:.0} B counted and {:.0} B resident each",
        figures.objects,
        figures.bytes as f64 / figures.objects as f64,
        resident as f64 / figures.objects as f64
    );
    let mut spent = Spent::default();
    for page in PAGES..PAGES + PAGES / 2 {
        put(store, page, &mut spent);
    }
    spent.print("put, with evictions");
    let mut spent = Spent::default();
    spent.time(|| store.purge_everything(How::Soft));
    spent.print("purge of everything, soft");
    let mut spent = Spent::default();
    spent.time(|| store.purge_prefix(b"https://news.example/2026/", How::Hard));
    spent.print("purge of everything, hard");
    println!("  {} objects are left", store.figures().objects);
}

fn put(store: &Store<Page, ()>, page: u64, spent: &mut Spent) {
    let name = name(page);
    let key = Named {
        hash: mixed(page),
        key: name.as_bytes(),
    };
    let value = Page::new();
    spent.time(|| store.put(&key, store.asked(), &[], |_| true, value));
}

fn read_until(store: &Store<Page, ()>, filled: &AtomicBool) -> Spent {
    let mut spent = Spent::default();
    let mut page = 0;
    while !filled.load(Ordering::Acquire) {
        page = (page + 7_919) % PAGES;
        let name = name(page);
        let key = Named {
            hash: mixed(page),
            key: name.as_bytes(),
        };
        spent.time(|| store.get(&key, |page| !page.head.is_empty()));
    }
    spent
}

fn name(page: u64) -> String {
    format!("https://news.example/2026/11/22/politics/article-{page:010}")
}

/// What the kernel counts for this process (`/proc/self/statm`, second number, in pages).
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number of pages");
    pages * 4096
}
