//! CPU per request of each edge under one load, in alternating rounds.

use std::net::{TcpListener, TcpStream};

use anyhow::{Result, ensure};

use super::Chapter;
use super::client::{requests, words};
use super::subject::{Edge, Manner, Programs, Transport};
use crate::bench::Ground;
use crate::bench::page::shown;
use crate::bench::server::Server;
use crate::child::{POLL, pinned, weigh};

/// Seconds of load before the first that counts.
const WARM_UP_S: u32 = 1;

/// What is asked of the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// To pass on a page of this many bytes.
    Pass { bytes: usize },
    /// To answer themselves, with this many bytes: ours because its pool is full.
    Answer { bytes: usize },
}

/// One load, put on several edges in turn.
pub(super) struct Scenario {
    pub(super) chapter: Chapter,
    pub(super) title: &'static str,
    pub(super) work: Work,
    pub(super) manner: Manner,
    pub(super) edges: &'static [Edge],
    /// The most that ours may cost, as a multiple of the best of the others, or of nginx alone.
    pub(super) limit: (f64, Yardstick),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yardstick {
    Best,
    Nginx,
}

/// One run.
pub(super) struct Turn {
    pub(super) cpu_us_per_request: f64,
    pub(super) requests_per_second: f64,
    /// Share of its core that the edge used.
    pub(super) busy: f64,
    pub(super) resident: u64,
}

/// All turns of one edge, or why there are none.
pub(super) struct Outcome {
    pub(super) edge: Edge,
    pub(super) command: String,
    pub(super) turns: Vec<Turn>,
    pub(super) failure: Option<String>,
}

const ALL: &[Edge] = &[Edge::Plimsoll, Edge::Nginx, Edge::Haproxy];

const fn manner(transport: Transport, logs: bool) -> Manner {
    Manner { transport, logs }
}

pub(super) fn all() -> [Scenario; 7] {
    let pass = |title, bytes, logs, limit| Scenario {
        chapter: Chapter::Pass,
        title,
        work: Work::Pass { bytes },
        manner: manner(Transport::Plain, logs),
        edges: ALL,
        limit: (limit, Yardstick::Best),
    };
    let encrypted = |title, transport, limit| Scenario {
        chapter: Chapter::Tls,
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
        encrypted("Pass-through of 1 kB, TLS", Transport::Tls, 1.0),
        encrypted(
            "Pass-through of 1 kB, HTTP/2 within TLS",
            Transport::Http2,
            1.1,
        ),
        Scenario {
            chapter: Chapter::Fallback,
            title: "An own answer of 1 kB: our fallback, nginx's `return 200`",
            work: Work::Answer { bytes: 1_024 },
            manner: manner(Transport::Plain, false),
            edges: &[Edge::Plimsoll, Edge::Nginx],
            limit: (0.8, Yardstick::Nginx),
        },
    ]
}

/// What is measured, and what it needs to run.
struct Subject {
    server: Server,
    /// A request that keeps the only place of our pool.
    _held: Option<(TcpListener, TcpStream)>,
}

/// Runs the edges in turn, round after round; origin and client share a core, the edge has one of its own.
pub(super) fn run(
    ground: &Ground,
    programs: &Programs,
    scenario: &Scenario,
) -> Result<Vec<Outcome>> {
    let pages = pages()?;
    let origin = Server::nginx(
        ground.client_core,
        &format!(
            "root {};\n    open_file_cache max=10;\n    sendfile on;\n    tcp_nopush on;",
            pages.path().display()
        ),
    )?;
    let mut outcomes = Vec::new();
    let mut subjects = Vec::new();
    for &edge in scenario.edges {
        outcomes.push(Outcome {
            edge,
            command: String::new(),
            turns: Vec::new(),
            failure: None,
        });
        let started = start(ground, programs, scenario, edge, &origin, pages.path());
        subjects.push(started.inspect_err(|error| println!("{}: {error:#}", edge.name())));
    }
    for round in 0..=ground.rounds {
        for (outcome, subject) in outcomes.iter_mut().zip(&subjects) {
            let turned = match subject {
                _ if outcome.failure.is_some() => continue,
                Ok(subject) => turn(ground, scenario, subject, round == 0, outcome),
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
    ground: &Ground,
    programs: &Programs,
    scenario: &Scenario,
    edge: Edge,
    origin: &Server,
    pages: &std::path::Path,
) -> Result<Subject> {
    let core = ground.server_core;
    let Work::Answer { bytes } = scenario.work else {
        return Ok(Subject {
            server: edge.start(programs, core, origin.port(), scenario.manner)?,
            _held: None,
        });
    };
    if edge == Edge::Nginx {
        let answer = format!("location / {{ return 200 \"{}\"; }}", "x".repeat(bytes));
        return Ok(Subject {
            server: Server::nginx(core, &answer)?,
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
    Ok(Subject {
        server,
        _held: Some((silent, held)),
    })
}

fn turn(
    ground: &Ground,
    scenario: &Scenario,
    subject: &Subject,
    is_warm_up: bool,
    outcome: &mut Outcome,
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
    let words = words(transport, subject.server.port(), &path, seconds);
    let before = subject.server.cpu()?;
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let weighed = weigh(command, &[], POLL, |_, _| ())?;
    let cpu = subject.server.cpu()?.saturating_sub(before);
    let requests = requests(transport, &weighed.stdout)?;
    if is_warm_up {
        return Ok(());
    }
    let port = format!(":{}", subject.server.port());
    outcome.command = shown(&words, &[(&port, ":PORT")]);
    let turn = Turn {
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / requests as f64,
        requests_per_second: requests as f64 / weighed.wall.as_secs_f64(),
        busy: cpu.as_secs_f64() / weighed.wall.as_secs_f64(),
        resident: subject.server.resident()?,
    };
    ensure!(
        turn.busy > 0.05,
        "the edge did next to nothing: is it the one that was asked?"
    );
    println!(
        "{}: {}: {:.1} µs of CPU per request, {:.0} requests/s, {:.0} % of its core",
        scenario.title,
        outcome.edge.name(),
        turn.cpu_us_per_request,
        turn.requests_per_second,
        turn.busy * 100.0
    );
    outcome.turns.push(turn);
    Ok(())
}
