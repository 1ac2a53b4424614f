//! `plimsoll limit` where nothing is carried, and as a gate. The line of a known law is searched for in `beside`.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use serde_json::Value;

use crate::support::{CommandOutput, Sandbox};

/// The result; `None` if the machine was disturbed and this was reported (void or undecided): that proves nothing.
pub(crate) fn valid_result(output: &CommandOutput) -> Option<Value> {
    let json = output.json();
    let is_robbed = json["remarks"].to_string().contains("the hypervisor took");
    if ![4, 6].contains(&output.code) && !is_robbed {
        return Some(json);
    }
    // A line may be known, and whether it carries the demand not.
    let has_line = !json["load_line"].is_null();
    assert!(!has_line || output.code == 4 || is_robbed, "{json:#}");
    plimsoll_testkit::not_tried::disturbed(format_args!("{}", json["answer"]));
    None
}

#[test]
fn an_objective_that_even_one_user_misses() {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(Duration::from_millis(100)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let output = Sandbox::new().run(&[
        "limit",
        &origin.url(),
        "--objective",
        "p95 < 50ms",
        "--for",
        "1 request a second",
        "--quick",
        "--json",
    ]);
    let Some(json) = valid_result(&output) else {
        return;
    };
    assert_eq!(output.code, 3, "{output:?}");
    assert_eq!(json["for"]["carried"], false, "{json:#}");
    assert!(
        json["load_line"].is_null() && json["reason"].as_str().unwrap().contains("one client"),
        "{json:#}"
    );
}

#[test]
fn a_site_that_answers_404_everywhere() {
    let origin = fault::start(OriginFault::Status(404)).unwrap();
    let output = Sandbox::new().run(&["limit", &origin.url(), "--quick", "--json"]);
    if valid_result(&output).is_none() {
        return;
    }
    assert_eq!(output.code, 3, "{output:?}");
}

#[test]
fn a_gate_rejects_what_the_service_does_not_carry() {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(Duration::from_millis(10)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let output = Sandbox::new().run(&[
        "limit",
        &origin.url(),
        "--objective",
        "p95 < 100ms",
        "--quick",
        "--at-least",
        "150/s",
        "--json",
    ]);
    let Some(json) = valid_result(&output) else {
        return;
    };
    assert_eq!(output.code, 3, "{output:?}");
    assert_eq!(json["gate"]["accepted"], false);
}
