//! The origin is killed after its pages went stale: who asks for them is answered as before, and at what cost.

use std::time::Duration;

use anyhow::Result;

use super::load::{Told, addresses};
use super::origin::Origin;
use super::subject::{Cache, Manner, Programs, Running};
use crate::bench::Ground;
use crate::bench::edge::client::generate;
use crate::clock::pause;

pub(super) const PAGES: u32 = 1_000;
/// The pages' lifetime is a second.
const STALE_AFTER: Duration = Duration::from_millis(2_500);

pub(super) struct Seen {
    /// The same number of pages in their first hour, the origin alive.
    pub(super) fresh: Side,
    /// Old pages, the origin dead.
    pub(super) dead: Side,
    pub(super) command: String,
}

pub(super) struct Side {
    pub(super) told: Told,
    pub(super) cpu_us_per_request: f64,
}

impl Seen {
    /// How much dearer an old page is than a fresh one.
    pub(super) fn cost_ratio(&self) -> f64 {
        self.dead.cpu_us_per_request / self.fresh.cpu_us_per_request
    }
}

/// What became of each cache.
pub(super) fn run(ground: &Ground, programs: &Programs) -> Vec<(Cache, Result<Seen>)> {
    Cache::ALL
        .map(|cache| {
            println!("outage: {}", cache.name());
            let seen = one(ground, programs, cache);
            match &seen {
                Ok(seen) => println!(
                    "  {:.2} % answered 200, {:.0} requests/s, {:.2} times the CPU of a fresh page",
                    seen.dead.told.good_share() * 100.0,
                    seen.dead.told.completed,
                    seen.cost_ratio()
                ),
                Err(error) => println!("  failed: {error:#}"),
            }
            (cache, seen)
        })
        .into()
}

fn one(ground: &Ground, programs: &Programs, cache: Cache) -> Result<Seen> {
    let mut origin = Origin::quick(ground, 1_024, "max-age=1")?;
    let running = cache.start(ground, programs, origin.port(), Manner::SILENT)?;
    // A second is enough for each page to be asked for many times.
    ask(ground, programs, &running, "hour", 1)?;
    let (fresh, _) = ask(ground, programs, &running, "hour", ground.seconds)?;
    ask(ground, programs, &running, "page", 1)?;
    pause(STALE_AFTER);
    origin.kill();
    let (dead, command) = ask(ground, programs, &running, "page", ground.seconds)?;
    fresh.told.expect_pages()?;
    Ok(Seen {
        fresh,
        dead,
        command,
    })
}

fn ask(
    ground: &Ground,
    programs: &Programs,
    running: &Running,
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
    let told = Told::read(&report)?;
    let side = Side {
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / told.requests.max(1.0),
        told,
    };
    Ok((side, command))
}
