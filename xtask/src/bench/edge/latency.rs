//! What an edge adds to the response times of a service at half its load.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::subject::{Edge, Manner, Programs, Transport};
use crate::bench::Ground;
use crate::bench::page::shown;
use crate::child::{POLL, pinned, weigh};
use crate::origin::Origin;

/// The origin serves one request after the other, each in a millisecond.
const ORIGIN: &str = "--law deterministic --mean-us 1000";
/// Half of what it carries.
const PER_SECOND: u32 = 500;
/// The same arrivals for all, so that they wait for each other equally long.
const SEED: u32 = 7;

/// Response times by a way, in milliseconds; `None` is the direct one.
pub(super) struct Way {
    pub(super) edge: Option<Edge>,
    pub(super) command: String,
    /// Median and 99th percentile of each round.
    pub(super) times_ms: Vec<(f64, f64)>,
    pub(super) void_count: usize,
}

pub(super) fn run(ground: &Ground, programs: &Programs) -> Result<Vec<Way>> {
    let arguments: Vec<String> = ORIGIN.split(' ').map(ToOwned::to_owned).collect();
    let origin = Origin::start(&programs.origin, Some(ground.client_core), &arguments)?;
    let port = port(&origin.url)?;
    let manner = Manner {
        transport: Transport::Plain,
        logs: false,
    };
    let mut ways = Vec::new();
    let mut servers = Vec::new();
    for edge in [
        None,
        Some(Edge::Plimsoll),
        Some(Edge::Nginx),
        Some(Edge::Haproxy),
    ] {
        let server = match edge {
            Some(edge) => Some(edge.start(programs, ground.server_core, port, manner)?),
            None => None,
        };
        servers.push(server);
        ways.push(Way {
            edge,
            command: String::new(),
            times_ms: Vec::new(),
            void_count: 0,
        });
    }
    for round in 1..=ground.rounds {
        for (way, server) in ways.iter_mut().zip(&servers) {
            let url = server
                .as_ref()
                .map_or(origin.url.clone(), super::super::server::Server::url);
            let name = way.edge.map_or("direct", Edge::name);
            one(ground, programs, &url, way)?;
            println!(
                "latency: round {round} of {}: {name}: {:?} ms",
                ground.rounds,
                way.times_ms.last()
            );
        }
    }
    Ok(ways)
}

fn one(ground: &Ground, programs: &Programs, url: &str, way: &mut Way) -> Result<()> {
    let line = format!(
        "{} run {url} --rate {PER_SECOND}/s --for {}s --warmup 1s --seed {SEED} --cores 1 --json",
        programs.plimsoll.display(),
        ground.seconds + 1
    );
    let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
    way.command = shown(&words, &[(url, "URL")]);
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let weighed = weigh(command, &[6], POLL, |_, _| ())?;
    let json: Value = serde_json::from_str(&weighed.stdout)?;
    way.void_count += usize::from(!json["void"].is_null());
    let time = |name: &str| {
        json["response_time_ms"][name]
            .as_f64()
            .with_context(|| format!("no {name} is told"))
    };
    way.times_ms.push((time("p50")?, time("p99")?));
    Ok(())
}

/// The port of `http://127.0.0.1:PORT`.
pub(super) fn port(url: &str) -> Result<u16> {
    let (_, port) = url
        .trim_end_matches('/')
        .rsplit_once(':')
        .context("a URL with a port")?;
    Ok(port.parse()?)
}
