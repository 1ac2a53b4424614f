use std::time::Duration;

use plimsoll_model::plan::{Find, LoadUnit};
use plimsoll_model::trial::{Percentiles, TrialKind, TrialSpec};
use plimsoll_model::verdict::TrialVerdict;

use super::*;
use crate::summary::tests::run;

/// A search in `unit` with a trial that passed at 100, whose responses took 0.5 s.
fn searched(unit: LoadUnit, required: (f64, LoadUnit), per_unit: f64) -> Run {
    let mut run = run(Duration::from_mins(1));
    run.header.plan.find = Some(Find {
        unit,
        from: None,
        to: None,
    });
    run.header.plan.required = Some(Box::new(RequiredLoad {
        sentence: String::new(),
        subject: String::new(),
        read_as: String::new(),
        load: required.0,
        unit: required.1,
        pause: Some(Duration::from_millis(9500)),
    }));
    run.trials.push(Trial {
        index: 0,
        spec: TrialSpec {
            kind: TrialKind::Refine,
            rate: 100.0,
            unit,
            per_unit,
            ramp_s: 0,
            warmup_s: 0,
            measure_s: 10,
            stop_early: true,
            in_flight_cap: 1000,
        },
        start_second: 0,
        measured: (0, 10),
        verdict: TrialVerdict::Pass,
        requests: 1000,
        bad: 0,
        errors: 0,
        throughput: 100.0 * per_unit,
        response_us: Percentiles {
            mean: 500_000.0,
            ..Percentiles::default()
        },
        objective_us: None,
        in_flight_mean: 50.0,
        lag_us_p99: 0,
        generator_cpu: 0.1,
        stolen_share: 0.0,
    });
    run
}

/// A line of 110, between 100 and 120.
fn line(unit: LoadUnit) -> SearchResult {
    SearchResult {
        line: Ok(LoadLine {
            unit,
            median: 110.0,
            low: 100.0,
            high: 120.0,
            verified: 101.0,
            confirmed_trials: 4,
            confirmed_passes: 4,
            pass_probability_low: 0.5,
            broken: None,
            trial_s: 10,
        }),
        remarks: Vec::new(),
    }
}

fn answer(run: &Run, search: &SearchResult) -> (Carries, Option<f64>) {
    let answer = required(run, search).unwrap();
    (answer.carries, answer.margin.map(|margin| margin.median))
}

#[test]
fn the_interval_decides() {
    const REQUESTS: LoadUnit = LoadUnit::RequestsPerSecond;
    for (load, right) in [
        (50.0, Carries::Yes),
        (101.0, Carries::Yes),
        (110.0, Carries::WithinInterval),
        (121.0, Carries::No),
    ] {
        let run = searched(REQUESTS, (load, REQUESTS), 1.0);
        let (carries, margin) = answer(&run, &line(REQUESTS));
        assert_eq!(carries, right, "{load}");
        assert!((margin.unwrap() - 110.0 / load).abs() < 1e-9);
    }
}

#[test]
fn demands_are_compared_in_the_unit_of_the_search() {
    use LoadUnit::{RequestsPerSecond, SessionsPerSecond, Users};
    for (searched_in, required, per_unit, demand) in [
        // 1,000 users who wait 0.5 s and pause 9.5 s make 100 requests per second.
        (RequestsPerSecond, (1000.0, Users), 1.0, 100.0),
        (RequestsPerSecond, (80.0, SessionsPerSecond), 1.0, 80.0),
        // Each user makes 0.2 requests per second.
        (Users, (16.0, RequestsPerSecond), 0.2, 80.0),
        (Users, (80.0, Users), 0.2, 80.0),
        (SessionsPerSecond, (40.0, SessionsPerSecond), 7.0, 40.0),
    ] {
        let run = searched(searched_in, required, per_unit);
        let (carries, margin) = answer(&run, &line(searched_in));
        assert_eq!(carries, Carries::Yes, "{required:?}");
        assert!(
            (margin.unwrap() - 110.0 / demand).abs() < 1e-9,
            "{required:?}"
        );
    }
    let run = searched(SessionsPerSecond, (40.0, Users), 7.0);
    let unknown = (Carries::WithinInterval, None);
    assert_eq!(answer(&run, &line(SessionsPerSecond)), unknown);
}

#[test]
fn without_a_line_only_what_trials_showed_decides() {
    const REQUESTS: LoadUnit = LoadUnit::RequestsPerSecond;
    let of = |load: f64, none: NoLine| {
        let run = searched(REQUESTS, (load, REQUESTS), 1.0);
        let search = SearchResult {
            line: Err(none),
            remarks: Vec::new(),
        };
        answer(&run, &search).0
    };
    let not_reached = || NoLine::NotReached {
        highest_passed: 400.0,
    };
    assert_eq!(of(300.0, not_reached()), Carries::Yes);
    assert_eq!(of(500.0, not_reached()), Carries::WithinInterval);
    let gave_up = |high: f64| NoLine::GaveUp {
        low: 90.0,
        median: 100.0,
        high,
        because: String::new(),
    };
    assert_eq!(of(80.0, gave_up(120.0)), Carries::WithinInterval);
    assert_eq!(of(500.0, gave_up(120.0)), Carries::No);
    assert_eq!(of(500.0, gave_up(f64::MAX)), Carries::WithinInterval);
    let missed = NoLine::MissedAtOnce {
        alone_us: Some(1),
        errors: 0.0,
    };
    assert_eq!(of(1.0, missed), Carries::No);
    let run = run(Duration::from_mins(1));
    assert_eq!(required(&run, &line(REQUESTS)), None);
}
