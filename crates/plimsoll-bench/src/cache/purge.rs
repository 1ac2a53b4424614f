//! Requests to the origin after a purge of everything while 10,000 pages are hot.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use plimsoll_harness::child::{pinned, weigh};

use super::caches::{CacheKind, CacheOptions, CachePrograms, words};
use super::load::{LoadSummary, addresses};
use super::origin::CacheOrigin;
use crate::context::BenchContext;
use crate::edge::client::generate;
use crate::page::shown;

pub(super) const PAGES: u32 = 10_000;
pub(super) const PER_SECOND: u32 = 20_000;
/// `Cache-Control` of each page.
pub(super) const LIFETIME_S: u32 = 10;
/// The load: it settles, then the usual rate is measured, then comes the purge.
const SETTLE_S: u32 = 5;
const USUAL_S: u32 = 10;
const AFTER_S: u32 = 15;
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct PurgeResult {
    /// Requests to the origin per second before the purge, and in the worst second after it.
    pub(super) usual: f64,
    pub(super) peak: f64,
    /// Each second after the purge.
    pub(super) after: Vec<usize>,
    pub(super) summary: LoadSummary,
    pub(super) command: String,
}

pub(super) fn run(ground: &BenchContext, programs: &CachePrograms) -> Result<PurgeResult> {
    println!("purge of everything");
    let result = measure(ground, programs);
    match &result {
        Ok(result) => println!(
            "  origin {:.0}/s before, {:.0}/s in the worst second after; {:?}",
            result.usual, result.peak, result.after
        ),
        Err(error) => println!("  failed: {error:#}"),
    }
    result
}

fn measure(ground: &BenchContext, programs: &CachePrograms) -> Result<PurgeResult> {
    let origin = CacheOrigin::quick(ground, 1_024, &format!("max-age={LIFETIME_S}"))?;
    let running =
        CacheKind::Plimsoll.start(ground, programs, origin.port(), CacheOptions::SILENT)?;
    let (url, urls) = (running.url(), addresses(ground, "page", PAGES)?);
    let urls = urls.display().to_string();
    // One after the other over a lifetime: so they expire one after the other, as the pages of a site do.
    let fill = format!(
        "{url} --urls {urls} --rate {}/s --spacing even --for {LIFETIME_S}s",
        PAGES / LIFETIME_S
    );
    generate(ground, &programs.plimsoll, &fill, &[])?;
    let line = format!(
        "{} run {url} --urls {urls} --urls-order random --rate {PER_SECOND}/s --for {}s --cores 1 --json",
        programs.plimsoll.display(),
        SETTLE_S + USUAL_S + AFTER_S
    );
    let words = words(&line);
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let mut purged = None;
    let weighed = weigh(command, &[6], Duration::from_millis(20), |_, elapsed| {
        if purged.is_none() && elapsed >= Duration::from_secs((SETTLE_S + USUAL_S).into()) {
            let at = seconds_now();
            purged = Some(purge(running.admin_port).map(|()| at));
        }
    })?;
    let at = purged.context("the load ended before the purge")??;
    let moments = origin.moments()?;
    let usual = count_per_second(&moments, at - f64::from(USUAL_S), USUAL_S);
    let after = count_per_second(&moments, at, AFTER_S - 1);
    ensure!(
        !moments.is_empty() && usual.iter().sum::<usize>() > 0,
        "the origin was not asked before the purge, so nothing is usual"
    );
    Ok(PurgeResult {
        usual: usual.iter().sum::<usize>() as f64 / f64::from(USUAL_S),
        peak: after.iter().copied().max().unwrap_or(0) as f64,
        after,
        summary: LoadSummary::read(&serde_json::from_str(&weighed.stdout)?)?,
        command: shown(&words, &[(&url, "URL"), (&urls, "ADDRESSES")]),
    })
}

/// Moments in each of so many seconds from a start.
fn count_per_second(moments: &[f64], start: f64, count: u32) -> Vec<usize> {
    let within = |second: u32| {
        let from = start + f64::from(second);
        let until = from + 1.0;
        let inside = moments.iter().filter(|at| (from..until).contains(*at));
        inside.count()
    };
    (0..count).map(within).collect()
}

fn seconds_now() -> f64 {
    Timestamp::now().as_duration().as_secs_f64()
}

/// Purges everything by the edge's admin API.
fn purge(admin_port: u16) -> Result<()> {
    let address = SocketAddr::from(([127, 0, 0, 1], admin_port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = r#"{"all":true}"#;
    write!(
        stream,
        "POST /purge HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    ensure!(
        status.starts_with('2'),
        "the edge answers {status} to a purge: {}",
        answer.lines().next_back().unwrap_or_default()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_fall_into_the_second_they_begin() {
        let moments = [9.5, 10.0, 10.5, 11.0, 12.999, 13.0];
        assert_eq!(count_per_second(&moments, 10.0, 3), [2, 1, 1]);
        assert_eq!(count_per_second(&[], 10.0, 2), [0, 0]);
    }
}
