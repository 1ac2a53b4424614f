//! Test plans of JMeter and the plans made of them send the same requests.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::logging_origin::ObservedRequest;

use crate::import_scripts::{ScriptRoom, assert_same};

/// Headers that both send if the test plan asks for them. The load generator has an Accept of its own.
const HEADERS: [&str; 9] = [
    "authorization",
    "content-type",
    "cookie",
    "x-group",
    "x-level",
    "x-plan",
    "host",
    "origin",
    "referer",
];
/// The password that a test plan has, and a plan has not.
const PASSWORD: &str = "swordfish";

/// JMeter from its libraries, in the folders where it looks for them.
fn jmeter() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/jmeter");
    let program = tools.join("bin/ApacheJMeter.jar");
    assert!(
        program.is_file(),
        "{} is missing: `cargo xtask test` installs it",
        program.display()
    );
    program
}

/// What JMeter sends.
fn run_jmeter(room: &ScriptRoom) -> Vec<ObservedRequest> {
    let folder = room.place.path();
    let port = room.origin.address().port();
    drop(room.origin.take());
    let output = Command::new("java")
        .args(["-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"])
        .arg(format!("-Djava.util.prefs.userRoot={}", folder.display()))
        .arg("-jar")
        .arg(jmeter())
        .args(["-n", "-j", "jmeter.log", "-t"])
        .arg(room.script())
        .arg(format!("-Jorigin.port={port}"))
        // No port for orders from outside, and each request once.
        .args(["-Jjmeterengine.nongui.port=0", "-Jhttpclient4.retrycount=0"])
        .current_dir(folder)
        .output()
        .unwrap();
    let log = std::fs::read_to_string(folder.join("jmeter.log")).unwrap_or_default();
    assert!(output.status.success(), "{output:?}\n{log}");
    let received = room.origin.take();
    assert!(!received.is_empty(), "{output:?}\n{log}");
    received
}

/// What the imported plan sends, with its own load.
fn run_plan(room: &ScriptRoom) -> Vec<ObservedRequest> {
    let port = room.origin.address().port().to_string();
    let run = |arguments: &[&str]| {
        let output = room
            .place
            .command(arguments)
            .env("ORIGIN_PORT", &port)
            .env("ADA_PASSWORD", PASSWORD)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        // 6: a busy machine makes the measurement void, not what was sent.
        let is_done = matches!(output.status.code(), Some(0 | 6));
        let is_good = is_done && !shown.contains("panicked");
        assert!(is_good, "{arguments:?}\n{shown}\n{}", room.plan());
    };
    run(&["check", "plan/plan.yaml"]);
    drop(room.origin.take());
    run(&["run", "plan/plan.yaml", "--json"]);
    room.origin.take()
}

/// What means the same: a form is UTF-8 without saying so, a space in a query is `+` or `%20`, and the parts of a
/// multipart body need no transfer coding.
fn plain(mut request: ObservedRequest) -> ObservedRequest {
    if let Some((path, query)) = request.path.split_once('?') {
        request.path = format!("{path}?{}", query.replace('+', "%20"));
    }
    if let Some(kind) = request.headers.get_mut("content-type") {
        *kind = kind.replace("; charset=UTF-8", "");
    }
    if let Ok(text) = std::str::from_utf8(&request.body) {
        request.body = text
            .replace("Content-Transfer-Encoding: 8bit\r\n", "")
            .into_bytes();
    }
    request
}

/// Both run the test plan; it has these losses, each by how its line ends its place.
#[track_caller]
fn check(name: &str, losses: &[&str]) {
    let room = ScriptRoom::new("jmeter/plans", name);
    let output = room.import("jmeter", &[]);
    let lost: Vec<&str> = output
        .stderr
        .lines()
        .filter_map(|line| line.split_once(": lost: ").map(|(_, what)| what))
        .collect();
    assert_eq!(lost.len(), losses.len(), "{output:?}");
    for (line, start) in lost.iter().zip(losses) {
        assert!(line.starts_with(start), "{line}\n{output:?}");
    }
    let theirs: Vec<ObservedRequest> = run_jmeter(&room).into_iter().map(plain).collect();
    let ours: Vec<ObservedRequest> = run_plan(&room).into_iter().map(plain).collect();
    assert_same(&theirs, &ours, &HEADERS);
}

#[test]
fn arguments_and_bodies_are_the_same() {
    check("arguments.jmx", &[]);
}

#[test]
fn extracted_values_and_cookies_are_the_same() {
    check("login.jmx", &[]);
}

#[test]
fn controllers_take_the_same_steps() {
    check("controllers.jmx", &[]);
}

#[test]
fn rows_variables_and_functions_have_the_same_values() {
    check("data.jmx", &[]);
}

#[test]
fn configuration_applies_to_the_same_samplers() {
    check("scopes.jmx", &[]);
}

#[test]
fn thread_groups_send_the_same_iterations() {
    check("groups.jmx", &["setUp Thread Group \"Prepare\""]);
}

#[test]
fn losses_name_their_place_and_strict_refuses_them() {
    let room = ScriptRoom::new("jmeter/plans", "groups.jmx");
    let script = room.script().to_str().unwrap();
    let output = room.place.run(&["import", "jmeter", script, "--strict"]);
    assert_eq!(output.code, 2, "{output:?}");
    let lost = output.stderr.lines().find(|line| line.contains(": lost: "));
    let (place, _) = lost.unwrap().split_once(": lost: ").unwrap();
    let line = place.strip_prefix(script).unwrap();
    let number = line.trim_start_matches(':').split(':').next().unwrap();
    let text = std::fs::read_to_string(script).unwrap();
    let line: usize = number.parse().unwrap();
    assert!(
        text.lines()
            .nth(line - 1)
            .unwrap()
            .contains("<SetupThreadGroup")
    );
}

#[test]
fn entities_are_refused() {
    let room = ScriptRoom::new("jmeter/plans", "groups.jmx");
    let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]>\n<jmeterTestPlan/>\n";
    std::fs::write(room.place.path().join("bomb.jmx"), text).unwrap();
    let output = room.place.run(&["import", "jmeter", "bomb.jmx"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("bomb.jmx:2:1: ") && output.stderr.contains("never expanded"),
        "{output:?}"
    );
}
