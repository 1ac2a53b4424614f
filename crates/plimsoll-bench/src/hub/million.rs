//! A million channels: ten thousand clients, each subscribed to a hundred separate ones.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::request::post;
use plimsoll_harness::sample::Sample;
use plimsoll_harness::spread::quantile;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::RunningHub;
use super::accepts::{open, read_until, send_to_all};
use crate::bench::Bench;

/// Publications, each to a channel chosen at random.
const PUBLICATIONS: usize = 1_000;
const SEED: u64 = 7;

pub(super) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Sample> {
    let clients: usize = chapter.number("clients")?;
    let each: usize = chapter.number("channels_each")?;
    let hub = RunningHub::start(bench, chapter, "plimsoll")?;
    let mut sockets = Vec::with_capacity(clients);
    open(hub.server.port(), clients, &mut sockets)?;
    // The cost of a client is measured elsewhere.
    send_to_all(&mut sockets, |place| {
        format!(r#"{{"subscribe":["first-{place}"]}}"#)
    })?;
    let memory = hub.server.memory()?;
    let stopwatch = Stopwatch::start();
    send_to_all(&mut sockets, |client| subscription(client, each))?;
    let subscribing = stopwatch.elapsed();
    let grown = hub.server.memory()?.saturating_sub(memory);
    let subscriptions = (clients * (each - 1)) as f64;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let (mut published, mut delivered) = (Vec::new(), Vec::new());
    for _ in 0..PUBLICATIONS {
        let client = random.random_range(0..clients);
        let channel = name(client, random.random_range(1..each));
        let body = format!(r#"{{"channel":"{channel}","data":"{}"}}"#, "x".repeat(200));
        let stopwatch = Stopwatch::start();
        let answer = post(hub.publish_port(), "/publish", &body)?;
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
    let [published, delivered] = [published, delivered].map(sorted_ms);
    Ok(Sample::default()
        .with("bytes", grown as f64 / subscriptions)
        .with("rate", subscriptions / subscribing.as_secs_f64())
        .with_known("published_p50_ms", quantile(&published, 0.5))
        .with_known("published_p99_ms", quantile(&published, 0.99))
        .with_known("delivered_p50_ms", quantile(&delivered, 0.5))
        .with_known("delivered_p99_ms", quantile(&delivered, 0.99)))
}

fn name(client: usize, number: usize) -> String {
    format!("game-{client}-{number}")
}

/// All but the one that the client has already.
fn subscription(client: usize, each: usize) -> String {
    let names: Vec<String> = (1..each)
        .map(|number| format!("\"{}\"", name(client, number)))
        .collect();
    format!(r#"{{"subscribe":[{}]}}"#, names.join(","))
}

fn sorted_ms(mut times: Vec<Duration>) -> Vec<f64> {
    times.sort_unstable();
    times.iter().map(|time| time.as_secs_f64() * 1e3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_hundred() {
        let text = subscription(3, 100);
        assert!(text.starts_with(r#"{"subscribe":["game-3-1","game-3-2","#));
        assert_eq!(text.matches("game-3-").count(), 99);
    }
}
