//! `cargo xtask bench edge`: our edge beside nginx and HAProxy, and its behaviour under overload. `benchmarks/edge.toml` has the
//! edges and the loads.

mod idle;
mod overload;
mod reload;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use plimsoll_harness::child::POLL;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::sample::{Outcome, Rounds, Sample};
use plimsoll_harness::template::Values;

use crate::bench::{Bench, mib, once, unknown, us_each};
use crate::certificate;

/// Seconds of load in the round before the first that counts.
const WARM_UP_S: u32 = 1;

pub(crate) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    match chapter.kind() {
        "cost" => cost(bench, chapter),
        "answer" => answer(bench, chapter),
        "idle" => Ok(once(chapter, |edge| idle::measure(bench, chapter, edge))),
        "latency" => latency(bench, chapter),
        "overload" => Ok(once(chapter, |case| {
            overload::measure(bench, chapter, case)
        })),
        "reload" => Ok(once(chapter, |_| reload::measure(bench, chapter))),
        _ => unknown(chapter),
    }
}

/// All edges in turn before one origin; origin and client share a core, the edge has one of its own.
fn cost(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    let pages = pages()?;
    certificate::make(pages.path())?;
    let values = Values::default().with("pages", pages.path().display());
    let origin = bench.start("pages", bench.client_core, &values)?;
    let values = values.with("certificate", pages.path().display());
    let start = |edge: &str| start(bench, chapter, edge, origin.port(), &values);
    Ok(loaded_in_turn(bench, chapter, start, || Ok(0)))
}

/// Edges that answer themselves: ours because its pool is full.
fn answer(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    let pages = pages()?;
    // Connections to it are accepted by the kernel and never answered.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let values = Values::default()
        .with("to", format!("http://{}", silent.local_addr()?))
        .with("pages", pages.path().display());
    // A request that keeps the only place of our pool.
    let mut held = Vec::new();
    let start = |edge: &str| {
        let server = bench.start(&format!("{edge}-answer"), bench.server_core, &values)?;
        if edge == "plimsoll" {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port()))?;
            stream.write_all(b"GET / HTTP/1.1\r\nHost: held\r\n\r\n")?;
            held.push(stream);
        }
        Ok(server)
    };
    Ok(loaded_in_turn(bench, chapter, start, || Ok(0)))
}

/// Loads each subject in turn, after a warm-up; each is started once. What `fetches` counts must not grow after the warm-up.
pub(crate) fn loaded_in_turn(
    bench: &Bench,
    chapter: &Chapter,
    mut start: impl FnMut(&str) -> Result<RunningServer>,
    fetches: impl Fn() -> Result<usize>,
) -> Vec<Outcome> {
    let mut servers = BTreeMap::new();
    for subject in chapter.subjects() {
        servers.insert(subject.as_str(), start(subject));
    }
    let rounds = Rounds {
        has_warm_up: true,
        ..bench.rounds()
    };
    rounds.alternate(chapter.what(), chapter.subjects(), |subject, round| {
        let server = servers.get(subject).context("each was started")?;
        let server = server.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let before = fetches()?;
        let sample = loaded(bench, chapter, server, round)?;
        let grown = fetches()? - before;
        ensure!(
            round == 0 || grown == 0,
            "{grown} requests went to the origin, though the page is in its first hour"
        );
        Ok(sample)
    })
}

/// CPU per request of a server under the load of the chapter.
fn loaded(bench: &Bench, chapter: &Chapter, server: &RunningServer, round: u32) -> Result<Sample> {
    let seconds = if round == 0 { WARM_UP_S } else { bench.seconds };
    let load = chapter.text("load")?;
    let scheme = if chapter.is_on("encrypted") {
        "https"
    } else {
        "http"
    };
    let url = format!(
        "{scheme}://127.0.0.1:{}{}",
        server.port(),
        chapter.text("path")?
    );
    let values = bench.values(chapter).with("seconds", seconds);
    let before = server.cpu()?;
    let run = bench.client(("load", &load), &url, &values, (POLL, |_, _| ()))?;
    let cpu = server.cpu()?.saturating_sub(before);
    let (good, failed) = (run.summary.requests, run.summary.failed);
    ensure!(good > 0, "no request succeeded");
    ensure!(failed == 0, "{failed} requests failed, none may");
    let wall = run.weighed.wall.as_secs_f64();
    let busy = cpu.as_secs_f64() / wall * 100.0;
    ensure!(
        round == 0 || busy > 5.0 || chapter.kind() == "hit",
        "the server did next to nothing: is it the one that was asked?"
    );
    Ok(Sample::of(run.command)
        .with("cpu_us", us_each(cpu, good as f64))
        .with("rate", good as f64 / wall)
        .with("busy", busy)
        .with("rss_mib", mib(server.resident()?)))
}

/// Starts an edge in front of the origin at this port.
fn start(
    bench: &Bench,
    chapter: &Chapter,
    edge: &str,
    origin: u16,
    values: &Values,
) -> Result<RunningServer> {
    let values = chapter.values().join(values);
    let values = values
        .with("to", format!("http://127.0.0.1:{origin}"))
        .with("origin", origin);
    bench.start(edge, bench.server_core, &values)
}

/// Pages of the sizes that are asked for.
fn pages() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for bytes in [1_024, 20_480] {
        let path = folder.path().join(format!("{bytes}.html"));
        std::fs::write(path, "x".repeat(bytes))?;
    }
    open_to_readers(folder.path())?;
    Ok(folder)
}

/// nginx reads files as another user when it is started by root.
pub(crate) fn open_to_readers(folder: &Path) -> Result<()> {
    let public = std::fs::Permissions::from_mode(0o755);
    Ok(std::fs::set_permissions(folder, public)?)
}

/// What each edge adds to the response times of a service at half its load.
fn latency(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    let origin = bench.origin(bench.client_core, &chapter.text("origin")?)?;
    let port = port(origin.url())?;
    let mut urls = BTreeMap::new();
    let mut servers = Vec::new();
    for way in chapter.subjects() {
        let url = if way == "direct" {
            origin.url().to_owned()
        } else {
            let server = start(bench, chapter, way, port, &Values::default())?;
            let url = format!("{}/", server.url());
            servers.push(server);
            url
        };
        urls.insert(way.as_str(), url);
    }
    let (rate, seed) = (chapter.text("rate")?, chapter.text("seed")?);
    let seconds = bench.seconds + WARM_UP_S;
    let measure = |way: &str, _| {
        let url = &urls[way];
        let words =
            format!("{url} --rate {rate}/s --for {seconds}s --warmup {WARM_UP_S}s --seed {seed}");
        let (report, command) = bench.generate(&words, &[(url, "URL")])?;
        Ok(Sample::of(command)
            .with("p50_ms", report.number("response_time_ms.p50")?)
            .with("p99_ms", report.number("response_time_ms.p99")?)
            .void(report.void()))
    };
    Ok(bench
        .rounds()
        .alternate(chapter.what(), chapter.subjects(), measure))
}

/// The port of `http://127.0.0.1:PORT`.
fn port(url: &str) -> Result<u16> {
    let (_, port) = url
        .trim_end_matches('/')
        .rsplit_once(':')
        .context("a URL with a port")?;
    Ok(port.parse()?)
}
