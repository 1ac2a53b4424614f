//! `plimsoll scale --replay`: traces, logs and runs, beside other policies, and what it refuses.

use std::fmt::Write as _;

use crate::support::{CommandOutput, Sandbox, count, number};

const POLICY: &str = "min: 2\nmax: 20\nreplica: { line: 80/s, start: 40s }\nprice: { currency: EUR, per_hour: { machine: 0.096 } }\n";
/// A step to five times the rate, and back.
const TRACE: &str = "second,rate\n0,150\n600,750\n1200,150\n1800,150\n";

fn place() -> Sandbox {
    let place = Sandbox::new();
    std::fs::write(place.path().join("policy.yaml"), POLICY).unwrap();
    std::fs::write(place.path().join("trace.csv"), TRACE).unwrap();
    place
}

#[track_caller]
fn refused(output: &CommandOutput, expected: &str) {
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains(expected), "{expected}: {output:?}");
}

#[test]
fn a_policy_is_judged_beside_others() {
    let place = place();
    let output = place.run(&["scale", "policy.yaml", "--replay", "trace.csv", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    place.assert_follows_schema("scale", &json);
    assert_eq!(json["policy"], "policy");
    assert_eq!(json["duration_s"], 2400);
    let names: Vec<&str> = (0..3)
        .map(|at| json["scalers"][at]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["policy", "hpa", "kpa"]);
    for scaler in json["scalers"].as_array().unwrap() {
        assert!(
            number(scaler, "bad_share") > 0.0 && number(scaler, "bad_share") < 0.2,
            "{scaler:#}"
        );
        assert!(number(scaler, "price") > 0.0);
        assert_eq!(count(scaler, "demand_max"), 10);
        assert!(count(scaler, "time_to_capacity_s") >= 40, "{scaler:#}");
    }
    // The step is at second 600: the first decision comes with the lag of two seconds and the second itself.
    let first = &json["decisions"][0];
    assert_eq!(
        (
            count(first, "at"),
            count(first, "now"),
            count(first, "wanted")
        ),
        (603, 3, 13)
    );
    assert_eq!(first["signal"], "offered (line)");
    assert!(first["refused_by"].is_null());
    let text = place.run(&["scale", "policy.yaml", "--replay", "trace.csv"]);
    for expected in [
        "replica-hours",
        "EUR",
        "hpa",
        "kpa",
        "time to capacity",
        "Decisions",
    ] {
        assert!(text.stdout.contains(expected), "{expected}: {text:?}");
    }
}

#[test]
fn a_policy_that_must_oscillate_is_warned_of_with_its_arithmetic() {
    let place = place();
    let policy = format!(
        "{POLICY}threshold: {{ signal: cpu, above: 75%, below: 35%, add: 4, remove: 2 }}\n"
    );
    std::fs::write(place.path().join("study.yaml"), policy).unwrap();
    let flags = [
        "--replay",
        "trace.csv",
        "--policy",
        "study-1",
        "--html",
        "scale.html",
        "--json",
    ];
    let output = place.run(&[&["scale", "study.yaml"], &flags[..]].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let arithmetic = "0.75 × 2/(2+4) = 0.25 ≤ 0.35";
    assert!(output.stderr.contains(arithmetic), "{output:?}");
    assert!(
        output.json()["warnings"][0]
            .as_str()
            .unwrap()
            .contains(arithmetic)
    );
    let page = std::fs::read_to_string(place.path().join("scale.html")).unwrap();
    for expected in [
        arithmetic,
        "Demand, supply and load",
        "l-offered",
        "study-1",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(!page.contains("<script"), "the page runs nothing");
}

#[test]
fn a_log_and_a_recorded_supply_are_replayed() {
    let place = place();
    let mut log = String::new();
    for second in 0..120 {
        for request in 0..2 {
            let (minute, second) = (second / 60, second % 60);
            writeln!(
                log,
                "10.0.0.{request} - - [23/Nov/2026:09:{minute:02}:{second:02} +0000] \"GET /{request} HTTP/1.1\" 200 1234 \"-\" \"Mozilla/5.0\""
            )
            .unwrap();
        }
    }
    std::fs::write(place.path().join("access.log"), log).unwrap();
    let output = place.run(&["scale", "policy.yaml", "--replay", "access.log", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    assert_eq!(json["duration_s"], 120);
    assert_eq!(count(&json["scalers"][0], "demand_max"), 1);
    let recorded = "second,rate,replicas\n0,100,4\n60,400,4\n120,400,8\n180,400,8\n";
    std::fs::write(place.path().join("recorded.csv"), recorded).unwrap();
    let flags = ["--replay", "recorded.csv", "--policy", "kpa", "--json"];
    let json = place
        .run(&[&["scale", "policy.yaml"], &flags[..]].concat())
        .json();
    let theirs = &json["scalers"][2];
    assert_eq!(theirs["name"], "recorded");
    assert!(theirs["bad"].is_null());
    // One of five is missing for a quarter of the time.
    assert!(
        (number(theirs, "elasticity.theta_u") - 5.0).abs() < 1e-6,
        "{theirs:#}"
    );
    assert_eq!(count(theirs, "time_to_capacity_s"), 60);
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let place = place();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    let run = |policy: &str, trace: &str, more: &[&str]| {
        place.run(&[&["scale", policy, "--replay", trace], more].concat())
    };
    write(
        "over.yaml",
        "min: 30\nmax: 20\nreplica: { line: 80/s, start: 40s }\n",
    );
    refused(
        &run("over.yaml", "trace.csv", &[]),
        "over.yaml:1:1: `min` (30) is above `max` (20)",
    );
    refused(&run("nowhere.yaml", "trace.csv", &[]), "nowhere.yaml");
    refused(&run("policy.yaml", "nowhere.csv", &[]), "nowhere.csv");
    write("wrong.csv", "second,rate\n0,10\n5,many\n");
    refused(
        &run("policy.yaml", "wrong.csv", &[]),
        "line 3: `many` is not a rate",
    );
    refused(
        &run("policy.yaml", "trace.csv", &["--policy", "hpb"]),
        "valid: hpa, kpa",
    );
    refused(&place.run(&["scale", "policy.yaml"]), "--replay");
    refused(
        &place.run(&["scale", "--replay", "trace.csv", "--policy", "hpa"]),
        "no policy has a file",
    );
    let both = place.run(&[
        "scale",
        "--replay",
        "trace.csv",
        "--policy",
        "policy.yaml",
        "--policy",
        "kpa",
    ]);
    assert_eq!(both.code, 0, "{both:?}");
    let page = ["--html", "trace.csv/scale.html"];
    refused(&run("policy.yaml", "trace.csv", &page), "cannot write");
}
