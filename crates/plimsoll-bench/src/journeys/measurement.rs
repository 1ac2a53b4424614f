//! One run of one client, and its validity.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::child::{POLL, Weighed, cpu};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::machine::{BUSY_MAX, Ticks};
use plimsoll_harness::request::get;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::sample::Sample;
use plimsoll_harness::template::Values;
use rustix::param::clock_ticks_per_second;

use crate::bench::{Bench, mib, us_each};
use crate::certificate;
use crate::client::ClientSummary;

/// Requests after which the load has begun.
const BEGUN_COUNT: u64 = 500;

/// Omitted at the end: the load began a little before its start was detected.
const TAIL: Duration = Duration::from_secs(1);

/// By how much a client's own count may differ from the server's: what is under way when it ends.
const MISCOUNT_MAX: f64 = 0.02;

/// The site, and our own requests to it, which no client made.
struct JourneySite {
    nginx: RunningServer,
    own_request_count: u64,
}

impl JourneySite {
    /// Requests of clients so far, by the server's own count.
    fn request_count(&mut self) -> Result<u64> {
        let text = get(self.nginx.port(), "/counts")?.body;
        self.own_request_count += 1;
        let count = requests(&text).context("the server reports no count of requests")?;
        Ok(count.saturating_sub(self.own_request_count))
    }

    /// The URL of the entry point whose command line a client has.
    fn url(&self, bench: &Bench, client: &str) -> Result<(&'static str, String)> {
        let port = self.nginx.port();
        // As in benchmarks/journeys/site.conf.
        let doors = [
            ("plain", "http", port),
            ("http2", "http", self.nginx.admin_port()),
            ("tls", "https", self.nginx.second_port()),
        ];
        let mut doors = doors.into_iter();
        let door = doors.find(|(kind, ..)| bench.definition.setting(client, kind).is_some());
        let (kind, scheme, port) =
            door.with_context(|| format!("[clients.{client}] has no command line"))?;
        Ok((kind, format!("{scheme}://127.0.0.1:{port}")))
    }
}

/// The third number below `server accepts handled requests`.
fn requests(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("accepts handled requests")?;
    rest.split_whitespace().nth(2)?.parse().ok()
}

/// Runs one client against a server of its own.
pub(super) fn run(bench: &Bench, chapter: &Chapter, client: &str) -> Result<Sample> {
    let keys = tempfile::tempdir()?;
    certificate::make(keys.path())?;
    let values = Values::default().with("certificate", keys.path().display());
    let mut site = JourneySite {
        nginx: bench.start("site", bench.server_core, &values)?,
        own_request_count: 0,
    };
    let (kind, url) = site.url(bench, client)?;
    let values = bench.values(chapter).with("plan", plan(bench, client)?);
    let mut half = Half::new(Duration::from_secs(bench.seconds.into()));
    let mut polled = Ok(());
    let ticks = Ticks::now()?;
    let poll = |pid, elapsed| {
        if polled.is_ok() {
            polled = half.poll(&mut site, pid, elapsed);
        }
    };
    let run = bench.client((client, kind), &url, &values, (POLL, poll))?;
    let passed = Ticks::now()?.since(ticks);
    polled?;
    let counted = site.request_count()?;
    check(&run.summary, counted)?;
    let server_cpu = site.nginx.cpu()?;
    let foreign = foreign_share(passed, run.weighed.cpu + server_cpu);
    let disturbed = (foreign > BUSY_MAX)
        .then(|| format!("other work kept {:.0} % of all cores busy", foreign * 100.0));
    if let (Some(why), false) = (&disturbed, bench.anyway) {
        bail!("{why}, at most {:.0} % is valid", BUSY_MAX * 100.0);
    }
    let sample = Sample::of(run.command).void(disturbed);
    summarize(sample, &run.weighed, counted, server_cpu, &half)
}

/// Writes the plan of a client that needs one, with its users and their pause.
fn plan(bench: &Bench, client: &str) -> Result<String> {
    let setting = |name: &str| bench.definition.setting(client, name);
    let Some(users) = setting("users") else {
        return Ok(String::new());
    };
    let values = Values::default().with("users", users);
    let values = values.with("think", setting("think").unwrap_or_default());
    let file = bench.folder().join("journey.yaml");
    std::fs::write(
        &file,
        bench.filled("benchmarks/journeys/journey.yaml", &values)?,
    )?;
    Ok(file.display().to_string())
}

fn summarize(
    sample: Sample,
    weighed: &Weighed,
    counted: u64,
    server_cpu: Duration,
    half: &Half,
) -> Result<Sample> {
    let warm = half.passed();
    let warm = warm.context("the load ended before its second half was seen")?;
    ensure!(
        warm.requests > 0,
        "no request came in the second half of the load"
    );
    let server_busy = server_cpu.as_secs_f64() / weighed.wall.as_secs_f64();
    Ok(sample
        .with("warm_us", us_each(warm.cpu, warm.requests as f64))
        .with("whole_us", us_each(weighed.cpu, counted as f64))
        .with("rate", warm.requests as f64 / warm.at.as_secs_f64())
        .with("rss_mib", mib(weighed.rss))
        .with("server_busy", server_busy * 100.0))
}

/// A run counts only if every check passed and the server's counts match the client's.
fn check(summary: &ClientSummary, counted: u64) -> Result<()> {
    if let Some(why) = &summary.void {
        bail!("void by its own word: {why}");
    }
    let all = summary.all();
    ensure!(
        summary.failed == 0,
        "{} of {all} requests or checks failed, none may",
        summary.failed
    );
    let miscount = (counted as f64 - all as f64).abs() / (counted as f64).max(1.0);
    ensure!(
        miscount <= MISCOUNT_MAX,
        "it counts {all} requests, the server {counted}"
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
            requests: requests - failed,
            failed,
            void: is_void.then(|| "late".to_owned()),
            ..ClientSummary::default()
        }
    }

    #[test]
    fn reads_the_count_of_requests() {
        let text = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630940 31070465 \nReading: 6 \
                    Writing: 179 Waiting: 106 \n";
        assert_eq!(requests(text), Some(31_070_465));
        assert_eq!(requests("not found"), None);
    }

    #[test]
    fn only_a_run_without_a_failed_check_counts() {
        check(&summary(1_000, 0, false), 1_010).unwrap();
        for (summary, counted, why) in [
            (summary(1_000, 1, false), 1_000, "1 of 1000"),
            (summary(1_000, 0, true), 1_000, "void"),
            (summary(1_000, 0, false), 1_100, "counts 1000"),
            (summary(1_000, 0, false), 0, "counts 1000"),
        ] {
            let error = check(&summary, counted).unwrap_err().to_string();
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
        let sample = Sample::default();
        let run = summarize(sample, &weighed, 11_000, Duration::from_secs(2), &half).unwrap();
        for (name, value) in [
            ("warm_us", 40.0),
            ("whole_us", 1_000.0),
            ("rate", 2_500.0),
            ("server_busy", 10.0),
        ] {
            let measured = run.number(name).unwrap();
            assert!((measured - value).abs() < 1e-9, "{name}: {measured}");
        }
    }
}
