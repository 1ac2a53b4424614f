//! `cargo xtask bench cache`: our cache beside those of nginx, HAProxy and Varnish: CPU time and memory per page, and the
//! load on the origin when pages expire, are purged, or cannot be fetched. `benchmarks/cache.toml` has the caches and the loads.

mod memory;
mod origin;
mod purge;

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::pause;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::process::files;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::sample::{Outcome, Sample};
use tempfile::TempDir;

use self::origin::CacheOrigin;
use crate::bench::{Bench, once, unknown, us_each};
use crate::edge::loaded_in_turn;

/// Where nginx keeps its pages: memory that looks like a disk.
const RAM_DISK: &str = "/dev/shm";

pub(crate) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    match chapter.kind() {
        "hit" => hit(bench, chapter),
        "memory" => Ok(once(chapter, |cache| {
            memory::measure(bench, chapter, cache)
        })),
        "stampede" => Ok(once(chapter, |cache| stampede(bench, chapter, cache))),
        "outage" => Ok(once(chapter, |cache| outage(bench, chapter, cache))),
        "purge" => Ok(once(chapter, |cache| purge::measure(bench, chapter, cache))),
        _ => unknown(chapter),
    }
}

/// A running cache; ends when dropped, its disk last.
struct RunningCache {
    server: RunningServer,
    /// nginx's pages.
    disk: TempDir,
}

impl RunningCache {
    /// Starts it on the server's core, before the origin at this port.
    fn start(bench: &Bench, chapter: &Chapter, cache: &str, origin: u16) -> Result<Self> {
        let disk = tempfile::Builder::new()
            .prefix("bench-cache-")
            .tempdir_in(RAM_DISK)
            .with_context(|| format!("{RAM_DISK} holds the pages of nginx"))?;
        let values = chapter.values().with("origin", origin);
        let values = values.with("disk", disk.path().display());
        let server = bench.start(cache, bench.server_core, &values)?;
        Ok(Self { server, disk })
    }

    fn url(&self) -> String {
        format!("{}/", self.server.url())
    }

    /// Bytes of memory that it holds: what no file backs, and the files of its pages.
    fn memory(&self) -> Result<u64> {
        Ok(self.server.memory()? + files(self.disk.path())?)
    }
}

/// CPU per cache hit, in alternating rounds; the client has one core, the cache the other.
fn hit(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    let origin = CacheOrigin::quick(bench, chapter)?;
    let mut disks = Vec::new();
    let start = |cache: &str| {
        let cache = RunningCache::start(bench, chapter, cache, origin.port())?;
        disks.push(cache.disk);
        Ok(cache.server)
    };
    Ok(loaded_in_turn(bench, chapter, start, || origin.fetches()))
}

/// Many clients request one page that expires every second and is slow to generate.
fn stampede(bench: &Bench, chapter: &Chapter, cache: &str) -> Result<Sample> {
    let origin = CacheOrigin::slow(bench, chapter)?;
    let running = RunningCache::start(bench, chapter, cache, origin.port())?;
    let url = running.url();
    let words = format!("{url} {}", chapter.text("load")?);
    let (report, command) = bench.generate(&words, &[(&url, "URL")])?;
    let fetches = origin.fetches()? as f64;
    Ok(sample(&report, command)?.with("fetches", fetches))
}

/// The origin is killed after its pages went stale: whether clients still get them, and at what cost.
fn outage(bench: &Bench, chapter: &Chapter, cache: &str) -> Result<Sample> {
    let mut origin = CacheOrigin::quick(bench, chapter)?;
    let running = RunningCache::start(bench, chapter, cache, origin.port())?;
    let load = |folder: &str, seconds: u32| {
        let url = running.url();
        let urls = addresses(bench, folder, chapter.number("pages")?)?;
        let words = format!("{url} --urls {urls} --connections 64 --for {seconds}s");
        let before = running.server.cpu()?;
        let named = [(url.as_str(), "URL"), (&urls, "ADDRESSES")];
        let (report, command) = bench.generate(&words, &named)?;
        let cpu = running.server.cpu()?.saturating_sub(before);
        let requests = report.number("requests")?;
        anyhow::Ok((report, command, us_each(cpu, requests)))
    };
    // A second is enough for each page to be asked for many times.
    load("hour", 1)?;
    let (fresh, _, fresh_cpu_us) = load("hour", bench.seconds)?;
    load("page", 1)?;
    pause(Duration::from_millis(chapter.number("stale_after_ms")?));
    origin.kill();
    let (dead, command, cpu_us) = load("page", bench.seconds)?;
    expect_pages(&fresh)?;
    Ok(sample(&dead, command)?
        .with("cpu_us", cpu_us)
        .with("fresh_cpu_us", fresh_cpu_us)
        .with("cost_ratio", cpu_us / fresh_cpu_us)
        .with("fresh_completed", fresh.number("completed")?))
}

/// What the chapters read of a report.
fn sample(report: &RunReport, command: String) -> Result<Sample> {
    Ok(Sample::of(command)
        .with("good", good_share(report)? * 100.0)
        .with("completed", report.number("completed")?)
        .with_known("p99_ms", report.known("response_time_ms.p99"))
        .with_known("p999_ms", report.known("response_time_ms.p999"))
        .with_known("max_ms", report.known("response_time_ms.max"))
        .void(report.void()))
}

/// Share of requests that were answered with 200.
fn good_share(report: &RunReport) -> Result<f64> {
    let good = report.known("status.200").unwrap_or(0.0);
    Ok(good / report.number("requests")?.max(1.0))
}

/// Fails unless the pages came that the measurement stands on.
fn expect_pages(report: &RunReport) -> Result<()> {
    let share = good_share(report)?;
    let void = report.void();
    ensure!(
        share > 0.999,
        "only {:.2} % of {} pages came{}",
        share * 100.0,
        report.number("requests")?,
        void.map_or(String::new(), |void| format!(" (void: {void})"))
    );
    Ok(())
}

/// A file of so many addresses below a folder.
fn addresses(bench: &Bench, folder: &str, count: u32) -> Result<String> {
    let path = bench.folder().join(format!("{folder}-{count}"));
    let mut text = String::new();
    for number in 0..count {
        writeln!(text, "/{folder}/{number:07}")?;
    }
    std::fs::write(&path, text)?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_did_not_come_are_no_measurement() {
        let report = |good: u32| {
            let json = format!(
                r#"{{ "requests": 200, "completed": 99.5, "status": {{ "200": {good}, "503": 50 }} }}"#
            );
            RunReport::parse(&json).unwrap()
        };
        assert!((good_share(&report(150)).unwrap() - 0.75).abs() < 1e-9);
        let error = expect_pages(&report(150)).unwrap_err().to_string();
        assert_eq!(error, "only 75.00 % of 200 pages came");
        assert!(expect_pages(&report(200)).is_ok());
        assert!(
            sample(
                &RunReport::parse(r#"{ "requests": 1 }"#).unwrap(),
                String::new()
            )
            .is_err()
        );
    }
}
