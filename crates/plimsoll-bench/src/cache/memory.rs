//! Memory per object of 1 kB, and stalls while the cache grows.

use std::thread;

use anyhow::{Result, anyhow, ensure};

use super::caches::{CacheKind, CacheOptions, CachePrograms};
use super::load::{LoadSummary, addresses};
use super::origin::CacheOrigin;
use crate::context::BenchContext;
use crate::edge::client::generate;

/// Bytes of a body.
pub(super) const BODY: usize = 1_024;
/// New objects each second, for ours and for a peer: each of them keeps up with that.
pub(super) const PER_SECOND: u32 = 10_000;
pub(super) const PEER_PER_SECOND: u32 = 4_000;
/// Objects of a peer: enough to tell what one takes.
const PEER_OBJECTS: u32 = 100_000;
/// Objects that are asked for again, to see that they were kept.
const AGAIN: u32 = 10_000;
/// Objects that come before, so that what the program keeps once is not charged to the others.
const FIRST: u32 = 1_000;
/// How often one of those is asked for meanwhile: what it waits for is the cache alone, not the origin, which shares a
/// core with two clients.
pub(super) const HOT_PER_SECOND: u32 = 1_000;

pub(super) struct Filled {
    pub(super) objects: u32,
    /// `None` where all memory is taken at the start, so that nothing grows.
    pub(super) bytes_per_object: Option<f64>,
    /// What became of the new ones.
    pub(super) summary: LoadSummary,
    pub(super) command: String,
    /// What became of the one that was there.
    pub(super) hot: LoadSummary,
    pub(super) hot_command: String,
}

/// Results of each cache.
pub(super) fn run(
    ground: &BenchContext,
    programs: &CachePrograms,
    objects: u32,
) -> Vec<(CacheKind, Result<Filled>)> {
    CacheKind::ALL
        .map(|cache| {
            println!("memory: {}", cache.name());
            let objects = if cache == CacheKind::Plimsoll {
                objects
            } else {
                objects.min(PEER_OBJECTS)
            };
            let filled = measure(ground, programs, cache, objects);
            match &filled {
                Ok(filled) => println!(
                    "  {:.0} bytes an object, meanwhile p99.9 {} ms, max {} ms",
                    filled.bytes_per_object.unwrap_or(f64::NAN),
                    filled.hot.p999,
                    filled.hot.max
                ),
                Err(error) => println!("  failed: {error:#}"),
            }
            (cache, filled)
        })
        .into()
}

fn measure(
    ground: &BenchContext,
    programs: &CachePrograms,
    cache: CacheKind,
    objects: u32,
) -> Result<Filled> {
    let origin = CacheOrigin::quick(ground, BODY, "max-age=3600")?;
    let manner = CacheOptions {
        size_mib: if cache == CacheKind::Plimsoll {
            4_000
        } else {
            1_024
        },
        ..CacheOptions::SILENT
    };
    let running = cache.start(ground, programs, origin.port(), manner)?;
    let per_second = if cache == CacheKind::Plimsoll {
        PER_SECOND
    } else {
        PEER_PER_SECOND
    };
    let fill = |folder: &str, count: u32| {
        let urls = addresses(ground, folder, count)?.display().to_string();
        let url = running.url();
        let words = format!(
            "{url} --urls {urls} --rate {per_second}/s --spacing even --for {}ms",
            count * 1_000 / per_second
        );
        let (report, command) = generate(
            ground,
            &programs.plimsoll,
            &words,
            &[(&url, "URL"), (&urls, "ADDRESSES")],
        )?;
        Ok::<_, anyhow::Error>((LoadSummary::read(&report)?, command))
    };
    fill("first", FIRST)?;
    let (before, fetched_before) = (running.memory()?, origin.fetches()?);
    let seconds = objects / per_second;
    let (new, hot) = thread::scope(|scope| {
        let hot = scope.spawn(|| hot(ground, programs, &running.url(), seconds));
        (fill("object", objects), hot.join())
    });
    let (summary, command) = new?;
    let (hot, hot_command) = hot.map_err(|_| anyhow!("the second client panicked"))??;
    let grown = running.memory()?.saturating_sub(before);
    let fetched = origin.fetches()? - fetched_before;
    // Each address once: whatever is asked a second time is answered from the cache or was lost.
    let (again, _) = fill("object", objects.min(AGAIN))?;
    let lost = origin.fetches()? - fetched_before - fetched;
    summary.expect_pages()?;
    hot.expect_pages()?;
    again.expect_pages()?;
    ensure!(
        lost * 100 < objects.min(AGAIN) as usize,
        "{lost} of {} objects were not kept, though all have room",
        objects.min(AGAIN)
    );
    Ok(Filled {
        objects,
        bytes_per_object: (cache != CacheKind::Haproxy).then_some(grown as f64 / fetched as f64),
        summary,
        command,
        hot,
        hot_command,
    })
}

/// Asks for one page that is there, again and again.
fn hot(
    ground: &BenchContext,
    programs: &CachePrograms,
    url: &str,
    seconds: u32,
) -> Result<(LoadSummary, String)> {
    let words =
        format!("{url}first/0000000 --rate {HOT_PER_SECOND}/s --spacing even --for {seconds}s");
    let (report, command) = generate(ground, &programs.plimsoll, &words, &[(url, "URL")])?;
    Ok((LoadSummary::read(&report)?, command))
}
