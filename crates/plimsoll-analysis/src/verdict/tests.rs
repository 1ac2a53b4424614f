//! Verdicts on synthetic windows and on simulated queues.

use plimsoll_model::objective::LatencyBound;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::schedule::Spacing;
use plimsoll_model::seed::Seed;
use plimsoll_model::worker::HostUse;
use plimsoll_testkit::queue::{Distribution, SimulatedLaw, SimulatedQueue};
use plimsoll_testkit::queueing;

use super::*;

fn objective(within_us: u64) -> Objective {
    Objective {
        latency: vec![LatencyBound {
            quantile: 0.95,
            within_us,
        }],
        errors_max: Some(0.01),
        ..Objective::default()
    }
}

fn spec(kind: TrialKind, rate: f64, measure_s: u32) -> TrialSpec {
    TrialSpec {
        kind,
        rate,
        unit: LoadUnit::RequestsPerSecond,
        per_unit: 1.0,
        ramp_s: 0,
        warmup_s: 0,
        measure_s,
        stop_early: true,
        in_flight_cap: 10_000,
    }
}

#[test]
fn users_who_all_wait_are_a_load() {
    // Eight of ten judged seconds in which everybody waits for a target that has stalled.
    let users = TrialSpec {
        unit: LoadUnit::Users,
        per_unit: 0.5,
        ..spec(TrialKind::Refine, 100.0, 10)
    };
    let windows: Vec<Window> = (0..12)
        .map(|second| {
            let mut window = Window::new(second);
            window.users = if second < 10 { 100 } else { 0 };
            if second < 2 {
                window.offered = 50;
                window.response.record(10_000, 1);
                window.outcomes.add(Outcome::Ok);
            }
            window.in_flight = if second < 11 { 98 } else { 0 };
            window
        })
        .collect();
    let trial = evaluate(&users, &objective(50_000), &windows, &facts());
    assert_eq!(trial.measured, (0, 10));
}

#[test]
fn a_load_of_lost_users_was_not_there() {
    let users = TrialSpec {
        unit: LoadUnit::Users,
        ..spec(TrialKind::Refine, 100.0, 10)
    };
    let lost = |lost: u64| {
        let mut window = Window::new(0);
        window.users_lost = lost;
        too_many_lost(&users, &objective(50_000), &[window])
    };
    assert!(!lost(1) && lost(2), "one in a hundred may fail");
    let mut window = Window::new(0);
    window.users_lost = 50;
    let step = window.steps.entry(0).or_default();
    step.given_up.record(3_000_000, 49);
    let is_lost = too_many_lost(&users, &objective(50_000), &[window]);
    assert!(!is_lost, "others came for those who gave up");
    let alone = TrialSpec {
        kind: TrialKind::Single,
        ..users
    };
    let mut window = Window::new(0);
    window.users_lost = 1;
    assert!(too_many_lost(&alone, &objective(50_000), &[window]));
}

fn facts() -> TrialFacts {
    TrialFacts {
        cores: 1,
        open: true,
        ..TrialFacts::default()
    }
}

/// A second of 100 requests that all took 10 ms.
fn calm(second: u32) -> Window {
    let mut window = Window::new(second);
    window.offered = 100;
    window.response.record(10_000, 100);
    window.outcomes.add_many(Outcome::Ok, 100);
    window.lag.record(50, 100);
    window.in_flight = 1;
    window.in_flight_mean = 1.0;
    window
}

fn calm_trial(seconds: u32) -> Vec<Window> {
    let mut windows: Vec<Window> = (0..seconds).map(calm).collect();
    windows.last_mut().unwrap().in_flight = 0;
    windows
}

fn evaluate_refine(windows: &[Window], facts: &TrialFacts) -> Trial {
    let spec = spec(TrialKind::Refine, 100.0, 20);
    evaluate(&spec, &objective(50_000), windows, facts)
}

#[test]
fn a_calm_trial_passes_with_its_numbers() {
    let trial = evaluate_refine(&calm_trial(20), &facts());
    assert_eq!(trial.verdict, TrialVerdict::Pass);
    assert_eq!((trial.measured, trial.bad, trial.errors), ((0, 20), 0, 0));
    // One request in a hundred of the first second was due before it.
    assert_eq!(trial.requests, 1999);
    assert!((trial.throughput - 100.0).abs() < 1e-9);
}

#[test]
fn a_stall_in_the_last_seconds_is_seen() {
    // The last two seconds answer nothing; their 200 requests end in the first second of the drain.
    let mut windows = calm_trial(21);
    for second in [18, 19] {
        windows[second] = Window::new(u32::try_from(second).unwrap());
        windows[second].offered = 100;
        windows[second].in_flight = 100 * (second as u64 - 17);
    }
    windows[20] = Window::new(20);
    windows[20].response.record(1_500_000, 200);
    windows[20].outcomes.add_many(Outcome::Ok, 200);
    let trial = evaluate_refine(&windows, &facts());
    assert_eq!(trial.bad, 200);
    assert!(trial.verdict.is_fail(), "{:?}", trial.verdict);
}

#[test]
fn what_the_warm_up_left_behind_does_not_count() {
    // 50 requests end in the first judged second after three seconds: they were due before it.
    let mut windows = calm_trial(20);
    windows[0].response.record(3_000_000, 50);
    let answers = answers::due_since(&windows, 0);
    assert_eq!(answers.good.count_above(1_000_000), 0);
    assert_eq!(answers::due_since(&windows, 5).good.count(), 1499);
}

#[test]
fn what_is_unfinished_has_failed() {
    let mut windows = calm_trial(20);
    windows[19].in_flight = 30;
    let trial = evaluate_refine(&windows, &facts());
    assert_eq!(trial.errors, 30);
    assert_eq!(
        trial.verdict,
        TrialVerdict::Fail {
            reason: FailReason::Errors
        }
    );
}

#[test]
fn the_generators_faults_void_before_anything_fails() {
    let mut windows = calm_trial(20);
    for window in &mut windows {
        window.lag.record(40_000, 10);
        window.generator.loop_cpu_us = 900_000;
        window.response.record(900_000, 50);
    }
    windows[3].generator.ports_exhausted = 4;
    windows[4].generator.descriptors_exhausted = 2;
    let TrialVerdict::Void { reasons } = evaluate_refine(&windows, &facts()).verdict else {
        panic!("not void");
    };
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons.contains(&VoidReason::GeneratorPorts { failures: 4 }));
    // A closed loop has no lag and may use its whole core.
    let closed = TrialFacts {
        open: false,
        ..facts()
    };
    let TrialVerdict::Void { reasons } = evaluate_refine(&windows, &closed).verdict else {
        panic!("not void");
    };
    assert_eq!(reasons.len(), 2, "{reasons:?}");
}

#[test]
fn a_worker_at_fault_voids_a_trial_by_its_name() {
    let mut late = WorkerRecord {
        name: "b".to_owned(),
        loops: 1,
        ..WorkerRecord::default()
    };
    let mut window = calm(0);
    window.lag.record(40_000, 100);
    late.add(&window, HostUse::default(), true);
    let facts = TrialFacts {
        workers: vec![WorkerRecord::default(), late],
        ..facts()
    };
    let TrialVerdict::Void { reasons } = evaluate_refine(&calm_trial(20), &facts).verdict else {
        panic!("not void");
    };
    assert!(
        matches!(&reasons[..], [VoidReason::Worker { name, .. }] if name == "b"),
        "{reasons:?}"
    );
}

#[test]
fn a_pass_on_too_few_requests_is_void() {
    let few = spec(TrialKind::Refine, 100.0, 1);
    let trial = evaluate(&few, &objective(50_000), &calm_trial(1), &facts());
    let TrialVerdict::Void { reasons } = trial.verdict else {
        panic!("not void");
    };
    assert!(matches!(
        reasons[..],
        [VoidReason::TooFewRequests {
            requests: 99,
            needed: 200
        }]
    ));
}

#[test]
fn numbers_that_break_littles_law_are_void() {
    let mut windows = calm_trial(20);
    for window in &mut windows {
        window.in_flight_mean = 1.4;
    }
    let TrialVerdict::Void { reasons } = evaluate_refine(&windows, &facts()).verdict else {
        panic!("not void");
    };
    assert!(
        matches!(reasons[..], [VoidReason::LittlesLaw { ratio }] if (ratio - 1.4).abs() < 0.01)
    );
}

#[test]
fn in_flight_beyond_the_cap_and_a_backlog_fail() {
    let mut windows = calm_trial(20);
    windows[7].in_flight = 10_001;
    let cap = TrialVerdict::Fail {
        reason: FailReason::InFlightCap,
    };
    assert_eq!(evaluate_refine(&windows, &facts()).verdict, cap);
    // 3 % more each second than is answered: far from the bound within the trial, and never to come back.
    let mut windows = calm_trial(20);
    for (second, window) in windows.iter_mut().enumerate() {
        window.in_flight_mean = 1.0 + 3.0 * second as f64;
    }
    let backlog = TrialVerdict::Fail {
        reason: FailReason::Backlog,
    };
    assert_eq!(evaluate_refine(&windows, &facts()).verdict, backlog);
}

/// A quarter of the seconds with a fifth of the machine stolen, while three fifths were busy: a quarter of the demand.
fn robbed() -> TrialFacts {
    let share = |second: u32| if second < 5 { 0.2 } else { 0.0 };
    TrialFacts {
        steal: (0..20).map(share).collect(),
        busy: vec![0.6; 20],
        ..facts()
    }
}

#[test]
fn what_passes_on_a_robbed_machine_has_passed() {
    let trial = evaluate_refine(&calm_trial(20), &robbed());
    assert_eq!(trial.verdict, TrialVerdict::Pass);
    assert!((trial.stolen_share - 0.25).abs() < 1e-9, "{trial:?}");
    assert!(evaluate_refine(&calm_trial(20), &facts()).stolen_share < 1e-9);
}

#[test]
fn what_fails_on_a_robbed_machine_counts_in_the_search_only() {
    let mut windows = calm_trial(20);
    for window in &mut windows {
        window.response.record(900_000, 50);
    }
    let verdict = |kind: TrialKind, facts: &TrialFacts| {
        evaluate(&spec(kind, 100.0, 20), &objective(50_000), &windows, facts).verdict
    };
    let stolen = TrialVerdict::Void {
        reasons: vec![VoidReason::Steal {
            seconds_share: 0.25,
        }],
    };
    let failed = TrialVerdict::Fail {
        reason: FailReason::Latency,
    };
    assert_eq!(verdict(TrialKind::Refine, &robbed()), failed);
    assert_eq!(verdict(TrialKind::Confirm, &robbed()), stolen);
    assert_eq!(verdict(TrialKind::Gate, &robbed()), stolen);
    let mostly = TrialFacts {
        busy: vec![0.1; 20],
        ..robbed()
    };
    assert_eq!(verdict(TrialKind::Refine, &mostly), stolen);
}

/// In a quarter of the seconds the browsers use a tenth of a machine that is `busy`.
fn visited(busy: f64) -> TrialFacts {
    let share = |second: u32| if second < 5 { 0.1 } else { 0.0 };
    TrialFacts {
        browsers: (0..20).map(share).collect(),
        busy: vec![busy; 20],
        ..facts()
    }
}

#[test]
fn browsers_that_take_what_others_need_void_a_failure() {
    let mut slow = calm_trial(20);
    for window in &mut slow {
        window.response.record(900_000, 50);
    }
    let verdict = |kind: TrialKind, windows: &[Window], facts: &TrialFacts| {
        evaluate(&spec(kind, 100.0, 20), &objective(50_000), windows, facts).verdict
    };
    let void = TrialVerdict::Void {
        reasons: vec![VoidReason::BrowserCpu {
            seconds_share: 0.25,
        }],
    };
    let failed = TrialVerdict::Fail {
        reason: FailReason::Latency,
    };
    assert_eq!(verdict(TrialKind::Refine, &slow, &visited(0.9)), void);
    // There was CPU to spare.
    assert_eq!(verdict(TrialKind::Refine, &slow, &visited(0.8)), failed);
    let calm = calm_trial(20);
    let passed = verdict(TrialKind::Refine, &calm, &visited(0.9));
    assert_eq!(passed, TrialVerdict::Pass);
    // The numbers of a plain run are its result, whether they are good or bad.
    assert_eq!(verdict(TrialKind::Noise, &calm, &visited(0.9)), void);
    let text = match void {
        TrialVerdict::Void { reasons } => reasons[0].to_string(),
        _ => String::new(),
    };
    assert!(text.contains("in 25 % of the seconds"), "{text}");
}

#[test]
fn a_certain_failure_is_certain_before_the_end() {
    let spec = spec(TrialKind::Confirm, 100.0, 20);
    let objective = objective(50_000);
    // 2,000 requests and three standard deviations more: 2,134, of which 106.7 may be bad.
    let mut windows = calm_trial(4);
    windows[2].response.record(60_000, 106);
    assert_eq!(early(&spec, &objective, &windows), None);
    windows[3].response.record(60_000, 1);
    assert_eq!(
        early(&spec, &objective, &windows),
        Some(FailReason::Latency)
    );
    let refine = TrialSpec {
        kind: TrialKind::Refine,
        ..spec
    };
    assert_eq!(early(&refine, &objective, &windows), None);
    windows[3].response.record(60_000, 120);
    assert_eq!(
        early(&refine, &objective, &windows),
        Some(FailReason::Latency)
    );
}

#[test]
fn a_calm_queue_is_well_after_its_backlog_is_gone() {
    let law = SimulatedLaw {
        servers: 1,
        service: Distribution::Deterministic,
        mean_s: 0.01,
    };
    let mut queue = SimulatedQueue::new(law, Spacing::Poisson, Seed(5));
    // 200/s for 20 s leave 2,000 requests; ten seconds of drain serve half of them.
    queue.run(&spec(TrialKind::Bracket, 200.0, 20), |_| false);
    let objective = objective(50_000);
    let windows = queue.run(&spec(TrialKind::Recovery, 40.0, 60), |so_far| {
        recovered(so_far, 0.6, &objective).is_some()
    });
    // 1,000 requests take ten seconds, and those that came meanwhile some more.
    let seconds = recovered(&windows, 0.6, &objective).unwrap();
    assert!((10..=25).contains(&seconds), "{seconds} s");
}

/// The share of bad requests in trials follows the law: long trials, so that chance is small.
#[test]
fn the_share_of_bad_requests_is_that_of_the_law() {
    let (rate, mean_s) = (70.0, 0.01);
    let law = SimulatedLaw {
        servers: 1,
        service: Distribution::Exponential,
        mean_s,
    };
    let mut queue = SimulatedQueue::new(law, Spacing::Poisson, Seed(6));
    let long = TrialSpec {
        warmup_s: 10,
        stop_early: false,
        ..spec(TrialKind::Noise, rate, 20_000)
    };
    let windows = queue.run(&long, |_| false);
    let trial = evaluate(&long, &objective(100_000), &windows, &facts());
    let expected = queueing::response_above(1, rate, mean_s, 0.1);
    let share = trial.bad as f64 / trial.requests as f64;
    // About 30,000 independent stretches, one in twenty bad: a relative standard deviation of 2.4 %.
    assert!((share / expected - 1.0).abs() < 0.07, "{share} {expected}");
    let offered = rate * 20_000.0;
    assert!((trial.requests as f64 / offered - 1.0).abs() < 0.01);
}

/// Ten messages for one subscriber, nine of them received, late.
fn broadcast_window(second: u32) -> Window {
    use plimsoll_model::broadcast::{BroadcastWindow, Sighting, Stay};
    let mut channel = BroadcastWindow::default();
    for id in 0..10 {
        channel.sightings.push(Sighting {
            id,
            first_us: 5_000_000 + id,
            received: u64::from(id > 0),
        });
    }
    channel.stays.push(Stay {
        open_us: 0,
        close_us: 10_000_000,
        received_any: true,
    });
    channel.latency.record(400_000, 9);
    let mut window = Window::new(second);
    let websocket = window.websocket.get_or_insert_default();
    websocket.channels.insert(3, channel);
    window
}

#[test]
fn broadcasts_break_a_trial_by_what_was_measured() {
    let windows = [broadcast_window(5)];
    let broken = |text: &str| {
        let (reach, latency) = match text {
            "reach" => (Some(0.95), Vec::new()),
            "latency" => (None, vec![(0.99, 300_000)]),
            _ => (Some(0.85), vec![(0.99, 500_000)]),
        };
        let broadcast = latency
            .into_iter()
            .map(|(quantile, within_us)| LatencyBound {
                quantile,
                within_us,
            });
        let objective = Objective {
            broadcast: broadcast.collect(),
            reach_min: reach,
            ..Objective::default()
        };
        let nothing = [Window::new(5)];
        assert!(!super::broadcasts_break(&objective, &nothing, &nothing));
        super::broadcasts_break(&objective, &windows, &windows)
    };
    assert!(broken("reach") && broken("latency") && !broken("neither"));
}
