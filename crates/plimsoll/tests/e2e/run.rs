//! `plimsoll run` against origins whose behaviour is known.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_lab::run_log::LoadedRunLog;
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::support::{Sandbox, assert_near, count, is_late, number};
use plimsoll_testkit::turns::alone;

fn origin(service: Service) -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(1000).unwrap(),
        service,
        ..KnownLawPlan::default()
    })
    .unwrap()
}

/// The server stops for one second in ten: of the 200 requests due in that second, the one due first waits a
/// second, the last not at all, so of all 2,000 five per cent wait longer than half a second. No more than 200, for
/// what waited is answered all at once, and that takes CPU, which is not part of the law; at equal gaps, for so few that come
/// by chance are a tenth more or less.
#[test]
fn a_stall_is_told_as_it_was() {
    let _alone = alone();
    let origin = origin(Service::Deterministic(Duration::from_micros(200)));
    let place = Sandbox::new();
    origin.stall_at(Duration::from_secs(5), Duration::from_secs(1));
    let output = place.run(&[
        "run",
        &origin.url(),
        "--rate",
        "200/s",
        "--spacing",
        "even",
        "--for",
        "10s",
        "--json",
    ]);
    // A generator or an origin that got no CPU adds stalls of its own.
    let Some(json) = output.measured() else {
        return;
    };
    assert_eq!(count(&json, "outcomes.ok"), count(&json, "requests"));
    if is_late(origin.counts().late_max, Duration::from_millis(50)) {
        return;
    }
    assert_near(number(&json, "response_time_ms.p95"), 500.0, 0.1, "p95");
    assert_near(number(&json, "response_time_ms.p99"), 900.0, 0.1, "p99");
}

#[test]
fn service_times_are_those_of_the_origin() {
    let _alone = alone();
    let origin = origin(Service::Deterministic(Duration::from_millis(50)));
    let output = Sandbox::new().run(&[
        "run",
        &origin.url(),
        "--rate",
        "100/s",
        "--for",
        "2s",
        "--json",
    ]);
    let Some(json) = output.measured() else {
        return;
    };
    if is_late(origin.counts().late_mean(), Duration::from_millis(1)) {
        return;
    }
    assert_near(number(&json, "response_time_ms.p50"), 50.0, 0.1, "p50");
    assert_near(
        number(&json, "service_time_ms.p50"),
        50.0,
        0.1,
        "service p50",
    );
}

#[test]
fn an_objective_decides_the_exit_code() {
    let _alone = alone();
    let origin = origin(Service::Deterministic(Duration::from_millis(20)));
    let place = Sandbox::new();
    let check = |objective: &str, bound_ms: f64| {
        let output = place.run(&[
            "run",
            &origin.url(),
            "--rate",
            "50/s",
            "--for",
            "1s",
            "--objective",
            objective,
            "--json",
        ]);
        let Some(json) = output.measured() else {
            assert_eq!(output.code, 6, "{output:?}");
            return;
        };
        let p95 = number(&json, "response_time_ms.p95");
        assert!(p95 > 19.0, "{json:#}");
        // An origin that got no CPU for so long misses two seconds as well.
        let code = if p95 < bound_ms { 0 } else { 3 };
        assert_eq!(output.code, code, "{output:?}");
    };
    check("p95 < 2s, errors < 1%", 2000.0);
    check("p95 < 5ms", 5.0);
    check("p(95)<2000, rate<0.01", 2000.0);
}

#[test]
fn all_outcomes_have_their_names_and_add_up() {
    let origin = fault::start(OriginFault::None).unwrap();
    let json = Sandbox::new()
        .run(&[
            "run",
            &origin.url(),
            "--connections",
            "4",
            "--for",
            "1s",
            "--json",
        ])
        .json();
    let outcomes = json["outcomes"].as_object().unwrap();
    let names: Vec<&str> = outcomes.keys().map(String::as_str).collect();
    let mut expected = vec![
        "ok",
        "wrong_status",
        "timeout",
        "connect_refused",
        "connect_timeout",
        "dns",
        "reset",
        "tls",
        "protocol",
        "head_too_long",
        "too_many_headers",
        "body_cut",
        "dropped",
        "expectation",
    ];
    expected.sort_unstable();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    let sum: u64 = outcomes.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, count(&json, "requests"));
}

#[test]
fn the_report_is_written_on_request_and_again_from_the_file() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let json = place
        .run(&[
            "run",
            &origin.url(),
            "--rate",
            "100/s",
            "--for",
            "1s",
            "--json",
            "--report",
        ])
        .json();
    let report = place.path().join(json["report_file"].as_str().unwrap());
    let html = std::fs::read_to_string(&report).unwrap();
    std::fs::remove_file(&report).unwrap();
    let file = json["run_file"].as_str().unwrap();
    let again = place.run(&["report", file, "--json"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(std::fs::read_to_string(&report).unwrap(), html);
    assert_eq!(again.json()["requests"], json["requests"]);
    for format in ["--csv", "--parquet"] {
        let tables = place.run(&["export", file, format]);
        assert_eq!(
            (tables.code, tables.stdout.lines().count()),
            (0, 6),
            "{tables:?}"
        );
    }
}

#[test]
fn a_sweep_is_told_step_by_step() {
    let origin = origin(Service::Deterministic(Duration::from_millis(1)));
    let json = Sandbox::new()
        .run(&[
            "run",
            &origin.url(),
            "--rate",
            "50/s..150/s",
            "--step",
            "50/s",
            "--every",
            "2s",
            "--requests-per-connection",
            "5",
            "--timeout",
            "5s",
            "--spacing",
            "even",
            "--json",
        ])
        .json();
    assert_eq!(count(&json, "requests"), 600);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let child = place.start(&[
        "run",
        &origin.url(),
        "--rate",
        "100/s",
        "--for",
        "1h",
        "--json",
    ]);
    // Seconds go by without an answer while the origin gets no CPU.
    let answered = |run: LoadedRunLog| -> u64 {
        let windows = run.run.windows.iter();
        windows.map(|window| window.outcomes.get(Outcome::Ok)).sum()
    };
    let mut polls = 0;
    while crate::kill::so_far(&place).is_none_or(|run| answered(run) < 100) {
        crate::kill::after(Duration::from_millis(20));
        polls += 1;
        assert!(polls < 3000, "nothing is measured");
    }
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(count(&json, "outcomes.ok") >= 100, "{json:#}");
}
