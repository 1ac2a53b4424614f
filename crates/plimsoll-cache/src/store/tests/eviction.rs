//! Which objects stay when there is no room.

use super::super::{Put, RawKey, Store, StoreLimits};
use super::{TestStore, TestValue, numbered};

const PAGE_BYTES: usize = 1_000;

fn put(store: &TestStore, number: u64, bytes: usize) -> bool {
    let (hash, key) = numbered(number);
    let key = RawKey { hash, key: &key };
    let item = TestValue {
        id: number,
        variant: 0,
        bytes,
    };
    matches!(
        store.put(&key, store.purge_epoch(), &[], |_| true, item),
        Put::Stored(_)
    )
}

fn has(store: &TestStore, number: u64) -> bool {
    let (hash, key) = numbered(number);
    store.get(&RawKey { hash, key: &key }, |_| true).is_some()
}

#[test]
fn hot_pages_stay_hot_through_a_flood_of_keys() {
    let store = TestStore::new(StoreLimits::of_bytes(4_000_000));
    for hot in 0..500 {
        put(&store, hot, PAGE_BYTES);
    }
    for round in 0..2 {
        for hot in 0..500 {
            assert!(has(&store, hot), "{hot} in round {round}");
        }
    }
    for flood in 10_000..110_000 {
        put(&store, flood, PAGE_BYTES);
    }
    let left = (0..500).filter(|hot| has(&store, *hot)).count();
    assert!(left >= 495, "{left} of 500 are left");
    assert!(store.metrics().evicted_total > 90_000);
}

#[test]
fn a_renewed_page_keeps_its_standing() {
    let store = TestStore::new(StoreLimits::of_bytes(4_000_000));
    put(&store, 1, PAGE_BYTES);
    assert!(has(&store, 1));
    for flood in 0..50_000 {
        put(&store, 10_000 + flood, PAGE_BYTES);
        // Like a page that lives for a second and is not requested meanwhile.
        if flood % 1_000 == 0 {
            put(&store, 1, PAGE_BYTES);
        }
    }
    assert!(has(&store, 1));
    assert_eq!(store.hottest_objects(1)[0].hits, 2);
}

#[test]
fn a_large_page_makes_its_room_everywhere() {
    let store = TestStore::new(StoreLimits {
        object_bytes: 1_000_000,
        ..StoreLimits::of_bytes(4_000_000)
    });
    for page in 0..10_000 {
        put(&store, page, PAGE_BYTES);
    }
    assert!(put(&store, 20_000, 900_000));
    assert!(has(&store, 20_000));
    assert!(!put(&store, 20_001, 1_000_001), "larger than one may be");
    assert!(store.metrics().bytes <= 4_000_000);
    // It used a quarter of the budget, taken from all shards alike.
    assert!(
        (2_000..3_000).contains(&store.metrics().objects),
        "{:?}",
        store.metrics()
    );
}

#[test]
fn most_asked_are_told_in_order() {
    let store: TestStore = Store::new(StoreLimits::of_bytes(1 << 20));
    for page in 0..20_u64 {
        put(&store, page, 10);
        for _ in 0..page {
            has(&store, page);
        }
    }
    let most = store.hottest_objects(3);
    let ids: Vec<(u64, u32)> = most
        .iter()
        .map(|hot| (hot.object.value().id, hot.hits))
        .collect();
    assert_eq!(ids, [(19, 19), (18, 18), (17, 17)]);
}
