use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// One subscriber: its loop, when it is subscribed, and what it receives: the message, and when, in ms.
#[derive(Clone, Debug)]
struct TestSubscriber {
    open_ms: u64,
    close_ms: u64,
    got: Vec<(u64, u64)>,
}

const LOOPS: usize = 3;

/// Replays what subscribers receive, in order of time, with windows closed once a second.
fn play(people: &[TestSubscriber], sequenced: bool) -> (Reached, BroadcastWindow) {
    enum SubscriberAction {
        Open,
        Get(u64),
        Close,
    }
    let mut moments = Vec::new();
    for (index, person) in people.iter().enumerate() {
        moments.push((person.open_ms, 0, index, SubscriberAction::Open));
        moments.push((person.close_ms, 2, index, SubscriberAction::Close));
        for &(id, at_ms) in &person.got {
            moments.push((at_ms, 1, index, SubscriberAction::Get(id)));
        }
    }
    moments.sort_by_key(|(at_ms, order, index, _)| (*at_ms, *order, *index));
    let mut observers: Vec<ChannelObserver> =
        (0..LOOPS).map(|_| ChannelObserver::new(false)).collect();
    let mut listeners: BTreeMap<usize, SubscriberState> = BTreeMap::new();
    let (mut reach, mut whole) = (BroadcastReach::default(), BroadcastWindow::default());
    let mut second = 0;
    let mut flush = |observers: &mut Vec<ChannelObserver>| {
        for observer in observers {
            let window = observer.take_window();
            reach.add(&window);
            whole.merge(&window);
        }
    };
    for (at_ms, _, index, what) in moments {
        if at_ms / 1000 != second {
            second = at_ms / 1000;
            flush(&mut observers);
        }
        let observer = &mut observers[index % LOOPS];
        let at_us = at_ms * 1000;
        match what {
            SubscriberAction::Open => {
                listeners.insert(index, SubscriberState::new(at_us));
            }
            SubscriberAction::Get(id) => observer.record(
                listeners.get_mut(&index).unwrap(),
                Receipt {
                    id,
                    sequence: sequenced.then_some(id),
                    at_us,
                    latency_us: None,
                },
            ),
            SubscriberAction::Close => observer.close(&listeners[&index], at_us),
        }
    }
    flush(&mut observers);
    let reached = reach.result();
    (reached, whole)
}

/// The definition, word by word.
fn by_definition(people: &[TestSubscriber]) -> Reached {
    let mut firsts: BTreeMap<u64, u64> = BTreeMap::new();
    for (id, at_ms) in people.iter().flat_map(|person| &person.got) {
        let first = firsts.entry(*id).or_insert(*at_ms);
        *first = (*first).min(*at_ms);
    }
    let mut reached = Reached::default();
    for person in people {
        let got: BTreeSet<u64> = person.got.iter().map(|(id, _)| *id).collect();
        let expected: BTreeSet<u64> = firsts
            .iter()
            .filter(|(_, first)| {
                **first >= person.open_ms + 1000 && **first + 1000 <= person.close_ms
            })
            .map(|(id, _)| *id)
            .collect();
        reached.expected += expected.len() as u64;
        reached.received += expected.intersection(&got).count() as u64;
        reached.unreached += u64::from(!expected.is_empty() && got.is_empty());
    }
    reached
}

/// A message is published every 50 ms to subscribers that join and leave; some deliveries are lost, some are
/// duplicated, and all are late by up to 3 s, and so out of order.
fn subscribers() -> impl Strategy<Value = Vec<TestSubscriber>> {
    let person = (
        0_u64..8000,
        0_u64..8000,
        prop::collection::vec((0_u64..3000, 0_u8..10), 100),
    );
    prop::collection::vec(person, 1..12).prop_map(|people| {
        people
            .into_iter()
            .map(|(open_ms, stay_ms, fates)| {
                let close_ms = open_ms + stay_ms;
                let mut got = Vec::new();
                for (id, (late_ms, fate)) in (1_u64..).zip(fates) {
                    let at_ms = id * 50 + late_ms;
                    if fate > 0 && (open_ms..=close_ms).contains(&at_ms) && id * 50 >= open_ms {
                        got.push((id, at_ms));
                        if fate == 1 && at_ms + 20 <= close_ms {
                            got.push((id, at_ms + 20));
                        }
                    }
                }
                TestSubscriber {
                    open_ms,
                    close_ms,
                    got,
                }
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn reach_is_what_its_definition_says(people in subscribers()) {
        let (reached, _) = play(&people, true);
        prop_assert_eq!(reached, by_definition(&people));
    }

    #[test]
    fn losses_are_counted_exactly(
        lost in prop::collection::btree_set((0_usize..20, 30_u64..170), 0..60),
        twice in prop::collection::btree_set((0_usize..20, 1_u64..200), 0..60),
    ) {
        // Twenty subscribers receive for ten seconds a message every 50 ms, which arrives after 5 ms: numbers 20 to
        // 180 are expected.
        let people: Vec<TestSubscriber> = (0..20)
            .map(|index| {
                let mut got = Vec::new();
                for id in 1..200 {
                    if !lost.contains(&(index, id)) {
                        got.push((id, id * 50 + 5));
                        if twice.contains(&(index, id)) {
                            got.push((id, id * 50 + 6));
                        }
                    }
                }
                TestSubscriber { open_ms: 0, close_ms: 10_000, got }
            })
            .collect();
        let (reached, window) = play(&people, true);
        prop_assert_eq!(reached.expected, 20 * 160);
        prop_assert_eq!(reached.expected - reached.received, lost.len() as u64);
        prop_assert_eq!(window.gaps, lost.len() as u64);
        let twice = twice.iter().filter(|pair| !lost.contains(pair)).count();
        prop_assert_eq!(window.duplicates, twice as u64);
        prop_assert_eq!(window.reordered, 0);
    }
}

#[test]
fn who_hears_nothing_scores_nothing() {
    let listening = |got: Vec<(u64, u64)>| TestSubscriber {
        open_ms: 0,
        close_ms: 5000,
        got,
    };
    let received: Vec<_> = (1..100).map(|id| (id, id * 50)).collect();
    let people = [listening(received), listening(Vec::new())];
    let (reached, window) = play(&people, false);
    // First received from 1,000 to 4,000 ms, the ends included.
    assert_eq!((reached.expected, reached.received), (2 * 61, 61));
    assert_eq!((reached.ratio(), reached.unreached), (Some(0.5), 1));
    assert_eq!(window.gaps, 0);
    assert_eq!(play(&[listening(Vec::new())], false).0.ratio(), None);
}

#[test]
fn what_comes_out_of_order_is_told() {
    let person = TestSubscriber {
        open_ms: 0,
        close_ms: 5000,
        got: vec![
            (1, 2000),
            (3, 2001),
            (2, 2002),
            (2, 2003),
            (6, 2004),
            (5, 2005),
        ],
    };
    let (reached, window) = play(&[person], true);
    assert_eq!((reached.expected, reached.received), (5, 5));
    assert_eq!(
        (window.duplicates, window.reordered, window.gaps),
        (1, 2, 1)
    );
}
