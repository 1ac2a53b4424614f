//! Requests to the origin after a purge of everything while many pages are hot.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::request::post;
use plimsoll_harness::sample::Sample;

use super::origin::CacheOrigin;
use super::{RunningCache, addresses, sample};
use crate::bench::Bench;

pub(super) fn measure(bench: &Bench, chapter: &Chapter, cache: &str) -> Result<Sample> {
    let number = |name: &str| chapter.number::<u32>(name);
    let (pages, lifetime, rate) = (number("pages")?, number("lifetime_s")?, number("rate")?);
    let (settle, usual_s, after_s) = (number("settle_s")?, number("usual_s")?, number("after_s")?);
    let origin = CacheOrigin::quick(bench, chapter)?;
    let running = RunningCache::start(bench, chapter, cache, origin.port())?;
    let (url, urls) = (running.url(), addresses(bench, "page", pages)?);
    // One after the other over a lifetime: so they expire one after the other, as the pages of a site do.
    let fill_rate = pages / lifetime;
    let fill = format!("{url} --urls {urls} --rate {fill_rate}/s --spacing even --for {lifetime}s");
    bench.generate(&fill, &[])?;
    let words = format!(
        "{url} --urls {urls} --urls-order random --rate {rate}/s --for {}s",
        settle + usual_s + after_s
    );
    let (mut purged, due) = (None, Duration::from_secs((settle + usual_s).into()));
    let (report, command) = bench.generate_meanwhile(
        &words,
        &[(&url, "URL"), (&urls, "ADDRESSES")],
        Duration::from_millis(20),
        |elapsed| {
            if purged.is_none() && elapsed >= due {
                let at = Timestamp::now().as_duration().as_secs_f64();
                purged = Some(purge(running.server.admin_port()).map(|()| at));
            }
        },
    )?;
    let at = purged.context("the load ended before the purge")??;
    let moments = origin.moments()?;
    let before = count_per_second(&moments, at - f64::from(usual_s), usual_s);
    let after = count_per_second(&moments, at, after_s - 1);
    let usual = before.iter().sum::<usize>() as f64 / f64::from(usual_s);
    ensure!(
        usual > 0.0,
        "the origin was not asked before the purge, so nothing is usual"
    );
    let peak = after.iter().copied().max().unwrap_or(0) as f64;
    let after: Vec<_> = after.iter().map(ToString::to_string).collect();
    Ok(sample(&report, command)?
        .with("usual", usual)
        .with("peak_ratio", peak / usual)
        .text("after", after.join(", ")))
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

/// Purges everything by the edge's admin API.
fn purge(admin_port: u16) -> Result<()> {
    let answer = post(admin_port, "/purge", r#"{"all":true}"#)?;
    ensure!(
        (200..300).contains(&answer.status),
        "the edge answers {} to a purge: {}",
        answer.status,
        answer.body
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
