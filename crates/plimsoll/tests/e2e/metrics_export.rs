//! `--export`: the binary with destinations that take, refuse and do not exist.

use std::fs;
use std::io::Read as _;
use std::num::NonZeroU32;

use flate2::read::MultiGzDecoder;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};
use serde_json::Value;

use crate::support::{Sandbox, count};

fn origin() -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(100).unwrap(),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

/// Nobody listens at port 1: the run is the same, and what was lost is in a warning and in the log.
#[test]
fn a_run_is_exported_while_it_goes_on_and_a_receiver_that_is_not_there_changes_nothing() {
    let (origin, place) = (origin(), Sandbox::new());
    let output = place.run(&[
        "run",
        &origin.url(),
        "--rate",
        "50/s",
        "--for",
        "1s",
        "--json",
        "--export",
        "jsonl=run.jsonl",
        "--export",
        "remote-write=http://me:hidden-word@127.0.0.1:1",
        "--export-header",
        "remote-write=X-Scope: hidden-word",
    ]);
    let json = output.json();
    assert!([0, 6].contains(&output.code), "{output:?}");
    assert!(
        output.stderr.contains("records were not accepted: "),
        "{output:?}"
    );
    let text = fs::read_to_string(place.path().join("run.jsonl")).unwrap();
    let run = fs::File::open(place.path().join(json["run_file"].as_str().unwrap())).unwrap();
    let mut log = String::new();
    MultiGzDecoder::new(run).read_to_string(&mut log).unwrap();
    assert!(log.contains("records were not accepted"), "{log}");
    let shown = format!("{}{log}{text}", output.stderr);
    assert!(!shown.contains("hidden-word"), "{shown}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let counted: f64 = lines
        .iter()
        .flat_map(|line| line["metrics"].as_array().into_iter().flatten())
        .filter(|metric| metric["name"] == "plimsoll_requests_total")
        .map(|metric| metric["increase"].as_f64().unwrap())
        .sum();
    assert!(
        (counted - count(&json, "requests") as f64).abs() < 1e-9,
        "{counted} {json:#}"
    );
    assert_eq!(lines.last().unwrap()["kind"], "end");
}

#[test]
fn readings_of_watch_are_exported() {
    let place = Sandbox::new();
    let output = place.run(&[
        "watch",
        "--for",
        "1s",
        "--watch",
        "none",
        "--export",
        "jsonl=w.jsonl",
    ]);
    assert_eq!(output.code, 0, "{output:?}");
    let text = fs::read_to_string(place.path().join("w.jsonl")).unwrap();
    assert!(
        text.contains("\"name\":\"plimsoll_cpu_busy_ratio\""),
        "{text}"
    );
}

#[test]
fn an_unknown_kind_is_refused_before_anything_is_sent() {
    let output = Sandbox::new().run(&["run", "http://127.0.0.1:1/", "--export", "kafka=x"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("unknown kind `kafka`; valid: remote-write, scrape"),
        "{output:?}"
    );
}
