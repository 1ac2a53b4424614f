//! `plimsoll run` against origins whose behaviour is known.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_lab::run_log::LoadedRunLog;
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::support::{Sandbox, count, interrupt};

pub(crate) fn origin(service: Service) -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(1000).unwrap(),
        service,
        ..KnownLawPlan::default()
    })
    .unwrap()
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
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(count(&json, "outcomes.ok") >= 100, "{json:#}");
}
