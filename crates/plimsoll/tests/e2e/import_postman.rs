//! Postman collections: what newman sends, and what the imported plan sends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use plimsoll_testkit::logging_origin::ObservedRequest;
use plimsoll_testkit::program::packages::install;

use crate::import_scripts::{ScriptRoom, assert_same};
use crate::support::CommandOutput;

/// Headers that both must send alike.
const HEADERS: [&str; 11] = [
    "accept",
    "accept-encoding",
    "authorization",
    "cache-control",
    "content-type",
    "cookie",
    "host",
    "user-agent",
    "x-api-key",
    "x-a",
    "x-b",
];

/// Newman, installed once from its lock file.
fn newman() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/import_scripts/newman");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("newman");
        install(&source, &folder, "package.json");
        folder.join("node_modules/.bin/newman")
    })
}

fn sent_by_newman(room: &ScriptRoom, more: &[&str]) -> Vec<ObservedRequest> {
    let output = Command::new(newman())
        .arg("run")
        .arg(room.script())
        .args(["--reporters", "cli", "--suppress-exit-code"])
        .args(more)
        .current_dir(room.place.path())
        .env("no_proxy", "*")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    room.origin.take()
}

/// Compares both; the output of the import.
#[track_caller]
fn check(name: &str, environment: Option<&str>, variables: &[(&str, &str)]) -> CommandOutput {
    let room = ScriptRoom::new("postman", name);
    let theirs = match environment {
        Some(file) => sent_by_newman(&room, &["--environment", file]),
        None => sent_by_newman(&room, &[]),
    };
    let path = environment.map(|file| room.place.path().join(file));
    let more: Vec<&str> = match &path {
        Some(path) => vec!["--env", path.to_str().unwrap()],
        None => Vec::new(),
    };
    let output = room.import("postman", &more);
    let ours = room.run_once(variables);
    assert_same(&theirs, &ours, &HEADERS);
    output
}

#[track_caller]
fn assert_lost(output: &CommandOutput, count: usize) {
    let lost = output
        .stderr
        .lines()
        .filter(|line| line.contains(": lost: "));
    assert_eq!(lost.count(), count, "{output:?}");
}

#[test]
fn a_login_in_folders() {
    assert_lost(&check("login.json", None, &[("PASSWORD", "pa ss")]), 0);
}

#[test]
fn variables_of_an_environment() {
    let variables = [("API_KEY", "k-1")];
    assert_lost(&check("variables.json", Some("env.json"), &variables), 0);
}

#[test]
fn bodies() {
    assert_lost(&check("bodies.json", None, &[]), 0);
}

#[test]
fn urls() {
    assert_lost(&check("urls.json", None, &[]), 0);
}

#[test]
fn authorization() {
    let variables = [
        ("CREDENTIALS", "ada:pw"),
        ("X_API_KEY", "secret-1"),
        ("API_KEY", "v&w"),
        ("TOKEN", "t-1"),
        ("TOKEN_2", "t-2"),
        ("PASSWORD", "p:w"),
    ];
    assert_lost(&check("auth.json", None, &variables), 0);
}

#[test]
fn scripts() {
    let output = check("scripts.json", None, &[]);
    assert_lost(&output, 3);
    for words in [
        "setNextRequest",
        "a condition in a script",
        "pm.sendRequest",
    ] {
        assert!(output.stderr.contains(words), "{words}: {output:?}");
    }
}

#[test]
fn version_2_0() {
    assert_lost(&check("v2.0.json", None, &[("CREDENTIALS", "old:x")]), 0);
}
