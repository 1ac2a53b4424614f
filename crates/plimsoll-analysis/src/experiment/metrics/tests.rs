use std::time::Duration;

use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::reading::{Readings, SeriesInfo, SeriesKind};
use plimsoll_model::run::RunEnding;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::VoidReason;
use plimsoll_model::window::Window;
use rand::RngExt as _;

use super::*;

/// Requests per second of the runs here.
pub(crate) const RATE: u32 = 200;

/// A plain run with `RATE` requests in each second, whose response times, ms, `time` draws by second from a uniform
/// number.
pub(crate) fn run_of(seconds: u32, seed: u64, time: impl Fn(u32, f64) -> f64) -> Run {
    let mut run = crate::summary::tests::run(Duration::from_secs(u64::from(seconds)));
    run.header.plan.load = Load::Open {
        phases: vec![LoadPhase::constant(
            f64::from(RATE),
            Duration::from_secs(u64::from(seconds)),
        )],
        spacing: Spacing::Even,
    };
    let mut random = Seed(seed).derive(7).generator();
    for second in 0..seconds {
        let mut window = Window::new(second);
        window.offered = u64::from(RATE);
        for _ in 0..RATE {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "times of tests are positive and short"
            )]
            let us = (time(second, random.random::<f64>()) * 1e3) as u64;
            window.response.record(us, 1);
            window.service.record(us, 1);
        }
        window.outcomes.add_many(Outcome::Ok, u64::from(RATE));
        run.windows.push(window);
    }
    run.ending = Some(ending(Verdict::Met));
    run
}

/// Exponential response times with this mean.
pub(crate) fn exponential(mean_ms: f64) -> impl Fn(u32, f64) -> f64 {
    move |_, uniform| -mean_ms * (1.0 - uniform).ln()
}

pub(crate) fn ending(verdict: Verdict) -> RunEnding {
    RunEnding {
        verdict,
        void: Vec::new(),
        process_cpu_us: 0,
        rss_bytes_max: 0,
    }
}

fn read(run: &mut Run, second: u32, values: &[(String, f64)]) {
    let info = |_: &String| SeriesInfo {
        kind: SeriesKind::Delta,
        unit: "s".to_owned(),
    };
    run.readings.push(&Readings {
        second,
        values: values.iter().cloned().collect(),
        new_series: values
            .iter()
            .map(|(name, _)| (name.clone(), info(name)))
            .collect(),
    });
}

#[test]
fn quantiles_of_an_exponential_law() {
    let metrics = RunMetrics::of(&run_of(100, 1, exponential(10.0)));
    assert_eq!(metrics.validity(), &Validity::Valid);
    for (name, law, share) in [
        (MEAN, 10.0, 0.03),
        (SD, 10.0, 0.04),
        (P50, 10.0 * 2.0_f64.ln(), 0.03),
        (P95, 10.0 * 20.0_f64.ln(), 0.04),
        (P99, 10.0 * 100.0_f64.ln(), 0.06),
        (THROUGHPUT, 200.0, 1e-9),
        (REQUESTS, 20_000.0, 1e-9),
    ] {
        let value = metrics.value(name).unwrap();
        assert!((value / law - 1.0).abs() < share, "{name}: {value}, {law}");
    }
    assert_eq!(metrics.value(ERRORS), Some(0.0));
    assert_eq!(metrics.value("failed_p50"), None);
    assert_eq!(metrics.value(LOAD_LINE), None);
}

#[test]
fn failures_are_apart_from_good_answers() {
    let mut run = run_of(10, 1, |_, _| 5.0);
    for window in &mut run.windows {
        window.outcomes.add_many(Outcome::Timeout, 50);
        window.failed.record(1_000_000, 50);
    }
    let metrics = RunMetrics::of(&run);
    assert_eq!(metrics.value(ERRORS), Some(0.2));
    let near = |name: &str, law: f64| (metrics.value(name).unwrap() / law - 1.0).abs() < 2e-3;
    assert!(near(P95, 5.0) && near("all_p95", 1000.0) && near("failed_p50", 1000.0));
    assert_eq!(metrics.value(FAST), Some(2000.0));
}

#[test]
fn cpu_and_memory_by_process() {
    let mut run = run_of(10, 1, |_, _| 5.0);
    let of = |metric: &str, process: &str| labels::series(metric, &[("process", process)]);
    let mode = |process: &str, mode: &str| {
        let labels = [("process", process), ("cpu.mode", mode)];
        labels::series(metric::PROCESS_CPU_TIME, &labels)
    };
    for second in 0..10 {
        let mut values = vec![(of(metric::PROCESS_MEMORY, metric::TARGET), 1e8)];
        for (process, cpu_s) in [
            (metric::TARGET, 0.2),
            (metric::BEHIND, 0.1),
            (metric::GENERATOR, 0.9),
        ] {
            values.push((mode(process, "user"), cpu_s * 0.75));
            values.push((mode(process, "system"), cpu_s * 0.25));
        }
        read(&mut run, second, &values);
    }
    let metrics = RunMetrics::of(&run);
    assert!((metrics.value(CPU_PER_REQUEST).unwrap() - 1.0).abs() < 1e-9);
    assert!((metrics.value("cpu_per_request{process=behind}").unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(metrics.value("cpu_per_request{process=generator}"), None);
    assert_eq!(metrics.value(MEMORY), Some(1e8));
}

#[test]
fn readings_of_less_than_half_of_the_seconds_are_no_metric() {
    let mut run = run_of(10, 1, |_, _| 5.0);
    let name = labels::series(metric::PROCESS_MEMORY, &[("process", metric::TARGET)]);
    for second in 0..4 {
        read(&mut run, second, &[(name.clone(), 1e8)]);
    }
    assert_eq!(RunMetrics::of(&run).value(MEMORY), None);
}

#[test]
fn endings_decide_on_validity() {
    let validity = |change: fn(&mut Run)| {
        let mut run = run_of(6, 1, |_, _| 5.0);
        change(&mut run);
        RunMetrics::of(&run)
    };
    let cut = validity(|run| run.ending = None);
    assert_eq!(cut.outcome(), TrialOutcome::Void);
    let void = validity(|run| {
        run.ending = Some(ending(Verdict::Void));
        run.ending.as_mut().unwrap().void = vec![VoidReason::NotSteady];
    });
    assert!(matches!(void.validity(), Validity::Void(reasons) if reasons.len() == 1));
    let unreachable = validity(|run| run.ending = Some(ending(Verdict::Unreachable)));
    assert_eq!(unreachable.outcome(), TrialOutcome::Failed);
    let empty = validity(|run| run.windows.clear());
    assert_eq!(empty.outcome(), TrialOutcome::Void);
    let all_failed = validity(|run| {
        for window in &mut run.windows {
            window.response = plimsoll_model::histogram::Histogram::new();
            window.outcomes = plimsoll_model::outcome::OutcomeCounts::default();
            window.outcomes.add_many(Outcome::WrongStatus, 10);
        }
    });
    assert_eq!(all_failed.outcome(), TrialOutcome::Failed);
    // An objective that is missed is a result.
    let missed = validity(|run| run.ending = Some(ending(Verdict::Missed)));
    assert!(matches!(missed.outcome(), TrialOutcome::Measured(_)));
}

#[test]
fn independent_seconds_make_batches_of_five() {
    let batches = RunBatches::of(&run_of(60, 1, exponential(10.0)));
    assert_eq!((batches.seconds(), batches.count()), (5, 12));
    let p50 = batches.of_metric(P50);
    let law = 10.0 * 2.0_f64.ln();
    assert!(
        p50.iter().all(|value| (value / law - 1.0).abs() < 0.25),
        "{p50:?}"
    );
    // Chance of the arrivals does not enter.
    let throughput = batches.of_metric(THROUGHPUT);
    assert!(throughput.iter().all(|value| (value - 200.0).abs() < 1e-9));
}

#[test]
fn a_slow_swing_makes_longer_batches() {
    let swing = |second: u32, uniform: f64| {
        let phase = f64::from(second) / 60.0 * std::f64::consts::TAU;
        (10.0 + 5.0 * phase.sin()) * (1.0 - 0.1 * uniform)
    };
    let batches = RunBatches::of(&run_of(240, 1, swing));
    assert!(batches.seconds() >= 16, "{}", batches.seconds());
    // A run that is one drift has too few batches for any conclusion.
    let drift = RunBatches::of(&run_of(60, 1, |second, _| 10.0 + f64::from(second)));
    assert!(drift.count() < 2 * BATCHES_MIN, "{}", drift.count());
}

/// A server of 100/s under a load that rises from 50/s to 150/s in 20 s. From the tenth second a queue of 2.5 (t − 10)²
/// grows; requests due at 12 s wait a tenth of a second, and are bad. The line is what the server carries, not the load of that
/// moment, 110/s.
#[test]
fn the_line_of_a_ramp_is_where_answers_turn_bad() {
    let mut run = run_of(26, 1, |_, _| 1.0);
    run.header.plan.load = Load::Open {
        phases: vec![LoadPhase::ramp(50.0, 150.0, Duration::from_secs(20))],
        spacing: Spacing::Even,
    };
    run.header.plan.objective = plimsoll_model::objective::Objective {
        latency: vec![plimsoll_model::objective::LatencyBound {
            quantile: 0.95,
            within_us: 100_000,
        }],
        ..plimsoll_model::objective::Objective::default()
    }
    .into();
    for window in &mut run.windows {
        let second = window.second;
        *window = Window::new(second);
    }
    let (mut due_s, mut free_s) = (0.0_f64, 0.0_f64);
    while due_s < 20.0 {
        free_s = free_s.max(due_s) + 0.01;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a second of the run"
        )]
        let (second, us) = (free_s as usize, ((free_s - due_s) * 1e6) as u64);
        let window = &mut run.windows[second.min(25)];
        window.response.record(us, 1);
        window.outcomes.add(Outcome::Ok);
        due_s += 1.0 / (50.0 + 5.0 * due_s);
    }
    let line = RunMetrics::of(&run).value(LOAD_LINE).unwrap();
    assert!((line - 100.0).abs() < 4.0, "{line}");
    // A load that stays below it has no line.
    run.header.plan.objective.as_mut().unwrap().latency[0].within_us = 60_000_000;
    assert_eq!(RunMetrics::of(&run).value(LOAD_LINE), None);
}
