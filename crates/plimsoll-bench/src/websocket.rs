//! `cargo xtask bench websocket`: WebSockets that idle, receive and send, by our load generator and by others, against Bun.
//! `benchmarks/websocket.toml` has the clients and their work.
//!
//! A client is sampled from outside: memory and CPU of its processes while its WebSockets are open.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::request::{get, post};
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::sample::{Outcome, Sample};
use plimsoll_harness::template::Values;

use crate::bench::{Bench, once, unknown, us_each};
use crate::hub::order::message;
use crate::hub::stay_on;

/// The longest that a client takes to open all WebSockets, and to end.
const PATIENCE: Duration = Duration::from_mins(2);
const SETTLE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);
const MESSAGE_LEN: usize = 200;
/// A client that has less of its core left is not known to have taken everything.
const BUSY_MAX: f64 = 0.97;

pub(crate) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    stay_on(bench.client_core)?;
    match chapter.kind() {
        "work" => Ok(bench
            .rounds()
            .alternate(chapter.what(), chapter.subjects(), |client, _| {
                work(bench, chapter, client)
            })),
        "forty" => Ok(once(chapter, |_| forty(bench, chapter))),
        _ => unknown(chapter),
    }
}

/// A client whose WebSockets are open, and how it opened them.
struct Standing {
    origin: RunningServer,
    client: RunningServer,
    sample: Sample,
}

fn work(bench: &Bench, chapter: &Chapter, client: &str) -> Result<Sample> {
    let connections: u32 = chapter.number("connections")?;
    let few = chapter.number("few").unwrap_or(0);
    let memory_of_few = if few > 0 {
        let standing = open(bench, chapter, client, few)?;
        pause(SETTLE);
        standing.client.memory()?
    } else {
        0
    };
    let standing = open(bench, chapter, client, connections)?;
    pause(SETTLE);
    let grown = standing.client.memory()?.saturating_sub(memory_of_few);
    let bytes = grown as f64 / f64::from(connections - few);
    let (message_us, busy) = sample(bench, chapter, &standing)?;
    ensure!(
        busy < BUSY_MAX,
        "it used {:.0} % of its core: not all is known to have been taken",
        busy * 100.0
    );
    Ok(standing
        .sample
        .with("bytes", bytes)
        .with("kib", bytes / 1_024.0)
        .with_known("message_us", message_us)
        .with("busy", busy * 100.0))
}

fn counts(origin: &RunningServer, name: &str) -> Result<u64> {
    RunReport::parse(&get(origin.port(), "/counts")?.body)?.count(name)
}

/// Starts server and client, and waits until all WebSockets are open.
fn open(bench: &Bench, chapter: &Chapter, client: &str, count: u32) -> Result<Standing> {
    bench.programs.path(client)?;
    let origin = bench.start("origin", bench.server_core, &Values::default())?;
    let values = bench.values(chapter).with("origin", origin.port());
    let values = values.with("connections", count);
    let mut client = bench.start(client, bench.client_core, &values)?;
    let (stopwatch, all) = (Stopwatch::start(), u64::from(count));
    let mut from = None;
    loop {
        let opened = counts(&origin, "opened")?;
        let now = (
            opened,
            stopwatch.elapsed(),
            client.run_time().unwrap_or_default(),
        );
        if from.is_none() && opened >= all / 20 {
            from = Some(now);
        }
        if opened >= all {
            // Between the twentieth part of them and the last.
            let (count, at, before) = from.unwrap_or(now);
            let more = (opened - count) as f64;
            let wall = now.1.saturating_sub(at).as_secs_f64().max(1e-3);
            let sample = Sample::default()
                .with("rate", more / wall)
                .with("handshake_us", us_each(now.2.saturating_sub(before), more));
            return Ok(Standing {
                origin,
                client,
                sample,
            });
        }
        client.check()?;
        ensure!(
            stopwatch.elapsed() <= PATIENCE,
            "{opened} of {all} were open after {} s",
            PATIENCE.as_secs()
        );
        pause(POLL);
    }
}

/// CPU for each message while the client is looked at, where there are messages, and the share of its core.
fn sample(bench: &Bench, chapter: &Chapter, standing: &Standing) -> Result<(Option<f64>, f64)> {
    let origin = &standing.origin;
    let connections: u64 = chapter.number("connections")?;
    let per_second: u32 = chapter.number("broadcasts").unwrap_or(0);
    let (before, received) = (standing.client.run_time()?, counts(origin, "heard")?);
    let stopwatch = Stopwatch::start();
    let lasting = Duration::from_secs(bench.seconds.into());
    let mut broadcasts = 0;
    while stopwatch.elapsed() < lasting {
        if per_second > 0 && stopwatch.elapsed() >= Duration::from_secs(1) / per_second * broadcasts
        {
            broadcasts += 1;
            let status = post(origin.port(), "/publish", &message(broadcasts, MESSAGE_LEN))?.status;
            ensure!(status == 200, "a broadcast was answered {status}");
        }
        pause(POLL / 4);
    }
    let (opened, received_now) = (counts(origin, "opened")?, counts(origin, "heard")?);
    let cpu = standing.client.run_time()?.saturating_sub(before);
    let wall = stopwatch.elapsed();
    ensure!(
        opened == connections,
        "{opened} WebSockets were opened: some were lost and opened again"
    );
    let busy = cpu.as_secs_f64() / wall.as_secs_f64();
    let messages = if per_second > 0 {
        u64::from(broadcasts) * connections
    } else if chapter.text("every_ms").is_ok() {
        received_now - received
    } else {
        return Ok((None, busy));
    };
    ensure!(messages > 0, "no message came to the server");
    Ok((Some(us_each(cpu, messages as f64)), busy))
}

/// As many WebSockets as two processes of our load generator can hold, to two servers.
fn forty(bench: &Bench, chapter: &Chapter) -> Result<Sample> {
    let number = |name: &str| chapter.number::<u32>(name);
    let (each, rate, hold_s) = (number("connections")?, number("rate")?, number("hold_s")?);
    let mut halves = Vec::new();
    for _ in 0..2 {
        let origin = bench.start("origin", bench.server_core, &Values::default())?;
        let values = bench.values(chapter).with("origin", origin.port());
        halves.push((bench.start("half", bench.client_core, &values)?, origin));
    }
    let stopwatch = Stopwatch::start();
    let wait_s = f64::from(each) / f64::from(rate) + f64::from(hold_s) / 2.0;
    pause(Duration::from_secs_f64(wait_s));
    let held: Result<u64> = halves.iter().map(|(half, _)| half.memory()).sum();
    let held = held.context("a process has ended early")? as f64;
    let mut totals = [0.0; 3];
    let names = ["connected", "failed", "closed"];
    for (half, _) in &mut halves {
        while half.check().is_ok() {
            ensure!(stopwatch.elapsed() < PATIENCE, "a process does not end");
            pause(POLL);
        }
        let printed = std::fs::read_to_string(half.folder().join("half.log"))?;
        let report = RunReport::within(&printed)?;
        for (total, name) in totals.iter_mut().zip(names) {
            *total += report.number(&format!("websocket.{name}"))?;
        }
    }
    let sample = Sample::default().with("bytes", held / f64::from(2 * each));
    let all = names.into_iter().zip(totals);
    Ok(all.fold(sample, |sample, (name, total)| sample.with(name, total)))
}
