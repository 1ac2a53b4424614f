//! The table of the suite's results, for the terminal and for the page.

use std::fmt::Write as _;

use jiff::Zoned;

use super::edition::Edition;
use super::exceptions::{Exceptions, PAGE};
use super::subject::Subject;
use super::verdict::{Kind, Results, Test, Verdict};

/// What one cache answered.
pub(super) struct Run {
    pub(super) subject: Subject,
    pub(super) version: String,
    pub(super) results: Results,
}

/// Counts of all, side by side.
pub(super) fn counts(edition: &Edition, runs: &[Run]) -> String {
    let listed = |kind| {
        let tests = edition.tests.iter().filter(|test| test.kind == kind);
        tests.count()
    };
    let mut table = format!(
        "| cache | required, of {} | with all they depend on | optimal, of {} | with all they depend on | \
         looked at, of {} |\n|---|---|---|---|---|---|\n",
        listed(Kind::Required),
        listed(Kind::Optimal),
        listed(Kind::Check)
    );
    for run in runs {
        let count = |kind| run.results.count(&edition.tests, kind);
        let (required, optimal) = (count(Kind::Required), count(Kind::Optimal));
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} |",
            run.subject.name(),
            required.passed_alone,
            required.passed,
            optimal.passed_alone,
            optimal.passed,
            count(Kind::Check).passed_alone,
        );
    }
    table
}

/// What our edge does not do, each with why; empty when it does all.
pub(super) fn missed(edition: &Edition, run: &Run, kind: Kind, exceptions: &Exceptions) -> String {
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
fn matrix(edition: &Edition, runs: &[Run], kind: Kind) -> String {
    let names = runs.iter().map(|run| run.subject.name());
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
        let verdicts: Vec<Verdict> = verdicts.collect();
        if verdicts.iter().all(|verdict| *verdict == Verdict::Passed) {
            continue;
        }
        let marks: Vec<_> = verdicts.iter().map(Verdict::mark).collect();
        let _ = writeln!(table, "| {} | {} |", test.id, marks.join(" | "));
    }
    table
}

/// The whole page.
pub(super) fn page(edition: &Edition, runs: &[Run], exceptions: &Exceptions) -> String {
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
        browser_only(Kind::Required),
        browser_only(Kind::Optimal),
    );
    if let Some(ours) = runs.iter().find(|run| run.subject == Subject::Edge) {
        for (kind, title) in [(Kind::Required, "Required"), (Kind::Optimal, "Optimal")] {
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
    for (kind, title) in [(Kind::Required, "Required"), (Kind::Optimal, "Optimal")] {
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
