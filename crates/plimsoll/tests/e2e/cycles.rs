//! Records of cycles: appended by comparisons and searches, printed as Markdown and JSON.

use std::fs;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};

use crate::support::{CommandOutput, Sandbox, number};

fn line(at: &str, change: &str, line: [f64; 3], limit: &str) -> String {
    let [low, median, high] = line;
    format!(
        "{{\"format\":1,\"at\":\"{at}\",\"name\":\"site\",\"change\":\"{change}\",\"objective\":\"p95 < 800ms\",\
         \"result\":{{\"kind\":\"line\",\"low\":{low},\"median\":{median},\"high\":{high},\"confirmed\":true}},\
         \"limit\":\"{limit}\"}}\n"
    )
}

fn record(place: &Sandbox, text: &str) {
    fs::write(place.path().join("cycles.jsonl"), text).unwrap();
}

fn print_record(place: &Sandbox, arguments: &[&str]) -> CommandOutput {
    place.run(&[&["ledger", "cycles.jsonl"], arguments].concat())
}

#[test]
fn cycles_are_printed_with_gain_and_next_limit() {
    let place = Sandbox::new();
    let first = line(
        "2026-11-26T10:00:00Z",
        "none",
        [90.0, 100.0, 110.0],
        "CPU of node",
    );
    let second = line(
        "2026-11-26T11:00:00Z",
        "cache pages",
        [180.0, 200.0, 220.0],
        "pool of db",
    );
    // In the order of time, not of the file.
    record(&place, &(second + &first));
    let json = print_record(&place, &["--json"]);
    assert_eq!(json.code, 0, "{json:?}");
    let json = json.json();
    place.assert_follows_schema("ledger", &json);
    let cycle = &json["cycles"][1];
    assert_eq!(cycle["diagnosis"], "CPU of node");
    assert_eq!(cycle["next_limit"], "pool of db");
    assert!((number(cycle, "gain.value") - 2.0).abs() < 1e-9);
    let text = print_record(&place, &[]);
    assert!(text.stdout.contains("| cache pages |"), "{text:?}");
    assert!(text.stdout.contains("× 2 (1.69 to 2.37)"), "{text:?}");
}

#[test]
fn damaged_and_missing_records_are_named() {
    let place = Sandbox::new();
    record(&place, "{\"format\":1,\"at\":\"2026");
    let output = print_record(&place, &[]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("cycles.jsonl, line 1: the line is torn"),
        "{output:?}"
    );
    record(&place, "{\"format\":9}\n");
    let output = print_record(&place, &[]);
    assert!(output.stderr.contains("line 1: version 9"), "{output:?}");
    let output = place.run(&["ledger", "nowhere"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--ledger"), "{output:?}");
    let output = place.run(&["limit", "http://127.0.0.1:9/", "--change", "x"]);
    assert_eq!(output.code, 2, "a change needs a record: {output:?}");
}

#[test]
fn a_comparison_is_a_cycle() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let place = Sandbox::new();
    let url = origin.url();
    for _ in 0..2 {
        let output = place.run(&[
            "run", &url, "--rate", "50/s", "--for", "4s", "--name", "shop",
        ]);
        assert!([0, 6].contains(&output.code), "{output:?}");
    }
    let mut files = place.run_files();
    files.sort();
    let names: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let more = ["--ledger", "cycles.jsonl", "--change", "nothing at all"];
    let compared = place.run(&[&["compare"], &names[..], &more].concat());
    let record = place.path().join("cycles.jsonl");
    if compared.code == 6 {
        plimsoll_testkit::not_tried::disturbed(format_args!("{compared:?}"));
        return;
    }
    assert!([0, 3, 4].contains(&compared.code), "{compared:?}");
    let text = fs::read_to_string(record).unwrap();
    assert!(text.contains("\"kind\":\"comparison\""), "{text}");
    let printed = print_record(&place, &[]);
    assert_eq!(printed.code, 0, "{printed:?}");
    assert!(printed.stdout.contains("| nothing at all |"), "{printed:?}");
}
