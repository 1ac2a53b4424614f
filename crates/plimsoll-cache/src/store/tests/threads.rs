//! Several threads at once. No sleeps: an idle thread is parked until its waker is called.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use super::super::{Begin, Copied, Follower, HeadPoll, How, Put, RawKey};
use super::{TestStore, TestValue, named, numbered, store};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn here() -> Waker {
    Arc::new(Unpark(thread::current())).into()
}

const BODY: &[u8] = b"one body for all who asked at once";

fn read_along(follower: &mut Follower<u64>) -> Vec<u8> {
    let waker = here();
    let mut read = Vec::new();
    let mut piece = [0; 7];
    loop {
        match follower.poll_head(&waker) {
            HeadPoll::Wait => thread::park(),
            HeadPoll::Head(head) => {
                assert_eq!(*head, 200);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    loop {
        match follower.copy(read.len() as u64, &mut piece, &waker) {
            Copied::Bytes(count) => read.extend(&piece[..count]),
            Copied::Wait => thread::park(),
            Copied::End => return read,
            Copied::Broken => panic!("broken"),
        }
    }
}

/// Gets one page as an edge does; `fetches` counts origin requests.
fn get(store: &Arc<TestStore>, key: &RawKey<'_>, fetches: &AtomicUsize) -> Vec<u8> {
    loop {
        if store.get(key, |_| true).is_some() {
            return BODY.to_vec();
        }
        match store.begin(key, 0, 0, |_| true) {
            Begin::Lead(leader) => {
                fetches.fetch_add(1, Ordering::SeqCst);
                leader.head(Arc::new(200), None);
                for piece in BODY.chunks(5) {
                    leader.append(piece, 0);
                }
                let make = |body: bytes::Bytes| {
                    assert_eq!(&body[..], BODY);
                    TestValue {
                        id: 0,
                        variant: 0,
                        bytes: body.len(),
                    }
                };
                assert!(matches!(leader.store(&[], |_| true, make), Put::Stored(_)));
            }
            Begin::Follow(mut follower) => return read_along(&mut follower),
            Begin::Again => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn each_page_is_fetched_once_however_many_ask() {
    const THREADS: usize = 8;
    let store = store(1 << 20);
    let fetches = AtomicUsize::new(0);
    let together = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for page in 0..200 {
                    let (hash, key) = numbered(page);
                    together.wait();
                    assert_eq!(get(&store, &RawKey { hash, key: &key }, &fetches), BODY);
                }
            });
        }
    });
    assert_eq!(fetches.load(Ordering::SeqCst), 200);
    assert_eq!(store.metrics().fills, 0);
}

#[test]
fn a_leader_that_leaves_makes_another() {
    const THREADS: usize = 8;
    let store = store(1 << 20);
    let Begin::Lead(leader) = store.begin(&named(b"k"), 0, 0, |_| true) else {
        panic!("nobody else asks");
    };
    let fetches = AtomicUsize::new(0);
    let following = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let Begin::Follow(mut follower) = store.begin(&named(b"k"), 0, 0, |_| true) else {
                    panic!("one leads");
                };
                following.wait();
                let waker = here();
                while matches!(follower.poll_head(&waker), HeadPoll::Wait) {
                    thread::park();
                }
                assert!(matches!(follower.poll_head(&waker), HeadPoll::Again));
                drop(follower);
                assert_eq!(get(&store, &named(b"k"), &fetches), BODY);
            });
        }
        following.wait();
        drop(leader);
    });
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[test]
fn who_asks_after_a_purge_never_gets_what_was_before() {
    let store = store(1 << 20);
    // Everything below was put before the last purge that has returned.
    let purged_below = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let below = purged_below.load(Ordering::SeqCst);
                    if let Some(hit) = store.get(&named(b"k"), |_| true) {
                        let id = hit.object.value().id;
                        assert!(
                            id >= below || hit.purged,
                            "{id} after a purge of all below {below}"
                        );
                    }
                    if below == 2_000 {
                        break;
                    }
                }
            });
        }
        for id in 0..2_000 {
            let item = TestValue {
                id,
                variant: 0,
                bytes: 100,
            };
            store.put(&named(b"k"), store.purge_epoch(), &[7], |_| true, item);
            let how = if id % 2 == 0 { How::Soft } else { How::Hard };
            match id % 4 {
                0 | 1 => store.purge_tag(7, how),
                2 => store.purge_prefix(b"k", how),
                _ => store.purge(&named(b"k"), how),
            }
            purged_below.store(id + 1, Ordering::SeqCst);
        }
    });
}

#[test]
fn the_budget_holds_while_many_put() {
    let store = store(1_000_000);
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..5_000_u32 {
                    let (hash, key) = numbered(thread * 10_000 + u64::from(number));
                    let key = RawKey { hash, key: &key };
                    let item = TestValue {
                        id: u64::from(number),
                        variant: 0,
                        bytes: 100 + (number as usize * 37) % 20_000,
                    };
                    store.put(&key, store.purge_epoch(), &[], |_| true, item);
                }
            });
        }
    });
    let metrics = store.metrics();
    assert!(metrics.bytes <= 1_000_000, "{metrics:?}");
    store.purge_everything(How::Hard);
    assert_eq!(store.metrics().bytes, super::empty_bytes(&store));
}
