//! Overload: multiples of the origin's capacity, with a fallback and without.

use anyhow::{Context as _, Result};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::sample::Sample;
use plimsoll_harness::template::Values;

use crate::bench::Bench;

/// Text of the fallback that no page contains.
const MARK: &str = "plimsoll-bench-shell";

/// A case is named `10x-fallback` or `10x-refusal`.
pub(super) fn measure(bench: &Bench, chapter: &Chapter, case: &str) -> Result<Sample> {
    let (factor, other) = case.split_once("x-").context("a case is `10x-fallback`")?;
    let rate = factor.parse::<u32>()? * chapter.number::<u32>("capacity")?;
    let origin = bench.origin(bench.client_core, &chapter.text("origin")?)?;
    let mut values = Values::default().with("to", origin.url());
    let page = format!("{{ status: 200, lacks: {MARK} }}");
    let mut wanted = "{ status: 503 }".to_owned();
    if other == "fallback" {
        let file = bench.folder().join("shell.html");
        std::fs::write(&file, format!("<!doctype html><title>{MARK}</title>"))?;
        values = values.with("fallback", file.display());
        wanted = format!("{{ status: 200, contains: {MARK} }}");
    }
    let edge = bench.start("plimsoll", bench.server_core, &values)?;
    let warm_up = chapter.number("warm_up_s")?;
    let (pages, command) = offer(bench, &edge, rate, warm_up, &page)?;
    let (others, _) = offer(bench, &edge, rate, warm_up, &wanted)?;
    let (after, _) = offer(bench, &edge, 50, chapter.number("recovery_s")?, &page)?;
    let share = |report: &RunReport| {
        let (good, all) = report.outcomes()?;
        anyhow::Ok(good as f64 / (all as f64).max(1.0))
    };
    // Both runs are of the same load: what is neither a page nor the other is bad.
    let other_bad = (1.0 - share(&pages)? - share(&others)?).max(0.0);
    Ok(Sample::of(command)
        .with(
            "pages",
            pages_while_offered(&pages, f64::from(bench.seconds))?,
        )
        .with("page_p99_ms", pages.number("response_time_ms.p99")?)
        .with("other_p99_ms", others.number("response_time_ms.p99")?)
        .with("other_bad", other_bad * 100.0)
        .with("recovered", share(&after)? * 100.0)
        .void(pages.void().or(others.void()).or(after.void())))
}

/// Offers GET requests of a browser; good is what is expected.
fn offer(
    bench: &Bench,
    edge: &RunningServer,
    rate: u32,
    warm_up: u32,
    expected: &str,
) -> Result<(RunReport, String)> {
    let values = Values::default()
        .with("url", format!("{}/", edge.url()))
        .with("warm_up", warm_up)
        .with("expected", expected)
        .with("rate", rate)
        .with("seconds", bench.seconds + warm_up);
    let plan = bench.folder().join("overload.yaml");
    std::fs::write(
        &plan,
        bench.filled("benchmarks/edge/overload.yaml", &values)?,
    )?;
    let plan = plan.display().to_string();
    bench.generate(&plan, &[(&plan, "overload.yaml")])
}

/// Good answers per second of the load. What was answered after its end, while the rest was waited for, is taken
/// off as if all of it were good, because the report has only the total of the rest: so the true figure is not lower.
fn pages_while_offered(report: &RunReport, seconds: f64) -> Result<f64> {
    let (good, all) = report.outcomes()?;
    let late = (all as f64 - report.number("completed")? * seconds).max(0.0);
    Ok((good as f64 - late) / seconds)
}
