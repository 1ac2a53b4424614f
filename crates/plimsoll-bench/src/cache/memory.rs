//! Memory per object, and stalls while the cache grows.

use std::thread;

use anyhow::{Result, anyhow, ensure};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::sample::Sample;

use super::origin::CacheOrigin;
use super::{RunningCache, addresses, expect_pages, sample};
use crate::bench::Bench;

/// Objects that are asked for again, to see that they were kept.
const AGAIN: u32 = 10_000;
/// Objects that come before, so that what the program keeps once is not charged to the others.
const FIRST: u32 = 1_000;

pub(super) fn measure(bench: &Bench, chapter: &Chapter, cache: &str) -> Result<Sample> {
    let is_ours = cache == "plimsoll";
    let of_role = |name: &str| {
        let role = if is_ours { "" } else { "peer_" };
        chapter.number::<u32>(&format!("{role}{name}"))
    };
    let objects = of_role("objects")?.min(chapter.number("objects")?);
    let rate = of_role("rate")?;
    let origin = CacheOrigin::quick(bench, chapter)?;
    let running = RunningCache::start(bench, chapter, cache, origin.port())?;
    let url = running.url();
    let fill = |folder: &str, count: u32| {
        let urls = addresses(bench, folder, count)?;
        let length = count * 1_000 / rate;
        let words = format!("{url} --urls {urls} --rate {rate}/s --spacing even --for {length}ms");
        bench.generate(&words, &[(&url, "URL"), (&urls, "ADDRESSES")])
    };
    fill("first", FIRST)?;
    let (before, fetched_before) = (running.memory()?, origin.fetches()?);
    // A page that is there, again and again: what it waits for is the cache alone, not the origin, which shares a core with
    // two clients.
    let (hot_rate, seconds) = (chapter.text("hot_rate")?, objects / rate);
    let words = format!("{url}first/0000000 --rate {hot_rate}/s --spacing even --for {seconds}s");
    let (new, hot) = thread::scope(|scope| {
        let hot = scope.spawn(|| bench.generate(&words, &[(&url, "URL")]));
        (fill("object", objects), hot.join())
    });
    let (new, _) = new?;
    let (hot, command) = hot.map_err(|_| anyhow!("the second client panicked"))??;
    let grown = running.memory()?.saturating_sub(before);
    let fetched = origin.fetches()? - fetched_before;
    // Each address once: whatever is asked a second time is answered from the cache or was lost.
    let asked_again = objects.min(AGAIN);
    let (again, _) = fill("object", asked_again)?;
    let lost = origin.fetches()? - fetched_before - fetched;
    [&new, &hot, &again]
        .into_iter()
        .try_for_each(|report: &RunReport| expect_pages(report))?;
    ensure!(
        lost * 100 < asked_again as usize,
        "{lost} of {asked_again} objects were not kept, though all have room"
    );
    // Where all memory is taken at the start, nothing grows.
    let bytes = (cache != "haproxy").then_some(grown as f64 / fetched as f64);
    Ok(sample(&hot, command)?
        .with("objects", objects.into())
        .with_known("bytes", bytes)
        .void(new.void()))
}
