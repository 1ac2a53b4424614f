//! Synthetic failures, with and without shared attributes.

use std::collections::BTreeMap;

use plimsoll_model::journey::{Journey, StepInfo};
use plimsoll_model::reading::Readings;
use plimsoll_model::window::StepWindow;

use super::*;

const SECONDS: u32 = 20;
const SPAN: SecondRange = (0, SECONDS);

fn scenario() -> Scenario {
    let step = |label: &str, journey: u32, once: bool| StepInfo {
        label: label.to_owned(),
        journey,
        groups: Vec::new(),
        once,
    };
    let journey = |name: &str| Journey {
        name: name.to_owned(),
        ..Journey::default()
    };
    Scenario {
        journeys: vec![journey("buyer"), journey("reader")],
        steps: vec![
            step("POST /login", 0, true),
            step("POST /buy", 0, false),
            step("GET /", 1, false),
        ],
        ..Scenario::default()
    }
}

/// A second of 100 requests, of which so many failed: a fifth of all are of step 1, and so many of the failures.
fn second(second: u32, failed: u64, of_step: u64) -> Window {
    let mut window = Window::new(second);
    window.outcomes.add_many(Outcome::Ok, 100 - failed);
    window.outcomes.add_many(Outcome::WrongStatus, failed);
    window.status = BTreeMap::from([(200, 100 - failed), (503, failed)]);
    window.response.record(20_000, 100 - failed);
    window.failed.record(3_000, failed);
    for (id, all, failed) in [(1, 20, of_step), (2, 80, failed - of_step)] {
        let mut step = StepWindow::default();
        step.outcomes.add_many(Outcome::Ok, all - failed);
        step.outcomes.add_many(Outcome::WrongStatus, failed);
        window.steps.insert(id, step);
    }
    window
}

fn found(windows: &[Window]) -> Failures {
    let none = SeriesTable::default();
    of(windows, &none, Some(&scenario()), SPAN).unwrap()
}

#[test]
fn failures_of_one_step_are_known_by_it() {
    let windows: Vec<Window> = (0..SECONDS).map(|at| second(at, 10, 9)).collect();
    let found = found(&windows);
    assert_eq!((found.failed, found.requests), (200, 2000));
    // Two steps, two journeys, and when.
    assert_eq!(found.candidates, 5, "{found:#?}");
    let [journey, step] = &found.common[..] else {
        panic!("{found:#?}");
    };
    assert_eq!(
        [&journey.thing[..], &step.thing],
        ["journey buyer", "step POST /buy"]
    );
    assert!((step.of_failures - 0.9).abs() < 1e-9 && step.p < 1e-9);
    assert!(
        found.sentence.starts_with(
            "200 of 2000 requests failed (100 % HTTP 503); more frequent among the failures than among the successful \
             requests: "
        ),
        "{}",
        found.sentence
    );
    assert!(
        found
            .sentence
            .contains("step POST /buy (90 % of the failures, 12 % of the successful requests)"),
        "{}",
        found.sentence
    );
}

#[test]
fn failures_spread_as_the_good_ones_have_nothing_in_common() {
    let windows: Vec<Window> = (0..SECONDS).map(|at| second(at, 10, 2)).collect();
    let found = found(&windows);
    assert_eq!(found.common, [], "{found:#?}");
    assert!(
        found.sentence.ends_with(
            "none of the 5 attributes examined distinguishes them from the successful requests"
        ),
        "{}",
        found.sentence
    );
    let good: Vec<Window> = (0..SECONDS).map(|at| second(at, 0, 0)).collect();
    let none = SeriesTable::default();
    assert_eq!(of(&good, &none, Some(&scenario()), SPAN), None);
}

#[test]
fn a_few_failures_prove_nothing() {
    let mut windows: Vec<Window> = (0..SECONDS).map(|at| second(at, 0, 0)).collect();
    for at in [3, 11] {
        windows[at] = second(u32::try_from(at).unwrap(), 1, 1);
    }
    // Both are of one step, of which a fifth are; that happens.
    assert_eq!(found(&windows).common, []);
}

#[test]
fn failures_that_came_at_once_are_known_by_when() {
    let mut windows: Vec<Window> = (0..SECONDS).map(|at| second(at, 0, 0)).collect();
    windows[7] = second(7, 60, 12);
    windows[8] = second(8, 50, 10);
    let found = found(&windows);
    assert_eq!(found.common.len(), 1, "{found:#?}");
    assert_eq!(found.common[0].thing, "second 7 of the run (of 20 seconds)");
}

#[test]
fn failures_that_took_equally_long_met_a_timeout() {
    let windows: Vec<Window> = (0..SECONDS)
        .map(|at| {
            let mut window = second(at, 10, 2);
            window.failed = Histogram::new();
            window.failed.record(2_000_000, 10);
            window
        })
        .collect();
    let found = found(&windows);
    assert_eq!(found.common.len(), 1, "{found:#?}");
    assert!(
        found.common[0].thing.starts_with("a duration of 2.0"),
        "{found:#?}"
    );
}

#[test]
fn a_sick_server_is_known_by_haproxys_counters() {
    let of_server = |metric: &str, server: &str| {
        let labels = [("at", "/run/h"), ("proxy", "app"), ("server", server)];
        metric::series(metric, &labels)
    };
    let class = |class: &str| {
        metric::series(
            metric::LOG_FAILURES,
            &[("at", "/var/log/haproxy.log"), ("class", class)],
        )
    };
    let values = BTreeMap::from([
        (of_server(metric::HAPROXY_SESSIONS_BEGUN, "s1"), 45.0),
        (of_server(metric::HAPROXY_SESSIONS_BEGUN, "s2"), 55.0),
        (of_server(metric::HAPROXY_SESSIONS_BEGUN, "BACKEND"), 100.0),
        (of_server(metric::HAPROXY_SERVER_ERRORS, "s1"), 0.0),
        (of_server(metric::HAPROXY_SERVER_ERRORS, "s2"), 10.0),
        (class("sQ"), 4.0),
        (class("sH"), 6.0),
    ]);
    let mut readings = SeriesTable::default();
    for second in 0..SECONDS {
        readings.push(&Readings {
            second,
            values: values.clone(),
            new_series: BTreeMap::new(),
        });
    }
    let windows: Vec<Window> = (0..SECONDS).map(|at| second(at, 10, 2)).collect();
    let found = of(&windows, &readings, None, SPAN).unwrap();
    assert_eq!(found.common.len(), 1, "{found:#?}");
    assert_eq!(found.common[0].thing, "server s2 of HAProxy's app");
    assert!((found.common[0].of_failures - 1.0).abs() < 1e-9);
    assert!(
        found
            .sentence
            .contains("of those in HAProxy's log, 40 % never reached a server"),
        "{}",
        found.sentence
    );
}
