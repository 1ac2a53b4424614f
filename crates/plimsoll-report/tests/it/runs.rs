//! Synthetic runs: an M/M/1 server under a search and under a plain run, with fixed seeds.
//!
//! Response times of a stable M/M/1 server are exponential with rate μ − λ. Above μ a backlog grows by λ − μ a
//! second, and every request waits for it.

use std::time::Duration;

use plimsoll_model::event::{FORMAT_MAJOR, FORMAT_MINOR, Header};
use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Load, Plan, RequestPlan, Target, Transport};
use plimsoll_model::run::{Run, RunEnding};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::{Verdict, VoidReason};
use plimsoll_model::window::Window;
use plimsoll_testkit::plan::get_root;

mod detailed;
mod readings;
mod search;
mod server;
mod users;
mod visits;
mod websockets;

pub(crate) use detailed::detailed;
pub(crate) use search::{
    gate, search, search_not_confirmed, search_out_of_time, search_users, search_void,
    search_without_line,
};
pub(crate) use users::{users, users_impatient, users_missed};
pub(crate) use websockets::{websockets, websockets_behind_their_warmup};

use readings::readings;
use server::QueueServer;

/// A run of which only the header was written.
pub(crate) fn header_only(command: &str) -> Run {
    let facts = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    Run::new(Header {
        format_major: FORMAT_MAJOR,
        format_minor: FORMAT_MINOR,
        command: command.to_owned(),
        started_at: "2026-11-21T18:00:00Z".to_owned(),
        plan: plan(),
        host: facts(&[
            ("cores", "4"),
            ("cpu", "AMD EPYC 7B13"),
            ("kernel", "Linux 6.1.0-41-amd64"),
            ("memory", "15.6 GiB"),
            ("open files (soft)", "1048576"),
        ]),
        versions: facts(&[("plimsoll", "0.1.0"), ("rustc", "1.95.0")]),
    })
}

fn plan() -> Plan {
    let base = get_root(([192, 0, 2, 10], 8080).into());
    Plan {
        name: "news".to_owned(),
        target: Target {
            url: "http://news.example:8080/".to_owned(),
            host: "news.example".to_owned(),
            ..base.target
        },
        request: RequestPlan {
            headers: vec![("Host".to_owned(), "news.example:8080".to_owned())],
            ..base.request
        },
        transport: Transport {
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(30),
            connections_max: 10_000,
            body_len_max: 1 << 30,
            ..base.transport
        },
        load: open(400.0, 60),
        objective: Some(Objective {
            latency: vec![LatencyBound {
                quantile: 0.95,
                within_us: 50_000,
            }],
            errors_max: Some(0.01),
            ..Objective::default()
        }),
        seed: Seed(20_261_121),
        ..base
    }
}

fn open(rate: f64, seconds: u64) -> Load {
    Load::Open {
        phases: vec![LoadPhase::constant(rate, Duration::from_secs(seconds))],
        spacing: Spacing::Poisson,
    }
}

/// A plain run at one rate against a server with a capacity of 800/s.
pub(crate) fn plain(rate: f64, seconds: u32) -> Run {
    let mut run = header_only("run");
    run.header.plan.load = open(rate, u64::from(seconds));
    let mut server = QueueServer::new(800.0, Seed(7));
    for second in 0..seconds {
        let window = server.second(second, rate);
        run.readings.push(&readings(&window, second, 800.0));
        run.windows.push(window);
    }
    run.ending = Some(ending(Verdict::Met, &run));
    run
}

/// A sweep of eight rates, five seconds each, the last two above the capacity.
pub(crate) fn sweep() -> Run {
    let mut run = header_only("run");
    let rates = [120.0, 240.0, 360.0, 480.0, 600.0, 720.0, 840.0, 960.0];
    let step = Duration::from_secs(5);
    run.header.plan.load = Load::Open {
        phases: rates
            .iter()
            .map(|&rate| LoadPhase::constant(rate, step))
            .collect(),
        spacing: Spacing::Poisson,
    };
    let mut server = QueueServer::new(800.0, Seed(11));
    for (second, &rate) in (0..40).zip(rates.iter().flat_map(|rate| [rate; 5])) {
        let window = server.second(second, rate);
        run.readings.push(&readings(&window, second, 800.0));
        run.windows.push(window);
    }
    run.ending = Some(ending(Verdict::Missed, &run));
    run
}

/// A plain run with failures of several kinds.
pub(crate) fn plain_failing() -> Run {
    let mut run = plain(500.0, 30);
    for window in run
        .windows
        .iter_mut()
        .filter(|window| window.second % 7 == 3)
    {
        for (outcome, number) in [
            (Outcome::Timeout, 40),
            (Outcome::WrongStatus, 25),
            (Outcome::Reset, 5),
        ] {
            window.outcomes.add_many(outcome, number);
        }
        window.status.insert(503, 25);
    }
    run.header.plan.transport.insecure = true;
    run.ending = Some(ending(Verdict::Missed, &run));
    run
}

/// A plain run whose generator was starved.
pub(crate) fn plain_void() -> Run {
    let mut run = plain(400.0, 20);
    let void = vec![
        VoidReason::GeneratorLag {
            lag_ms_p99: 48.2,
            bound_ms: 2.5,
        },
        VoidReason::GeneratorCpu { share: 0.97 },
    ];
    run.ending = Some(RunEnding {
        void,
        ..ending(Verdict::Void, &run)
    });
    run
}

/// The end of a run whose generator took 14 µs a request.
fn ending(verdict: Verdict, run: &Run) -> RunEnding {
    let requests: u64 = run.windows.iter().map(Window::completed).sum();
    RunEnding {
        verdict,
        void: Vec::new(),
        process_cpu_us: requests * 14,
        rss_bytes_max: 23 << 20,
    }
}

/// Untrusted strings, all of them hostile.
pub(crate) fn hostile() -> Run {
    const EVIL: &str =
        "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{1b}[2J\u{202e}";
    let mut run = search();
    let plan = &mut run.header.plan;
    EVIL.clone_into(&mut plan.name);
    plan.target.url = format!("http://evil.example/?q={EVIL}");
    EVIL.clone_into(&mut plan.target.host);
    plan.request.paths = vec![EVIL.to_owned()];
    EVIL.clone_into(&mut plan.request.method);
    plan.request
        .headers
        .push((EVIL.to_owned(), EVIL.to_owned()));
    EVIL.clone_into(&mut run.header.started_at);
    run.header.host.insert(EVIL.to_owned(), EVIL.to_owned());
    run.header.versions.insert(EVIL.to_owned(), EVIL.to_owned());
    run.notes.push((3, EVIL.to_owned()));
    for finding in &mut run.findings {
        for text in [
            &mut finding.rule,
            &mut finding.limit,
            &mut finding.sentence,
            &mut finding.remedy,
        ] {
            EVIL.clone_into(text);
        }
        for line in &mut finding.evidence {
            for text in [&mut line.series, &mut line.label, &mut line.unit] {
                EVIL.clone_into(text);
            }
        }
    }
    run
}
