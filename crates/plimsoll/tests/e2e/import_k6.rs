//! Scripts of k6 and the plans made of them send the same requests.

use std::path::PathBuf;
use std::process::Command;

use plimsoll_testkit::logging_origin::ObservedRequest;

use crate::import_scripts::{ScriptRoom, assert_same};
use crate::support::Sandbox;

/// Headers that scripts set, and that both programs send alike.
const HEADERS: [&str; 8] = [
    "authorization",
    "content-type",
    "cookie",
    "x-city",
    "x-kind",
    "x-login",
    "x-shop",
    "x-token",
];

/// k6, which `cargo xtask test` builds from its locked sources.
fn k6() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools/k6")
}

/// What k6 sends in one iteration of one user.
fn original(room: &ScriptRoom) -> Vec<ObservedRequest> {
    drop(room.origin.take());
    let output = Command::new(k6())
        .args(["run", "--quiet", "--no-summary", "--no-usage-report"])
        .args(["--log-output", "stderr"])
        .arg(room.script())
        .current_dir(room.place.path())
        .env_remove("HTTP_PROXY")
        .env("K6_NO_USAGE_REPORT", "true")
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", k6().display()));
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || output.status.code() == Some(99),
        "{shown}\n{}",
        String::from_utf8_lossy(&output.stdout)
    );
    room.origin.take()
}

/// Sets the load of a script to one user and one iteration, as `--vus 1 --iterations 1` would if it left scenarios alone.
fn with_one_iteration(room: &ScriptRoom) {
    let text = std::fs::read_to_string(room.script()).unwrap();
    let text = text
        .replace("vus: 5,\n  duration: '1m'", "vus: 1,\n  iterations: 1")
        .replace("vus: 2, iterations: 3", "vus: 1, iterations: 1");
    std::fs::write(room.script(), text).unwrap();
}

#[track_caller]
fn check(name: &str, losses: &[&str]) {
    let room = ScriptRoom::new("k6", name);
    let output = room.import("k6", &[]);
    let lost: Vec<&str> = output
        .stderr
        .lines()
        .filter(|line| line.contains(": lost: "))
        .collect();
    assert_eq!(lost.len(), losses.len(), "{lost:#?}");
    for part in losses {
        assert!(
            lost.iter().any(|line| line.contains(part)),
            "{part}: {lost:#?}"
        );
    }
    with_one_iteration(&room);
    let theirs = original(&room);
    let ours = room.run_once(&[]);
    assert_same(&theirs, &ours, &HEADERS);
}

#[test]
fn a_login_with_a_token_sends_the_same() {
    check("login.js", &[]);
}

#[test]
fn rows_of_files_and_helpers_send_the_same() {
    check("data.js", &[]);
}

#[test]
fn branches_classes_and_files_send_the_same() {
    check("flow.js", &["http.batch()"]);
}

#[test]
fn values_found_in_pages_send_the_same() {
    check("found.js", &[]);
}

#[test]
fn what_setup_makes_sends_the_same() {
    let name = "setup.js";
    let room = ScriptRoom::new("k6", name);
    let output = room.import("k6", &[]);
    for part in ["that setup() runs once", "teardown()"] {
        assert!(output.stderr.contains(part), "{output:?}");
    }
    // Without the request of teardown(), which the plan does not have.
    let text = std::fs::read_to_string(room.script()).unwrap();
    let start = text.find("  stages: [").unwrap();
    let end = start + text[start..].find("],\n").unwrap() + 3;
    let text = format!("{}  iterations: 1,\n{}", &text[..start], &text[end..]);
    let text = text.replace("http.del(", "String(");
    std::fs::write(room.script(), text).unwrap();
    let theirs = original(&room);
    let ours = room.run_once(&[]);
    assert_same(&theirs, &ours, &HEADERS);
}

#[test]
fn typescript_sends_the_same() {
    check("typed.ts", &[]);
}

#[test]
fn losses_make_a_strict_import_fail() {
    let place = Sandbox::new();
    std::fs::write(
        place.path().join("s.js"),
        "import http from 'k6/http';\nimport grpc from 'k6/net/grpc';\n\
         export default function () {\n  http.get('http://127.0.0.1/');\n}\n",
    )
    .unwrap();
    let output = place.run(&["import", "k6", "s.js", "--strict"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("s.js:2:1: lost: the module k6/net/grpc: "),
        "{output:?}"
    );
}

#[test]
fn a_script_that_is_no_javascript_is_refused_at_its_place() {
    let place = Sandbox::new();
    for (text, part) in [
        ("<html>\n", "s.js:1:1: "),
        ("const a = 1;\nlet = =;\n", "s.js:2:"),
        ("export default function () {}\n", "plimsoll record"),
        (&*"(".repeat(100_000), "nested"),
    ] {
        std::fs::write(place.path().join("s.js"), text).unwrap();
        let output = place.run(&["import", "k6", "s.js"]);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
}
