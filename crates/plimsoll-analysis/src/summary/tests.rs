use std::time::Duration;

use plimsoll_model::broadcast::{BroadcastWindow, Sighting, Stay};
use plimsoll_model::event::{FORMAT_MAJOR, FORMAT_MINOR, Header};
use plimsoll_model::plan::{Facts, Load, LoadUnit};
use plimsoll_model::run::RunEnding;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::trial::TrialSpec;
use plimsoll_model::verdict::{FailReason, TrialVerdict};
use plimsoll_model::websocket::{WebSocketLoad, WebSocketWindow};
use plimsoll_testkit::plan::get_root;

use super::timeline::Timeline;
use super::*;
use crate::whole_run;

pub(super) fn plan(lasting: Duration) -> Plan {
    Plan {
        load: Load::Open {
            phases: vec![LoadPhase::constant(10.0, lasting)],
            spacing: Spacing::Even,
        },
        objective: Some(Objective {
            latency: vec![LatencyBound {
                quantile: 0.9,
                within_us: 500_000,
            }],
            errors_max: Some(0.05),
            ..Objective::default()
        }),
        ..get_root(([127, 0, 0, 1], 80).into())
    }
}

pub(crate) fn run(lasting: Duration) -> Run {
    Run::new(Header {
        format_major: FORMAT_MAJOR,
        format_minor: FORMAT_MINOR,
        command: "run".to_owned(),
        started_at: "2026-11-21T12:00:00Z".to_owned(),
        plan: plan(lasting),
        host: Facts::new(),
        versions: Facts::new(),
    })
}

/// A window with ten arrivals and the given good answers (µs) and failures.
fn window(second: u32, good_us: &[u64], failures: &[Outcome]) -> Window {
    let mut window = Window::new(second);
    window.offered = 10;
    for &us in good_us {
        window.response.record(us, 1);
        window.service.record(us / 2, 1);
        window.outcomes.add(Outcome::Ok);
    }
    for &outcome in failures {
        window.outcomes.add(outcome);
    }
    window
}

#[test]
fn rates_are_over_the_seconds_in_which_requests_became_due() {
    let mut run = run(Duration::from_millis(2500));
    run.windows = vec![
        window(0, &[1000; 10], &[]),
        window(1, &[1000; 10], &[]),
        window(2, &[1000; 3], &[]),
        Window {
            offered: 0,
            ..window(3, &[1_000_000; 2], &[])
        },
    ];
    run.windows[2].offered = 5;
    let summary = Summary::of(&run);
    assert!((summary.seconds - 2.5).abs() < 1e-9);
    assert!((summary.offered - 10.0).abs() < 1e-9);
    // The two answers of the drain are requests, and are not throughput.
    assert!((summary.completed - 23.0 / 2.5).abs() < 1e-9);
    assert_eq!(summary.requests, 25);
    assert_eq!(
        summary.response_us.unwrap().max,
        plimsoll_model::histogram::bucket_top(1_000_000)
    );
}

#[test]
fn the_warm_up_is_not_judged() {
    let mut run = run(Duration::from_secs(4));
    run.header.plan.warmup = Duration::from_millis(1500);
    run.windows = (0..4)
        .map(|second| window(second, &[u64::from(second + 1) * 100; 10], &[]))
        .collect();
    let summary = Summary::of(&run);
    assert_eq!(summary.requests, 20);
    assert!((summary.offered - 10.0).abs() < 1e-9);
    assert_eq!(summary.response_us.unwrap().p50, 300);
}

#[test]
fn a_failure_is_infinitely_slow_and_completes_nothing() {
    let mut run = run(Duration::from_secs(1));
    run.windows = vec![window(
        0,
        &[100_000; 8],
        &[Outcome::Timeout, Outcome::WrongStatus],
    )];
    let summary = Summary::of(&run);
    assert!((summary.completed - 9.0).abs() < 1e-9);
    let objective = summary.objective.unwrap();
    assert_eq!(
        objective.latency[0].measured_us, None,
        "rank 9 of 10 is a failure"
    );
    assert!(!objective.latency[0].holds && !objective.met);
    assert_eq!(objective.errors, Some((0.05, 0.2, false)));
}

#[test]
fn a_met_objective_agrees_with_its_quantile() {
    let mut run = run(Duration::from_secs(1));
    run.header.plan.objective.as_mut().unwrap().errors_max = Some(0.2);
    run.windows = vec![window(0, &[100_000; 9], &[Outcome::Timeout])];
    let objective = Summary::of(&run).objective.unwrap();
    let measured = objective.latency[0].measured_us.unwrap();
    assert_eq!(measured, plimsoll_model::histogram::bucket_top(100_000));
    assert!(objective.met);
}

#[test]
fn answers_fall_into_classes() {
    let mut run = run(Duration::from_secs(1));
    let good = [1_000, 799_000, 801_000, 1_199_000, 1_201_000, 9_000_000];
    run.windows = vec![window(0, &good, &[Outcome::Reset])];
    let classes = Summary::of(&run).classes;
    assert_eq!(
        (classes.fast, classes.middle, classes.slow, classes.failed),
        (2, 2, 2, 1)
    );
    assert_eq!(classes.total(), 7);
}

#[test]
fn nothing_measured_is_none_and_not_zero() {
    let summary = Summary::of(&run(Duration::from_secs(1)));
    assert_eq!(summary.response_us, None);
    assert_eq!(summary.generator, GeneratorSummary::default());
    assert_eq!(
        (summary.verdict, summary.objective, summary.requests),
        (None, None, 0)
    );
}

#[test]
fn cpu_is_shared_out_over_every_request_of_the_run() {
    let mut run = run(Duration::from_secs(2));
    run.header.plan.warmup = Duration::from_secs(1);
    run.windows = vec![window(0, &[100; 10], &[]), window(1, &[100; 10], &[])];
    run.ending = Some(RunEnding {
        verdict: Verdict::Met,
        void: vec![VoidReason::NotSteady],
        process_cpu_us: 500,
        rss_bytes_max: 4096,
    });
    let summary = Summary::of(&run);
    assert_eq!(summary.generator.cpu_us_per_request, Some(25.0));
    assert_eq!(summary.void, [VoidReason::NotSteady]);
}

fn trial(index: u32, measured: (u32, u32), verdict: TrialVerdict) -> Trial {
    Trial {
        index,
        spec: TrialSpec {
            kind: TrialKind::Refine,
            rate: 10.0,
            unit: LoadUnit::RequestsPerSecond,
            per_unit: 1.0,
            ramp_s: 0,
            warmup_s: 0,
            measure_s: measured.1 - measured.0,
            stop_early: true,
            in_flight_cap: 100,
        },
        start_second: measured.0,
        measured,
        verdict,
        requests: 10,
        bad: 0,
        errors: 0,
        throughput: 10.0,
        response_us: Percentiles::default(),
        objective_us: None,
        in_flight_mean: 0.0,
        lag_us_p99: 0,
        generator_cpu: 0.0,
        stolen_share: 0.0,
    }
}

#[test]
fn a_search_is_summed_over_the_judged_seconds_of_valid_trials() {
    let mut run = run(Duration::from_secs(100));
    run.header.command = "limit".to_owned();
    run.windows = (0..9)
        .map(|second| window(second, &[100; 10], &[]))
        .collect();
    let reason = FailReason::Latency;
    let reasons = vec![VoidReason::NotSteady];
    run.trials = vec![
        trial(0, (1, 3), TrialVerdict::Pass),
        trial(1, (4, 6), TrialVerdict::Fail { reason }),
        trial(2, (6, 9), TrialVerdict::Void { reasons }),
    ];
    let summary = Summary::of(&run);
    assert_eq!(summary.requests, 40);
    assert!((summary.seconds - 4.0).abs() < 1e-9 && (summary.offered - 10.0).abs() < 1e-9);
    assert_eq!(
        summary.objective, None,
        "a search judges trials, not their mixture"
    );
    assert_eq!(trial_classes(&run, &run.trials[2]).fast, 30);
}

#[test]
fn a_sweep_is_one_run_even_when_its_steps_are_void() {
    let mut run = run(Duration::from_secs(2));
    run.windows = vec![window(0, &[100; 10], &[]), window(1, &[100; 10], &[])];
    let reasons = vec![VoidReason::NotSteady];
    run.trials = vec![trial(0, (0, 2), TrialVerdict::Void { reasons })];
    let summary = Summary::of(&run);
    assert_eq!(summary.requests, 20);
    assert!(summary.objective.is_some());
}

#[test]
fn a_long_run_is_merged_by_counts_and_keeps_its_gaps() {
    let mut run = run(Duration::from_secs(100));
    // Nine quick answers in even seconds, one slow one in odd ones; nothing from 40 to 59.
    let seconds = (0..40).chain(60..100);
    run.windows = seconds
        .map(|second| match second % 2 {
            0 => window(second, &[1000; 9], &[]),
            _ => window(second, &[9000], &[Outcome::Timeout]),
        })
        .collect();
    let timeline = Timeline::of(&run, 10);
    assert_eq!(timeline.step_s, 10);
    let starts: Vec<u32> = timeline.points.iter().map(|point| point.second).collect();
    assert_eq!(starts, [0, 10, 20, 30, 60, 70, 80, 90]);
    let point = &timeline.points[0];
    // The mean of the seconds' medians would be 5000.
    assert_eq!(point.response_us.unwrap().p50, 1000);
    assert_eq!(
        point.response_us.unwrap().max,
        plimsoll_model::histogram::bucket_top(9000)
    );
    assert!((point.completed - 5.0).abs() < 1e-9 && (point.failed - 0.5).abs() < 1e-9);
}

/// Four WebSockets, opened within a second and held for so long.
fn held_for(hold: Duration) -> Load {
    Load::WebSockets(WebSocketLoad {
        connections: 4,
        per_second: 4.0,
        hold,
        message: None,
        timestamp: None,
        sequence: None,
        compress: false,
        is_stream: false,
        reconnect: None,
    })
}

/// Whether an objective was given or not: a load that opened nothing is no success.
#[test]
fn websockets_that_were_all_refused_are_missed() {
    let verdict = |opened: u64, refused: u64| {
        let mut run = run(Duration::from_secs(1));
        run.header.plan.objective = None;
        run.header.plan.load = held_for(Duration::from_secs(1));
        let mut window = Window::new(0);
        window.offered = opened + refused;
        window.outcomes.add_many(Outcome::Ok, opened);
        window.outcomes.add_many(Outcome::WrongStatus, refused);
        let mut websocket = WebSocketWindow {
            connected: opened,
            ..WebSocketWindow::default()
        };
        websocket.failed.insert("status 403".to_owned(), refused);
        window.websocket = Some(Box::new(websocket));
        run.windows.push(window);
        whole_run::evaluate(&run).verdict
    };
    assert_eq!(verdict(0, 4), Verdict::Missed);
    assert_eq!(verdict(1, 3), Verdict::Met);
}

/// WebSockets that are opened in second 0, and three broadcasts, each received by so many of the four.
fn broadcasts(warmup_s: u64, objective: Objective, received: u64) -> Run {
    let mut run = run(Duration::from_secs(5));
    let plan = &mut run.header.plan;
    plan.warmup = Duration::from_secs(warmup_s);
    plan.objective = Some(objective);
    plan.load = held_for(Duration::from_secs(4));
    for second in 0..5 {
        let mut window = Window::new(second);
        let mut websocket = WebSocketWindow::default();
        let mut channel = BroadcastWindow::default();
        match second {
            0 => {
                window.offered = 4;
                window.outcomes.add_many(Outcome::Ok, 4);
                window.response.record(900, 4);
                websocket.connected = 4;
                websocket.handshake.record(900, 4);
            }
            4 => {
                let stay = Stay {
                    open_us: 0,
                    close_us: 4_900_000,
                    received_any: true,
                };
                channel.stays = vec![stay; 4];
            }
            _ => {
                channel.sightings.push(Sighting {
                    id: second.into(),
                    first_us: u64::from(second) * 1_000_000 + 500_000,
                    received,
                });
                channel.latency.record(10_000, received);
            }
        }
        websocket.channels.insert(0, channel);
        window.websocket = Some(Box::new(websocket));
        run.windows.push(window);
    }
    run
}

/// No request ends behind such a warm-up. Broadcasts are judged nevertheless, and a bound on requests is not met by nothing.
#[test]
fn a_warm_up_that_has_all_handshakes_leaves_the_broadcasts() {
    let of_broadcasts = Objective {
        broadcast: vec![LatencyBound {
            quantile: 0.99,
            within_us: 500_000,
        }],
        reach_min: Some(0.99),
        ..Objective::default()
    };
    let of_requests = plan(Duration::from_secs(1)).objective.unwrap();
    let both = Objective {
        reach_min: Some(0.99),
        ..of_requests.clone()
    };
    for (warmup_s, objective, received, expected) in [
        (1, &of_broadcasts, 4, Verdict::Met),
        (1, &of_broadcasts, 3, Verdict::Missed),
        (1, &of_requests, 4, Verdict::Undecided),
        (1, &both, 4, Verdict::Undecided),
        (1, &both, 3, Verdict::Missed),
        (0, &both, 4, Verdict::Met),
    ] {
        let run = broadcasts(warmup_s, objective.clone(), received);
        let verdict = whole_run::evaluate(&run).verdict;
        assert_eq!(verdict, expected, "{warmup_s} s, {objective}, {received}");
    }
    let summary = Summary::of(&broadcasts(1, both, 4));
    assert_eq!(summary.requests, 0);
    assert_eq!(summary.websocket.unwrap().handshake_us, None);
    let result = summary.objective.unwrap();
    assert_eq!((result.latency, result.errors), (Vec::new(), None));
    assert_eq!(result.reach, Some((0.99, Some(1.0), true)));
    assert_eq!(Summary::of(&broadcasts(1, of_requests, 4)).objective, None);
}
