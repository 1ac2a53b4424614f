//! `plimsoll limit` against a queue whose line is a formula.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::origin::fault::{self, Fault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::support::{Place, number};

/// M/M/1 with a mean service time of 5 ms: p95 = ln 20 / (μ − λ) = 50 ms at λ = 200 − ln 20 / 0.05 = 140.1/s.
#[test]
fn the_line_of_a_queue_lies_in_the_interval() {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Exponential(Duration::from_millis(5)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let said = Place::new().run(&[
        "limit",
        &origin.url(),
        "--objective",
        "p95 < 50ms, errors < 1%",
        "--quick",
        "--json",
    ]);
    let json = said.json();
    assert_eq!(said.code, 0, "{said:?}");
    let law = 200.0 - 20_f64.ln() / 0.05;
    let (low, high) = (
        number(&json, "load_line.low"),
        number(&json, "load_line.high"),
    );
    assert!(
        low <= law && law <= high,
        "{law} is not in [{low}, {high}]: {json:#}"
    );
    assert_eq!(json["load_line"]["unit"], "req/s");
}

#[test]
fn an_objective_that_even_one_user_misses() {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(Duration::from_millis(100)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let said = Place::new().run(&[
        "limit",
        &origin.url(),
        "--objective",
        "p95 < 50ms",
        "--quick",
        "--json",
    ]);
    assert_eq!(said.code, 3, "{said:?}");
    let json = said.json();
    assert!(
        json["load_line"].is_null() && json["reason"].as_str().unwrap().contains("one client"),
        "{json:#}"
    );
}

#[test]
fn a_site_that_answers_404_everywhere() {
    let origin = fault::start(Fault::Status(404)).unwrap();
    let said = Place::new().run(&["limit", &origin.url(), "--quick", "--json"]);
    assert_eq!(said.code, 3, "{said:?}");
}

#[test]
fn a_gate_rejects_what_the_service_does_not_carry() {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(Duration::from_millis(10)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let said = Place::new().run(&[
        "limit",
        &origin.url(),
        "--objective",
        "p95 < 100ms",
        "--quick",
        "--at-least",
        "150/s",
        "--json",
    ]);
    assert_eq!(said.code, 3, "{said:?}");
    assert_eq!(said.json()["gate"]["accepted"], false);
}
