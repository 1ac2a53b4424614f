//! `cargo xtask bench load`: our generator beside its peers, under loads without journeys. `benchmarks/load.toml` has the loads.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::POLL;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::sample::{Outcome, Sample};
use plimsoll_harness::spread::quantile;
use plimsoll_harness::template::Values;
use rustix::process::Signal;

use crate::bench::{Bench, ClientRun, mib, once, unknown, us_each};

/// Arrivals left out at the start: connections are opened meanwhile.
const SKIPPED: usize = 500;

pub(crate) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    match chapter.kind() {
        "cost" => cost(bench, chapter),
        "lateness" => {
            Ok(bench
                .rounds()
                .alternate(chapter.what(), chapter.subjects(), |subject, _| {
                    lateness(bench, chapter, subject)
                }))
        }
        "stall" => Ok(once(chapter, |subject| stall(bench, chapter, subject))),
        _ => unknown(chapter),
    }
}

/// All clients in turn against one nginx.
fn cost(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    let nginx = bench.start("kilobyte", bench.server_core, &Values::default())?;
    let (url, load) = (format!("{}/", nginx.url()), chapter.text("load")?);
    let measure = |subject: &str, _| {
        let values = bench.values(chapter);
        let run = bench.client((subject, &load), &url, &values, (POLL, |_, _| ()))?;
        ensure!(run.summary.requests > 0, "no request succeeded");
        // By the wall clock, start and end of the program included: the same for all.
        let rate = run.summary.requests as f64 / run.weighed.wall.as_secs_f64();
        Ok(sample(&run)
            .with("cpu_us", us_each(run.weighed.cpu, run.summary.all() as f64))
            .with("rate", rate)
            .with("rss_mib", mib(run.weighed.rss)))
    };
    Ok(bench
        .rounds()
        .alternate(chapter.what(), chapter.subjects(), measure))
}

/// What the client itself tells.
fn sample(run: &ClientRun) -> Sample {
    let summary = &run.summary;
    Sample::of(&run.command)
        .with("requests", summary.requests as f64)
        .with("failed", summary.failed as f64)
        .with_known("p95_ms", summary.p95_ms)
        .with_known("p99_ms", summary.p99_ms)
        .with_known("lag_us", summary.lag_ms_p99.map(|lag| lag * 1e3))
        .void(summary.void.clone())
}

/// Lateness of requests, measured at the server: arrival times against an even grid.
///
/// The grid has the client's spacing and is placed so that the earliest arrival, by its grid line, is on time; wake-up and
/// loopback of the server are part of what is measured.
fn lateness(bench: &Bench, chapter: &Chapter, subject: &str) -> Result<Sample> {
    let rate: u32 = chapter.number("rate")?;
    let words = format!(
        "--law deterministic --mean-us 0 --arrivals {}",
        rate * bench.seconds
    );
    let origin = bench.origin(bench.server_core, &words)?;
    let load = chapter.text("load")?;
    let values = bench.values(chapter);
    let run = bench.client((subject, &load), origin.url(), &values, (POLL, |_, _| ()))?;
    let text = origin.finish()?;
    let arrivals: Vec<f64> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.parse().ok())
        .collect();
    ensure!(
        arrivals.len() > 4 * SKIPPED,
        "only {} requests arrived",
        arrivals.len()
    );
    let late = late_us(&arrivals[SKIPPED..], 1e9 / f64::from(rate));
    let at = |share: f64| quantile(&late, share).context("there are arrivals");
    let summary = sample(&run);
    Ok(summary
        .with("p50_us", at(0.5)?)
        .with("p99_us", at(0.99)?)
        .with("max_us", at(1.0)?))
}

/// Distance of each arrival from its line of the grid, sorted, in microseconds.
fn late_us(arrivals_ns: &[f64], spacing_ns: f64) -> Vec<f64> {
    let offsets = arrivals_ns
        .iter()
        .enumerate()
        .map(|(index, at)| at - index as f64 * spacing_ns);
    let earliest = offsets.clone().fold(f64::INFINITY, f64::min);
    let mut late: Vec<f64> = offsets.map(|offset| (offset - earliest) / 1e3).collect();
    late.sort_by(f64::total_cmp);
    late
}

/// A server frozen meanwhile: which client reports it?
fn stall(bench: &Bench, chapter: &Chapter, subject: &str) -> Result<Sample> {
    let nginx = bench.start("kilobyte", bench.server_core, &Values::default())?;
    let begin = Duration::from_secs(chapter.number("freeze_at_s")?);
    let end = begin + Duration::from_secs(chapter.number("freeze_for_s")?);
    let (mut frozen, mut outcome) = (false, Ok(()));
    let freeze = |_, elapsed| {
        let wanted = (begin..end).contains(&elapsed);
        if wanted != frozen && outcome.is_ok() {
            frozen = wanted;
            outcome = nginx.signal(if wanted { Signal::STOP } else { Signal::CONT });
        }
    };
    let (url, load) = (format!("{}/", nginx.url()), chapter.text("load")?);
    let poll = Duration::from_millis(5);
    let run = bench.client(
        (subject, &load),
        &url,
        &bench.values(chapter),
        (poll, freeze),
    )?;
    outcome?;
    Ok(sample(&run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_the_distance_from_the_grid() {
        // A grid of 500 µs that starts at 7 ms; every arrival 10 µs late, one 90 µs.
        let mut arrivals: Vec<f64> = (0..100)
            .map(|k| 7e6 + 10e3 + f64::from(k) * 500e3)
            .collect();
        arrivals[40] += 80e3;
        let late = late_us(&arrivals, 500e3);
        assert!(late[..99].iter().all(|late| late.abs() < 1e-6), "{late:?}");
        assert!((late[99] - 80.0).abs() < 1e-6, "{late:?}");
    }
}
