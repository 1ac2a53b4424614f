//! Conclusions beyond the findings: interventions, forecasts, common properties of failures.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Intervention, InterventionOutcome, TrialTally};
use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::run::Run;
use plimsoll_report::json::{Files, limit_object, run_object};
use plimsoll_report::{Report, html, text};
use serde_json::{Value, json};

use crate::runs;

fn tried(outcome: InterventionOutcome) -> Intervention {
    Intervention {
        change: "maxconn of app/s1 raised from 20 to 80".to_owned(),
        outcome,
        load: 760.0,
        unit: LoadUnit::default(),
        mitigated: TrialTally {
            passed: 3,
            failed: 0,
        },
        restored: TrialTally {
            passed: 0,
            failed: 2,
        },
        sentence: "three of three passed <with it>".to_owned(),
    }
}

fn limit_json(run: &Run) -> Value {
    serde_json::to_value(limit_object(&Report::of(run), &Files::default())).unwrap()
}

fn summary(run: &Run) -> String {
    text::summary(&Report::of(run), &Files::default(), false)
}

#[test]
fn a_confirmed_limit_says_how_it_was_tried() {
    let mut run = runs::search();
    run.findings[0].certainty = Certainty::Confirmed;
    run.findings[0].intervention = Some(tried(InterventionOutcome::Confirmed));
    let object = limit_json(&run);
    assert_eq!(object["findings"][0]["certainty"], "confirmed");
    let confirmation = &object["findings"][0]["confirmation"];
    assert_eq!(confirmation["outcome"], "confirmed");
    assert_eq!(confirmation["relaxed"], json!({ "passed": 3, "failed": 0 }));
    assert_eq!(confirmation["unit"], "req/s");
    assert!(object["findings"][1]["confirmation"].is_null());
    let text = summary(&run);
    assert!(text.contains("(confirmed, C2)"), "{text}");
    assert!(text.contains("tried: three of three passed"), "{text}");
    let page = html::render(&Report::of(&run));
    assert!(page.contains("badge confirmed"));
    assert!(page.contains("three of three passed &lt;with it&gt;"));
}

#[test]
fn a_demoted_limit_sets_no_line() {
    let mut run = runs::search();
    run.findings.swap(0, 1);
    run.findings[0].consequence_of = None;
    run.findings[1].certainty = Certainty::Demoted;
    run.findings[1].intervention = Some(tried(InterventionOutcome::Demoted));
    assert_ne!(limit_json(&run)["next"], json!(run.findings[1].limit));
    let text = summary(&run);
    assert!(text.contains("set by     accept backlog"), "{text}");
    assert!(text.contains("not        one thread of node"), "{text}");
    run.findings.remove(0);
    let page = html::render(&Report::of(&run));
    assert!(page.contains("badge demoted"));
}

/// A search during which the machine's CPU grew with the load.
fn with_cpu() -> Run {
    let mut run = runs::search();
    let mut readings = SeriesTable::default();
    for trial in &run.trials {
        for second in trial.measured.0..trial.measured.1 {
            let busy = 0.02 + trial.spec.rate / 1200.0;
            readings.push(&Readings {
                second,
                values: BTreeMap::from([(metric::CPU_BUSY.to_owned(), busy)]),
                new_series: BTreeMap::new(),
            });
        }
    }
    run.readings = readings;
    run
}

#[test]
fn what_is_full_next_is_told_with_its_load() {
    let run = with_cpu();
    let object = limit_json(&run);
    assert_eq!(
        object["forecast"]["limit"], "CPU of the machine",
        "{object:#}"
    );
    let load = object["forecast"]["load"].as_f64().unwrap();
    assert!((load - 1116.0).abs() < 20.0, "{load}");
    assert_eq!(object["next"], object["forecast"]["sentence"]);
    let text = summary(&run);
    assert!(
        text.contains("next       CPU of the machine at about 1100 req/s"),
        "{text}"
    );
    let page = html::render(&Report::of(&run));
    assert!(page.contains("Next: "));
    assert!(limit_json(&runs::search_without_line())["forecast"].is_null());
}

#[test]
fn what_failures_have_in_common_is_one_sentence() {
    let run = runs::plain_failing();
    let object = serde_json::to_value(run_object(&Report::of(&run), &Files::default())).unwrap();
    let failures = &object["failures"];
    assert_eq!(failures["failed"], 280, "{failures:#}");
    let thing = failures["common"][0]["thing"].as_str().unwrap();
    assert!(thing.starts_with("2 of 30 seconds"), "{failures:#}");
    let sentence = failures["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("57 % timeout, 36 % HTTP 503, 7 % reset"),
        "{sentence}"
    );
    assert!(summary(&run).contains("failures   280 of "));
    assert!(html::render(&Report::of(&run)).contains("What the failures have in common"));
    let mut good = runs::plain(400.0, 10);
    for window in &mut good.windows {
        assert_eq!(window.outcomes.get(Outcome::Ok), window.outcomes.total());
    }
    good.findings.clear();
    let object = serde_json::to_value(run_object(&Report::of(&good), &Files::default())).unwrap();
    assert!(object["failures"].is_null());
}
