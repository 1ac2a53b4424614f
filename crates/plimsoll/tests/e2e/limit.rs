//! `plimsoll limit` against a queue whose line is a formula.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_analysis::stats::queueing::deterministic_load_line;
use plimsoll_testkit::origin::fault::{self, Fault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::support::{Place, assert_near, number};

/// M/D/1 with a service of 5 ms: the law says at which rate the 95th percentile of the response reaches 30 ms.
#[test]
fn the_line_of_a_queue_lies_in_the_interval() {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(Duration::from_millis(5)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let law = deterministic_load_line(1, 0.005, 0.95, 0.030).unwrap();
    let objective = "p95 < 30ms, errors < 1%";
    let said = Place::new().run(&[
        "limit",
        &origin.url(),
        "--objective",
        objective,
        "--quick",
        "--json",
    ]);
    let json = said.json();
    assert_eq!(said.code, 0, "{said:?}");
    let (low, high) = (
        number(&json, "load_line.low"),
        number(&json, "load_line.high"),
    );
    assert!(
        low <= law && law <= high,
        "{law} is not in [{low}, {high}]: {json:#}"
    );
    assert_near(number(&json, "load_line.median"), law, 0.08, "median");
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
