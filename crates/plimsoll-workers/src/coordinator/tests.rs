mod fewer;
mod simulation;
mod trials;

use proptest::prelude::*;

use super::*;
use crate::message::Join;
use crate::worker::{self, WorkerEnd};
use simulation::{LineState, START_SECOND, Simulation, join, order, second_of, settings};

// A worker stops before it counts as lost.
const _: () = assert!(worker::SILENCE_MAX_NS < SILENCE_MAX_NS);

/// Seconds of the loads that are simulated.
const LASTING: u32 = 10;

/// Runs until everything that can happen has happened.
fn finish(simulation: &mut Simulation) {
    simulation.run_to(f64::from(LASTING) + 12.0);
    assert!(simulation.coordinator.is_over());
}

/// What was merged is what the workers delivered: every second up to its end or its loss, once.
fn assert_nothing_is_lost_or_counted_twice(simulation: &Simulation) -> Vec<WorkerRecord> {
    let records = simulation.coordinator.records();
    let mut expected: BTreeMap<u32, Window> = BTreeMap::new();
    for (part, record) in (0..).zip(&records) {
        let end = record.lost_at.unwrap_or(START_SECOND + LASTING);
        let mut offered = 0;
        for second in START_SECOND..end {
            let window = second_of(part, second);
            offered += window.offered;
            let sum = expected
                .entry(second)
                .or_insert_with(|| Window::new(second));
            sum.merge(&window);
        }
        assert_eq!(record.offered, offered, "{record:?}");
        let worker = &simulation.workers[usize::try_from(part).unwrap()];
        assert_eq!(worker.begun_ns.len(), 1, "a part is begun once");
    }
    let mut merged = simulation.merged.clone();
    for window in &mut merged {
        window.load_errors.clear();
    }
    // Without results, a window has errors alone.
    merged.retain(|window| *window != Window::new(window.second));
    assert_eq!(merged, expected.into_values().collect::<Vec<_>>());
    records
}

fn load_errors(simulation: &Simulation) -> Vec<String> {
    let windows = simulation.merged.iter();
    windows
        .flat_map(|window| window.load_errors.clone())
        .collect()
}

#[test]
fn workers_begin_together_though_their_clocks_differ() {
    let mut simulation = Simulation::started(4, IfLost::Void, LASTING);
    finish(&mut simulation);
    for skew_ns in simulation.skews_ns() {
        assert!(skew_ns <= 5_000_000, "{skew_ns}");
    }
    let records = assert_nothing_is_lost_or_counted_twice(&simulation);
    let names: Vec<&str> = records.iter().map(|record| record.name.as_str()).collect();
    assert_eq!(names, ["host", "host-2", "host-3", "host-4"]);
    for (part, record) in (0..).zip(&records) {
        assert_eq!(record.lost_at, None);
        assert_eq!(record.judged.count, LASTING - 1, "the first is a warm-up");
        let off_us = record.clock_offset_us - (part * 333_000 - 500_000);
        let error_us = i64::try_from(record.clock_error_us).unwrap();
        assert!(off_us.abs() <= error_us && error_us <= 5_000, "{record:?}");
        assert!(record.clock_drift_us.abs() <= error_us, "{record:?}");
    }
    assert_eq!(load_errors(&simulation), [""; 0]);
    let ends = simulation.workers.iter().map(|worker| &worker.end);
    assert!(ends.eq([&Some(WorkerEnd::Done); 4]));
}

#[test]
fn a_killed_worker_voids_the_run_and_its_whole_seconds_count() {
    let mut simulation = Simulation::started(3, IfLost::Void, LASTING);
    simulation.run_to(2.5);
    simulation.kill(1);
    finish(&mut simulation);
    let errors = load_errors(&simulation);
    let expected = format!(
        "worker host-2 was lost at second {}: silent for 5 s",
        START_SECOND + 2
    );
    assert_eq!(errors, [expected]);
    // The load was stopped everywhere when the worker had been silent for five seconds.
    for at in [0, 2] {
        let aborted_ns = simulation.workers[at].aborted_ns.unwrap();
        let records = simulation.coordinator.records();
        assert_eq!(simulation.workers[at].end, Some(WorkerEnd::Done));
        assert!(
            records[at].offered < u64::from(LASTING) * 10,
            "{aborted_ns}"
        );
    }
    assert_eq!(
        simulation.coordinator.records()[1].lost_at,
        Some(START_SECOND + 2)
    );
}

#[test]
fn a_run_may_go_on_without_a_worker() {
    let mut simulation = Simulation::started(3, IfLost::Continue, LASTING);
    simulation.run_to(2.5);
    simulation.kill(1);
    finish(&mut simulation);
    let records = assert_nothing_is_lost_or_counted_twice(&simulation);
    assert_eq!(records[1].lost_at, Some(START_SECOND + 2));
    assert_eq!(load_errors(&simulation), [""; 0]);
    let notes = simulation.coordinator.take_notes();
    assert!(
        notes[0].ends_with("silent for 5 s; the others went on"),
        "{notes:?}"
    );
    // Its part is nobody else's, though there is a worker for it.
    let id = simulation.coordinator.connected(simulation.now_ns);
    let late = ToCoordinator::Join(join(77, "late"));
    simulation.coordinator.received(id, late, simulation.now_ns);
    assert!(refusal(&mut simulation.coordinator, id).contains("the load has begun"));
}

#[test]
fn a_run_that_lost_all_its_workers_is_void_in_any_case() {
    let mut simulation = Simulation::started(2, IfLost::Continue, LASTING);
    simulation.run_to(1.5);
    simulation.kill(0);
    simulation.kill(1);
    finish(&mut simulation);
    assert_eq!(load_errors(&simulation).len(), 1);
}

#[test]
fn three_seconds_without_a_line_or_a_process_lose_nothing() {
    for freezes in [false, true] {
        let mut simulation = Simulation::started(3, IfLost::Void, LASTING);
        simulation.run_to(2.2);
        if freezes {
            simulation.workers[2].is_frozen = true;
        } else {
            simulation.set_line(2, LineState::Cut);
        }
        simulation.run_to(5.2);
        simulation.workers[2].is_frozen = false;
        simulation.set_line(2, LineState::Whole);
        finish(&mut simulation);
        let records = assert_nothing_is_lost_or_counted_twice(&simulation);
        assert_eq!(records[2].lost_at, None);
        assert_eq!(load_errors(&simulation), [""; 0]);
    }
}

#[test]
fn a_line_that_stays_cut_stops_the_worker_before_it_counts_as_lost() {
    let mut simulation = Simulation::started(2, IfLost::Continue, LASTING);
    simulation.run_to(2.2);
    simulation.set_line(0, LineState::Cut);
    simulation.run_to(2.2 + 4.9);
    let aborted_ns = simulation.workers[0].aborted_ns.unwrap();
    assert!(matches!(
        simulation.workers[0].end,
        Some(WorkerEnd::Silent(_))
    ));
    finish(&mut simulation);
    assert!(simulation.workers[0].aborted_ns == Some(aborted_ns));
    let records = assert_nothing_is_lost_or_counted_twice(&simulation);
    assert_eq!(records[0].lost_at, Some(START_SECOND + 2));
}

#[test]
fn workers_of_a_dead_coordinator_stop_within_five_seconds() {
    let mut simulation = Simulation::started(3, IfLost::Void, LASTING);
    simulation.run_to(2.2);
    simulation.kill_coordinator();
    let killed_ns = simulation.now_ns;
    simulation.run_for(5.0);
    for worker in &simulation.workers {
        let aborted_ns = worker.aborted_ns.unwrap();
        assert!(aborted_ns - killed_ns < 5 * SECOND_NS);
        assert!(
            matches!(worker.end, Some(WorkerEnd::Silent(_))),
            "{worker:?}"
        );
    }
}

#[test]
fn an_abort_of_the_user_reaches_all() {
    let mut simulation = Simulation::started(2, IfLost::Void, LASTING);
    simulation.run_to(3.5);
    simulation.coordinator.abort();
    simulation.run_for(2.0);
    assert!(simulation.coordinator.is_over());
    assert_eq!(simulation.merged.len(), 3);
    assert_eq!(load_errors(&simulation), [""; 0]);
}

/// Why a connection is ended.
fn refusal(coordinator: &mut CoordinatorState, id: ConnectionId) -> String {
    let outgoing = coordinator.take_outgoing(id, 0);
    assert!(outgoing.is_last, "{outgoing:?}");
    match &outgoing.messages[..] {
        [ToWorker::Refused { reason }] => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_joins_twice_late_or_from_nowhere_is_refused() {
    let mut coordinator = CoordinatorState::new(settings(2, IfLost::Void));
    let joins = |coordinator: &mut CoordinatorState, join: Join| {
        let id = coordinator.connected(0);
        coordinator.received(id, ToCoordinator::Join(join), 0);
        id
    };
    let first = joins(&mut coordinator, join(1, "a"));
    assert!(!coordinator.take_outgoing(first, 0).is_last);
    let twice = joins(&mut coordinator, join(1, "a"));
    assert!(refusal(&mut coordinator, twice).contains("joined already"));
    let unknown = Join {
        resumes: true,
        ..join(9, "a")
    };
    let unknown = joins(&mut coordinator, unknown);
    assert!(refusal(&mut coordinator, unknown).contains("away for too long"));
    joins(&mut coordinator, join(2, "a"));
    assert_eq!(coordinator.joined(), 2);
    let third = joins(&mut coordinator, join(3, "a"));
    assert!(refusal(&mut coordinator, third).contains("all 2 workers"));
    let silent = coordinator.connected(0);
    coordinator.received(silent, ToCoordinator::Ready, 0);
    assert!(refusal(&mut coordinator, silent).contains("joins first"));
    let idle = coordinator.connected(0);
    assert!(!coordinator.take_outgoing(idle, JOIN_WITHIN_NS).is_last);
    assert!(coordinator.take_outgoing(idle, JOIN_WITHIN_NS + 1).is_last);
}

#[test]
fn a_worker_that_leaves_before_the_start_makes_room() {
    let mut simulation = Simulation::new(2, IfLost::Void, LASTING);
    simulation.run_for(1.0);
    assert!(simulation.coordinator.is_ready());
    simulation.kill(0);
    simulation.run_for(5.5);
    assert!(!simulation.coordinator.is_ready());
    assert_eq!(simulation.coordinator.joined(), 1);
    let news = simulation.coordinator.take_news();
    assert!(
        news.iter().any(|text| text.contains("host left before")),
        "{news:?}"
    );
    let error = simulation
        .coordinator
        .start((0, START_SECOND), &order(false))
        .unwrap_err();
    assert!(matches!(error, WorkersError::Left));
}

#[test]
fn a_worker_that_cannot_carry_its_part_ends_the_wait_by_name() {
    let mut coordinator = CoordinatorState::new(settings(1, IfLost::Void));
    let id = coordinator.connected(0);
    coordinator.received(id, ToCoordinator::Join(join(1, "a\u{7}b")), 0);
    let failed = ToCoordinator::Failed {
        error: format!("cannot reach\n{}", "x".repeat(10_000)),
    };
    coordinator.received(id, failed, 0);
    let problem = coordinator.problem().unwrap().to_string();
    assert!(
        problem.starts_with("worker a_b cannot carry its part: cannot reach x"),
        "{problem}"
    );
    assert!(problem.len() < 600);
}

/// What happens to a worker, and how long.
#[derive(Clone, Copy, Debug)]
enum Hardship {
    Kill,
    Freeze,
    Cut,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_happens_to_workers_nothing_received_is_lost(
        at in prop::collection::vec(0.0_f64..9.0, 2),
        lengths in prop::collection::vec(0.1_f64..3.5, 2),
        kinds in prop::collection::vec(
            prop_oneof![Just(Hardship::Kill), Just(Hardship::Freeze), Just(Hardship::Cut)],
            2,
        ),
    ) {
        let mut simulation = Simulation::started(3, IfLost::Continue, LASTING);
        let mut moments: Vec<(f64, usize, bool)> = Vec::new();
        for (worker, (begin, length)) in at.iter().zip(&lengths).enumerate() {
            moments.push((*begin, worker, true));
            moments.push((begin + length, worker, false));
        }
        moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (moment, worker, begins) in moments {
            simulation.run_to(moment);
            match kinds[worker] {
                Hardship::Kill if begins => simulation.kill(worker),
                Hardship::Kill => {}
                Hardship::Freeze => simulation.workers[worker].is_frozen = begins,
                Hardship::Cut => {
                    simulation.set_line(worker, if begins { LineState::Cut } else { LineState::Whole });
                }
            }
        }
        finish(&mut simulation);
        let records = assert_nothing_is_lost_or_counted_twice(&simulation);
        for (record, kind) in records.iter().zip(&kinds) {
            prop_assert_eq!(record.lost_at.is_some(), matches!(kind, Hardship::Kill), "{:?}", record);
        }
        prop_assert!(load_errors(&simulation).is_empty());
    }
}
