//! Loads that two workers carry.

use std::time::Duration;

use plimsoll_model::journey::Inputs;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::turns;
use plimsoll_workers::{Coordinator, IfLost, LoadDestination, LoadOrder, RemoteLoad, WorkersError};

use crate::support::{StartedWorker, epoch, even, options, plan};

/// Second of run time in which loads begin.
const START: u32 = 1;

fn windows(load: &mut RemoteLoad) -> Vec<Window> {
    std::iter::from_fn(|| load.next_window()).collect()
}

fn sum(windows: &[Window], count: impl Fn(&Window) -> u64) -> u64 {
    windows.iter().map(count).sum()
}

#[test]
fn two_workers_send_what_the_origin_counts() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 200.0, Duration::from_secs(2));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let workers = ["a", "b"]
        .map(|name| StartedWorker::start(coordinator.address(), coordinator.token(), name));
    assert!(coordinator.wait(|_| {}, || false).unwrap());
    let mut load = coordinator
        .start(epoch(), START, &LoadOrder::of_plan(&plan))
        .unwrap();
    let twice = coordinator.start(epoch(), START, &LoadOrder::of_plan(&plan));
    assert!(matches!(twice, Err(WorkersError::Busy)), "begun once");
    let windows = windows(&mut load);
    assert_eq!(windows[0].second, START);
    assert_eq!(sum(&windows, |window| window.offered), 400);
    assert_eq!(sum(&windows, Window::completed), 400);
    assert_eq!(
        sum(&windows, |window| window.outcomes.get(Outcome::Ok)),
        400
    );
    assert_eq!(origin.requests(), 400);
    let mut records = load.records();
    records.sort_by(|a, b| a.name.cmp(&b.name));
    for (record, name) in records.iter().zip(["a", "b"]) {
        assert_eq!((record.name.as_str(), record.lost_at), (name, None));
        assert_eq!(record.region, Some(format!("region-{name}")));
        assert_eq!((record.offered, record.requests()), (200, 200));
        assert_eq!(record.judged.count, 2);
        // Both of them have the clock of this machine.
        let error_us = i64::try_from(record.clock_error_us).unwrap();
        assert!(
            record.clock_offset_us.abs() <= error_us + 1_000,
            "{record:?}"
        );
    }
    assert!(load.used().cpu_us > 0);
    assert!(load.take_notes().is_empty());
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn two_workers_carry_one_trial_after_the_other() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 200.0, Duration::from_secs(1));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let workers = ["a", "b"]
        .map(|name| StartedWorker::start(coordinator.address(), coordinator.token(), name));
    assert!(coordinator.wait(|_| {}, || false).unwrap());
    let rates = [100.0, 40.0, 200.0];
    let mut due = 0;
    for (rate, destination) in rates.into_iter().zip([
        LoadDestination::Target,
        LoadDestination::NullServer,
        LoadDestination::Target,
    ]) {
        let order = LoadOrder {
            load: even(rate, Duration::from_secs(1)),
            destination,
            is_trial: true,
            ..LoadOrder::of_plan(&plan)
        };
        let mut load = coordinator.start(epoch(), START, &order).unwrap();
        let windows = windows(&mut load);
        let offered = sum(&windows, |window| window.offered);
        assert!((offered as f64 - rate).abs() < 0.5, "{offered}");
        assert_eq!(
            sum(&windows, |window| window.outcomes.get(Outcome::Ok)),
            offered
        );
        if destination == LoadDestination::Target {
            due += offered;
        }
        assert_eq!(origin.requests(), due, "a self-test goes nowhere else");
        let records = load.records();
        let each: Vec<u64> = records.iter().map(|record| record.offered).collect();
        assert_eq!(each, [offered / 2, offered / 2]);
        assert_eq!(load.take_loss(), None);
    }
    drop(coordinator);
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn a_worker_that_its_user_stops_ends_the_run_by_name() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_mins(10));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let [first, second] = ["a", "b"]
        .map(|name| StartedWorker::start(coordinator.address(), coordinator.token(), name));
    assert!(coordinator.wait(|_| {}, || false).unwrap());
    let mut load = coordinator
        .start(epoch(), START, &LoadOrder::of_plan(&plan))
        .unwrap();
    let begun = load.next_window().unwrap();
    assert!(begun.load_errors.is_empty());
    second.stop();
    let rest = windows(&mut load);
    let errors: Vec<&String> = rest.iter().flat_map(|window| &window.load_errors).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("worker b was lost at second "),
        "{errors:?}"
    );
    assert!(errors[0].ends_with("its user stopped it"), "{errors:?}");
    first.join().unwrap();
    assert!(matches!(second.join(), Err(WorkersError::Part(_))));
}

#[test]
fn an_abort_ends_the_load_at_once_and_loses_nothing() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_mins(10));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let workers = ["a", "b"]
        .map(|name| StartedWorker::start(coordinator.address(), coordinator.token(), name));
    assert!(coordinator.wait(|_| {}, || false).unwrap());
    let mut load = coordinator
        .start(epoch(), START, &LoadOrder::of_plan(&plan))
        .unwrap();
    let mut windows = vec![load.next_window().unwrap()];
    load.abort();
    windows.extend(std::iter::from_fn(|| load.next_window()));
    assert!(windows.iter().all(|window| window.load_errors.is_empty()));
    let ended = sum(&windows, |window| window.outcomes.get(Outcome::Ok));
    let requests: u64 = load
        .records()
        .iter()
        .map(plimsoll_model::worker::WorkerRecord::requests)
        .sum();
    assert_eq!(requests, sum(&windows, Window::completed));
    assert!(ended > 0 && ended <= origin.requests());
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn workers_that_wait_end_with_their_coordinator() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_secs(1));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let worker = StartedWorker::start(coordinator.address(), coordinator.token(), "a");
    // The user interrupts the wait when the first is ready.
    let ready = std::cell::Cell::new(false);
    let waited = coordinator.wait(
        |text| ready.set(ready.get() || text == "worker a in region-a is ready (1 of 2)"),
        || ready.get(),
    );
    assert!(!waited.unwrap());
    drop(coordinator);
    let error = worker.join().unwrap_err().to_string();
    assert!(error.contains("the run is over"), "{error}");
}

#[test]
fn a_target_that_a_worker_does_not_reach_is_named_before_the_start() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::Refuses).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_secs(1));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let worker = StartedWorker::start(coordinator.address(), coordinator.token(), "a");
    let error = coordinator.wait(|_| {}, || false).unwrap_err().to_string();
    assert!(
        error.starts_with("worker a cannot carry its part: cannot reach the target"),
        "{error}"
    );
    assert!(matches!(worker.join(), Err(WorkersError::Part(_))));
}
