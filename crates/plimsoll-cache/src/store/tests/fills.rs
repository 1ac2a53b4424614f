//! Leaders and followers, one step at a time.

use std::sync::Arc;
use std::task::Waker;

use proptest::prelude::*;

use super::super::{
    Begin, Copied, Follower, HeadPoll, How, Leader, LookupOutcome, Put, RawKey, Remembered, Store,
    StoreLimits,
};
use super::{TestStore, TestValue, Woken, empty_bytes, named, store};

fn lead(store: &Arc<TestStore>, key: &RawKey<'_>) -> Leader<TestValue, u64> {
    match store.begin(key, 0, 0, |_| true) {
        Begin::Lead(leader) => leader,
        other => panic!("{other:?}"),
    }
}

fn follow(store: &Arc<TestStore>, key: &RawKey<'_>) -> Follower<u64> {
    match store.begin(key, 0, 0, |_| true) {
        Begin::Follow(follower) => follower,
        other => panic!("{other:?}"),
    }
}

fn item(body: &bytes::Bytes) -> TestValue {
    TestValue {
        id: 1,
        variant: 0,
        bytes: body.len(),
    }
}

#[derive(Debug, Clone)]
enum FillStep {
    Join,
    Append(usize),
    /// A follower, and the size of its buffer.
    Read(usize, usize),
    Leave(usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum LeaderEnd {
    Store,
    Leave,
    Fail,
    Uncacheable,
}

struct TestFollower {
    follower: Follower<u64>,
    woken: Arc<Woken>,
    waker: Waker,
    read: Vec<u8>,
    /// Number of wake-ups when its poll returned pending.
    waits: Option<usize>,
}

impl TestFollower {
    fn read(&mut self, room: usize) -> Copied {
        let mut out = vec![0; room];
        let copied = self
            .follower
            .copy(self.read.len() as u64, &mut out, &self.waker);
        if let Copied::Bytes(count) = copied {
            self.read.extend(&out[..count]);
        }
        self.waits = (copied == Copied::Wait).then(|| self.woken.times());
        copied
    }

    fn was_woken(&self) -> bool {
        self.waits.is_none_or(|times| self.woken.times() > times)
    }
}

fn steps() -> impl Strategy<Value = Vec<FillStep>> {
    let step = prop_oneof![
        1 => Just(FillStep::Join),
        3 => (1..3_000_usize).prop_map(FillStep::Append),
        5 => (0..8_usize, 1..2_000_usize).prop_map(|(who, room)| FillStep::Read(who, room)),
        1 => (0..8_usize).prop_map(FillStep::Leave),
    ];
    prop::collection::vec(step, 0..60)
}

fn ends() -> impl Strategy<Value = LeaderEnd> {
    prop_oneof![
        Just(LeaderEnd::Store),
        Just(LeaderEnd::Leave),
        Just(LeaderEnd::Fail),
        Just(LeaderEnd::Uncacheable)
    ]
}

/// The bytes of a body of this length, after `from`.
fn body(from: usize, count: usize) -> Vec<u8> {
    (from..from + count)
        .map(|at| u8::try_from(at % 251).expect("below 251"))
        .collect()
}

fn check(steps: &[FillStep], end: LeaderEnd, object_bytes: usize) -> Result<(), TestCaseError> {
    let store: Arc<TestStore> = Arc::new(Store::new(StoreLimits {
        object_bytes,
        ..StoreLimits::of_bytes(1 << 20)
    }));
    let leader = lead(&store, &named(b"k"));
    leader.head(Arc::new(200), None);
    let (mut sent, mut fits, mut readers) = (0, true, Vec::<TestFollower>::new());
    for step in steps {
        match *step {
            FillStep::Join if fits => {
                let (woken, waker) = Woken::waker();
                let follower = follow(&store, &named(b"k"));
                readers.push(TestFollower {
                    follower,
                    woken,
                    waker,
                    read: Vec::new(),
                    waits: None,
                });
            }
            FillStep::Append(count) => {
                fits &= leader.append(&body(sent, count), 0);
                sent += count;
                prop_assert!(
                    readers.iter().all(TestFollower::was_woken),
                    "somebody sleeps on"
                );
                prop_assert_eq!(fits, sent <= object_bytes);
            }
            FillStep::Read(who, room) if who < readers.len() => {
                let reader = &mut readers[who];
                let before = reader.read.len();
                let copied = reader.read(room);
                match copied {
                    Copied::Bytes(count) => prop_assert_eq!(count, room.min(sent - before)),
                    Copied::Wait => prop_assert_eq!(before, sent),
                    Copied::Broken => prop_assert!(sent - before > object_bytes),
                    Copied::End => prop_assert!(false, "it goes on"),
                }
            }
            FillStep::Leave(who) if who < readers.len() => drop(readers.swap_remove(who)),
            _ => {}
        }
        prop_assert!(store.metrics().bytes <= store.limits().bytes);
    }
    finish(leader, end, fits, sent);
    for reader in &mut readers {
        prop_assert!(reader.was_woken(), "somebody sleeps on");
        let behind = sent - reader.read.len() > object_bytes;
        let last = loop {
            match reader.read(700) {
                Copied::Bytes(_) => {}
                last => break last,
            }
        };
        let whole = !behind && matches!(end, LeaderEnd::Store);
        prop_assert_eq!(last, if whole { Copied::End } else { Copied::Broken });
        prop_assert_eq!(&reader.read, &body(0, reader.read.len()));
        prop_assert!(behind || reader.read.len() == sent);
    }
    drop(readers);
    store.purge_everything(How::Hard);
    prop_assert_eq!(store.metrics().fills, 0);
    prop_assert_eq!(store.metrics().bytes, empty_bytes(&store));
    Ok(())
}

fn finish(leader: Leader<TestValue, u64>, end: LeaderEnd, fits: bool, sent: usize) {
    match end {
        LeaderEnd::Store => {
            let put = leader.store(
                &[],
                |_| true,
                |whole| {
                    assert_eq!(&whole[..], body(0, sent));
                    // The object's own bytes come on top, so a body that just fits may not.
                    TestValue {
                        id: 1,
                        variant: 0,
                        bytes: 0,
                    }
                },
            );
            assert_eq!(matches!(put, Put::Stored(_)), fits);
        }
        LeaderEnd::Leave => drop(leader),
        LeaderEnd::Fail => leader.fail(),
        LeaderEnd::Uncacheable => leader.uncacheable(0),
    }
}

proptest! {
    #[test]
    fn followers_read_what_the_leader_got(steps in steps(), end in ends()) {
        check(&steps, end, 100_000)?;
    }

    #[test]
    fn a_body_that_is_too_large_goes_on_without_those_behind(steps in steps(), end in ends()) {
        check(&steps, end, 4_000)?;
    }
}

#[test]
fn before_the_head_followers_are_told_how_it_ended() {
    let outcome_of = |end: fn(Leader<TestValue, u64>)| {
        let store = store(1 << 20);
        let leader = lead(&store, &named(b"k"));
        let mut follower = follow(&store, &named(b"k"));
        let (woken, waker) = Woken::waker();
        assert!(matches!(follower.poll_head(&waker), HeadPoll::Wait));
        end(leader);
        assert_eq!(woken.times(), 1);
        (
            follower.poll_head(&waker),
            store.begin(&named(b"k"), 0, 1, |_| true),
        )
    };
    assert!(matches!(
        outcome_of(drop),
        (HeadPoll::Again, Begin::Lead(_))
    ));
    assert!(matches!(
        outcome_of(Leader::fail),
        (HeadPoll::Failed, Begin::Lead(_))
    ));
    assert!(matches!(
        outcome_of(Leader::end),
        (HeadPoll::Again, Begin::Lead(_))
    ));
    assert!(matches!(
        outcome_of(|leader| leader.uncacheable(0)),
        (HeadPoll::Alone, Begin::Pass)
    ));
    let renew = |leader: Leader<TestValue, u64>| {
        leader.store(&[], |_| true, |none| item(&none));
    };
    assert!(matches!(outcome_of(renew), (HeadPoll::Again, Begin::Again)));
}

#[test]
fn an_uncacheable_key_is_remembered_for_its_time_and_no_longer() {
    let store = store(1 << 20);
    lead(&store, &named(b"k")).uncacheable(1_000);
    let pass_ns = store.limits().pass_ns;
    let begin = |now_ns| store.begin(&named(b"k"), 0, now_ns, |_| true);
    assert!(matches!(begin(1_000 + pass_ns - 1), Begin::Pass));
    assert!(matches!(begin(1_000 + pass_ns), Begin::Lead(_)));
    // A key stored after all is no longer remembered as uncacheable.
    store.remember_pass(&named(b"k"), 0, 5_000);
    store.put(
        &named(b"k"),
        store.purge_epoch(),
        &[],
        |_| true,
        TestValue {
            id: 1,
            variant: 0,
            bytes: 0,
        },
    );
    assert!(matches!(begin(5_000), Begin::Again));
}

#[test]
fn one_look_says_what_is_there_and_else_whether_it_is_passed() {
    let store = store(1 << 20);
    let pass_ns = store.limits().pass_ns;
    let lookup = |variant, now_ns| store.lookup(&named(b"k"), variant, now_ns, |_| true);
    let passes = |is_recent| LookupOutcome::Pass(Remembered { is_recent });
    let render = |outcome: &LookupOutcome<TestValue>| format!("{outcome:?}");
    assert!(matches!(lookup(0, 0), LookupOutcome::Nothing));
    store.remember_pass(&named(b"k"), 0, 1_000);
    let half = 1_000 + pass_ns / 2;
    assert_eq!(render(&lookup(0, 1_000)), render(&passes(true)));
    assert_eq!(render(&lookup(0, half - 1)), render(&passes(true)));
    assert_eq!(render(&lookup(0, half)), render(&passes(false)));
    assert_eq!(
        render(&lookup(0, 1_000 + pass_ns - 1)),
        render(&passes(false))
    );
    assert!(matches!(lookup(0, 1_000 + pass_ns), LookupOutcome::Nothing));
    assert!(
        matches!(lookup(7, 1_000), LookupOutcome::Nothing),
        "of another kind"
    );
    // A stored value counts, whatever is remembered.
    let epoch = store.purge_epoch();
    store.put(
        &named(b"k"),
        epoch,
        &[],
        |_| true,
        item(&bytes::Bytes::new()),
    );
    store.remember_pass(&named(b"k"), 0, 1_000);
    assert!(matches!(lookup(0, 1_000), LookupOutcome::Hit(_)));
}

#[test]
fn memories_of_uncacheable_keys_are_bounded() {
    let limits = StoreLimits {
        passes: 64,
        ..StoreLimits::of_bytes(1 << 20)
    };
    let store: Arc<TestStore> = Arc::new(Store::new(limits));
    for number in 0..100_000 {
        let (hash, key) = super::numbered(number);
        store.remember_pass(&RawKey { hash, key: &key }, 0, 0);
    }
    assert!(store.metrics().passes <= 64);
}

#[test]
fn who_asks_after_a_purge_does_not_follow_who_asked_before() {
    type Purge = fn(&TestStore);
    let rows: [(&str, Purge, bool); 5] = [
        (
            "everything",
            |store| store.purge_everything(How::Soft),
            true,
        ),
        (
            "its prefix",
            |store| store.purge_prefix(b"https://a/", How::Soft),
            true,
        ),
        (
            "another prefix",
            |store| store.purge_prefix(b"https://b/", How::Hard),
            false,
        ),
        (
            "its key",
            |store| store.purge(&named(b"https://a/x"), How::Soft),
            true,
        ),
        ("some tag", |store| store.purge_tag(9, How::Soft), true),
    ];
    for (what, purge, leads) in rows {
        let store = store(1 << 20);
        let before = lead(&store, &named(b"https://a/x"));
        purge(&store);
        let after = store.begin(&named(b"https://a/x"), 0, 0, |_| true);
        assert_eq!(matches!(&after, Begin::Lead(_)), leads, "{what}");
        // The older response came too late: it is stored as what it is, stale, and does not end the newer fetch.
        if let (Begin::Lead(after), Put::Stored(hit)) =
            (after, before.store(&[9], |_| true, |body| item(&body)))
        {
            assert!(hit.purged, "{what}");
            assert_eq!(store.metrics().fills, 1, "{what}");
            assert!(
                matches!(after.store(&[9], |_| true, |body| item(&body)), Put::Stored(hit) if !hit.purged)
            );
        }
    }
}

#[test]
fn fetches_and_followers_are_bounded() {
    let limits = StoreLimits {
        fills: 2,
        followers: 1,
        ..StoreLimits::of_bytes(1 << 20)
    };
    let store: Arc<TestStore> = Arc::new(Store::new(limits));
    let _first = lead(&store, &named(b"1"));
    let second = lead(&store, &named(b"2"));
    assert!(matches!(
        store.begin(&named(b"3"), 0, 0, |_| true),
        Begin::Full
    ));
    let follower = follow(&store, &named(b"1"));
    assert!(matches!(
        store.begin(&named(b"1"), 0, 0, |_| true),
        Begin::Full
    ));
    drop(follower);
    follow(&store, &named(b"1"));
    drop(second);
    lead(&store, &named(b"3"));
}

#[test]
fn variants_are_fetched_beside_each_other() {
    let store = store(1 << 20);
    let _german = lead(&store, &named(b"k"));
    assert!(matches!(
        store.begin(&named(b"k"), 1, 0, |_| true),
        Begin::Lead(_)
    ));
}

#[test]
fn no_more_is_set_aside_than_one_object_may_be_when_a_length_lies() {
    let store = store(1 << 20);
    let leader = lead(&store, &named(b"k"));
    leader.head(Arc::new(200), Some(usize::MAX));
    assert!(leader.append(b"short", 0));
}
