//! The table of the suite's results, for the terminal and for the page.

use std::fmt::Write as _;

use jiff::Zoned;

use super::caches::SuiteCache;
use super::edition::Edition;
use super::exceptions::{Exceptions, PAGE};
use super::verdict::{Results, Test, TestKind, TestVerdict};

/// What one cache answered.
pub(super) struct SuiteRun {
    pub(super) cache: SuiteCache,
    pub(super) version: String,
    pub(super) results: Results,
}

/// Counts of all, side by side.
pub(super) fn counts(edition: &Edition, runs: &[SuiteRun]) -> String {
    let listed = |kind| {
        let tests = edition.tests.iter().filter(|test| test.kind == kind);
        tests.count()
    };
    let mut table = format!(
        "| cache | required, of {} | with all they depend on | optimal, of {} | with all they depend on | \
         looked at, of {} |\n|---|---|---|---|---|---|\n",
        listed(TestKind::Required),
        listed(TestKind::Optimal),
        listed(TestKind::Check)
    );
    for run in runs {
        let count = |kind| run.results.count(&edition.tests, kind);
        let (required, optimal) = (count(TestKind::Required), count(TestKind::Optimal));
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} |",
            run.cache.name(),
            required.passed_alone,
            required.passed,
            optimal.passed_alone,
            optimal.passed,
            count(TestKind::Check).passed_alone,
        );
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
fn matrix(edition: &Edition, runs: &[SuiteRun], kind: TestKind) -> String {
    let names = runs.iter().map(|run| run.cache.name());
    let mut table = format!(
        "| test | {} |\n|---|{}\n",
        names.collect::<Vec<_>>().join(" | "),
        "---|".repeat(runs.len())
    );
    let asked = |test: &&Test| test.kind == kind && !test.is_browser_only;
    for test in edition.tests.iter().filter(asked) {
        let verdicts = runs
            .iter()
            .map(|run| run.results.shown(&edition.tests, test));
        let verdicts: Vec<TestVerdict> = verdicts.collect();
        if verdicts
            .iter()
            .all(|verdict| *verdict == TestVerdict::Passed)
        {
            continue;
        }
        let marks: Vec<_> = verdicts.iter().map(TestVerdict::mark).collect();
        let _ = writeln!(table, "| {} | {} |", test.id, marks.join(" | "));
    }
    table
}

/// The whole page.
pub(super) fn page(edition: &Edition, runs: &[SuiteRun], exceptions: &Exceptions) -> String {
    let versions: Vec<_> = runs.iter().map(|run| run.version.as_str()).collect();
    let browser_only = |kind| {
        let tests = edition.tests.iter();
        tests
            .filter(|test| test.kind == kind && test.is_browser_only)
            .count()
    };
    let mut text = format!(
        "# The public suite for HTTP caches\n\nWritten by `cargo xtask cache-suite` on {}: {}, asked of each cache in turn \
         through its own client, before its own origin. Our edge runs with its defaults, the others as the suite's \
         containers set them up.\n\nVersions: {}.\n\n{}\n",
        Zoned::now().date(),
        edition.title,
        versions.join(" · "),
        counts(edition, runs)
    );
    let _ = write!(
        text,
        "The first figure of a pair looks at each test alone, as the published counts do. Many tests show something only \
         where another is passed: what stores nothing reuses nothing wrongly. The second figure leaves those out, as the \
         suite judges. {} of the required and {} of the optimal tests are asked of browsers alone, so no proxy passes \
         them. What is looked at is neither good nor bad. \"setup\" means that the cache changed what the test stands \
         on, \"retried\" that it asked the origin twice, \"depends\" that only what the test depends on is missing.\n\n",
        browser_only(TestKind::Required),
        browser_only(TestKind::Optimal),
    );
    if let Some(ours) = runs.iter().find(|run| run.cache == SuiteCache::Edge) {
        for (kind, title) in [
            (TestKind::Required, "Required"),
            (TestKind::Optimal, "Optimal"),
        ] {
            let missed = missed(edition, ours, kind, exceptions);
            let missed = if missed.is_empty() {
                "None.\n".to_owned()
            } else {
                missed
            };
            let _ = write!(text, "## {title}, and not passed by our edge\n\n{missed}\n");
        }
        let _ = write!(
            text,
            "Required tests that need not be passed stand with their reasons in `{PAGE}`.\n\n"
        );
    }
    for (kind, title) in [
        (TestKind::Required, "Required"),
        (TestKind::Optimal, "Optimal"),
    ] {
        let _ = write!(
            text,
            "## {title} tests that not all pass\n\n{}\n",
            matrix(edition, runs, kind)
        );
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
