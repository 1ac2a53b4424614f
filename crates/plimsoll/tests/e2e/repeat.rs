//! `plimsoll run --repeat`: the same load several times against an origin that recovers.

use std::fs;
use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::not_tried;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::turns::alone;

use crate::support::{Sandbox, is_late};

/// Every request takes 0.1 ms longer than the one before: the median of the last of ten runs is 23 ms.
#[test]
fn a_service_that_slows_down_does_not_recover() {
    let _alone = alone();
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

#[test]
fn the_same_load_is_run_again_and_compared_with_itself() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let place = Sandbox::new();
    let url = origin.url();
    let output = place.run(&[
        "run",
        &url,
        "--rate",
        "50/s",
        "--for",
        "500ms",
        "--repeat",
        "3",
        "--history",
        "ci",
        "--json",
    ]);
    // Void runs of a busy machine decide nothing; a machine that became busier looks like a service that does not recover.
    assert!([0, 3, 4, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    place.assert_follows_schema("repeat", &json);
    assert_eq!(json["runs"].as_array().unwrap().len(), 3);
    for metric in json["metrics"].as_array().unwrap() {
        assert_eq!(metric["values"].as_array().unwrap().len(), 3, "{metric}");
    }
    assert_eq!(place.run_files().len(), 3);
    let history = fs::read_to_string(place.path().join("ci/history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 3);
    for message in ["run 1 of 3", "run 3 of 3"] {
        assert!(output.stderr.contains(message), "{output:?}");
    }
}

#[test]
fn repetitions_are_bounded_and_of_loads() {
    let place = Sandbox::new();
    for times in ["0", "2", "101", "x"] {
        let output = place.run(&["run", "http://127.0.0.1:9/", "--repeat", times]);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains("3 to 100"), "{output:?}");
    }
    let plan =
        "target: http://127.0.0.1:9/\nsteps: [{ get: / }]\nload: { find: { users: 10..100 } }\n";
    fs::write(place.path().join("find.yaml"), plan).unwrap();
    let output = place.run(&["run", "find.yaml", "--repeat", "3"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("--repeat repeats a load"),
        "{output:?}"
    );
}
