//! What an edge adds to the response times of a service at half its load.

use anyhow::{Context as _, Result};
use plimsoll_harness::origin::OriginProcess;

use super::client::generate;
use super::edges::{ClientTransport, EdgeKind, EdgeOptions, EdgePrograms};
use crate::context::BenchContext;
use crate::server::BenchServer;

/// The origin serves one request after the other, each in a millisecond.
const ORIGIN: [&str; 4] = ["--law", "deterministic", "--mean-us", "1000"];
/// Half of what it carries.
const PER_SECOND: u32 = 500;
/// The same arrivals for all, so that they wait for each other equally long.
const SEED: u32 = 7;

/// Response times by a way, in milliseconds; `None` is the direct one.
pub(super) struct PathLatency {
    pub(super) edge: Option<EdgeKind>,
    pub(super) command: String,
    /// Median and 99th percentile of each round.
    pub(super) times_ms: Vec<(f64, f64)>,
    pub(super) void_count: usize,
}

pub(super) fn run(ground: &BenchContext, programs: &EdgePrograms) -> Result<Vec<PathLatency>> {
    let origin = OriginProcess::start(&programs.origin, Some(ground.client_core), &ORIGIN)?;
    let port = port(origin.url())?;
    let manner = EdgeOptions {
        transport: ClientTransport::Plain,
        logs: false,
    };
    let mut ways = Vec::new();
    let mut servers = Vec::new();
    for edge in [
        None,
        Some(EdgeKind::Plimsoll),
        Some(EdgeKind::Nginx),
        Some(EdgeKind::Haproxy),
    ] {
        let server = match edge {
            Some(edge) => Some(edge.start(programs, ground.server_core, port, manner)?),
            None => None,
        };
        servers.push(server);
        ways.push(PathLatency {
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
                .map_or(origin.url().to_owned(), BenchServer::url);
            let name = way.edge.map_or("direct", EdgeKind::name);
            measure(ground, programs, &url, way)?;
            println!(
                "latency: round {round} of {}: {name}: {:?} ms",
                ground.rounds,
                way.times_ms.last()
            );
        }
    }
    Ok(ways)
}

fn measure(
    ground: &BenchContext,
    programs: &EdgePrograms,
    url: &str,
    way: &mut PathLatency,
) -> Result<()> {
    let words = format!(
        "{url} --rate {PER_SECOND}/s --for {}s --warmup 1s --seed {SEED}",
        ground.seconds + 1
    );
    let (json, command) = generate(ground, &programs.plimsoll, &words, &[(url, "URL")])?;
    way.command = command;
    way.void_count += usize::from(!json["void"].is_null());
    let time = |name: &str| {
        json["response_time_ms"][name]
            .as_f64()
            .with_context(|| format!("no {name} is reported"))
    };
    way.times_ms.push((time("p50")?, time("p99")?));
    Ok(())
}

/// The port of `http://127.0.0.1:PORT`.
fn port(url: &str) -> Result<u16> {
    let (_, port) = url
        .trim_end_matches('/')
        .rsplit_once(':')
        .context("a URL with a port")?;
    Ok(port.parse()?)
}
