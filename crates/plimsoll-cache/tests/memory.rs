//! The store's accounting matches the process's memory. Alone in its process, because the kernel counts the process as
//! a whole.

use plimsoll_cache::store::{RawKey, Store, StoreLimits, Weigh, allocated};

const PAGES: u32 = 100_000;

struct TestPage {
    head: Box<[u8]>,
    body: Box<[u8]>,
}

impl Weigh for TestPage {
    fn heap_bytes(&self) -> usize {
        allocated(self.head.len()) + allocated(self.body.len())
    }
}

/// Resident pages of this process (`/proc/self/statm`, second number).
fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').nth(1).expect("seven numbers");
    pages.parse::<f64>().expect("a number of pages") * 4096.0
}

#[test]
fn a_page_of_1_kb_takes_at_most_1_6_kb_and_no_more_than_is_counted() {
    let before = resident_bytes();
    let store: Store<TestPage, ()> = Store::new(StoreLimits::of_bytes(1 << 30));
    for page in 0..PAGES {
        let key = format!("https://news.example/2026/11/22/politics/article-{page:010}");
        let hash = u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let key = RawKey {
            hash,
            key: key.as_bytes(),
        };
        let value = TestPage {
            head: vec![1; 200].into(),
            body: vec![2; 1_000].into(),
        };
        store.put(&key, store.purge_epoch(), &[], |_| true, value);
    }
    let metrics = store.metrics();
    assert_eq!(metrics.objects, PAGES as usize);
    let resident = (resident_bytes() - before) / f64::from(PAGES);
    let counted = metrics.bytes as f64 / f64::from(PAGES);
    assert!(
        resident <= 1_600.0,
        "{resident} bytes of memory for a page of 1,000 and its head of 200"
    );
    assert!(
        (0.9..1.02).contains(&(resident / counted)),
        "{resident} resident, {counted} counted"
    );
}
