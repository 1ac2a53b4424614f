//! CPU per cache hit, in alternating rounds.

use anyhow::{Result, ensure};
use plimsoll_harness::child::{POLL, pinned, weigh};

use super::caches::{CacheKind, CacheOptions, CachePrograms, RunningCache};
use super::origin::CacheOrigin;
use crate::context::BenchContext;
use crate::edge::client::{requests, words};
use crate::edge::edges::ClientTransport;
use crate::page::shown;

/// Seconds of load before the first that counts.
const WARM_UP_S: u32 = 1;

pub(super) struct CacheHitScenario {
    pub(super) title: &'static str,
    pub(super) bytes: usize,
    pub(super) logs: bool,
    /// The most that ours may cost, as multiples: of the cheaper of nginx and HAProxy, and of Varnish.
    pub(super) limits: (f64, f64),
}

/// One run.
pub(super) struct CacheHitRun {
    pub(super) cpu_us_per_request: f64,
    pub(super) requests_per_second: f64,
    /// Share of its core that the cache used.
    pub(super) busy: f64,
}

/// All runs of one cache, or why there are none.
pub(super) struct CacheHitOutcome {
    pub(super) cache: CacheKind,
    pub(super) command: String,
    pub(super) runs: Vec<CacheHitRun>,
    pub(super) failure: Option<String>,
}

pub(super) fn all() -> [CacheHitScenario; 4] {
    let scenario = |title, bytes, logs, limits| CacheHitScenario {
        title,
        bytes,
        logs,
        limits,
    };
    [
        scenario("Hit of 1 kB", 1_024, false, (0.8, 0.5)),
        scenario("Hit of 20 kB", 20_480, false, (0.8, 0.5)),
        scenario(
            "Hit of 1 kB with access log and metrics",
            1_024,
            true,
            (1.0, 1.0),
        ),
        scenario(
            "Hit of 20 kB with access log and metrics",
            20_480,
            true,
            (1.0, 1.0),
        ),
    ]
}

/// Runs the caches in turn, round after round; the client has one core, the cache the other.
pub(super) fn run(
    ground: &BenchContext,
    programs: &CachePrograms,
    scenario: &CacheHitScenario,
) -> Result<Vec<CacheHitOutcome>> {
    let origin = CacheOrigin::quick(ground, scenario.bytes, "max-age=3600")?;
    let manner = CacheOptions {
        logs: scenario.logs,
        ..CacheOptions::SILENT
    };
    let mut pairs = Vec::new();
    for cache in CacheKind::ALL {
        let started = cache.start(ground, programs, origin.port(), manner);
        let outcome = CacheHitOutcome {
            cache,
            command: String::new(),
            runs: Vec::new(),
            failure: None,
        };
        pairs.push((outcome, started));
    }
    for round in 0..=ground.rounds {
        for (outcome, started) in &mut pairs {
            let turned = match started {
                _ if outcome.failure.is_some() => continue,
                Ok(running) => measure(ground, scenario, &origin, running, round == 0, outcome),
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            if let Err(error) = turned {
                println!(
                    "{}: {}: failed: {error:#}",
                    scenario.title,
                    outcome.cache.name()
                );
                outcome.failure = Some(format!("{error:#}"));
            }
        }
    }
    Ok(pairs.into_iter().map(|(outcome, _)| outcome).collect())
}

fn measure(
    ground: &BenchContext,
    scenario: &CacheHitScenario,
    origin: &CacheOrigin,
    running: &RunningCache,
    is_warm_up: bool,
    outcome: &mut CacheHitOutcome,
) -> Result<()> {
    let seconds = if is_warm_up {
        WARM_UP_S
    } else {
        ground.seconds
    };
    let words = words(ClientTransport::Plain, running.port, "/page.html", seconds);
    let fetched_before = origin.fetches()?;
    let cpu_before = running.cpu()?;
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let weighed = weigh(command, &[], POLL, |_, _| ())?;
    let cpu = running.cpu()?.saturating_sub(cpu_before);
    let requests = requests(ClientTransport::Plain, &weighed.stdout)?;
    if is_warm_up {
        return Ok(());
    }
    let fetched = origin.fetches()? - fetched_before;
    ensure!(
        fetched == 0,
        "{fetched} of {requests} requests went to the origin, though the page is in its first hour"
    );
    let port = format!(":{}", running.port);
    outcome.command = shown(&words, &[(&port, ":PORT")]);
    let run = CacheHitRun {
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / requests as f64,
        requests_per_second: requests as f64 / weighed.wall.as_secs_f64(),
        busy: cpu.as_secs_f64() / weighed.wall.as_secs_f64(),
    };
    println!(
        "{}: {}: {:.2} µs of CPU per request, {:.0} requests/s, {:.0} % of its core",
        scenario.title,
        outcome.cache.name(),
        run.cpu_us_per_request,
        run.requests_per_second,
        run.busy * 100.0
    );
    outcome.runs.push(run);
    Ok(())
}
