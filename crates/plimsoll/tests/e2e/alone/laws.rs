//! `plimsoll run` against origins whose times are a law.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::not_tried;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::turns::quiet;

use crate::run::origin;
use crate::support::{Sandbox, assert_near, count, is_late, number};

/// The server stops for one second in ten: of the 200 requests due in that second, the one due first waits a
/// second, the last not at all, so of all 2,000 five per cent wait longer than half a second. No more than 200, for
/// what waited is answered all at once, and that takes CPU, which is not part of the law; at equal gaps, for so few that come
/// by chance are a tenth more or less.
#[test]
fn a_stall_is_told_as_it_was() {
    let _quiet = quiet();
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

/// Every request takes 0.1 ms longer than the one before: the median of the last of ten runs is 23 ms.
#[test]
fn a_service_that_slows_down_does_not_recover() {
    let _quiet = quiet();
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(100).unwrap(),
        service: Service::Growing(Duration::from_micros(100)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let url = origin.url();
    let output = Sandbox::new().run(&[
        "run",
        &url,
        "--rate",
        "60/s",
        "--spacing",
        "even",
        "--for",
        "400ms",
        "--repeat",
        "10",
        "--json",
    ]);
    let json = output.json();
    let runs = json["runs"].as_array().unwrap();
    if runs.iter().any(|run| !run["void"].is_null()) {
        not_tried::disturbed(format_args!("{:?}", output.stderr));
        return;
    }
    // Half of the answers of one run would have to be 14 ms late to hide the slope: 0.7 ms in the mean of all.
    if is_late(origin.counts().delay_mean(), Duration::from_micros(500)) {
        return;
    }
    assert_eq!(output.code, 3, "{json:#}");
    assert_eq!(json["recovers"], false);
    let metrics = json["metrics"].as_array().unwrap();
    let p50 = metrics
        .iter()
        .find(|metric| metric["name"] == "p50")
        .unwrap();
    assert_eq!(p50["recovers"], false, "{p50}");
    assert!(p50["low"].as_f64().unwrap() > 0.0, "{p50}");
    assert!(
        json["answer"]
            .as_str()
            .unwrap()
            .contains("does not recover"),
        "{json:#}"
    );
}
