//! `plimsoll limit --on` against a queue whose line is a formula: two workers find what one process finds.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::queueing::deterministic_load_line;
use plimsoll_testkit::turns::beside_all;
use serde_json::Value;

use crate::limit::valid_result;
use crate::support::{Sandbox, assert_near, count, is_late, number};
use crate::workers::{CoordinatedRun, end, sum};

/// The queue of the search on one machine, in `law`.
#[test]
fn two_workers_find_the_line_of_a_queue() {
    let _beside_all = beside_all();
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(5).unwrap(),
        service: Service::Deterministic(Duration::from_millis(25)),
        runs_first: true,
        ..KnownLawPlan::default()
    })
    .unwrap();
    let law = deterministic_load_line(5, 0.025, 0.95, 0.1).unwrap();
    let place = Sandbox::new();
    let objective = ["--objective", "p95 < 100ms, errors < 1%"];
    let search = CoordinatedRun::of(
        &place,
        &["limit", &origin.url()],
        &[&objective[..], &["--quick", "--json"]].concat(),
    );
    let workers = ["a", "b"].map(|name| search.worker(&place, name));
    let output = search.end();
    for worker in workers {
        let output = end(worker);
        assert_eq!(output.code, 0, "{output:?}");
    }
    let Some(json) = valid_result(&output) else {
        return;
    };
    // As late in the mean as a fiftieth of the bound: the line moves by less than a hundredth.
    if is_late(origin.counts().late_mean(), Duration::from_millis(2)) {
        return;
    }
    assert_eq!(output.code, 0, "{output:?}");
    place.assert_follows_schema("limit", &json);
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
    // Of all trials; in self-tests nothing is sent to the target.
    let requests = sum(&json, "requests") as f64;
    assert_near(requests, origin.counts().arrived as f64, 0.01, "requests");
    for worker in json["workers"].as_array().unwrap() {
        let own = count(worker, "requests") as f64;
        // The single client is one worker's alone.
        assert_near(own, requests / 2.0, 0.15, "a worker's part");
        assert_eq!(worker["lost_at"], Value::Null, "{worker:#}");
    }
}
