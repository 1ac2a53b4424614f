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
    let scenario = scenario();
    let requested = Requested {
        scenario: Some(&scenario),
        paths: &[],
    };
    of(windows, &SeriesTable::default(), requested, SPAN).unwrap()
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

/// The same second of a plain load, whose requests are spread evenly over so many rows of URLs, the failures all in one.
fn second_of_urls(at: u32, failed: u64, rows: u32, failing: u32) -> Window {
    let mut window = second(at, failed, 0);
    window.steps.clear();
    let each = 100 / u64::from(rows);
    for row in 0..rows {
        let mut results = StepWindow::default();
        let failed = if row == failing { failed } else { 0 };
        results.outcomes.add_many(Outcome::Ok, each - failed);
        results.outcomes.add_many(Outcome::WrongStatus, failed);
        window.urls.insert(row, results);
    }
    window
}

fn found_of_urls(windows: &[Window], paths: &[String]) -> Failures {
    let requested = Requested {
        scenario: None,
        paths,
    };
    of(windows, &SeriesTable::default(), requested, SPAN).unwrap()
}

#[test]
fn failures_of_one_url_are_known_by_it() {
    let paths = ["/", "/news", "/missing", "/about"].map(str::to_owned);
    let windows: Vec<Window> = (0..SECONDS)
        .map(|at| second_of_urls(at, 10, 4, 2))
        .collect();
    let found = found_of_urls(&windows, &paths);
    // Four URLs, and when.
    assert_eq!(found.candidates, 5, "{found:#?}");
    let [url] = &found.common[..] else {
        panic!("{found:#?}");
    };
    assert_eq!(url.thing, "URL /missing");
    assert!((url.of_failures - 1.0).abs() < 1e-9 && url.p < 1e-9);
    // 15 of 90.
    assert!((url.of_good - 1.0 / 6.0).abs() < 1e-9, "{url:?}");
    assert!(
        found
            .sentence
            .contains("URL /missing (100 % of the failures, 17 % of the successful requests)"),
        "{}",
        found.sentence
    );
}

#[test]
fn many_urls_are_compared_by_route() {
    let orders = (0..60).map(|nth| format!("/orders/{nth}?page={nth}"));
    let items = (0..60).map(|nth| format!("/items/{nth}"));
    let paths: Vec<String> = orders.chain(items).collect();
    let windows: Vec<Window> = (0..SECONDS)
        .map(|at| second_of_urls(at, 10, 2, 1))
        .collect();
    let found = found_of_urls(&windows, &paths);
    assert_eq!(found.common[0].thing, "URLs /items/{id}", "{found:#?}");
}

#[test]
fn requests_that_never_had_a_url_are_failures_too() {
    let paths = ["/", "/news"].map(str::to_owned);
    let windows: Vec<Window> = (0..SECONDS)
        .map(|at| {
            let mut window = second_of_urls(at, 5, 2, 1);
            window.outcomes.add_many(Outcome::Dropped, 95);
            window
        })
        .collect();
    // All that failed at a URL did so at this one, but these are a twentieth of the failures.
    assert_eq!(found_of_urls(&windows, &paths).common, []);
}

#[test]
fn one_url_and_rows_that_the_plan_does_not_have_are_compared_with_nothing() {
    let paths = ["/".to_owned()];
    let windows: Vec<Window> = (0..SECONDS).map(|at| second(at, 10, 2)).collect();
    let found = found_of_urls(&windows, &paths);
    assert_eq!(found.candidates, 1, "only when: {found:#?}");
    let foreign: Vec<Window> = (0..SECONDS)
        .map(|at| second_of_urls(at, 10, 4, 3))
        .collect();
    let found = found_of_urls(&foreign, &["/", "/news"].map(str::to_owned));
    assert_eq!(found.common, [], "{found:#?}");
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
    assert_eq!(of(&good, &none, Requested::default(), SPAN), None);
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
    let found = of(&windows, &readings, Requested::default(), SPAN).unwrap();
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
