//! Pages of experiments in headless Chromium, as wide as a phone and as a window: nothing beyond the edge, no label over another.

use plimsoll_analysis::experiment::comparison::{RunsCriteria, compare_runs};
use plimsoll_analysis::experiment::run_series::HistoryOptions;
use plimsoll_model::history::HistoryEntry;
use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_report::Report;
use plimsoll_report::compare::{self, ComparedRuns, ComparedSide};
use plimsoll_report::history_page::{self, HistoryObject};
use plimsoll_testkit::browser::layout_faults;

use crate::runs;

/// Pixels: a phone, a window.
const WIDTHS: [u32; 2] = [360, 1200];

fn assert_layout(name: &str, page: &str) {
    for width in WIDTHS {
        let faults = layout_faults(page, width);
        assert!(faults.is_empty(), "{name} at {width}: {faults:#?}");
    }
}

#[test]
fn the_check_of_the_layout_can_fail() {
    let label = "<text x='5' y='20'>a long label</text>";
    let page = format!(
        "<!doctype html><body style='margin:0'><svg class=chart width=300 height=40>{label}{label}</svg>\
         <table><tr><td style='width:8px;overflow-wrap:anywhere'>letters in a column</td><td>{}</td></tr></table>",
        "wide&nbsp;".repeat(60)
    );
    let faults = layout_faults(&page, 360).join("\n");
    for part in [
        "over each other",
        "beyond the edge",
        "a narrow column",
        "the page is",
    ] {
        assert!(faults.contains(part), "{part}: {faults}");
    }
}

fn side<'r>(name: &str, run: &'r Run) -> ComparedSide<'r> {
    ComparedSide {
        name: name.to_owned(),
        run_file: None,
        report: Some(Report::of(run)),
    }
}

#[test]
fn a_comparison_fits_a_phone() {
    let criteria = RunsCriteria {
        replicates: 200,
        ..RunsCriteria::standard(Seed(1))
    };
    let long = "20261126T230429.478Z-shop.example.org-checkout";
    for (name, runs) in [
        (
            "searches",
            vec![runs::search(), runs::search(), runs::search()],
        ),
        ("users", vec![runs::users(), runs::users()]),
        (
            "incomparable",
            vec![runs::plain(400.0, 30), runs::plain(500.0, 30)],
        ),
    ] {
        let comparison = |index: usize| compare_runs(&runs[0], &runs[index], criteria);
        let mut compared = ComparedRuns::new(
            side("before", &runs[0]),
            side(long, &runs[1]),
            comparison(1),
        );
        for (index, run) in runs.iter().enumerate().skip(2) {
            compared = compared.with_candidate(side("another", run), comparison(index));
        }
        assert_layout(name, &compare::render(&compared));
    }
}

/// A history of two plans: a step in one, few runs of the other.
fn history() -> HistoryObject {
    let entry = |run: usize, name: &str, metrics: &[(&str, f64)]| HistoryEntry {
        format: 1,
        at: format!("2026-11-{:02}T{:02}:00:00Z", run / 24 + 1, run % 24),
        command: "run".to_owned(),
        name: name.to_owned(),
        commit: Some(format!("{run:040x}")),
        plan: String::new(),
        machine: "4 x a processor with a long name @ 2.40 GHz".to_owned(),
        verdict: None,
        metrics: metrics
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
        plimsoll: String::new(),
    };
    let mut entries = Vec::new();
    for run in 0..60 {
        let noise = 1.0 + [0.0, 0.4, -0.3, 0.1, -0.5, 0.2, 0.5][run % 7] / 100.0;
        let level = if run < 45 { 120.0 } else { 135.0 };
        let spike = if run == 20 { 2.0 } else { 1.0 };
        entries.push(entry(
            run,
            "shop",
            &[
                ("p95", level * noise),
                ("p50", 40.0 * noise * spike),
                ("throughput", 300.0),
                ("memory", 4.1e8 * noise),
                (
                    "p95{journey=shop,step=POST /cart/checkout}",
                    level * noise * 2.0,
                ),
            ],
        ));
    }
    for run in 60..63 {
        entries.push(entry(
            run,
            "a front page with a rather long name",
            &[("p95", 50.0)],
        ));
    }
    HistoryObject::of(&entries, Vec::new(), HistoryOptions::default())
}

#[test]
fn a_history_fits_a_phone() {
    assert_layout("history", &history_page::render(&history()));
}

#[test]
fn a_history_is_understood_at_first_sight() {
    let object = history();
    let page = history_page::render(&object);
    assert!(
        page.contains("Of 2 newest runs 1 is worse, 1 is undecided"),
        "{page}"
    );
    // What became worse is the first chart; what never varied has none.
    let p95 = page.find("p95 over 60 runs").unwrap();
    assert!(p95 < page.find("p50 over 60 runs").unwrap());
    assert!(page.contains("The same in every run: throughput 300 req/s"));
    assert!(page.contains("2026-11-01 00:00") && page.contains("Moving range of p95"));
    assert!(page.contains("a chart needs 6 valid runs"));
    let text = history_page::summary(&object, false);
    for line in [
        "run of shop: worse: p95 rose from 120 ms to 135 ms (+12.5 %)",
        "undecided: nothing was compared",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let markdown = history_page::markdown(&object);
    assert!(
        markdown.contains("- **run of shop**: worse\n  - p95 rose"),
        "{markdown}"
    );
}
