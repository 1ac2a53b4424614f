use std::time::Duration;

use serde_json::json;

use super::*;
use crate::document::TestSurroundings;

const SMALLEST: &str = "max: 20\nreplica: { line: 80/s, start: 40s }\n";

fn policy_of(text: &str) -> Result<ScalePolicy, Vec<String>> {
    read(text, "shop", &TestSurroundings::default()).map_err(|errors| errors.lines("f"))
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let errors = policy_of(text).unwrap_err();
    assert!(
        errors.iter().any(|error| error.contains(expected)),
        "{text}: {errors:#?}"
    );
}

#[test]
fn the_smallest_policy_is_by_the_line() {
    let policy = policy_of(SMALLEST).unwrap();
    let replica = ReplicaConfig::of_line(80.0);
    assert_eq!(policy, ScalePolicy::of_line("shop", replica, (1, 20)));
    let replica = &policy.replica;
    assert!((replica.in_flight_max() - 8.0).abs() < 1e-9);
    assert_eq!(policy.line.unwrap().hold, Duration::from_mins(5));
}

#[test]
fn policies_combine_and_the_line_is_left_out_where_another_decides() {
    let text = format!(
        "{SMALLEST}threshold: {{ signal: cpu, above: 75%, below: 25%, add: 2 }}\ntarget: [{{}}, {{ signal: offered, value: 60/s }}]\n\
         concurrency: true\n"
    );
    let policy = policy_of(&text).unwrap();
    assert_eq!(policy.line, None);
    assert_eq!(policy.threshold.len(), 1);
    assert_eq!(policy.threshold[0].add, 2);
    assert!((policy.threshold[0].below - 0.25).abs() < 1e-9);
    assert_eq!(policy.target[0], TargetPolicy::default());
    assert_eq!(policy.target[1].signal, Signal::Offered);
    assert!((policy.target[1].value - 60.0).abs() < 1e-9);
    assert_eq!(policy.concurrency, Some(ConcurrencyPolicy::default()));
    let both = policy_of(&format!("{SMALLEST}concurrency: true\nline: true\n")).unwrap();
    assert_eq!(both.line, Some(LinePolicy::default()));
}

#[test]
fn a_known_date_is_read_from_words() {
    let text = format!(
        "{SMALLEST}schedule:\n  - at: 09:00+02:00\n    people: 12,000 people log in within 3 minutes\n    requests: 12\n  - {{ at: \
         '2026-12-01T09:00:00Z', replicas: 8, for: 1h }}\n"
    );
    let policy = policy_of(&text).unwrap();
    let [exam, sale] = &policy.schedule[..] else {
        panic!("{:?}", policy.schedule);
    };
    assert_eq!(exam.at, ScheduleMoment::Daily(7 * 3600));
    assert!((exam.rate.unwrap() - 800.0).abs() < 1e-6);
    assert_eq!(exam.lasting, Duration::from_mins(3));
    assert_eq!(sale.at, ScheduleMoment::Date(1_796_115_600));
    assert_eq!((sale.rate, sale.replicas), (None, Some(8)));
    assert!(
        policy.line.is_some(),
        "a date alone leaves the line in charge"
    );
    for start in [
        "45s",
        "30s..50s",
        "'lognormal: [40s, 0.3]'",
        "{ lognormal: [40s, 0.3] }",
    ] {
        let policy = policy_of(&format!("{SMALLEST}world: {{ start: {start} }}\n")).unwrap();
        assert!(policy.world.start.unwrap().mean_s() >= 40.0, "{start}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    refused("", "the policy is empty");
    refused("replica: { line: 80/s, start: 40s }", "`max` is missing");
    refused("max: 3", "`replica` is missing");
    refused("max: 3\nreplica: { start: 1s }", "`line` is missing");
    refused(
        &format!("min: 30\n{SMALLEST}"),
        "f:1:1: `min` (30) is above `max` (20)",
    );
    refused(&format!("{SMALLEST}mim: 2\n"), "did you mean `min`?");
    for (rule, expected) in [
        (
            "threshold: { above: 30%, below: 40% }",
            "is not lower than `above`",
        ),
        ("threshold: { period: 1h, periods: 7 }", "longer than 6h"),
        ("threshold: { signal: cpus }", "did you mean `cpu`?"),
        ("target: { value: 120% }", "is never reached"),
        (
            "target: { up_replicas: 0, up_percent: 0 }",
            "could never grow",
        ),
        (
            "line: { utilisation: 0% }",
            "`utilisation` must be above zero",
        ),
        ("schedule: { rate: 3/s }", "`at` is missing"),
        ("schedule: { at: 09:00 }", "a required key is missing"),
        ("schedule: { at: 25:00, rate: 3/s }", "is not a moment"),
        (
            "schedule: { at: 09:00, people: 500 viewers }",
            "the words have no rate",
        ),
        (
            "world: { shared: pool }",
            "one of `shared` and `shared_line`",
        ),
        ("world: { start: soon }", "world"),
        ("price: 3", "the price has no unit"),
    ] {
        let errors = policy_of(&format!("{SMALLEST}{rule}\n")).unwrap_err();
        let is_named = errors.iter().any(|error| error.contains(expected));
        assert!(is_named || expected == "world", "{rule}: {errors:#?}");
        assert!(
            errors.iter().all(|error| error.starts_with("f:3:")),
            "{errors:#?}"
        );
    }
}

#[test]
fn the_schema_accepts_what_the_reader_accepts() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let whole = json!({
        "name": "shop", "min": 2, "max": 20,
        "replica": { "line": "80/s", "start": "40s", "paid": "1h", "contention": "2%" },
        "line": { "utilisation": "70%" },
        "threshold": [{ "signal": "cpu", "above": "75%", "statistic": "max" }],
        "target": { "signal": "offered", "value": "60/s", "saturated": "accept" },
        "concurrency": true,
        "schedule": [{ "at": "09:00", "rate": "800/s" }],
        "price": { "currency": "EUR", "per_hour": { "machine": 0.096 } },
        "world": { "start": { "lognormal": ["40s", 0.3] }, "lag": "5s" },
    });
    assert!(validator.is_valid(&whole));
    assert!(!validator.is_valid(&json!({ "maximum": 3 })));
    assert!(policy_of(&whole.to_string()).is_ok());
    assert!(reference().contains("| `remove_every` |"));
}
