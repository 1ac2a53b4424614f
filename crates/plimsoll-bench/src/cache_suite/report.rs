//! The table of the suite's results, for the terminal and for the page.

use std::fmt::Write as _;

use anyhow::Result;
use plimsoll_harness::page::{ReportPage, Table};

use super::DEFINITION;
use super::edition::Edition;
use super::exceptions::{Exceptions, PAGE};
use super::verdict::{Results, Test, TestKind, TestVerdict};

/// What one cache answered.
pub(super) struct SuiteRun {
    pub(super) name: String,
    pub(super) is_ours: bool,
    pub(super) version: String,
    pub(super) results: Results,
}

/// Counts of all, side by side.
pub(super) fn counts(edition: &Edition, runs: &[SuiteRun]) -> Table {
    let of = |what: &str, kind| {
        let listed = edition.tests.iter().filter(|test| test.kind == kind);
        format!("{what}, of {}", listed.count())
    };
    let mut table = Table::new([
        "cache",
        &of("required", TestKind::Required),
        "with all they depend on",
        &of("optimal", TestKind::Optimal),
        "with all they depend on",
        &of("looked at", TestKind::Check),
    ]);
    for run in runs {
        let count = |kind| run.results.count(&edition.tests, kind);
        let (required, optimal) = (count(TestKind::Required), count(TestKind::Optimal));
        let counts = [
            required.passed_alone,
            required.passed,
            optimal.passed_alone,
            optimal.passed,
            count(TestKind::Check).passed_alone,
        ];
        let counts = counts.map(|count| count.to_string());
        table.row(std::iter::once(&run.name).chain(&counts));
    }
    table
}

/// What our edge does not do, each with why; empty when it does all.
pub(super) fn missed(
    edition: &Edition,
    run: &SuiteRun,
    kind: TestKind,
    exceptions: &Exceptions,
) -> String {
    let mut text = String::new();
    for (test, verdict) in run.results.missed(&edition.tests, kind) {
        let reason = exceptions.reason(&test.id).map_or(String::new(), |reason| {
            format!(" Not mended because: {reason}")
        });
        let why = verdict.why();
        let why = why.trim_end_matches('.');
        let _ = writeln!(text, "- `{}`: {why}.{reason}", test.id);
    }
    text
}

/// Each test that some cache does not pass, with what each cache does.
fn matrix(edition: &Edition, runs: &[SuiteRun], kind: TestKind) -> Table {
    let names = runs.iter().map(|run| run.name.as_str());
    let mut table = Table::new(std::iter::once("test").chain(names));
    let asked = |test: &&Test| test.kind == kind && !test.is_browser_only;
    for test in edition.tests.iter().filter(asked) {
        let verdicts = runs
            .iter()
            .map(|run| run.results.shown(&edition.tests, test));
        let verdicts: Vec<TestVerdict> = verdicts.collect();
        if verdicts
            .iter()
            .any(|verdict| *verdict != TestVerdict::Passed)
        {
            let mut row = vec![test.id.as_str()];
            for verdict in &verdicts {
                row.push(verdict.mark());
            }
            table.row(row);
        }
    }
    table
}

/// The whole page.
pub(super) fn page(
    edition: &Edition,
    runs: &[SuiteRun],
    exceptions: &Exceptions,
) -> Result<String> {
    let browser_only = |kind| {
        let tests = edition.tests.iter();
        tests
            .filter(|test| test.kind == kind && test.is_browser_only)
            .count()
    };
    let terms = format!(
        "{}, asked of each cache in turn through its own client, before its own origin. Our edge runs with its defaults, \
         the others as the suite's containers set them up.",
        edition.title
    );
    let mut page = ReportPage::new("The public suite for HTTP caches", "cache-suite", &terms)?;
    page.defined_in(DEFINITION);
    let versions: Vec<_> = runs.iter().map(|run| run.version.clone()).collect();
    page.versions(&versions);
    page.table(&counts(edition, runs));
    page.paragraph(&format!(
        "The first figure of a pair looks at each test alone, as the published counts do. Many tests show something only \
         where another is passed: what stores nothing reuses nothing wrongly. The second figure leaves those out, as the \
         suite judges. {} of the required and {} of the optimal tests are asked of browsers alone, so no proxy passes \
         them. What is looked at is neither good nor bad. \"setup\" means that the cache changed what the test stands \
         on, \"retried\" that it asked the origin twice, \"depends\" that only what the test depends on is missing.",
        browser_only(TestKind::Required),
        browser_only(TestKind::Optimal),
    ));
    let kinds = [
        (TestKind::Required, "Required"),
        (TestKind::Optimal, "Optimal"),
    ];
    if let Some(ours) = runs.iter().find(|run| run.is_ours) {
        for (kind, title) in kinds {
            let missed = missed(edition, ours, kind, exceptions);
            page.chapter(&format!("{title}, and not passed by our edge"));
            page.paragraph(if missed.is_empty() { "None." } else { &missed });
        }
        page.paragraph(&format!(
            "Required tests that need not be passed stand with their reasons in `{PAGE}`."
        ));
    }
    for (kind, title) in kinds {
        page.chapter(&format!("{title} tests that not all pass"));
        page.table(&matrix(edition, runs, kind));
    }
    Ok(page.finish())
}
