//! `plimsoll compare` with trials in turn.

use std::time::Duration;

use plimsoll_testkit::turns::quiet;
use serde_json::Value;

use crate::compare::{compared, origin};
use crate::support::{Sandbox, count, is_late, number};

/// Three times as slow is found by trials in turn on two services that run beside each other. How small a difference is found,
/// and how often, virtual time shows.
#[test]
fn trials_in_turn_find_a_slower_service() {
    let _quiet = quiet();
    let place = Sandbox::new();
    let (base, head) = (origin(10), origin(30));
    let output = place.run(&[
        "compare",
        "--base-url",
        &base.url(),
        "--head-url",
        &head.url(),
        "--rate",
        "400/s",
        "--for",
        "150ms",
        "--seed",
        "1",
        "--json",
    ]);
    let Some(json) = compared(&output) else {
        return;
    };
    place.assert_follows_schema("compare", &json);
    let late_ms = Duration::from_millis(1);
    if is_late(base.counts().late_mean(), late_ms) || is_late(head.counts().late_mean(), late_ms) {
        return;
    }
    assert_eq!(
        (output.code, &json["verdict"]),
        (3, &Value::from("worse")),
        "{json:#}"
    );
    let ratio = number(&json, "metrics.p50.ratio");
    assert!((ratio - 3.0).abs() < 0.3, "{ratio}");
    assert!(number(&json, "blocks.valid") >= 8.0, "{json:#}");
    assert_eq!(json["metrics"]["p50"]["interval_of"], "blocks");
    let page = json["report_file"].as_str().unwrap();
    assert!(place.path().join(page).is_file(), "{page}");
}

/// The sample site as the baseline, and a candidate that ends at once: its trials fail, which is a result.
#[test]
fn a_candidate_that_does_not_start_is_worse() {
    let _quiet = quiet();
    let place = Sandbox::new();
    let address = plimsoll_testkit::port::unused();
    let url = format!("http://{address}/");
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let base = format!("'{program}' demo --serve {address} --nodes 60");
    let output = place.run(&[
        "compare",
        &url,
        "--base",
        &base,
        "--head",
        "/bin/false",
        "--rate",
        "100/s",
        "--for",
        "200ms",
        "--seed",
        "1",
        "--json",
    ]);
    let Some(json) = compared(&output) else {
        return;
    };
    place.assert_follows_schema("compare", &json);
    assert_eq!(output.code, 3, "{output:?}");
    assert_eq!(count(&json, "blocks.failed_before"), 0);
    assert!(number(&json, "blocks.failed_after") >= 6.0, "{json:#}");
    assert!(
        json["answer"]
            .as_str()
            .unwrap()
            .contains("the service failed in")
    );
    // Nothing is left running.
    assert!(std::net::TcpStream::connect(address).is_err());
}
