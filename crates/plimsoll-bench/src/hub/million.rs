//! A million channels: ten thousand clients, each subscribed to a hundred separate ones.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::request::post;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::accepts::{open, read_until, send_to_all};
use super::hubs::{HubPrograms, edge};
use crate::context::BenchContext;

pub(super) const CLIENTS: usize = 10_000;
pub(super) const CHANNELS_EACH: usize = 100;
/// Publications, each to a channel chosen at random.
const PUBLICATIONS: usize = 1_000;

pub(super) struct MillionResult {
    /// Of the edge's memory, for each subscription to a channel of its own.
    pub(super) bytes_per_channel: f64,
    pub(super) subscriptions_per_second: f64,
    /// From asking until it was published, and until its reader had it, ms.
    pub(super) published_ms: Percentiles,
    pub(super) delivered_ms: Percentiles,
}

pub(super) struct Percentiles {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

pub(super) fn run(ground: &BenchContext, programs: &HubPrograms) -> Result<MillionResult> {
    println!("a million channels");
    let hub = "{ path: /live, most_channels: 2000000, ping: 10m }";
    let running = edge(programs, ground.server_core, hub)?;
    let mut sockets = Vec::with_capacity(CLIENTS);
    open(running.port, CLIENTS, &mut sockets)?;
    // The cost of a client is measured elsewhere.
    send_to_all(&mut sockets, |place| {
        format!(r#"{{"subscribe":["first-{place}"]}}"#)
    })?;
    let memory = running.memory()?;
    let stopwatch = Stopwatch::start();
    send_to_all(&mut sockets, subscription)?;
    let subscribing = stopwatch.elapsed();
    let grown = running.memory()?.saturating_sub(memory);
    let subscriptions = (CLIENTS * (CHANNELS_EACH - 1)) as f64;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut published, mut delivered) = (Vec::new(), Vec::new());
    for _ in 0..PUBLICATIONS {
        let client = random.random_range(0..CLIENTS);
        let channel = name(client, random.random_range(1..CHANNELS_EACH));
        let body = format!(r#"{{"channel":"{channel}","data":"{}"}}"#, "x".repeat(200));
        let stopwatch = Stopwatch::start();
        let answer = post(running.publish_port, "/publish", &body)?;
        published.push(stopwatch.elapsed());
        ensure!(
            answer.status == 200 && answer.body.contains("offset"),
            "a publication was answered {}: {}",
            answer.status,
            answer.body
        );
        let expected = format!(r#""channel":"{channel}""#);
        read_until(&mut sockets[client], expected.as_bytes())
            .with_context(|| format!("a message to {channel} did not come"))?;
        delivered.push(stopwatch.elapsed());
    }
    Ok(MillionResult {
        bytes_per_channel: grown as f64 / subscriptions,
        subscriptions_per_second: subscriptions / subscribing.as_secs_f64(),
        published_ms: percentiles(published),
        delivered_ms: percentiles(delivered),
    })
}

fn name(client: usize, number: usize) -> String {
    format!("game-{client}-{number}")
}

/// All but the one that the client has already.
fn subscription(client: usize) -> String {
    let names: Vec<String> = (1..CHANNELS_EACH)
        .map(|number| format!("\"{}\"", name(client, number)))
        .collect();
    format!(r#"{{"subscribe":[{}]}}"#, names.join(","))
}

fn percentiles(mut times: Vec<Duration>) -> Percentiles {
    times.sort_unstable();
    let at = |hundredths: usize| {
        let place = (times.len() * hundredths).div_ceil(100).saturating_sub(1);
        times
            .get(place)
            .map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    Percentiles {
        p50: at(50),
        p99: at(99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_hundred() {
        let text = subscription(3);
        assert!(text.starts_with(r#"{"subscribe":["game-3-1","game-3-2","#));
        assert_eq!(text.matches("game-3-").count(), CHANNELS_EACH - 1);
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let times = (1..=100).rev().map(Duration::from_millis).collect();
        let result = percentiles(times);
        assert!((result.p50 - 50.0).abs() < 1e-9 && (result.p99 - 99.0).abs() < 1e-9);
    }
}
