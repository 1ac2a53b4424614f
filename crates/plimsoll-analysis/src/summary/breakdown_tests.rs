//! A synthetic run of two kinds of users.

use std::time::Duration;

use plimsoll_model::histogram::bucket_top;
use plimsoll_model::journey::{
    Abort, Journey, Scenario, Scope, Step, StepId, StepInfo, Threshold, UserPhase,
};
use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::run::Run;
use plimsoll_model::verdict::Verdict;
use plimsoll_model::window::{StepWindow, Window};

use super::Summary;
use super::breakdown::{Breakdown, ThresholdResult};
use super::tests::{plan, run};
use crate::whole_run;

const LOGIN: StepId = 0;
const HOME: StepId = 1;
const HOME_AGAIN: StepId = 2;
const WORK: StepId = 3;
const SAVE: StepId = 4;
const READ: StepId = 5;

fn info(label: &str, journey: u32, groups: &[&str], once: bool) -> StepInfo {
    StepInfo {
        label: label.to_owned(),
        journey,
        groups: groups.iter().map(|&name| name.to_owned()).collect(),
        once,
    }
}

fn journey(name: &str, steps: Vec<Step>) -> Journey {
    Journey {
        name: name.to_owned(),
        weight: 1.0,
        steps,
        ..Journey::default()
    }
}

fn p90(within_ms: u64) -> Objective {
    Objective {
        latency: vec![LatencyBound {
            quantile: 0.9,
            within_us: within_ms * 1000,
        }],
        errors_max: None,
        ..Objective::default()
    }
}

fn scenario() -> Scenario {
    let work = Step::Group {
        id: WORK,
        steps: Vec::new(),
    };
    Scenario {
        journeys: vec![
            journey("candidate", vec![work]),
            journey("reader", Vec::new()),
        ],
        steps: vec![
            info("POST /login", 0, &[], true),
            info("GET /home", 0, &[], false),
            info("GET /home", 0, &["work"], false),
            info("work", 0, &[], false),
            info("POST /save", 0, &["work"], false),
            info("GET /home", 1, &[], false),
        ],
        ..Scenario::default()
    }
}

fn step(good: &[(u64, u64)], failed: u64) -> StepWindow {
    let mut step = StepWindow::default();
    for &(us, count) in good {
        step.response.record(us, count);
        step.outcomes.add_many(Outcome::Ok, count);
    }
    step.outcomes.add_many(Outcome::Expectation, failed);
    step.failed.record(1000, failed);
    step.bytes_in = 100 * step.outcomes.total();
    step
}

/// Three seconds of load after one of warm-up, and one of drain; ten users, one of them never admitted.
fn users_run() -> Run {
    let mut run = run(Duration::from_secs(4));
    run.header.plan.warmup = Duration::from_secs(1);
    run.header.plan.objective = None;
    run.header.plan.load = Load::Users {
        phases: vec![UserPhase {
            from: 10.0,
            to: 10.0,
            lasting: Duration::from_secs(4),
            mix: Vec::new(),
        }],
        iterations: None,
    };
    run.header.plan.scenario = Some(scenario());
    run.windows = (0..5).map(second).collect();
    run
}

fn second(second: u32) -> Window {
    let mut window = Window::new(second);
    let drain = second == 4;
    window.users = if drain { 0 } else { 9 };
    window.users_lost = u64::from(second == 0);
    if second == 0 {
        window.steps.insert(LOGIN, step(&[(200_000, 9)], 1));
    }
    let count = if drain { 1 } else { 4 };
    window.steps.insert(HOME, step(&[(10_000, count)], 0));
    window.steps.insert(HOME_AGAIN, step(&[(30_000, count)], 0));
    window.steps.insert(WORK, step(&[(70_000, count)], 0));
    window.steps.insert(SAVE, step(&[(40_000, count)], 1));
    if !drain {
        window.steps.insert(READ, step(&[(5_000, 2)], 0));
    }
    window.in_flight_mean = 0.33;
    window.iterations = count;
    for (&id, step) in &window.steps {
        if ![LOGIN, WORK].contains(&id) {
            window.outcomes.merge(&step.outcomes);
            window.response.merge(&step.response);
            window.failed.merge(&step.failed);
            window.offered += step.outcomes.total();
        }
    }
    window
}

fn breakdown(run: &Run) -> Breakdown {
    Summary::of(run).breakdown.unwrap()
}

#[test]
fn steps_of_one_label_share_a_row_and_groups_have_their_own() {
    let breakdown = breakdown(&users_run());
    let rows: Vec<(&str, &str, bool, u64)> = breakdown
        .steps
        .iter()
        .map(|step| {
            let journey = step.journey.as_str();
            (
                step.label.as_str(),
                journey,
                step.once,
                step.metrics.samples,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("POST /login", "candidate", true, 10),
            ("GET /home", "candidate", false, 26),
            ("POST /save", "candidate", false, 17),
            ("GET /home", "reader", false, 6),
        ]
    );
    let home = &breakdown.steps[1].metrics;
    // Merged, not averaged: half of them took 10 ms and half 30 ms.
    let times = home.response_us.unwrap();
    assert_eq!((times.p50, times.p75), (bucket(10_000), bucket(30_000)));
    assert!((times.mean - 20_000.0).abs() < 300.0, "{}", times.mean);
    assert!((home.throughput - 8.0).abs() < 1e-9, "without the drain");
    assert_eq!(home.bytes, 2600);
    assert!((breakdown.steps[2].metrics.error_share() - 4.0 / 17.0).abs() < 1e-9);
    assert_eq!(breakdown.groups.len(), 1);
    assert_eq!(breakdown.groups[0].name, "work");
    assert_eq!(breakdown.groups[0].metrics.samples, 13);
}

fn bucket(us: u64) -> u64 {
    bucket_top(us)
}

#[test]
fn a_journey_holds_its_requests_and_nothing_twice() {
    let run = users_run();
    let breakdown = breakdown(&run);
    let samples: Vec<u64> = breakdown
        .journeys
        .iter()
        .map(|journey| journey.metrics.samples)
        .collect();
    assert_eq!(samples, [43, 6]);
    assert_eq!(samples.iter().sum::<u64>(), Summary::of(&run).requests);
    assert_eq!(
        breakdown.journeys[0].iterations, None,
        "two journeys share the count"
    );
}

#[test]
fn users_and_requests_belong_together() {
    let users = breakdown(&users_run()).users.unwrap();
    assert_eq!((users.max, users.lost, users.iterations), (9, 1, 13));
    assert!((users.mean - 9.0).abs() < 1e-9);
    let little = users.little.unwrap();
    // 49 requests in 3 s, and so 9/16.3 s for each of them.
    assert!((little.throughput - 49.0 / 3.0).abs() < 1e-9);
    let cycle_us = little.response_us + little.think_us;
    assert!((cycle_us - 9e6 * 3.0 / 49.0).abs() < 1.0);
    assert!((little.rate_of(9.0) - little.throughput).abs() < 1e-9);
    assert!((little.users_of(little.rate_of(1000.0)) - 1000.0).abs() < 1e-6);
    assert!((little.ratio.unwrap() - 1.0).abs() < 0.1, "{little:?}");
}

#[test]
fn users_who_gave_up_have_their_steps_and_times() {
    let mut run = users_run();
    assert!(breakdown(&run).given_up.is_empty());
    for (second, id, us, users) in [
        (0, LOGIN, 4_000_000, 1),
        (1, HOME, 2_000_000, 2),
        (2, HOME_AGAIN, 3_000_000, 3),
        (2, READ, 1_000_000, 2),
    ] {
        let window = &mut run.windows[second];
        let step = window.steps.get_mut(&id).unwrap();
        step.given_up.record(us, users);
        window.users_lost += users;
    }
    let breakdown = breakdown(&run);
    let rows: Vec<(&str, &str, bool, u64)> = breakdown
        .given_up
        .iter()
        .map(|row| {
            let (label, journey) = (row.label.as_str(), row.journey.as_str());
            (label, journey, row.once, row.users)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("GET /home", "candidate", false, 5),
            ("GET /home", "reader", false, 2),
            ("POST /login", "candidate", true, 1),
        ]
    );
    let waited = breakdown.given_up[0].waited_us;
    assert!((2_900_000..3_100_000).contains(&waited.p50), "{waited:?}");
    assert_eq!(breakdown.users_given_up(), 8);
    assert_eq!(breakdown.users.unwrap().lost, 9);
}

fn threshold_verdicts(thresholds: &[(Scope, Objective)]) -> (Verdict, Vec<Option<bool>>) {
    let mut run = users_run();
    let scenario = run.header.plan.scenario.as_mut().unwrap();
    scenario.thresholds = thresholds
        .iter()
        .map(|(scope, objective)| Threshold {
            scope: scope.clone(),
            objective: objective.clone(),
        })
        .collect();
    let results = breakdown(&run).thresholds;
    let met = results.iter().map(ThresholdResult::met).collect();
    (whole_run::evaluate(&run).verdict, met)
}

#[test]
fn a_threshold_is_judged_by_its_part_of_the_load() {
    let step = |label: &str| Scope::Step(label.to_owned());
    assert_eq!(
        threshold_verdicts(&[
            (Scope::Everything, p90(100)),
            (Scope::Journey(1), p90(6)),
            (step("GET /home"), p90(31)),
            (step("work"), p90(72)),
            (step("POST /login"), p90(210)),
        ]),
        // A failure is infinitely slow: of 49 requests 4 failed, fewer than a tenth.
        (Verdict::Met, vec![Some(true); 5])
    );
    assert_eq!(
        threshold_verdicts(&[
            (Scope::Group("work".to_owned()), p90(100)),
            (Scope::Everything, p90(100)),
        ]),
        (Verdict::Missed, vec![Some(false), Some(true)]),
        "4 of the 30 requests in the group failed"
    );
    assert_eq!(
        threshold_verdicts(&[(step("GET /never"), p90(1)), (Scope::Everything, p90(100))]),
        (Verdict::Undecided, vec![None, Some(true)])
    );
}

#[test]
fn an_abort_that_was_hit_misses_the_objective() {
    let mut run = users_run();
    run.header.plan.scenario.as_mut().unwrap().aborts = vec![Abort {
        objective: p90(1),
        over: Duration::from_secs(2),
    }];
    assert_eq!(whole_run::evaluate(&run).verdict, Verdict::Missed);
    assert_eq!(crate::aborts::first_hit(&run).unwrap().second, 2);
}

#[test]
fn a_login_that_keeps_everybody_out_is_no_success() {
    let mut run = users_run();
    for window in &mut run.windows {
        let second = window.second;
        *window = Window::new(second);
        window.users_lost = 5;
        window.steps.insert(LOGIN, step(&[], 5));
    }
    assert_eq!(whole_run::evaluate(&run).verdict, Verdict::Missed);
    for step in run
        .windows
        .iter_mut()
        .flat_map(|window| window.steps.values_mut())
    {
        step.outcomes = plimsoll_model::outcome::OutcomeCounts::default();
        step.outcomes.add_many(Outcome::ConnectRefused, 5);
    }
    assert_eq!(whole_run::evaluate(&run).verdict, Verdict::Unreachable);
}

#[test]
fn users_who_hardly_pause_have_no_moments_to_be_late_for() {
    let verdict = |sent: u64| {
        let mut run = users_run();
        for window in &mut run.windows {
            window.sent = sent;
            window.lag.record(50_000, 10);
        }
        whole_run::evaluate(&run).verdict
    };
    assert_eq!(verdict(999), Verdict::Void);
    assert_ne!(verdict(2_000), Verdict::Void);
}

#[test]
fn a_run_without_journeys_has_no_parts() {
    let mut run = users_run();
    run.header.plan = plan(Duration::from_secs(4));
    assert_eq!(Summary::of(&run).breakdown, None);
}
