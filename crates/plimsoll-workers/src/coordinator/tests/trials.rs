//! Loads that follow one another, as the trials of a search.

use std::collections::BTreeMap;

use plimsoll_model::window::Window;
use plimsoll_model::worker::WorkerRecord;
use proptest::prelude::*;

use super::simulation::{LineState, Simulation, join, order, second_of};
use super::{Hardship, refusal};
use crate::clock::SECOND_NS;
use crate::coordinator::{IfLost, WorkersLost};
use crate::error::WorkersError;
use crate::message::{Numbered, StayedUsers, ToCoordinator};
use crate::worker::WorkerEnd;

/// Seconds of each trial.
const LASTING: u32 = 4;

/// A trial that is over.
#[derive(Debug)]
struct CarriedTrial {
    /// The second in which it began.
    second: u32,
    windows: Vec<Window>,
    records: Vec<WorkerRecord>,
    loss: Option<WorkersLost>,
}

impl CarriedTrial {
    fn errors(&self) -> Vec<&str> {
        let windows = self.windows.iter();
        windows
            .flat_map(|window| window.load_errors.iter().map(String::as_str))
            .collect()
    }

    /// Those that carried it to its end have delivered every second of it once, and nothing else counts.
    fn assert_is_whole(&self) {
        let mut expected: BTreeMap<u32, Window> = BTreeMap::new();
        for record in self
            .records
            .iter()
            .filter(|record| record.lost_at.is_none())
        {
            for second in self.second..self.second + LASTING {
                let sum = expected.entry(second);
                let sum = sum.or_insert_with(|| Window::new(second));
                sum.merge(&second_of(part_of(record), second));
            }
        }
        let expected: Vec<Window> = expected.into_values().collect();
        assert_eq!(self.windows, expected);
    }
}

/// Which of the simulated workers it is.
fn part_of(record: &WorkerRecord) -> u64 {
    let number = record.name.strip_prefix("host-");
    number.map_or(0, |number| number.parse::<u64>().unwrap() - 1)
}

/// Carries a trial; `at` is called ten times in each of its seconds, with the time since its beginning.
fn carry_with(
    simulation: &mut Simulation,
    mut at: impl FnMut(&mut Simulation, f64),
) -> CarriedTrial {
    let before = simulation.merged.len();
    let second = simulation.start_trial();
    let mut since = 0.0;
    while !simulation.coordinator.is_over() {
        at(simulation, since);
        simulation.run_for(0.1);
        since += 0.1;
        assert!(since < 30.0, "it does not end");
    }
    CarriedTrial {
        second,
        windows: simulation.merged[before..].to_vec(),
        records: simulation.coordinator.records(),
        loss: simulation.coordinator.take_loss(),
    }
}

fn carry(simulation: &mut Simulation) -> CarriedTrial {
    carry_with(simulation, |_, _| {})
}

/// The search is over.
fn finish(simulation: &mut Simulation) {
    simulation.coordinator.dismiss("the run is over");
    simulation.run_for(1.0);
}

#[test]
fn trials_follow_one_another_and_workers_end_with_the_search() {
    let mut simulation = Simulation::gathered(3, IfLost::Void, LASTING);
    for round in 0..4 {
        let trial = carry(&mut simulation);
        trial.assert_is_whole();
        assert_eq!(trial.loss, None);
        assert_eq!(trial.records.len(), 3);
        for (part, record) in (0..).zip(&trial.records) {
            // Of this trial alone, and the first second is its warm-up.
            let offered = second_of(part, 0).offered * u64::from(LASTING);
            assert_eq!(record.offered, offered, "trial {round}");
            assert_eq!(record.judged.count, LASTING - 1, "trial {round}");
        }
        assert_eq!(
            simulation.coordinator.places(),
            [(1, true), (2, false), (3, false)]
        );
        // The search thinks about the next one.
        simulation.run_for(0.7);
    }
    finish(&mut simulation);
    for worker in &simulation.workers {
        assert_eq!(worker.begun, [0, 1, 2, 3]);
        assert_eq!(worker.end, Some(WorkerEnd::Done));
    }
}

#[test]
fn no_trial_begins_while_another_goes_on_or_behind_the_last_load() {
    let mut simulation = Simulation::gathered(2, IfLost::Void, LASTING);
    simulation.start_trial();
    let again = simulation.coordinator.start((0, 9), &order(true));
    assert!(matches!(again, Err(WorkersError::Busy)));
    let mut simulation = Simulation::started(2, IfLost::Void, LASTING);
    simulation.run_to(f64::from(LASTING) + 2.0);
    assert!(simulation.coordinator.is_over());
    let again = simulation.coordinator.start((0, 90), &order(true));
    assert!(matches!(again, Err(WorkersError::Busy)));
}

#[test]
fn a_worker_that_is_killed_in_a_trial_voids_it_and_ends_the_search() {
    let mut simulation = Simulation::gathered(3, IfLost::Void, LASTING);
    carry(&mut simulation).assert_is_whole();
    let mut is_killed = false;
    let trial = carry_with(&mut simulation, |simulation, since| {
        if since > 3.0 && !is_killed {
            is_killed = true;
            simulation.kill(1);
        }
    });
    let lost_at = trial.records[1].lost_at.unwrap();
    let text = format!("worker host-2 was lost at second {lost_at}: silent for 5 s");
    assert_eq!(trial.errors(), [text.as_str()]);
    let loss = WorkersLost {
        end: Some(text),
        left: 2,
        before: 3,
    };
    assert_eq!(trial.loss, Some(loss));
    finish(&mut simulation);
    for at in [0, 2] {
        assert_eq!(simulation.workers[at].end, Some(WorkerEnd::Done));
    }
}

#[test]
fn those_that_are_left_carry_the_next_trials_as_a_whole() {
    let mut simulation = Simulation::gathered(3, IfLost::Continue, LASTING);
    let mut is_killed = false;
    let trial = carry_with(&mut simulation, |simulation, since| {
        if since > 3.0 && !is_killed {
            is_killed = true;
            simulation.kill(0);
        }
    });
    assert_eq!(trial.errors().len(), 1, "void all the same");
    let loss = trial.loss.unwrap();
    assert_eq!((loss.end, loss.left, loss.before), (None, 2, 3));
    let next = carry(&mut simulation);
    next.assert_is_whole();
    assert_eq!(next.loss, None);
    let names: Vec<&str> = next.records.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["host-2", "host-3"]);
    assert_eq!(
        simulation.coordinator.places(),
        [(2, false), (3, false)],
        "the users of the lost one are lost"
    );
}

#[test]
fn a_worker_that_is_lost_between_two_trials_voids_the_next() {
    let mut simulation = Simulation::gathered(2, IfLost::Continue, LASTING);
    carry(&mut simulation).assert_is_whole();
    simulation.kill(1);
    simulation.run_for(6.0);
    let trial = carry(&mut simulation);
    let expected = "worker host-2 was lost between two trials: silent for 5 s";
    assert_eq!(trial.errors(), [expected]);
    assert_eq!(trial.windows.len(), 1, "nobody began");
    assert_eq!(trial.records[1].lost_at, Some(trial.second));
    assert_eq!(trial.loss.as_ref().map(|loss| loss.left), Some(1));
    let next = carry(&mut simulation);
    next.assert_is_whole();
    assert_eq!(next.records.len(), 1);
    // A line that is cut for a moment between two trials loses nobody.
    simulation.set_line(0, LineState::Cut);
    simulation.run_for(3.0);
    simulation.set_line(0, LineState::Whole);
    let last = carry(&mut simulation);
    last.assert_is_whole();
    assert_eq!(simulation.workers[0].begun, [0, 2, 3]);
}

#[test]
fn a_search_without_workers_ends() {
    let mut simulation = Simulation::gathered(1, IfLost::Continue, LASTING);
    carry(&mut simulation).assert_is_whole();
    simulation.kill(0);
    simulation.run_for(6.0);
    let trial = carry(&mut simulation);
    let end = trial.loss.unwrap().end.unwrap();
    assert!(end.ends_with("no worker is left"), "{end}");
    let more = carry(&mut simulation);
    assert_eq!(more.errors(), ["no worker is left"]);
}

#[test]
fn workers_of_a_coordinator_that_dies_between_two_trials_stop_within_five_seconds() {
    let mut simulation = Simulation::gathered(2, IfLost::Continue, LASTING);
    carry(&mut simulation).assert_is_whole();
    simulation.kill_coordinator();
    simulation.run_for(5.0);
    for worker in &simulation.workers {
        assert!(matches!(worker.end, Some(WorkerEnd::Silent(_))));
    }
}

/// What a worker sends over its connection, as if another program had its key.
fn send(simulation: &mut Simulation, at: usize, content: Numbered, (round, number): (u32, u64)) {
    let id = simulation.connection(at);
    let message = ToCoordinator::Numbered {
        round,
        number,
        content,
    };
    let now_ns = simulation.now_ns;
    simulation.coordinator.received(id, message, now_ns);
}

#[test]
fn results_of_an_earlier_trial_are_ignored_and_those_of_none_lose_their_worker() {
    let mut simulation = Simulation::gathered(2, IfLost::Continue, LASTING);
    carry(&mut simulation).assert_is_whole();
    let second = |second| Numbered::Second {
        window: Box::new(second_of(0, second)),
        host: plimsoll_model::worker::HostUse::default(),
    };
    let mut has_sent = false;
    let trial = carry_with(&mut simulation, |simulation, since| {
        if since > 1.0 && !has_sent {
            has_sent = true;
            // A number that was received in the trial before.
            send(simulation, 0, second(5), (0, 1));
            // The next number, and no trial of this number goes on.
            send(simulation, 1, second(5), (7, u64::from(LASTING) + 1));
        }
    });
    assert_eq!(trial.records[0].lost_at, None);
    let errors = trial.errors();
    assert!(
        errors[0].ends_with("it sent results of another load"),
        "{errors:?}"
    );
    let id = simulation.coordinator.connected(simulation.now_ns);
    let late = ToCoordinator::Join(join(77, "late"));
    simulation.coordinator.received(id, late, simulation.now_ns);
    assert!(refusal(&mut simulation.coordinator, id).contains("the load has begun"));
}

#[test]
fn places_of_more_users_than_there_can_be_are_refused() {
    let mut simulation = Simulation::gathered(1, IfLost::Void, LASTING);
    let mut has_sent = false;
    let trial = carry_with(&mut simulation, |simulation, since| {
        if since > 1.0 && !has_sent {
            has_sent = true;
            let ended = Numbered::Ended {
                used: plimsoll_load::Used::default(),
                plan_error: None,
                stayed: StayedUsers {
                    waiting: vec![1; (1 << 20) + 1],
                    others: Vec::new(),
                },
            };
            send(simulation, 0, ended, (0, 0));
        }
    });
    assert!(trial.errors()[0].contains("more users"), "{trial:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_happens_to_workers_a_trial_is_whole_or_void(
        at in prop::collection::vec(0.0_f64..24.0, 2),
        lengths in prop::collection::vec(0.1_f64..3.5, 2),
        kinds in prop::collection::vec(
            prop_oneof![Just(Hardship::Kill), Just(Hardship::Freeze), Just(Hardship::Cut)],
            2,
        ),
    ) {
        let mut simulation = Simulation::gathered(3, IfLost::Continue, LASTING);
        let from_ns = simulation.now_ns;
        for _ in 0..5 {
            let trial = carry_with(&mut simulation, |simulation, _| {
                let now = (simulation.now_ns - from_ns) as f64 / SECOND_NS as f64;
                for worker in 0..2 {
                    let is_on = (at[worker]..at[worker] + lengths[worker]).contains(&now);
                    match kinds[worker] {
                        Hardship::Kill if now >= at[worker] => simulation.kill(worker),
                        Hardship::Kill => {}
                        Hardship::Freeze => simulation.workers[worker].is_frozen = is_on,
                        Hardship::Cut => {
                            let line = if is_on { LineState::Cut } else { LineState::Whole };
                            simulation.set_line(worker, line);
                        }
                    }
                }
            });
            let is_missed = trial.records.iter().any(|record| record.lost_at == Some(trial.second));
            if trial.errors().is_empty() {
                trial.assert_is_whole();
            } else {
                prop_assert!(trial.records.iter().any(|record| record.lost_at.is_some()));
            }
            prop_assert!(!is_missed || kinds.iter().any(|kind| matches!(kind, Hardship::Kill)));
        }
        for worker in &simulation.workers {
            // Each load that a worker began it began once, and they follow one another.
            prop_assert!(worker.begun.is_sorted_by(|a, b| a < b), "{:?}", worker.begun);
            prop_assert_eq!(&worker.end, &None);
        }
    }
}
