//! CPU per request of each edge under one load, in alternating rounds.

use std::net::{TcpListener, TcpStream};

use anyhow::{Result, ensure};
use plimsoll_harness::child::{POLL, pinned, weigh};

use super::EdgeChapter;
use super::client::{requests, words};
use super::edges::{ClientTransport, EdgeKind, EdgeOptions, EdgePrograms};
use crate::context::BenchContext;
use crate::page::shown;
use crate::server::BenchServer;

/// Seconds of load before the first that counts.
const WARM_UP_S: u32 = 1;

/// Tasks of the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// To pass on a page of this many bytes.
    Pass { bytes: usize },
    /// To answer themselves, with this many bytes: ours because its pool is full.
    Answer { bytes: usize },
}

/// One load, put on several edges in turn.
pub(super) struct EdgeCostScenario {
    pub(super) chapter: EdgeChapter,
    pub(super) title: &'static str,
    pub(super) work: Work,
    pub(super) manner: EdgeOptions,
    pub(super) edges: &'static [EdgeKind],
    /// The most that ours may cost, as a multiple of the best of the others, or of nginx alone.
    pub(super) limit: (f64, Yardstick),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yardstick {
    Best,
    Nginx,
}

/// One run.
pub(super) struct EdgeCostRun {
    pub(super) cpu_us_per_request: f64,
    pub(super) requests_per_second: f64,
    /// Share of its core that the edge used.
    pub(super) busy: f64,
    pub(super) resident: u64,
}

/// All runs of one edge, or why there are none.
pub(super) struct EdgeCostOutcome {
    pub(super) edge: EdgeKind,
    pub(super) command: String,
    pub(super) runs: Vec<EdgeCostRun>,
    pub(super) failure: Option<String>,
}

const ALL: &[EdgeKind] = &[EdgeKind::Plimsoll, EdgeKind::Nginx, EdgeKind::Haproxy];

const fn manner(transport: ClientTransport, logs: bool) -> EdgeOptions {
    EdgeOptions { transport, logs }
}

pub(super) fn all() -> [EdgeCostScenario; 7] {
    let pass = |title, bytes, logs, limit| EdgeCostScenario {
        chapter: EdgeChapter::Pass,
        title,
        work: Work::Pass { bytes },
        manner: manner(ClientTransport::Plain, logs),
        edges: ALL,
        limit: (limit, Yardstick::Best),
    };
    let encrypted = |title, transport, limit| EdgeCostScenario {
        chapter: EdgeChapter::Tls,
        title,
        work: Work::Pass { bytes: 1_024 },
        manner: manner(transport, false),
        edges: ALL,
        limit: (limit, Yardstick::Nginx),
    };
    [
        pass("Pass-through of 1 kB", 1_024, false, 0.9),
        pass("Pass-through of 20 kB", 20_480, false, 0.9),
        pass(
            "Pass-through of 1 kB with access log and metrics",
            1_024,
            true,
            1.0,
        ),
        pass(
            "Pass-through of 20 kB with access log and metrics",
            20_480,
            true,
            1.0,
        ),
        encrypted("Pass-through of 1 kB, TLS", ClientTransport::Tls, 1.0),
        encrypted(
            "Pass-through of 1 kB, HTTP/2 within TLS",
            ClientTransport::Http2,
            1.1,
        ),
        EdgeCostScenario {
            chapter: EdgeChapter::Fallback,
            title: "An own answer of 1 kB: our fallback, nginx's `return 200`",
            work: Work::Answer { bytes: 1_024 },
            manner: manner(ClientTransport::Plain, false),
            edges: &[EdgeKind::Plimsoll, EdgeKind::Nginx],
            limit: (0.8, Yardstick::Nginx),
        },
    ]
}

/// What is measured, and what it needs to run.
struct EdgeTarget {
    server: BenchServer,
    /// A request that keeps the only place of our pool.
    _held: Option<(TcpListener, TcpStream)>,
}

/// Runs the edges in turn, round after round; origin and client share a core, the edge has one of its own.
pub(super) fn run(
    ground: &BenchContext,
    programs: &EdgePrograms,
    scenario: &EdgeCostScenario,
) -> Result<Vec<EdgeCostOutcome>> {
    let pages = pages()?;
    let origin = BenchServer::nginx(
        ground.client_core,
        &format!(
            "root {};\n    open_file_cache max=10;\n    sendfile on;\n    tcp_nopush on;",
            pages.path().display()
        ),
    )?;
    let mut outcomes = Vec::new();
    let mut targets = Vec::new();
    for &edge in scenario.edges {
        outcomes.push(EdgeCostOutcome {
            edge,
            command: String::new(),
            runs: Vec::new(),
            failure: None,
        });
        let started = start(ground, programs, scenario, edge, &origin, pages.path());
        targets.push(started.inspect_err(|error| println!("{}: {error:#}", edge.name())));
    }
    for round in 0..=ground.rounds {
        for (outcome, target) in outcomes.iter_mut().zip(&targets) {
            let turned = match target {
                _ if outcome.failure.is_some() => continue,
                Ok(target) => measure(ground, scenario, target, round == 0, outcome),
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            if let Err(error) = turned {
                println!("  failed: {error:#}");
                outcome.failure = Some(format!("{error:#}"));
            }
        }
    }
    Ok(outcomes)
}

/// Pages of the sizes that are asked for.
fn pages() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for bytes in [1_024, 20_480] {
        std::fs::write(
            folder.path().join(format!("{bytes}.html")),
            "x".repeat(bytes),
        )?;
    }
    // nginx reads them as another user when it is started by root.
    let public = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), public)?;
    Ok(folder)
}

fn start(
    ground: &BenchContext,
    programs: &EdgePrograms,
    scenario: &EdgeCostScenario,
    edge: EdgeKind,
    origin: &BenchServer,
    pages: &std::path::Path,
) -> Result<EdgeTarget> {
    let core = ground.server_core;
    let Work::Answer { bytes } = scenario.work else {
        return Ok(EdgeTarget {
            server: edge.start(programs, core, origin.port(), scenario.manner)?,
            _held: None,
        });
    };
    if edge == EdgeKind::Nginx {
        let answer = format!("location / {{ return 200 \"{}\"; }}", "x".repeat(bytes));
        return Ok(EdgeTarget {
            server: BenchServer::nginx(core, &answer)?,
            _held: None,
        });
    }
    // Connections to it are accepted by the kernel and never answered.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let server = programs.plimsoll(
        core,
        &format!(
            "--to http://{} --max-in-flight 1 --queue 0 --access-log off --fallback {}",
            silent.local_addr()?,
            pages.join(format!("{bytes}.html")).display()
        ),
    )?;
    let mut held = TcpStream::connect(("127.0.0.1", server.port()))?;
    std::io::Write::write_all(&mut held, b"GET / HTTP/1.1\r\nHost: held\r\n\r\n")?;
    Ok(EdgeTarget {
        server,
        _held: Some((silent, held)),
    })
}

fn measure(
    ground: &BenchContext,
    scenario: &EdgeCostScenario,
    target: &EdgeTarget,
    is_warm_up: bool,
    outcome: &mut EdgeCostOutcome,
) -> Result<()> {
    let path = match scenario.work {
        Work::Pass { bytes } => format!("/{bytes}.html"),
        Work::Answer { .. } => "/".to_owned(),
    };
    let seconds = if is_warm_up {
        WARM_UP_S
    } else {
        ground.seconds
    };
    let transport = scenario.manner.transport;
    let words = words(transport, target.server.port(), &path, seconds);
    let before = target.server.cpu()?;
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let weighed = weigh(command, &[], POLL, |_, _| ())?;
    let cpu = target.server.cpu()?.saturating_sub(before);
    let requests = requests(transport, &weighed.stdout)?;
    if is_warm_up {
        return Ok(());
    }
    let port = format!(":{}", target.server.port());
    outcome.command = shown(&words, &[(&port, ":PORT")]);
    let run = EdgeCostRun {
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / requests as f64,
        requests_per_second: requests as f64 / weighed.wall.as_secs_f64(),
        busy: cpu.as_secs_f64() / weighed.wall.as_secs_f64(),
        resident: target.server.resident()?,
    };
    ensure!(
        run.busy > 0.05,
        "the edge did next to nothing: is it the one that was asked?"
    );
    println!(
        "{}: {}: {:.1} µs of CPU per request, {:.0} requests/s, {:.0} % of its core",
        scenario.title,
        outcome.edge.name(),
        run.cpu_us_per_request,
        run.requests_per_second,
        run.busy * 100.0
    );
    outcome.runs.push(run);
    Ok(())
}
