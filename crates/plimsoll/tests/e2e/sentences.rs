//! `--for` with a sentence: read as what, refused with what.

use std::fmt::Write as _;

use crate::support::Sandbox;

#[test]
fn what_is_not_understood_is_refused_with_the_nearest_form() {
    let place = Sandbox::new();
    let refused = |sentence: &str, texts: &[&str]| {
        let output = place.run(&["limit", "http://127.0.0.1:9/", "--for", sentence]);
        assert_eq!(output.code, 2, "{output:?}");
        for text in texts {
            assert!(output.stderr.contains(text), "{text}: {output:?}");
        }
    };
    refused(
        "12,000 poeple log in within 3 minutes",
        &[
            "column 8",
            "did you mean `12,000 people log in within 3 minutes`?",
        ],
    );
    refused(
        "3,000 users",
        &["3,000 users who pause ten seconds", "a plan with journeys"],
    );
    refused(
        "500 viewers with open WebSockets for an hour",
        &["--ws --connections 500 --hold 1h"],
    );
    refused(
        "ten times a usual Monday from nowhere.log",
        &["cannot read nowhere.log"],
    );
    let both = place.run(&[
        "limit",
        "http://127.0.0.1:9/",
        "--for",
        "5/s",
        "--at-least",
        "5/s",
    ]);
    assert_eq!(both.code, 2, "{both:?}");
    let tune = place.run(&["tune", "tune.yaml", "--for", "200 requests a second"]);
    assert!(tune.stderr.contains("users=100,500,2000"), "{tune:?}");
}

/// Two Mondays with 120 and 240 requests in the minute of 9:15, and a busier night.
#[test]
fn a_multiple_of_a_log_is_read_from_its_days() {
    let place = Sandbox::new();
    let mut log = String::new();
    let mut minute = |date: &str, clock: &str, requests: u32| {
        for number in 0..requests {
            let _ = writeln!(
                log,
                "192.0.2.1 - - [{date}:{clock}:{:02} +0000] \"GET / HTTP/1.1\" 200 5",
                number % 60
            );
        }
    };
    minute("01/Nov/2026", "10:00", 1);
    for (date, requests) in [("02/Nov/2026", 120), ("09/Nov/2026", 240)] {
        minute(date, "03:00", 600);
        minute(date, "09:15", requests);
    }
    minute("10/Nov/2026", "10:00", 1);
    std::fs::write(place.path().join("access.log"), log).unwrap();
    let rate = |sentence: &str| {
        let mut command = place.command(&["check", "--for", sentence, "--json"]);
        let output = command.env("TZ", "UTC").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["demand"]["requests_per_s"].as_f64().unwrap()
    };
    // The median of 2 and 4 requests per second, ten times; at night 10 on each.
    let at_nine = rate("a sale at nine, ten times a usual Monday from access.log");
    assert!((at_nine - 30.0).abs() < 1e-9, "{at_nine}");
    let busiest = rate("twice the busiest Monday of access.log at 9:00");
    assert!((busiest - 8.0).abs() < 1e-9, "{busiest}");
    let whole_day = rate("10x a usual Monday from access.log");
    assert!((whole_day - 100.0).abs() < 1e-9, "{whole_day}");
    let output = place.run(&[
        "check",
        "--for",
        "twice a usual Sunday from access.log at nine",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("has no requests of a usual Sunday"),
        "{output:?}"
    );
}
