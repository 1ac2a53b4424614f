//! `--live` and `--export` of commands with many loads: a matrix, a comparison, a search for settings.

use std::fs;
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use serde_json::Value;

use crate::live::Shown;
use crate::matrix::SiteExperiment;
use crate::support::Sandbox;
use crate::tune::{STANDS, SiteSearch};

/// Trials that have ended.
fn trial_count(document: &Value) -> usize {
    let trials = document["experiment_trials"].as_array();
    trials.map_or(0, Vec::len)
}

/// Waits until the page shows so many trials that have ended beside the load that goes on, and stops the command from it.
fn stop_after_trials(wanted: usize, shown: Shown, command: &str) {
    shown.wait_for(|document| trial_count(document) >= wanted);
    // Who comes later has the header of the experiment as well.
    let document = shown.wait_for(|document| document["full"] == true);
    assert_eq!(document["experiment"]["command"], command, "{document:#}");
    assert!(trial_count(&document) >= wanted, "{document:#}");
    assert_eq!(shown.act("stop", "").0, 200);
    let (code, _, stderr) = shown.end();
    assert_eq!(code, 130, "{stderr}");
}

#[test]
fn a_matrix_is_shown_and_exported_while_it_goes_on() {
    // It is stopped from its page, however late; and each trial has a second that is exported.
    let site = SiteExperiment::new(100, "1s");
    let arguments = [
        "matrix",
        "site.yaml",
        "--quiet",
        "--live",
        "--export",
        "jsonl=matrix.jsonl",
    ];
    stop_after_trials(2, Shown::start(&site.place, &arguments), "matrix");
    assert!(!site.is_site_running(), "the site is stopped");
    let text = fs::read_to_string(site.place.path().join("matrix.jsonl")).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_kind = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    // One file for all loads, with the trials among their seconds.
    assert!(of_kind("second") > 1 && of_kind("start") > 0, "{text}");
    let trial = lines.iter().find(|line| {
        let text = line["text"].as_str().unwrap_or_default();
        line["kind"] == "trial" && text.starts_with("Trial 1 of block 1, cell ")
    });
    assert!(trial.is_some(), "{text}");
    assert!(
        lines.iter().all(|line| line["command"] == "matrix"),
        "{text}"
    );
}

#[test]
fn a_comparison_is_shown_while_its_sides_take_turns() {
    let place = Sandbox::new();
    let origin = || {
        KnownLaw::start(KnownLawPlan {
            service: Service::Deterministic(Duration::from_millis(2)),
            ..KnownLawPlan::default()
        })
        .unwrap()
    };
    let (base, head) = (origin(), origin());
    let (base, head) = (base.url(), head.url());
    let arguments = [
        "compare",
        "--base-url",
        &base,
        "--head-url",
        &head,
        "--rate",
        "20/s",
        "--for",
        "2s",
        "--quiet",
        "--live",
    ];
    stop_after_trials(1, Shown::start(&place, &arguments), "compare");
}

#[test]
fn a_search_for_settings_is_shown_while_it_goes_on() {
    let site = SiteSearch::new();
    let shown = Shown::start(&site.place, &["tune", "site.yaml", "--quiet", "--live"]);
    let document = shown.wait_for(|document| {
        document["experiment"]["command"] == "tune" && document["head"]["target"].is_string()
    });
    assert!(document["head"]["changes"].is_null(), "{document:#}");
    assert_eq!(shown.act("stop", "").0, 200);
    let (code, _, stderr) = shown.end();
    assert_eq!(code, 130, "{stderr}");
    assert_eq!(site.stands(), STANDS);
    assert!(!site.is_site_running(), "the site is stopped");
}
