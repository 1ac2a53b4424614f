//! What a plain load has beyond its totals: URLs, phases, throughput by load, patience, bytes, peaks. Every number of the
//! page is in `--json`.

use std::sync::LazyLock;

use plimsoll_model::event::FORMAT_MINOR_PHASES;
use plimsoll_model::histogram::bucket_top;
use plimsoll_model::run::Run;
use plimsoll_report::json::{Files, run_object};
use plimsoll_report::{Report, html, text};
use serde_json::{Value, json};

use crate::runs;

/// The run takes a moment to make: once for all tests of a process.
static RUN: LazyLock<Run> = LazyLock::new(runs::detailed);
static PAGE: LazyLock<String> = LazyLock::new(|| html::render(&Report::of(&RUN)));
static OBJECT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::to_value(run_object(&Report::of(&RUN), &Files::default())).unwrap()
});

/// The part of a page from a heading's id to the end of its section.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let from = page.find(&format!("id=\"{id}\"")).unwrap();
    let rest = &page[from..];
    &rest[..rest.find("</section>").unwrap()]
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn every_url_has_a_row_that_can_be_sorted() {
    let section = section(&PAGE, "urls-heading");
    assert_eq!(section.matches("<th scope=\"row\">").count(), 4);
    assert!(section.contains("class=\"steps sortable\"") && PAGE.contains("table.sortable"));
    assert!(
        section.contains("/?q=&lt;b&gt;&amp;token=[redacted]"),
        "{section}"
    );
    assert!(!PAGE.contains("token=abc"));
    let urls = OBJECT["urls"].as_array().unwrap();
    let labels: Vec<&str> = urls
        .iter()
        .filter_map(|url| url["label"].as_str())
        .collect();
    assert_eq!(
        labels,
        [
            "/",
            "/?q=<b>&token=[redacted]",
            "/articles/1",
            "/api/list?page=1"
        ]
    );
    assert!((number(&urls[2]["error_share"]) - 0.5).abs() < 1e-9);
    assert_eq!(
        (&urls[3]["samples"], &urls[3]["p95"]),
        (&json!(0), &Value::Null)
    );
    assert!(number(&urls[1]["p50"]) > number(&urls[0]["p50"]));
    let plain = html::render(&Report::of(&runs::plain(400.0, 5)));
    assert!(!plain.contains("urls-heading") && !plain.contains("table.sortable"));
}

#[test]
fn phases_add_up_to_the_service_time() {
    let section = section(&PAGE, "phases-heading");
    for row in ["connect", "TLS handshake", "first byte", "transfer"] {
        assert!(
            section.contains(&format!("<th scope=\"row\">{row}</th>")),
            "{row}"
        );
    }
    assert!(section.contains("until it was sent"));
    let phases = &OBJECT["phases"];
    let mean = |name: &str| number(&phases[name]["mean"]);
    let service = number(&OBJECT["service_time_ms"]["mean"]);
    assert!(((mean("first_byte_ms") + mean("transfer_ms")) / service - 1.0).abs() < 1e-3);
    let max = number(&phases["connect_ms"]["max"]);
    assert!(
        (max - bucket_top(1_050_000) as f64 / 1e3).abs() < 1e-9,
        "{max}"
    );
    assert_eq!(phases["handshakes"], json!(4 * 810));
    assert_eq!(phases["answers"], OBJECT["outcomes"]["ok"]);
    // A log of an older version does not have them.
    let mut old = RUN.clone();
    old.header.format_minor = FORMAT_MINOR_PHASES - 1;
    assert!(!html::render(&Report::of(&old)).contains("phases-heading"));
}

#[test]
fn throughput_has_a_mark_for_every_load() {
    let section = section(&PAGE, "throughput-heading");
    assert_eq!(
        section
            .matches("<svg class=\"throughput mark pass\"")
            .count(),
        9
    );
    assert!(section.contains("class=\"diagonal\"") && section.contains("<desc"));
    // Both axes are the same one, and every step of it has a label.
    let labels = |axis| section.matches(axis).count();
    assert_eq!(labels("class=\"y-label\""), labels("class=\"x-label\""));
    // From zero, although a few requests in a thousand failed.
    assert!(section.contains(">1,000</text>") && !section.contains(">0.01</text>"));
    let points = OBJECT["throughput"].as_array().unwrap();
    let seconds: Vec<u64> = points
        .iter()
        .filter_map(|point| point["second"].as_u64())
        .collect();
    assert_eq!(seconds, (0..9).map(|step| step * 90).collect::<Vec<_>>());
    for point in &points[..7] {
        let (offered, completed) = (number(&point["offered"]), number(&point["completed"]));
        assert!((completed / offered - 1.0).abs() < 0.02, "{point}");
        assert_eq!(point["unit"], json!("req/s"));
    }
    let last = &points[8];
    assert!(number(&last["offered"]) > 880.0, "{last}");
    assert!((number(&last["completed"]) - 800.0).abs() < 5.0, "{last}");
    let plain = html::render(&Report::of(&runs::plain(400.0, 5)));
    assert!(
        !plain.contains("throughput-heading"),
        "one load is no picture"
    );
}

#[test]
fn bands_of_patience_cover_every_request() {
    let section = section(&PAGE, "patience-heading");
    assert!(section.contains("&lt;i&gt;fluent&lt;/i&gt;") && section.contains("failed"));
    let patience = &OBJECT["patience"];
    let bands = patience["bands"].as_array().unwrap();
    let in_bands: u64 = bands
        .iter()
        .filter_map(|band| band["requests"].as_u64())
        .sum();
    let rest = ["longer", "failed"].map(|name| patience[name].as_u64().unwrap());
    assert_eq!(json!(in_bands + rest[0] + rest[1]), OBJECT["requests"]);
    assert_eq!(bands[0]["within_ms"], json!(2.5));
    let shares = |name: &str| {
        bands
            .iter()
            .map(|band| number(&band[name]))
            .collect::<Vec<_>>()
    };
    assert!((shares("share").iter().sum::<f64>() - shares("share_within")[2]).abs() < 1e-9);
    let summary = text::summary(&Report::of(&RUN), &Files::default(), false);
    assert!(summary.contains(" % instant, "), "{summary}");
}

#[test]
fn bytes_are_told_by_coding() {
    let section = section(&PAGE, "traffic-heading");
    assert!(section.contains("none, or another") && section.contains("gzip"));
    let bodies = OBJECT["traffic"]["bodies"].as_array().unwrap();
    let codings: Vec<&str> = bodies
        .iter()
        .filter_map(|body| body["coding"].as_str())
        .collect();
    assert_eq!(codings, ["other", "gzip"]);
    assert!((number(&bodies[1]["ratio"]) - 6.0).abs() < 1e-9);
    assert!(bodies[0]["ratio"].is_null());
}

#[test]
fn a_peak_of_a_second_stays_in_sight() {
    let section = section(&PAGE, "time-heading");
    for name in [
        "machine, highest second",
        "behind the target",
        "CPU by program",
        "php-fpm&lt;8&gt;",
        "TCP connections of the machine",
        "time wait",
    ] {
        assert!(section.contains(name), "{name}");
    }
    assert!(!section.contains("listen"));
    let resources = OBJECT["resources"].as_array().unwrap();
    let postgres = resources
        .iter()
        .find(|resource| resource["name"] == json!("postgres"))
        .unwrap();
    assert_eq!(postgres["max_second"], json!(301));
    let waiting = resources
        .iter()
        .find(|resource| resource["name"] == json!("time_wait"))
        .unwrap();
    assert_eq!(
        (&waiting["max"], &waiting["max_second"]),
        (&json!(480.0), &json!(120))
    );
}

#[test]
fn pages_of_browsers_have_their_times_and_their_weight() {
    let section = section(&PAGE, "pages-heading");
    assert!(
        section.contains("161 visits ended, of 2 users in Chrome/156.0.8078.108"),
        "{section}"
    );
    assert!(section.contains("/?q=&lt;i&gt;") && section.contains("/&lt;u&gt;.png: status 404"));
    assert!(
        section.contains("status 503 (16)") && section.contains("not ready in time (16)"),
        "{section}"
    );
    assert!(
        section.contains("<td>362</td>") && section.contains("46.9 KiB"),
        "{section}"
    );
    let browser = &OBJECT["browser"];
    assert_eq!(
        (&browser["visits"], &browser["failed"]),
        (&json!(161), &json!(32))
    );
    assert_eq!(
        browser["failures"],
        json!({ "not ready in time": 16, "status 503": 16 })
    );
    assert_eq!(browser["page_ready_ms"]["max"], json!(109.0));
    assert_eq!(browser["lcp_ms"]["p75"], json!(80.0));
    let pages = browser["pages"].as_array().unwrap();
    assert_eq!(
        (&pages[0]["page"], &pages[1]["page"]),
        (&json!("/"), &json!("/?q=<i>"))
    );
    assert_eq!(
        (&pages[0]["tbt_ms"]["p50"], &pages[1]["tbt_ms"]["p50"]),
        (&json!(0.0), &json!(20.0))
    );
    assert_eq!(
        (&pages[0]["cls"]["p75"], &pages[1]["cls"]["p75"]),
        (&json!(0.0), &json!(0.125))
    );
    assert!(section.contains("<td>0.125<br><small>0.125 – 0.125</small></td>"));
    assert_eq!(pages[1]["long_tasks"], json!(1.0));
    assert_eq!(browser["failed_resources"][0]["count"], json!(80));
    let summary = text::summary(&Report::of(&RUN), &Files::default(), false);
    let line =
        "161 visits: page ready p50 105 ms, p75 107 ms, max 109 ms; LCP p75 80 ms; CLS p75 0.125;";
    let words: Vec<&str> = summary.split_whitespace().collect();
    assert!(words.join(" ").contains(line), "{summary}");
}
