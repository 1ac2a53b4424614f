use std::time::Duration;

use plimsoll_model::journey::{Journey, UserPhase};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use proptest::prelude::*;

use super::*;
use crate::clock::SECOND_NS;
use crate::loop_share::LoopShare;
use crate::scheduler::START_GAP_NS;

fn scenario(weights: &[f64]) -> Scenario {
    let journeys = weights.iter().map(|&weight| Journey {
        weight,
        ..Journey::default()
    });
    Scenario {
        journeys: journeys.collect(),
        ..Scenario::default()
    }
}

fn phase(from: f64, to: f64, seconds: u64, mix: &[f64]) -> UserPhase {
    UserPhase {
        from,
        to,
        lasting: Duration::from_secs(seconds),
        mix: mix.to_vec(),
    }
}

fn people(phases: Vec<UserPhase>, weights: &[f64], index: u32, loops: u32) -> People {
    let load = Load::Users {
        phases,
        iterations: None,
    };
    People::new(&load, &scenario(weights), Seed(1), 0, index, loops).unwrap()
}

/// All arrivals, with their moments.
fn all(people: &mut People) -> Vec<(u64, Newcomer)> {
    let mut came = Vec::new();
    while people.next_comes() < people.end_ns {
        let at = people.next_comes();
        assert_eq!(people.pop().unwrap().user, NEWCOMER);
        came.push((at, people.welcome().unwrap()));
    }
    came
}

#[test]
fn users_come_as_the_line_rises() {
    let phases = vec![phase(0.0, 10.0, 10, &[]), phase(10.0, 10.0, 10, &[])];
    let mut merged = Vec::new();
    for index in 0..3 {
        merged.extend(all(&mut people(phases.clone(), &[1.0], index, 3)));
    }
    merged.sort_by_key(|(at, _)| *at);
    assert_eq!(merged.len(), 10);
    for (place, (at, newcomer)) in (1..).zip(&merged) {
        assert_eq!((newcomer.place, newcomer.number), (place, place));
        assert_eq!(at / 1_000_000, place * 1000);
    }
}

#[test]
fn a_jump_lets_users_in_one_after_the_other() {
    let came = all(&mut people(vec![phase(50.0, 50.0, 1, &[])], &[1.0], 0, 1));
    assert_eq!(came.len(), 50);
    assert!(came.last().unwrap().0 <= 50 * START_GAP_NS);
}

#[test]
fn users_leave_as_the_line_falls_and_places_are_taken_again() {
    let phases = vec![
        phase(4.0, 4.0, 10, &[]),
        phase(4.0, 0.0, 4, &[]),
        phase(0.0, 4.0, 4, &[]),
    ];
    let mut people = people(phases, &[1.0], 0, 1);
    let came = all(&mut people);
    assert_eq!(came.len(), 4);
    let at = 12 * SECOND_NS;
    let stay: Vec<bool> = (1..=4).map(|place| people.wants(place, 0, at)).collect();
    assert_eq!(stay, [true, true, false, false]);
    people.vacate(4, at);
    people.vacate(3, at);
    let again = all(&mut people);
    let moments: Vec<_> = again
        .iter()
        .map(|(at, who)| (at / SECOND_NS, who.place, who.number))
        .collect();
    // The fourth place is wanted again only at the very end.
    assert_eq!(moments, [(17, 3, 5)]);
}

#[test]
fn a_mix_that_changes_changes_who_is_wanted() {
    let phases = vec![
        phase(100.0, 100.0, 10, &[]),
        phase(100.0, 100.0, 10, &[1.0, 3.0]),
    ];
    let mut people = people(phases, &[1.0, 1.0], 0, 1);
    let came = all(&mut people);
    let count = |journey| {
        came.iter()
            .filter(|(_, who)| who.journey == journey)
            .count()
    };
    assert_eq!((count(0), count(1)), (50, 50));
    let later = 15 * SECOND_NS;
    let mut stay = [0, 0];
    let mut left = Vec::new();
    for (_, who) in &came {
        assert!(people.wants(who.place, who.journey, SECOND_NS));
        if people.wants(who.place, who.journey, later) {
            stay[who.journey as usize] += 1;
        } else {
            left.push(who.place);
        }
    }
    for &place in &left {
        people.vacate(place, later);
    }
    for (at, who) in all(&mut people) {
        assert!(at >= later);
        stay[who.journey as usize] += 1;
    }
    assert_eq!(stay, [25, 75]);
}

#[test]
fn loops_agree_on_the_journeys() {
    for loops in [1, 2, 3] {
        let mut counts = [0, 0, 0];
        for index in 0..loops {
            let phases = vec![phase(90.0, 90.0, 1, &[])];
            for (_, who) in all(&mut people(phases, &[6.0, 2.0, 1.0], index, loops)) {
                counts[who.journey as usize] += 1;
            }
        }
        assert_eq!(counts, [60, 20, 10]);
    }
}

#[test]
fn sessions_come_by_their_schedule() {
    let load = Load::Sessions {
        phases: vec![LoadPhase::constant(30.0, Duration::from_secs(10))],
        spacing: Spacing::Even,
        mixes: Vec::new(),
    };
    let mut counts = [0, 0];
    let mut numbers = Vec::new();
    for index in 0..2 {
        let people = People::new(&load, &scenario(&[2.0, 1.0]), Seed(1), 0, index, 2);
        for (_, who) in all(&mut people.unwrap()) {
            counts[who.journey as usize] += 1;
            numbers.push(who.number);
        }
    }
    numbers.sort_unstable();
    assert_eq!(counts, [200, 100]);
    assert_eq!(numbers, (1..=300).collect::<Vec<u64>>());
}

#[test]
fn the_mix_of_sessions_changes_with_the_phases() {
    let second = Duration::from_secs(1);
    let load = Load::Sessions {
        phases: vec![LoadPhase::constant(40.0, second); 3],
        spacing: Spacing::Even,
        mixes: vec![Vec::new(), vec![0.0, 1.0], vec![1.0, 3.0]],
    };
    let mut counts = [[0, 0]; 3];
    for index in 0..2 {
        let people = People::new(&load, &scenario(&[1.0, 1.0]), Seed(1), 0, index, 2);
        for (at, who) in all(&mut people.unwrap()) {
            let phase = usize::try_from((at - 1) / SECOND_NS).unwrap();
            counts[phase][who.journey as usize] += 1;
        }
    }
    let all: u32 = counts.iter().flatten().sum();
    assert_eq!(all, 120);
    for (phase, shares) in [(0, [0.5, 0.5]), (1, [0.0, 1.0]), (2, [0.25, 0.75])] {
        let came = f64::from(counts[phase][0] + counts[phase][1]);
        for (count, share) in counts[phase].iter().zip(shares) {
            let wanted = share * came;
            assert!((f64::from(*count) - wanted).abs() <= 2.0, "{counts:?}");
        }
    }
}

#[test]
fn who_thinks_is_due_when_it_ends() {
    let mut people = people(vec![phase(0.0, 0.0, 100, &[])], &[1.0], 0, 1);
    people.think(7, 30);
    people.think(8, 20);
    people.be_ready(9, 25);
    let order: Vec<_> =
        std::iter::from_fn(|| (people.next_due() < 100).then(|| people.pop().unwrap()))
            .map(|due| (due.at, due.user, due.paced))
            .collect();
    assert_eq!(order, [(20, 8, true), (25, 9, false), (30, 7, true)]);
}

#[test]
fn who_thinks_until_the_end_is_due_no_more() {
    let mut people = people(vec![phase(0.0, 0.0, 1, &[])], &[1.0], 0, 1);
    people.think(7, SECOND_NS - 1);
    people.think(8, SECOND_NS);
    assert_eq!(people.next_due(), SECOND_NS - 1);
    assert_eq!(people.pop().map(|due| due.user), Some(7));
    assert_eq!(people.next_due(), NEVER);
    assert_eq!(people.pauses(0), HashMap::from([(8, SECOND_NS)]));
}

#[test]
fn newcomers_come_evenly_beside_those_who_are_back() {
    for loops in [1_u32, 2] {
        let mut came = Vec::new();
        for index in 0..loops {
            let mut people = people(vec![phase(8.0, 8.0, 30, &[])], &[1.0], index, loops);
            let back: HashSet<u64> = [1, 2, 5, 6].into_iter().collect();
            people.expect(SECOND_NS, 8 * SECOND_NS, &back, back.clone());
            came.extend(all(&mut people));
        }
        came.sort_unstable_by_key(|(at, _)| *at);
        let moments: Vec<u64> = came.iter().map(|(at, _)| at / 1_000_000).collect();
        assert_eq!(moments, [3000, 5000, 7000, 9000], "{loops} loops");
        let mut places: Vec<u64> = came.iter().map(|(_, who)| who.place).collect();
        places.sort_unstable();
        assert_eq!(places, [3, 4, 7, 8]);
        let mut numbers: Vec<u64> = came.iter().map(|(_, who)| who.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [3, 4, 7, 8], "no number twice");
    }
}

#[test]
fn users_are_as_many_as_somebody_wants_from_a_moment_on() {
    let change = |second: u64, to: f64| LoadChange {
        from_ns: second * SECOND_NS,
        to,
    };
    let mut came = Vec::new();
    for index in 0..2 {
        let mut people = people(vec![phase(4.0, 4.0, 60, &[])], &[1.0], index, 2);
        for _ in 0..2 {
            assert!(people.next_comes() < SECOND_NS);
            came.push((people.next_comes(), people.welcome().unwrap().place));
        }
        assert_eq!(people.next_comes(), NEVER, "all are there");
        people.change(change(10, 8.0));
        people.change(change(20, 2.0));
        for (at, newcomer) in all(&mut people) {
            came.push((at, newcomer.place));
        }
        for (second, wanted) in [(5, 4), (15, 8), (25, 2), (59, 2)] {
            for place in 1..9 {
                let is_wanted = people.wants(place, 0, second * SECOND_NS);
                assert_eq!(is_wanted, place <= wanted, "{place} after {second} s");
            }
        }
    }
    came.sort_unstable();
    let late: Vec<u64> = came.iter().skip(4).map(|(at, _)| at / SECOND_NS).collect();
    assert_eq!(late, [10; 4]);
    let mut places: Vec<u64> = came.iter().map(|(_, place)| *place).collect();
    places.sort_unstable();
    assert_eq!(places, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn sessions_come_at_another_rate_from_a_moment_on_in_the_mix_of_the_moment() {
    let second = Duration::from_secs(1);
    let load = Load::Sessions {
        phases: vec![LoadPhase::constant(10.0, 30 * second); 2],
        spacing: Spacing::Even,
        mixes: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
    };
    let mut counts = [[0_u32; 2]; 60];
    let mut numbers = HashSet::new();
    for index in 0..2 {
        let people = People::new(&load, &scenario(&[1.0, 1.0]), Seed(1), 0, index, 2);
        let mut people = people.unwrap();
        // Its first was drawn already.
        assert!(people.next_comes() < SECOND_NS);
        people.change(LoadChange {
            from_ns: 0,
            to: 20.0,
        });
        people.change(LoadChange {
            from_ns: 40 * SECOND_NS,
            to: 4.0,
        });
        for (at, who) in all(&mut people) {
            counts[usize::try_from(at / SECOND_NS).unwrap()][who.journey as usize] += 1;
            assert!(numbers.insert(who.number));
        }
    }
    for (second, count) in counts.iter().enumerate() {
        // The mix of the first moment stays.
        let expected = if second < 40 { [20, 0] } else { [4, 0] };
        assert_eq!(*count, expected, "{second}");
    }
}

/// All arrivals of so many workers with so many loops each, in the order of time.
fn of_workers(load: &Load, workers: u32, loops: u32) -> Vec<(u64, Newcomer)> {
    let whole = workers * loops;
    let mut came = Vec::new();
    for worker in 0..workers {
        for index in LoopShare::of_process(worker, workers).loops(whole) {
            let people = People::new(load, &scenario(&[2.0, 1.0]), Seed(1), 0, index, whole);
            came.extend(all(&mut people.unwrap()));
        }
    }
    came.sort_by_key(|(at, who)| (*at, who.place, who.number));
    came
}

proptest! {
    #[test]
    fn users_of_all_workers_are_those_of_one_process(
        levels in prop::collection::vec(0.0_f64..40.0, 1..4),
        workers in 1_u32..5,
        loops in 1_u32..4,
    ) {
        // Ramps only: users who arrive at one moment are staggered, by each loop for itself.
        let mut from = 0.0;
        let phases = levels.iter().map(|&to| {
            let phase = phase(from, to, 7, &[]);
            from = to;
            phase
        });
        let load = Load::Users { phases: phases.collect(), iterations: None };
        let whole = of_workers(&load, 1, 1);
        let parts = of_workers(&load, workers, loops);
        // Which numbers a loop gives follows from the loop; that no two users have the same does not.
        let places = |came: &[(u64, Newcomer)]| -> Vec<(u64, u64, u32)> {
            came.iter().map(|(at, who)| (*at, who.place, who.journey)).collect()
        };
        prop_assert_eq!(places(&parts), places(&whole));
        let numbers: HashSet<u64> = parts.iter().map(|(_, who)| who.number).collect();
        prop_assert_eq!(numbers.len(), parts.len());
    }

    #[test]
    fn sessions_of_all_workers_are_those_of_one_process(
        rates in prop::collection::vec((0.0_f64..40.0, 0.0_f64..40.0), 1..4),
        workers in 1_u32..5,
        loops in 1_u32..4,
    ) {
        let phases = rates.iter().map(|&(from, to)| LoadPhase::ramp(from, to, Duration::from_secs(3)));
        let load = Load::Sessions {
            phases: phases.collect(),
            spacing: Spacing::Even,
            mixes: Vec::new(),
        };
        // Number, moment and journey of every one of them.
        prop_assert_eq!(of_workers(&load, workers, loops), of_workers(&load, 1, 1));
    }

    #[test]
    fn workers_of_one_loop_are_loops_of_one_process(seed: u64, loops in 1_u32..9) {
        // Poisson: a load of the same number of loops is the same, wherever they run.
        let load = Load::Sessions {
            phases: vec![LoadPhase::constant(50.0, Duration::from_secs(4))],
            spacing: Spacing::Poisson,
            mixes: Vec::new(),
        };
        let came = |workers: u32| {
            let mut came = Vec::new();
            for worker in 0..workers {
                for index in LoopShare::of_process(worker, workers).loops(loops) {
                    let people = People::new(&load, &scenario(&[1.0]), Seed(seed), 0, index, loops);
                    came.extend(all(&mut people.unwrap()));
                }
            }
            came.sort_by_key(|(at, who)| (*at, who.number));
            came
        };
        prop_assert_eq!(came(loops), came(1));
    }
}
