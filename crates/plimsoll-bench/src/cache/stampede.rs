//! Many clients request one page that expires every second and is slow to generate.

use anyhow::Result;

use super::caches::{CacheKind, CacheOptions, CachePrograms};
use super::load::LoadSummary;
use super::origin::CacheOrigin;
use crate::context::BenchContext;
use crate::edge::client::generate;

pub(super) const CLIENTS: u32 = 200;
/// How long the origin takes for a page.
pub(super) const PAGE_MS: u32 = 200;
pub(super) const SECONDS: u32 = 10;
/// Between an answer and the next request: 200 clients without it would wait for the processor, not for the cache.
pub(super) const THINK_MS: u32 = 20;
/// Time in which the page comes for the first time.
const WARM_UP_S: u32 = 1;

pub(super) struct StampedeResult {
    pub(super) fetches: usize,
    pub(super) summary: LoadSummary,
    pub(super) command: String,
}

/// Results of each cache.
pub(super) fn run(
    ground: &BenchContext,
    programs: &CachePrograms,
) -> Vec<(CacheKind, Result<StampedeResult>)> {
    let show = |result: &StampedeResult| {
        format!(
            "{} fetches, longest wait {} ms",
            result.fetches, result.summary.max
        )
    };
    CacheKind::measure_all("stampede", |cache| measure(ground, programs, cache), show)
}

fn measure(
    ground: &BenchContext,
    programs: &CachePrograms,
    cache: CacheKind,
) -> Result<StampedeResult> {
    let origin = CacheOrigin::slow(ground, programs, PAGE_MS, "max-age=1")?;
    let running = cache.start(ground, programs, origin.port(), CacheOptions::SILENT)?;
    let url = running.url();
    let words = format!(
        "{url} --connections {CLIENTS} --think {THINK_MS}ms --for {SECONDS}s --warmup {WARM_UP_S}s"
    );
    let (report, command) = generate(ground, &programs.plimsoll, &words, &[(&url, "URL")])?;
    Ok(StampedeResult {
        fetches: origin.fetches()?,
        summary: LoadSummary::read(&report)?,
        command,
    })
}
