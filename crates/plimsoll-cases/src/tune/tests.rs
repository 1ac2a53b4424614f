use std::collections::BTreeMap;

use plimsoll_harness::page::ReportPage;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

use super::found::{FoundSettings, HandComparison};
use super::page::TunePage;
use super::search_course::SearchCourse;
use super::*;
use crate::tune_definition::{StudyUsers, TuneDefinition};

fn found_object() -> Value {
    let knob = |from: &str, to: &str, importance: f64| json!({ "from": from, "to": to, "importance": importance });
    json!({
        "answer": "workers 1 → 4: 390 users instead of 100.", "reason": "It is confirmed.", "state": "complete", "seed": 7,
        "load_unit": "users", "baseline": 100.0, "adopt": true, "undone": true, "seconds": 1800.0,
        "best": { "line": 390.0, "low": 380.0, "high": 400.0, "gain": 2.9, "gain_low": 2.7, "gain_high": 3.1, "pairs": 6 },
        "settings": { "pool": knob("10", "40", 0.01), "workers": knob("1", "4", 0.99) },
        "trials": { "total": 40, "measured": 38, "failed": 1, "void": 1 },
        "rejected": [{ "settings": { "workers": "8" }, "why": "not_confirmed", "detail": null, "ratio": 0.8 }],
        "reverted": [{ "knob": "cache", "cost": 0.004 }], "next_limit": "CPU",
        "users": [
            { "users": 100, "result": "confirmed", "settings": { "pool": "10", "workers": "2" }, "line": 180.0 },
            { "users": 3000, "result": "not_reachable", "settings": null, "line": null },
        ],
    })
}

fn found() -> FoundSettings {
    FoundSettings::of(&RunReport::parse(&found_object().to_string()).unwrap()).unwrap()
}

fn by_hand() -> BTreeMap<String, String> {
    BTreeMap::from([("workers".to_owned(), "2".to_owned())])
}

fn comparison(found: &FoundSettings) -> HandComparison {
    let matrix = json!({
        "cells": [
            { "levels": { "pool": "10", "workers": "2" }, "value": 400.0, "low": 390.0, "high": 410.0 },
            { "levels": { "pool": "40", "workers": "4" }, "value": 392.0, "low": 385.0, "high": 399.0 },
        ],
        "effects": [
            { "metric": "p95", "estimate": 9.0, "low": null, "high": null },
            { "metric": "load_line", "estimate": 0.98, "low": 0.96, "high": 1.0 },
        ],
    });
    let report = RunReport::parse(&matrix.to_string()).unwrap();
    HandComparison::of(&report, found, &by_hand()).unwrap()
}

fn definition() -> TuneDefinition {
    TuneDefinition {
        minutes_max: 90.0,
        share_min: Some(0.95),
        study_gain: Some(7.5),
        by_hand: by_hand(),
        study: BTreeMap::from([("workers".to_owned(), "1 for each core".to_owned())]),
        study_users: Some(StudyUsers {
            columns: vec!["the study's".to_owned()],
            rows: BTreeMap::from([("100".to_owned(), vec!["100/500/1".to_owned()])]),
        }),
        ..TuneDefinition::default()
    }
}

fn page(definition: &TuneDefinition, hand: Option<&HandComparison>) -> String {
    let mut page = ReportPage::blank("A case");
    TunePage {
        definition,
        found: &found(),
        hand,
        course: &SearchCourse::default(),
    }
    .write(&mut page);
    page.finish()
}

#[test]
fn a_page_has_lines_settings_users_and_what_was_rejected() {
    let page = page(&definition(), Some(&comparison(&found())));
    for line in [
        "40 trials in 30.0 minutes: 38 measured, 1 failed, 1 void; seed 7.",
        "| at least 95 % of the line of the settings known by hand | 98.0 % (96.0 % to 100.0 %) | met |",
        "| at most 90 minutes, without a hint | 30 minutes | met |",
        "| at the start | 100 | – | – | – |",
        "| found, 6 pairs | 390 | 380 to 400 | 3.90 (3.70 to 4.10) | 7.5 |",
        "| known by hand | 400 | 390 to 410 | 4.00 | – |",
        "| `workers` | 1 | 4 | 99.0 % | 2 | 1 for each core |",
        "Next limit: CPU.",
        "| 100 | 10 | 2 | 180 | 100/500/1 |",
        "| 3000 | | | not reachable here | |",
        "| workers 8 | not confirmed | 0.80 | |",
        "- It changed what hardly matters: `pool` to 40.",
        "- `cache` went back, which costs 0.4 %.",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}

#[test]
fn a_stack_whose_settings_are_right_must_be_left_alone() {
    let definition = TuneDefinition {
        keeps_default: true,
        minutes_max: 20.0,
        ..TuneDefinition::default()
    };
    let page = page(&definition, None);
    assert!(
        page.contains("| the settings stay as they are | changed | **missed** |"),
        "{page}"
    );
    assert!(
        page.contains("| at most 20 minutes, without a hint | 30 minutes | **missed** |"),
        "{page}"
    );
}

#[test]
fn both_sides_are_cells_of_a_matrix() {
    assert_eq!(
        comparison_head(&found(), &by_hand(), 3),
        "axes:\n  pool: [\"10\", \"40\"]\n  workers: [\"2\", \"4\"]\nzip: [pool, workers]\ntrials: 3"
    );
    assert_eq!(found().differing(&by_hand()), ["workers"]);
}

#[test]
fn what_is_not_put_back_is_no_result() {
    let mut object = found_object();
    object["undone"] = json!(false);
    let report = RunReport::parse(&object.to_string()).unwrap();
    assert!(FoundSettings::of(&report).is_err());
}

/// Each case names knobs of its file, and no others.
#[test]
fn cases_name_their_knobs() {
    let workspace = Workspace::find().unwrap();
    for name in ["tutor", "consult", "newspaper", "no-gain"] {
        let folder = workspace.root().join("cases").join(name);
        let text = fs::read_to_string(folder.join("tune.yaml")).unwrap();
        let definition = Case::definition_for_tests(name);
        let named = definition
            .by_hand
            .keys()
            .chain(definition.study.keys())
            .chain(&definition.per_core);
        for knob in named {
            assert!(text.contains(&format!("  {knob}: {{ ")), "{name}: {knob}");
        }
        assert_eq!(
            text.contains("@comparison@"),
            !definition.by_hand.is_empty(),
            "{name}"
        );
    }
}
