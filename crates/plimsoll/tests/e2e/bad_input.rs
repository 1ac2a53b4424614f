//! Every invalid input has a message with place, fault and remedy, and the correct exit code.

use std::os::unix::fs::PermissionsExt as _;

use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::port;

use crate::support::{Sandbox, count};

/// Runs a command and checks its exit code and fragments of the message.
fn check(arguments: &[&str], code: i32, words: &[&str]) {
    let output = Sandbox::new().run(arguments);
    assert_eq!(output.code, code, "{arguments:?}: {output:?}");
    for word in words {
        assert!(
            output.stderr.contains(word) || output.stdout.contains(word),
            "no `{word}` in {output:?}"
        );
    }
}

fn refusing_url() -> String {
    format!("http://{}/", port::unused())
}

#[test]
fn what_was_typed_is_named() {
    let url = "http://127.0.0.1:1/";
    check(
        &["run", url, "--objective", "p95 < 500 parsec"],
        2,
        &["column 11", "parsec", "800ms"],
    );
    check(
        &["run", url, "--objective", "erors < 1%"],
        2,
        &["did you mean `errors`"],
    );
    check(
        &["run", url, "--rate", "fast"],
        2,
        &["not a number", "300/s"],
    );
    check(
        &["run", url, "--rate", "10/s", "--connections", "3"],
        2,
        &["cannot be used with"],
    );
    check(
        &["run", url, "--warmup", "20s", "--for", "10s"],
        2,
        &["warm-up"],
    );
    check(&["run", "ftp://x/"], 2, &["http://"]);
    check(&["run", url, "-H", "no colon"], 2, &["Name: value"]);
    check(
        &["run", url, "--address", "127.0.0.1"],
        2,
        &["IP address with a port", "127.0.0.1:8080"],
    );
    check(&["run", url, "--seed", "x"], 2, &["whole number"]);
    // Reserved for documentation (RFC 5737): no machine has it.
    check(
        &["run", url, "--source", "192.0.2.1"],
        2,
        &[
            "cannot connect from 192.0.2.1",
            "an address of this machine",
        ],
    );
    check(&["run", url, "--urls", "missing.txt"], 2, &["missing.txt"]);
    check(
        &["run", "https://127.0.0.1:1/", "--cacert", "missing.pem"],
        2,
        &["missing.pem"],
    );
}

#[test]
fn faulty_lines_of_a_url_file_are_named() {
    let place = Sandbox::new();
    std::fs::write(place.path().join("urls"), "/ok\nhttp://elsewhere/x\n/a b\n").unwrap();
    let output = place.run(&["run", "http://127.0.0.1:1/", "--urls", "urls"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("line 2") && output.stderr.contains("line 3"),
        "{output:?}"
    );
}

#[test]
fn hosts_that_cannot_be_reached() {
    check(
        &["run", "http://no-such-host.invalid/", "--for", "1s"],
        5,
        &["no-such-host.invalid", "help"],
    );
    check(
        &["run", &refusing_url(), "--rate", "50/s", "--for", "1s"],
        5,
        &["refused"],
    );
    let output = Sandbox::new().run(&["limit", &refusing_url(), "--quick"]);
    if output.code == 6 {
        // The generator tests itself before it looks for the target.
        plimsoll_testkit::not_tried::disturbed(&output.stdout);
        return;
    }
    assert_eq!(output.code, 5, "{output:?}");
    let text = format!("{}{}", output.stdout, output.stderr);
    assert!(text.contains("refused"), "{text}");
}

#[test]
fn public_addresses_need_a_yes() {
    check(
        &["run", "http://192.0.2.1/", "--for", "1s"],
        2,
        &["--i-own-this"],
    );
}

#[test]
fn a_certificate_that_does_not_fit() {
    let origin = fault::start(OriginFault::Tls(vec!["localhost".to_owned()])).unwrap();
    let place = Sandbox::new();
    let refused = place.run(&[
        "run",
        &origin.url(),
        "--rate",
        "20/s",
        "--for",
        "1s",
        "--json",
    ]);
    let json = refused.json();
    assert!(count(&json, "outcomes.tls") > 0, "{json:#}");
    assert_eq!(count(&json, "outcomes.ok"), 0);
    let pem = place.path().join("ca.pem");
    std::fs::write(&pem, origin.certificate_pem().unwrap()).unwrap();
    let trusted = place.run(&[
        "run",
        &origin.url(),
        "--rate",
        "20/s",
        "--for",
        "1s",
        "--json",
        "--cacert",
        "ca.pem",
    ]);
    assert_eq!(count(&trusted.json(), "outcomes.tls"), 0, "{trusted:?}");
    let insecure = place.run(&[
        "run",
        &origin.url(),
        "--rate",
        "20/s",
        "--for",
        "1s",
        "--json",
        "-k",
        "--report",
    ]);
    assert_eq!(count(&insecure.json(), "outcomes.tls"), 0, "{insecure:?}");
    let html = std::fs::read_to_string(
        place
            .path()
            .join(insecure.json()["report_file"].as_str().unwrap()),
    )
    .unwrap();
    assert!(
        html.contains("insecure") || html.contains("any certificate"),
        "the report says nothing of --insecure"
    );
}

#[test]
fn a_redirect_loop_ends() {
    let origin = fault::start(OriginFault::RedirectLoop).unwrap();
    let output = Sandbox::new().run(&[
        "run",
        &origin.url(),
        "--rate",
        "20/s",
        "--for",
        "1s",
        "-L",
        "--json",
    ]);
    let json = output.json();
    assert_eq!(
        count(&json, "outcomes.wrong_status"),
        count(&json, "requests"),
        "{output:?}"
    );
}

#[test]
fn a_target_that_closes_at_once() {
    let origin = fault::start(OriginFault::ClosesAtOnce).unwrap();
    let json = Sandbox::new()
        .run(&[
            "run",
            &origin.url(),
            "--rate",
            "50/s",
            "--for",
            "1s",
            "--json",
        ])
        .json();
    assert_eq!(
        count(&json, "outcomes.reset"),
        count(&json, "requests"),
        "{json:#}"
    );
}

#[test]
fn folders_that_cannot_be_written() {
    let place = Sandbox::new();
    std::fs::write(place.path().join("plimsoll"), "a file").unwrap();
    let output = place.run(&["run", "http://127.0.0.1:1/", "--for", "1s"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--out"), "{output:?}");
    let folder = place.path().join("locked");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o500)).unwrap();
    if std::fs::write(folder.join("probe"), "").is_err() {
        let output = place.run(&[
            "run",
            "http://127.0.0.1:1/",
            "--for",
            "1s",
            "--out",
            "locked",
        ]);
        assert_eq!(output.code, 2, "{output:?}");
    } else {
        println!(
            "the user may write anywhere (root); the read-only file system stands for the folder"
        );
    }
    // /proc takes no files from anybody, root included.
    let output = place.run(&[
        "run",
        "http://127.0.0.1:1/",
        "--for",
        "1s",
        "--out",
        "/proc/plimsoll",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--out"), "{output:?}");
}

#[test]
fn files_that_are_no_runs() {
    let place = Sandbox::new();
    std::fs::write(place.path().join("x.run"), "hello").unwrap();
    let output = place.run(&["report", "x.run"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("not a run log"), "{output:?}");
    assert_eq!(place.run(&["report", "missing.run"]).code, 2);
}
