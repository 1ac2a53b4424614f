//! Journeys as processes: the files of the docs, and programs that fail.

use std::path::Path;

use plimsoll_testkit::origin::site::{self, TestSite};
use serde_json::Value;

use crate::support::{CommandOutput, Sandbox, count, number};

/// The files of the docs, in a folder of their own.
fn examples() -> Sandbox {
    let place = Sandbox::new();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/processes");
    for file in std::fs::read_dir(docs).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), place.path().join(file.file_name())).unwrap();
    }
    place
}

/// The same with a load that ends after so many iterations: at the end of a time, users of a busy machine are still at their
/// login.
fn short_examples() -> Sandbox {
    let place = examples();
    for plan in ["editor-python.yaml", "editor-node.yaml"] {
        let path = place.path().join(plan);
        let text = std::fs::read_to_string(&path).unwrap();
        let load = "load: { users: 20, within: 2s, hold: 1m }";
        assert!(text.contains(load), "{text}");
        let text = text.replace(load, "load: { users: 5, iterations: 40 }");
        std::fs::write(path, text).unwrap();
    }
    place
}

fn run(place: &Sandbox, site: &TestSite, plan: &str, more: &[&str]) -> CommandOutput {
    let url = format!("http://{}", site.address());
    let arguments = [&["run", plan, "--target", &url][..], more].concat();
    place.run(&arguments)
}

fn step<'a>(json: &'a Value, label: &str) -> &'a Value {
    let steps = json["steps"].as_array().unwrap();
    let found = steps.iter().find(|step| step["label"] == label);
    found.unwrap_or_else(|| panic!("no step {label} in {json:#}"))
}

#[track_caller]
fn example_works(plan: &str) {
    let site = site::start().unwrap();
    let place = short_examples();
    let output = run(&place, &site, plan, &["--json", "--report"]);
    // A late generator voids latencies, and a late site misses the objective; neither changes the completed steps.
    assert!([0, 3, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    for (label, once) in [
        ("GET /login", true),
        ("POST /login", true),
        ("GET /form", false),
        ("POST /save", false),
    ] {
        let step = step(&json, label);
        assert_eq!(step["once"], once, "{label}");
        assert!(count(step, "samples") > 0, "{label} in {json:#}");
        assert_eq!(
            count(step, "outcomes.ok"),
            count(step, "samples"),
            "{label} in {json:#}"
        );
    }
    assert_eq!(count(step(&json, "POST /login"), "samples"), 5);
    // All steps were carried out: the site received as many as were counted.
    assert_eq!(
        site.count("POST /save"),
        count(step(&json, "POST /save"), "samples")
    );
    let process = &json["processes"][0];
    assert_eq!(process["journey"], "writer");
    assert!(count(process, "steps") > 20, "{process:#}");
    assert!(number(process, "cpu_us_per_step") > 0.0, "{process:#}");
    assert!(number(process, "wait_ms.p99") >= number(process, "wait_ms.p50"));
    assert_eq!(count(process, "faults"), 0);
    assert!(count(&json["journeys"][0], "iterations") > 0);
    let report = place.path().join(json["report_file"].as_str().unwrap());
    let html = std::fs::read_to_string(report).unwrap();
    assert!(html.contains("id=\"processes-heading\"") && html.contains("µs CPU each"));
    let threshold = &json["thresholds"][0];
    assert_eq!(threshold["scope"], "step POST /save");
    if output.code == 0 {
        assert_eq!(threshold["met"], true, "{threshold:#}");
    }
}

#[test]
fn the_example_in_python_works() {
    example_works("editor-python.yaml");
}

#[test]
fn the_example_in_node_works() {
    example_works("editor-node.yaml");
}

#[test]
fn its_cost_is_on_the_screen() {
    let site = site::start().unwrap();
    let output = run(&short_examples(), &site, "editor-python.yaml", &[]);
    // A late generator voids latencies, and a late site misses the objective; neither changes the completed steps.
    assert!([0, 3, 6].contains(&output.code), "{output:?}");
    for word in [
        "process",
        "python3 editor.py (writer)",
        "µs CPU each",
        "users waited",
    ] {
        assert!(output.stdout.contains(word), "no `{word}` in {output:?}");
    }
}

#[test]
fn a_process_that_dies_is_told_and_voids_the_run() {
    let site = site::start().unwrap();
    let place = Sandbox::new();
    let script = "import sys\nfor line in sys.stdin:\n    raise ValueError('out of ideas')\n";
    std::fs::write(place.path().join("bad.py"), script).unwrap();
    // The load ends when nobody is left, however long Python takes to start: behind its end a process may die.
    let plan = "target: http://localhost:1\njourneys:\n  bad: { process: [python3, bad.py], iterations: 1 }\n  good: { steps: [{ get: /items }, { think: 10ms }], iterations: 60 }\nload: { users: 4 }\n";
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    let output = run(&place, &site, "plan.yaml", &["--json"]);
    assert_eq!(output.code, 6, "{output:?}");
    for word in [
        "bad: ValueError: out of ideas",
        "a process of the journey bad failed",
        "exit code 1",
    ] {
        assert!(output.stderr.contains(word), "no `{word}` in {output:?}");
    }
    let json = output.json();
    assert!(
        json["void"][0].as_str().unwrap().contains("python3 bad.py"),
        "{json:#}"
    );
    assert_eq!(count(&json, "users.lost"), 2, "{json:#}");
    assert!(
        count(step(&json, "GET /items"), "outcomes.ok") > 50,
        "{json:#}"
    );
    assert_eq!(
        count(step(&json, "process"), "outcomes.dropped"),
        2,
        "{json:#}"
    );
    // The run file has the same result.
    let file = json["run_file"].as_str().unwrap();
    let again = place.run(&["report", file, "--json"]);
    assert_eq!(again.json()["steps"], json["steps"]);
}

#[test]
fn a_program_that_is_not_there_is_told_before_anything_is_sent() {
    let site = site::start().unwrap();
    let place = Sandbox::new();
    let plan =
        "target: http://localhost:1\nprocess: [./no-such-program]\nload: { users: 1, hold: 1s }\n";
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    let output = run(&place, &site, "plan.yaml", &[]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("cannot start the process of the journey plan, ./no-such-program"),
        "{output:?}"
    );
    assert!(site.log().is_empty());
}

#[test]
fn data_that_must_suffice_and_does_not_voids_the_run() {
    let site = site::start().unwrap();
    let place = Sandbox::new();
    let plan = "target: http://localhost:1\nsteps: [{ get: \"/items?{{ row.value }}\" }]\ndata: { row: { rows: [a, b], pick: unique, at_end: error } }\nload: { users: 3, hold: 1m }\n";
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    let output = run(&place, &site, "plan.yaml", &["--json"]);
    assert_eq!(output.code, 6, "{output:?}");
    let void = output.json()["void"][0].as_str().unwrap().to_owned();
    assert!(
        void.contains("all 2 rows of the data row are used"),
        "{void}"
    );
}

#[test]
fn a_search_asks_processes_too() {
    let site = site::start().unwrap();
    let place = examples();
    let url = format!("http://{}", site.address());
    let output = place.two_gate_trials(&[
        "limit",
        "editor-python.yaml",
        "--target",
        &url,
        "--quick",
        "--at-least",
        "2/s",
        "--json",
    ]);
    let json = output.json();
    // Two trials that a busy machine failed may have decided the gate before the interrupt.
    assert!([130, 3, 6].contains(&output.code), "{output:?}");
    if output.code == 6 {
        plimsoll_testkit::not_tried::disturbed(&json["void"]);
        return;
    }
    // Labels keep their meaning from trial to trial.
    let labels: Vec<&str> = json["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["label"].as_str().unwrap())
        .collect();
    assert_eq!(
        labels,
        ["GET /login", "POST /login", "GET /form", "POST /save"],
        "{json:#}"
    );
    assert!(count(step(&json, "POST /save"), "outcomes.ok") > 0);
    assert!(count(&json["processes"][0], "steps") > 0);
}
