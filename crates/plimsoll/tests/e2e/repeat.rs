//! `plimsoll run --repeat`: the same load several times. One that slows a service down is among the laws.

use std::fs;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};

use crate::support::Sandbox;

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
