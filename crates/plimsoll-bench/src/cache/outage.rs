//! The origin is killed after its pages went stale: whether clients still get them, and at what cost.

use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::clock::pause;

use super::caches::{CacheKind, CacheOptions, CachePrograms, RunningCache};
use super::load::{LoadSummary, addresses};
use super::origin::CacheOrigin;
use crate::context::BenchContext;
use crate::edge::client::generate;

pub(super) const PAGES: u32 = 1_000;
/// The pages' lifetime is a second.
const STALE_AFTER: Duration = Duration::from_millis(2_500);

pub(super) struct OutageResult {
    /// The same number of pages in their first hour, the origin alive.
    pub(super) fresh: Side,
    /// Old pages, the origin dead.
    pub(super) dead: Side,
    pub(super) command: String,
}

pub(super) struct Side {
    pub(super) summary: LoadSummary,
    pub(super) cpu_us_per_request: f64,
}

impl OutageResult {
    /// How much dearer an old page is than a fresh one.
    pub(super) fn cost_ratio(&self) -> f64 {
        self.dead.cpu_us_per_request / self.fresh.cpu_us_per_request
    }
}

/// Results of each cache.
pub(super) fn run(
    ground: &BenchContext,
    programs: &CachePrograms,
) -> Vec<(CacheKind, Result<OutageResult>)> {
    let show = |result: &OutageResult| {
        format!(
            "{:.2} % answered 200, {:.0} requests/s, {:.2} times the CPU of a fresh page",
            result.dead.summary.good_share() * 100.0,
            result.dead.summary.completed,
            result.cost_ratio()
        )
    };
    CacheKind::measure_all("outage", |cache| measure(ground, programs, cache), show)
}

fn measure(
    ground: &BenchContext,
    programs: &CachePrograms,
    cache: CacheKind,
) -> Result<OutageResult> {
    let mut origin = CacheOrigin::quick(ground, 1_024, "max-age=1")?;
    let running = cache.start(ground, programs, origin.port(), CacheOptions::SILENT)?;
    // A second is enough for each page to be asked for many times.
    load_pages(ground, programs, &running, "hour", 1)?;
    let (fresh, _) = load_pages(ground, programs, &running, "hour", ground.seconds)?;
    load_pages(ground, programs, &running, "page", 1)?;
    pause(STALE_AFTER);
    origin.kill();
    let (dead, command) = load_pages(ground, programs, &running, "page", ground.seconds)?;
    fresh.summary.expect_pages()?;
    Ok(OutageResult {
        fresh,
        dead,
        command,
    })
}

fn load_pages(
    ground: &BenchContext,
    programs: &CachePrograms,
    running: &RunningCache,
    folder: &str,
    seconds: u32,
) -> Result<(Side, String)> {
    let (url, urls) = (running.url(), addresses(ground, folder, PAGES)?);
    let urls = urls.display().to_string();
    let words = format!("{url} --urls {urls} --connections 64 --for {seconds}s");
    let before = running.cpu()?;
    let (report, command) = generate(
        ground,
        &programs.plimsoll,
        &words,
        &[(&url, "URL"), (&urls, "ADDRESSES")],
    )?;
    let cpu = running.cpu()?.saturating_sub(before);
    let summary = LoadSummary::read(&report)?;
    let side = Side {
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / summary.requests.max(1.0),
        summary,
    };
    Ok((side, command))
}
