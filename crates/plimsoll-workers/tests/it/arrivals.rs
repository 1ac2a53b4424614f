//! Workers that do not come, and regions with different parts of a load.

use std::cell::RefCell;
use std::time::Duration;

use plimsoll_model::journey::Inputs;
use plimsoll_model::load_hosts::RegionShare;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::turns;
use plimsoll_workers::{
    Coordinator, IfLost, LoadOrder, WaitControl, WaitHooks, WaitLimits, WaitOutcome, WorkersError,
};

use crate::support::{StartedWorker, epoch, options, plan};

fn share(region: &str, permille: u32) -> RegionShare {
    RegionShare {
        region: region.to_owned(),
        permille,
    }
}

#[test]
fn regions_send_their_parts_of_a_load() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_secs(2));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    coordinator.share_by_region(vec![share("region-a", 700), share("region-b", 300)]);
    let workers = ["a", "b"]
        .map(|name| StartedWorker::start(coordinator.address(), coordinator.token(), name));
    assert!(coordinator.wait(|_| {}, || false).unwrap());
    assert_eq!(coordinator.loops().unwrap(), 10);
    let mut load = coordinator
        .start(epoch(), 1, &LoadOrder::of_plan(&plan))
        .unwrap();
    let windows: Vec<_> = std::iter::from_fn(|| load.next_window()).collect();
    let offered: u64 = windows.iter().map(|window| window.offered).sum();
    assert_eq!((offered, origin.requests()), (200, 200));
    let mut records = load.records();
    records.sort_by(|a, b| a.name.cmp(&b.name));
    let parts: Vec<(u64, u32)> = records
        .iter()
        .map(|record| (record.offered, record.loops))
        .collect();
    assert_eq!(parts, [(140, 7), (60, 3)]);
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn a_region_without_workers_is_named_before_the_load() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_secs(2));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    coordinator.share_by_region(vec![
        share("region-a", 500),
        share("region-b", 300),
        share("region-c", 200),
    ]);
    let workers = ["a", "b"]
        .map(|name| StartedWorker::start(coordinator.address(), coordinator.token(), name));
    assert!(coordinator.wait(|_| {}, || false).unwrap());
    for error in [
        coordinator.loops().unwrap_err(),
        coordinator
            .start(epoch(), 1, &LoadOrder::of_plan(&plan))
            .unwrap_err(),
    ] {
        assert!(
            error
                .to_string()
                .contains("no worker is in the region region-c"),
            "{error}"
        );
    }
    drop(coordinator);
    for worker in workers {
        assert!(worker.join().is_err());
    }
}

#[test]
fn a_load_begins_with_fewer_where_that_is_allowed() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_secs(2));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let worker = StartedWorker::start(coordinator.address(), coordinator.token(), "a");
    let limits = WaitLimits {
        at_least: Some(1),
        ..WaitLimits::default()
    };
    let arrival = coordinator.wait_for(
        limits,
        &WaitHooks {
            report: &|_| {},
            // The other one will not come, and the first may take its time.
            control: &|_| WaitControl::Continue { lost: 1 },
            missing: &|_| Vec::new(),
        },
    );
    assert_eq!(arrival.unwrap(), WaitOutcome::Fewer(1));
    let late = StartedWorker::start(coordinator.address(), coordinator.token(), "b");
    let error = late.join().unwrap_err().to_string();
    assert!(error.contains("all 1 workers have joined"), "{error}");
    assert_eq!(coordinator.loops().unwrap(), 1);
    let mut load = coordinator
        .start(epoch(), 1, &LoadOrder::of_plan(&plan))
        .unwrap();
    let windows: Vec<_> = std::iter::from_fn(|| load.next_window()).collect();
    // The whole load, and not its half.
    let offered: u64 = windows.iter().map(|window| window.offered).sum();
    assert_eq!((offered, origin.requests()), (200, 200));
    assert_eq!(load.records().len(), 1);
    let notes = load.take_notes();
    assert!(
        notes[0].starts_with("the load began with 1 of 2 workers"),
        "{notes:?}"
    );
    worker.join().unwrap();
}

#[test]
fn a_wait_ends_with_the_names_of_those_who_are_missing() {
    let _turn = turns::held_or_shared();
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_secs(2));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    let news = RefCell::new(Vec::new());
    let wait = |limits: WaitLimits, lost: u32| {
        coordinator.wait_for(
            limits,
            &WaitHooks {
                report: &|text| news.borrow_mut().push(text.to_owned()),
                control: &|_| WaitControl::Continue { lost },
                missing: &|_| vec!["eu1 (ssh ended)".to_owned()],
            },
        )
    };
    let of = |error: &WorkersError| {
        assert!(matches!(error, WorkersError::Missing { .. }), "{error}");
        error.to_string()
    };
    // One that will not come ends it at once: all are wanted.
    let text = of(&wait(WaitLimits::default(), 1).unwrap_err());
    assert!(
        text.starts_with("0 of 2 workers were ready after 0 s; missing: eu1 (ssh ended);"),
        "{text}"
    );
    assert!(text.contains("--allow-fewer"), "{text}");
    // Nobody is there when the time is over.
    let limits = WaitLimits {
        within: Duration::ZERO,
        at_least: Some(1),
    };
    of(&wait(limits, 0).unwrap_err());
    // None of them will come.
    let limits = WaitLimits {
        at_least: Some(1),
        ..WaitLimits::default()
    };
    of(&wait(limits, 2).unwrap_err());
    assert!(news.borrow().is_empty(), "{news:?}");
}
