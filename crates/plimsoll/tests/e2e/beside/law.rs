//! `plimsoll limit` against a queue whose line is a formula.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::queueing::deterministic_load_line;
use plimsoll_testkit::turns::beside_all;

use crate::limit::valid_result;
use crate::support::{Sandbox, assert_near, is_late, number};

/// M/D/5 with a service of 25 ms: the law says at which rate the 95th percentile of the response reaches 100 ms. So slow a
/// service is hardly slower for the milliseconds that other work takes from it.
#[test]
fn the_line_of_a_queue_lies_in_the_interval() {
    // It waits more than it works, and other work beside it hardly moves what a search of three minutes finds.
    let _beside_all = beside_all();
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(5).unwrap(),
        service: Service::Deterministic(Duration::from_millis(25)),
        runs_first: true,
        ..KnownLawPlan::default()
    })
    .unwrap();
    let law = deterministic_load_line(5, 0.025, 0.95, 0.1).unwrap();
    let objective = "p95 < 100ms, errors < 1%";
    let output = Sandbox::new().run(&[
        "limit",
        &origin.url(),
        "--objective",
        objective,
        "--for",
        "6,000 people log in within a minute",
        "--quick",
        "--json",
    ]);
    let Some(json) = valid_result(&output) else {
        return;
    };
    // As late in the mean as a fiftieth of the bound: the line moves by less than a hundredth.
    if is_late(origin.counts().late_mean(), Duration::from_millis(2)) {
        return;
    }
    assert_eq!(output.code, 0, "{output:?}");
    let (low, high) = (
        number(&json, "load_line.low"),
        number(&json, "load_line.high"),
    );
    // The interval holds the truth in nine of ten searches; a build machine gets a twentieth on either side.
    assert!(
        0.95 * low <= law && law <= 1.05 * high,
        "{law} is not in [{low}, {high}]: {json:#}"
    );
    assert_near(number(&json, "load_line.median"), law, 0.08, "median");
    assert_eq!(json["load_line"]["unit"], "req/s");
    // 100 logins a second: the law says how many times as much is carried.
    assert_eq!(json["for"]["carried"], true, "{json:#}");
    assert_near(number(&json, "for.load"), 100.0, 1e-9, "demand");
    assert_near(
        number(&json, "for.margin.median"),
        law / 100.0,
        0.08,
        "margin",
    );
    let reading = "read as: 6,000 logins in 60 s = 100 logins/s, spread evenly; each is one GET request; objective";
    assert!(output.stderr.contains(reading), "{output:?}");
    let answer = json["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("Yes, it carries 6,000 logins within 1 minute"),
        "{answer}"
    );
    Sandbox::new().assert_follows_schema("limit", &json);
}
