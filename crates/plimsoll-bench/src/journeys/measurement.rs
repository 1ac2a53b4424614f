//! One run of one client, and its validity.

use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use plimsoll_harness::child::{POLL, Weighed, cpu, pinned, weigh};
use plimsoll_harness::machine::{BUSY_MAX, Ticks};
use rustix::param::clock_ticks_per_second;

use super::client::{ClientSummary, JourneyClient};
use super::install::Installed;
use super::plan::plan;
use super::site::JourneySite;
use crate::context::BenchContext;
use crate::page::shown;

/// Requests after which the load has begun.
const BEGUN_COUNT: u64 = 500;

/// Omitted at the end: the load began a little before its start was detected.
const TAIL: Duration = Duration::from_secs(1);

/// By how much a client's own count may differ from the server's: what is under way when it ends.
const MISCOUNT_MAX: f64 = 0.02;

/// Cost of a valid run.
#[derive(Clone, Copy, Debug)]
pub(super) struct JourneyRun {
    /// Second half of the load: what is compiled and cached on the way has been by then.
    pub(super) warm_us: f64,
    /// Whole run, start and end of the program included.
    pub(super) whole_us: f64,
    /// In the second half of the load.
    pub(super) requests_per_second: f64,
    /// Largest resident set, in bytes.
    pub(super) rss: u64,
    /// Share of its core that the server used.
    pub(super) server_busy: f64,
}

/// The command as the paper shows it, and what came of it.
pub(super) struct Tried {
    pub(super) command: String,
    /// Share of all cores that other work took, where that is too much and was waived.
    pub(super) disturbed: Option<f64>,
    pub(super) run: Result<JourneyRun>,
}

/// Runs one client against a server of its own.
pub(super) fn run(
    ground: &BenchContext,
    installed: &Installed,
    written: &str,
    client: JourneyClient,
) -> Tried {
    let mut tried = Tried {
        command: String::new(),
        disturbed: None,
        run: Err(anyhow!("not tried")),
    };
    tried.run = weighed(ground, installed, written, client, &mut tried);
    tried
}

fn weighed(
    ground: &BenchContext,
    installed: &Installed,
    written: &str,
    client: JourneyClient,
    tried: &mut Tried,
) -> Result<JourneyRun> {
    let mut site = JourneySite::start(ground.server_core)?;
    let url = site.url(client.entry_point());
    let file = ground.folder.path().join("journey.yaml");
    if let Some(variant) = client.variant() {
        std::fs::write(&file, plan(written, variant)?)?;
    }
    let file = file.display().to_string();
    let words = client.words(installed, &url, &file, ground.seconds)?;
    let folder = installed.folder.display().to_string();
    let script = installed.k6_script.display().to_string();
    tried.command = shown(
        &words,
        &[
            (&url, "URL"),
            (&file, "journey.yaml"),
            (&script, "bench/k6/journey.js"),
            (&folder, "PEERS"),
        ],
    );
    let mut program = pinned(ground.client_core, &words);
    program.current_dir(ground.folder.path());
    let mut half = Half::new(Duration::from_secs(ground.seconds.into()));
    let mut polled = Ok(());
    let ticks = Ticks::now()?;
    let weighed = weigh(program, client.accepted(), POLL, |pid, elapsed| {
        if polled.is_ok() {
            polled = half.poll(&mut site, pid, elapsed);
        }
    })?;
    let passed = Ticks::now()?.since(ticks);
    polled?;
    let counted = site.request_count()?;
    check(client.parse_output(&weighed.stdout)?, counted)?;
    let server_cpu = site.cpu()?;
    let foreign = foreign_share(passed, weighed.cpu + server_cpu);
    tried.disturbed = (foreign > BUSY_MAX).then_some(foreign);
    ensure!(
        ground.anyway || foreign <= BUSY_MAX,
        "other work kept {:.0} % of all cores busy meanwhile, at most {:.0} % is valid",
        foreign * 100.0,
        BUSY_MAX * 100.0
    );
    summarize(&weighed, counted, server_cpu, &half)
}

fn summarize(
    weighed: &Weighed,
    counted: u64,
    server_cpu: Duration,
    half: &Half,
) -> Result<JourneyRun> {
    let Some(warm) = half.passed() else {
        bail!("the load ended before its second half was seen");
    };
    ensure!(
        warm.requests > 0,
        "no request came in the second half of the load"
    );
    Ok(JourneyRun {
        warm_us: per_request_us(warm.cpu, warm.requests),
        whole_us: per_request_us(weighed.cpu, counted),
        requests_per_second: warm.requests as f64 / warm.at.as_secs_f64(),
        rss: weighed.rss,
        server_busy: server_cpu.as_secs_f64() / weighed.wall.as_secs_f64(),
    })
}

fn per_request_us(cpu: Duration, requests: u64) -> f64 {
    cpu.as_secs_f64() * 1e6 / requests as f64
}

/// A run counts only if every check passed and the server's counts match the client's.
fn check(summary: ClientSummary, counted: u64) -> Result<()> {
    ensure!(!summary.is_void, "void by its own word");
    ensure!(
        summary.failed == 0,
        "{} of {} requests or checks failed, none may",
        summary.failed,
        summary.requests
    );
    let miscount = (counted as f64 - summary.requests as f64).abs() / (counted as f64).max(1.0);
    ensure!(
        miscount <= MISCOUNT_MAX,
        "it counts {} requests, the server {counted}",
        summary.requests
    );
    Ok(())
}

/// The share of all cores that neither client nor server used.
fn foreign_share(passed: Ticks, ours: Duration) -> f64 {
    let ours = ours.as_secs_f64() * clock_ticks_per_second() as f64;
    ((passed.busy - ours) / passed.all.max(1.0)).max(0.0)
}

/// The second half of a load, which begins when the server sees it begin.
struct Half {
    lasting: Duration,
    begun: Option<Duration>,
    from: Option<Mark>,
    to: Option<Mark>,
}

/// What was used and done up to a moment.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Since the client was started.
    at: Duration,
    cpu: Duration,
    requests: u64,
}

impl Half {
    fn new(lasting: Duration) -> Self {
        Self {
            lasting,
            begun: None,
            from: None,
            to: None,
        }
    }

    /// Looks at the client and at the server when there is something to see, otherwise lets them work.
    fn poll(&mut self, site: &mut JourneySite, pid: u32, elapsed: Duration) -> Result<()> {
        let Some(begun) = self.begun else {
            if site.request_count()? >= BEGUN_COUNT {
                self.begun = Some(elapsed);
            }
            return Ok(());
        };
        let is_due =
            |after: Duration, mark: Option<Mark>| mark.is_none() && elapsed >= begun + after;
        let is_first = is_due(self.lasting / 2, self.from);
        let is_last = is_due(self.lasting.saturating_sub(TAIL), self.to);
        if !(is_first || is_last) {
            return Ok(());
        }
        // A client that has just ended leaves the mark unset.
        let mark = cpu(pid).map(|cpu| {
            let requests = site.request_count()?;
            anyhow::Ok(Mark {
                at: elapsed,
                cpu,
                requests,
            })
        });
        let mark = mark.transpose()?;
        *(if is_first {
            &mut self.from
        } else {
            &mut self.to
        }) = mark;
        Ok(())
    }

    fn passed(&self) -> Option<Mark> {
        let (from, to) = (self.from?, self.to?);
        Some(Mark {
            at: to.at.saturating_sub(from.at),
            cpu: to.cpu.saturating_sub(from.cpu),
            requests: to.requests.saturating_sub(from.requests),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(requests: u64, failed: u64, is_void: bool) -> ClientSummary {
        ClientSummary {
            requests,
            failed,
            is_void,
        }
    }

    #[test]
    fn only_a_run_without_a_failed_check_counts() {
        check(summary(1_000, 0, false), 1_010).unwrap();
        for (summary, counted, why) in [
            (summary(1_000, 1, false), 1_000, "1 of 1000"),
            (summary(1_000, 0, true), 1_000, "void"),
            (summary(1_000, 0, false), 1_100, "counts 1000"),
            (summary(1_000, 0, false), 0, "counts 1000"),
        ] {
            let error = check(summary, counted).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn other_work_is_what_neither_side_used() {
        let second = clock_ticks_per_second() as f64;
        let passed = Ticks {
            busy: 15.0 * second,
            all: 20.0 * second,
        };
        let foreign = foreign_share(passed, Duration::from_secs(13));
        assert!((foreign - 0.1).abs() < 1e-9, "{foreign}");
        assert!(foreign_share(passed, Duration::from_secs(16)).abs() < 1e-9);
    }

    #[test]
    fn the_second_half_is_weighed_alone() {
        let mark = |at, cpu, requests| {
            Some(Mark {
                at: Duration::from_secs(at),
                cpu: Duration::from_millis(cpu),
                requests,
            })
        };
        let half = Half {
            lasting: Duration::from_secs(10),
            begun: Some(Duration::from_secs(1)),
            from: mark(6, 9_000, 1_000),
            to: mark(10, 9_400, 11_000),
        };
        let weighed = Weighed {
            stdout: String::new(),
            cpu: Duration::from_secs(11),
            rss: 5,
            wall: Duration::from_secs(20),
        };
        let run = summarize(&weighed, 11_000, Duration::from_secs(2), &half).unwrap();
        assert!((run.warm_us - 40.0).abs() < 1e-9, "{run:?}");
        assert!((run.whole_us - 1_000.0).abs() < 1e-9, "{run:?}");
        assert!((run.requests_per_second - 2_500.0).abs() < 1e-9, "{run:?}");
        assert!((run.server_busy - 0.1).abs() < 1e-9, "{run:?}");
    }
}
