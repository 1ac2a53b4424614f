//! Curl lines: what the curl of this machine sends, and what the imported plan sends.

use std::process::Command;

use plimsoll_testkit::logging_origin::ObservedRequest;

use crate::import_scripts::{ScriptRoom, assert_same};
use crate::support::{CommandOutput, Sandbox};

/// Headers that both must send alike.
const HEADERS: [&str; 15] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "authorization",
    "content-type",
    "cookie",
    "origin",
    "range",
    "referer",
    "sec-ch-ua",
    "if-modified-since",
    "if-unmodified-since",
    "x-a",
    "x-b",
    "host",
];

/// Values that scripts read from outside, or that imports leave to it.
fn variables(room: &ScriptRoom) -> Vec<(String, String)> {
    let host = room.origin.address().to_string();
    [
        ("TOKEN_OF_TEST", "from outside"),
        ("ORIGIN_HOST", &host),
        ("SITE", &format!("http://{host}")),
        ("TOKEN", "eyJhbGciOi"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// What the script sends when bash runs it.
fn sent_by_curl(room: &ScriptRoom, variables: &[(&str, &str)]) -> Vec<ObservedRequest> {
    let output = Command::new("bash")
        .arg(room.script())
        .current_dir(room.place.path())
        .env("no_proxy", "*")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    room.origin.take()
}

/// Compares both; the output of the import.
#[track_caller]
fn check(name: &str, more: &[(&str, &str)]) -> CommandOutput {
    let room = ScriptRoom::new("curl", name);
    let variables = variables(&room);
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .chain(more.iter().copied())
        .collect();
    let theirs = sent_by_curl(&room, &variables);
    let output = room.import("curl", &[]);
    let ours = room.run_once(&variables);
    assert_same(&theirs, &ours, &HEADERS);
    output
}

#[test]
fn lines_of_browsers() {
    let output = check("browser.sh", &[]);
    assert!(!output.stderr.contains("lost:"), "{output:?}");
    assert!(
        output.stderr.contains("set before a run: TOKEN"),
        "{output:?}"
    );
}

#[test]
fn bodies() {
    let output = check("bodies.sh", &[]);
    assert!(!output.stderr.contains("lost:"), "{output:?}");
}

#[test]
fn forms() {
    let output = check("forms.sh", &[]);
    assert!(!output.stderr.contains("lost:"), "{output:?}");
}

#[test]
fn shell_scripts() {
    let output = check("shell.sh", &[]);
    assert!(!output.stderr.contains("lost:"), "{output:?}");
}

#[test]
fn options() {
    let more = [
        ("CREDENTIALS", "ada:secret"),
        ("CREDENTIALS_2", "bob:p@ss"),
        ("TOKEN", "abc123"),
    ];
    let output = check("options.sh", &more);
    let lost = output
        .stderr
        .lines()
        .filter(|line| line.contains(": lost: "));
    assert_eq!(lost.count(), 0, "{output:?}");
}

#[test]
fn redirects_and_cookies() {
    let output = check("redirects.sh", &[]);
    assert!(!output.stderr.contains("lost:"), "{output:?}");
}

#[test]
fn a_line_as_argument_prints_its_plan() {
    let place = Sandbox::new();
    let line = "curl https://shop.example/search -G -d q=tea -H 'X-Api-Key: k-1' --proxy http://127.0.0.1:3128";
    let output = place.run(&["import", "curl", line]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("get: /search?q=tea"), "{output:?}");
    assert!(!output.stdout.contains("k-1"), "{output:?}");
    assert!(output.stderr.contains("argument:1:"), "{output:?}");
    std::fs::write(place.path().join("plan.yaml"), &output.stdout).unwrap();
    let check = place.run(&["check", "plan.yaml"]);
    assert_eq!(check.code, 0, "{check:?}");
    let strict = place.run(&["import", "curl", line, "--strict"]);
    assert_eq!(strict.code, 2, "{strict:?}");
}

#[test]
fn standard_input_and_bad_input() {
    let place = Sandbox::new();
    let output = place.run(&["import", "curl", "-"]);
    assert_eq!(output.code, 2, "{output:?}");
    for (name, bytes, words) in [
        ("binary", &b"\x00\xff\xfe"[..], "not UTF-8"),
        (
            "quote.sh",
            b"curl 'http://a/",
            "quote.sh:1:6: the quote ' has no end",
        ),
        (
            "flag.sh",
            b"curl http://a/ --no-such-flag",
            "flag.sh:1:16: `--no-such-flag` is not an option of curl",
        ),
        ("empty.sh", b"", "no request was found"),
        // Where nothing is left, the losses tell why.
        (
            "dav.sh",
            b"curl -X PROPFIND http://a/",
            "dav.sh:1:9: lost: --request PROPFIND",
        ),
    ] {
        std::fs::write(place.path().join(name), bytes).unwrap();
        let output = place.run(&["import", "curl", name]);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(words), "{output:?}");
    }
}
