//! Plan files on the command line: checked without load, overridden by flags, every problem with its place.

use crate::support::{CommandOutput, Sandbox};

const EXAM: &str = "target: http://127.0.0.1:1\n\
objective: [p95 < 800ms, errors < 1%]\n\
journeys:\n\
\x20 candidate:\n\
\x20   once:\n\
\x20     - post: /login\n\
\x20       form: { name: \"{{ candidate.name }}\" }\n\
\x20   steps:\n\
\x20     - get: /home\n\
\x20     - think: 2s\n\
data:\n\
\x20 candidate: { csv: data/candidates.csv, pick: unique }\n\
load: { users: 5, hold: 60m }\n";

fn write(place: &Sandbox, name: &str, text: &str) {
    let path = place.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn exam() -> Sandbox {
    let place = Sandbox::new();
    write(&place, "plans/exam.yaml", EXAM);
    write(&place, "plans/data/candidates.csv", "name\nada\ngrace\n");
    place
}

#[track_caller]
fn assert_output(output: &CommandOutput, code: i32, words: &[&str]) {
    assert_eq!(output.code, code, "{output:?}");
    for word in words {
        assert!(
            output.stderr.contains(word) || output.stdout.contains(word),
            "no `{word}` in {output:?}"
        );
    }
}

#[test]
fn a_plan_is_checked_without_load() {
    let place = exam();
    let output = place.run(&["check", "plans/exam.yaml"]);
    assert_output(
        &output,
        0,
        &["valid plan", "1 journey, 2 steps, 2 rows of candidate"],
    );
    let json = place.run(&["check", "plans/exam.yaml", "--json"]).json();
    assert_eq!(json["steps"][0], "POST /login");
    assert!(place.run_files().is_empty());
}

#[test]
fn every_problem_begins_with_its_place() {
    let place = exam();
    let wrong = EXAM
        .replace("think: 2s", "thnk: 2s")
        .replace("candidate.name", "candidate.nme");
    write(&place, "plans/exam.yaml", &wrong);
    for command in ["check", "run", "limit"] {
        let output = place.run(&[command, "plans/exam.yaml"]);
        assert_output(
            &output,
            2,
            &[
                "did you mean `think`",
                "did you mean `name`",
                "has 2 problems",
            ],
        );
        let starts: Vec<&str> = output
            .stderr
            .lines()
            .take(2)
            .map(|line| &line[..20])
            .collect();
        assert!(starts[0].starts_with("plans/exam.yaml:7:"), "{output:?}");
        assert!(starts[1].starts_with("plans/exam.yaml:10:"), "{output:?}");
    }
}

#[test]
fn what_is_no_plan_is_told() {
    let place = exam();
    assert_output(
        &place.run(&["check", "missing.yaml"]),
        2,
        &["missing.yaml", "cannot read"],
    );
    write(&place, "empty.yaml", "");
    assert_output(
        &place.run(&["check", "empty.yaml"]),
        2,
        &["empty.yaml:1:1:", "empty"],
    );
    std::fs::write(place.path().join("bytes.yaml"), b"target: \xff\n").unwrap();
    assert_output(
        &place.run(&["check", "bytes.yaml"]),
        2,
        &["bytes.yaml:1:9:", "UTF-8"],
    );
    assert_output(
        &place.run(&["check", "http://127.0.0.1:1/", "--target", "http://x"]),
        2,
        &["--target"],
    );
}

#[test]
fn flags_that_a_plan_contradicts_are_refused() {
    let place = exam();
    let plan = "plans/exam.yaml";
    assert_output(
        &place.run(&["run", plan, "--data", "x"]),
        2,
        &["--data", "plan"],
    );
    assert_output(
        &place.run(&["run", plan, "--connections", "5"]),
        2,
        &["--users"],
    );
    assert_output(
        &place.run(&["run", "http://127.0.0.1:1/", "--users", "5"]),
        2,
        &["plan file"],
    );
    write(
        &place,
        "plans/none.yaml",
        &EXAM.replace("load: { users: 5, hold: 60m }\n", ""),
    );
    assert_output(
        &place.run(&["run", "plans/none.yaml"]),
        2,
        &["has no load", "--users"],
    );
    assert_output(
        &place.run(&["run", plan, "--target", "ftp://x"]),
        2,
        &["ftp"],
    );
}

#[test]
fn the_schema_is_printed() {
    let place = Sandbox::new();
    let schema = place.run(&["generate", "schema", "plan"]).json();
    assert_eq!(
        schema["properties"]["target"]["description"]
            .as_str()
            .map(str::is_empty),
        Some(false)
    );
    assert_output(
        &place.run(&["generate", "schema", "x"]),
        2,
        &[
            "valid: availability, check, compare, doctor, edge-status, experiment",
            "plan, repeat, run",
        ],
    );
}

#[test]
fn the_plans_of_the_case_studies_and_the_docs_are_valid() {
    let place = Sandbox::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut checked = 0;
    for folder in ["cases/tutor", "docs/examples/processes"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            // The experiments of a case are filled in before they are read; tests of the cases do that.
            let is_experiment = path.file_name().is_some_and(|name| name == "tune.yaml");
            if path.extension().is_some_and(|ending| ending == "yaml") && !is_experiment {
                assert_output(
                    &place.run(&["check", path.to_str().unwrap()]),
                    0,
                    &["valid plan"],
                );
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 5);
}

#[test]
fn the_matrices_of_the_case_studies_are_valid_and_last_an_hour_at_most() {
    let place = Sandbox::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let run = |words: &[&str], file: &str| {
        let path = root.join(file);
        place.run(&[words, &[path.to_str().unwrap()]].concat())
    };
    for plan in ["consult/walk.yaml", "newspaper/pages.yaml"] {
        assert_output(&run(&["check"], plan), 0, &["valid plan"]);
    }
    for edge in ["consult/edge.yaml", "consult/fragments.yaml"] {
        assert_output(&run(&["edge", "check"], edge), 0, &[]);
    }
    for (file, cells) in [("consult/matrix.yaml", 40), ("newspaper/matrix.yaml", 5)] {
        let output = run(&["matrix", "--dry-run", "--json"], file);
        assert_output(&output, 0, &[]);
        let forecast: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(forecast["cells"].as_array().unwrap().len(), cells);
        assert_eq!(forecast["trials_per_cell"], 3);
        // A start of the service, its reset and a machine at rest take some seconds.
        let trials = forecast["trials"].as_f64().unwrap();
        let seconds = forecast["seconds"].as_f64().unwrap() + 8.0 * trials;
        assert!(seconds <= 3600.0, "{file}: {seconds}");
    }
}

#[test]
fn what_cannot_be_watched_is_said() {
    let place = exam();
    let watched = format!("{EXAM}watch: {{ host: local, process: nginx, envoy: db }}\n");
    write(&place, "plans/exam.yaml", &watched);
    let output = place.run(&["check", "plans/exam.yaml"]);
    assert_output(&output, 0, &["note: watch: envoy cannot be watched yet"]);
}

#[test]
fn a_replay_sends_what_a_log_held() {
    let site = plimsoll_testkit::origin::site::start().unwrap();
    let place = Sandbox::new();
    let line = |second: u32, path: &str| {
        format!(
            "10.0.0.1 - - [22/Nov/2026:01:43:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 10 \"-\" \"M\"\n"
        )
    };
    let log = [
        (10, "/items"),
        (10, "/gzip"),
        (13, "/asset/a"),
        (14, "/page"),
    ];
    let log: String = log
        .iter()
        .map(|(second, path)| line(*second, path))
        .collect();
    write(&place, "access.log", &log);
    let target = format!("http://{}", site.address());
    let arguments = [
        "import",
        "log",
        "access.log",
        "--target",
        &target,
        "--replay",
        "3x",
        "--rows",
        "rows.csv",
    ];
    let imported = place.run(&arguments);
    assert_output(&imported, 0, &["replay: rows.csv", "speed: \"3x\""]);
    write(&place, "replay.yaml", &imported.stdout);
    let json = place.run(&["run", "replay.yaml", "--json"]).json();
    assert_eq!(crate::support::count(&json, "outcomes.ok"), 4, "{json:#}");
    // Each came on a connection of its own, and threads of the site read them: in which order is theirs.
    let mut received = site.log();
    received.sort_unstable();
    assert_eq!(
        received,
        ["GET /asset/a", "GET /gzip", "GET /items", "GET /page"]
    );
    let rows = std::fs::read_to_string(place.path().join("rows.csv")).unwrap();
    let order: Vec<&str> = rows
        .lines()
        .skip(1)
        .filter_map(|row| row.split('"').nth(1))
        .collect();
    assert_eq!(order, ["/items", "/gzip", "/asset/a", "/page"], "{rows}");
}
