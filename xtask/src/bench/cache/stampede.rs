//! Many clients ask for one page that expires each second and takes long to make.

use anyhow::Result;

use super::load::Told;
use super::origin::Origin;
use super::subject::{Cache, Manner, Programs};
use crate::bench::Ground;
use crate::bench::edge::client::generate;

pub(super) const CLIENTS: u32 = 200;
/// How long the origin takes for a page.
pub(super) const PAGE_MS: u32 = 200;
pub(super) const SECONDS: u32 = 10;
/// Between an answer and the next request: 200 clients without it would wait for the processor, not for the cache.
pub(super) const THINK_MS: u32 = 20;
/// Time in which the page comes for the first time.
const WARM_UP_S: u32 = 1;

pub(super) struct Seen {
    pub(super) fetches: usize,
    pub(super) told: Told,
    pub(super) command: String,
}

/// What became of each cache.
pub(super) fn run(ground: &Ground, programs: &Programs) -> Vec<(Cache, Result<Seen>)> {
    Cache::ALL
        .map(|cache| {
            println!("stampede: {}", cache.name());
            let seen = one(ground, programs, cache);
            match &seen {
                Ok(seen) => println!(
                    "  {} fetches, longest wait {} ms",
                    seen.fetches, seen.told.max
                ),
                Err(error) => println!("  failed: {error:#}"),
            }
            (cache, seen)
        })
        .into()
}

fn one(ground: &Ground, programs: &Programs, cache: Cache) -> Result<Seen> {
    let origin = Origin::slow(ground, programs, PAGE_MS, "max-age=1")?;
    let running = cache.start(ground, programs, origin.port(), Manner::SILENT)?;
    let url = running.url();
    let words = format!(
        "{url} --connections {CLIENTS} --think {THINK_MS}ms --for {SECONDS}s --warmup {WARM_UP_S}s"
    );
    let (report, command) = generate(ground, &programs.plimsoll, &words, &[(&url, "URL")])?;
    Ok(Seen {
        fetches: origin.fetches()?,
        told: Told::read(&report)?,
        command,
    })
}
