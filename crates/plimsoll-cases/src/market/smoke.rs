//! Smoke test of the whole market: a remote client predicts and receives the odds, from a server and from the hub.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::machine::two_cores;
use plimsoll_harness::request::post;
use serde_json::Value;
use tungstenite::{Message, WebSocket};

use super::region::REGIONS;
use super::stack::{Delivery, MarketSettings, MarketStack, StoreCalls, Topology};
use crate::case::Case;

const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn check(case: &Case) -> Result<()> {
    let cores = two_cores().unwrap_or((0, 0));
    for settings in [
        MarketSettings {
            topology: Topology::SingleRegion,
            calls: StoreCalls::Blocking,
            delivery: Delivery::Feed,
        },
        MarketSettings {
            topology: Topology::Replicas,
            calls: StoreCalls::Asynchronous,
            delivery: Delivery::Hub,
        },
    ] {
        let stack = MarketStack::start(case, settings, cores)?;
        used(&stack).with_context(|| settings.title())?;
    }
    Ok(())
}

/// The farthest client predicts, and hears odds.
fn used(stack: &MarketStack<'_>) -> Result<()> {
    let (port, region) = stack
        .client_ports
        .iter()
        .zip(REGIONS)
        .max_by_key(|(_, region)| region.round_trip())
        .context("there are regions")?;
    let mut socket = open(*port).with_context(|| region.name)?;
    if stack.delivery == Delivery::Hub {
        socket.send(Message::text(r#"{"subscribe":["game-1"],"id":1}"#))?;
        read_matching(&mut socket, |value| value["subscribed"] == "game-1")?;
        let answer = post(*port, "/predictions", "{}")?;
        let value: Value = serde_json::from_str(&answer.body)
            .with_context(|| format!("a prediction was answered {}", answer.body))?;
        ensure!(
            value["prediction"].is_u64(),
            "a prediction was answered {value}"
        );
        read_matching(&mut socket, |value| value["data"]["odds"]["1"].is_array())?;
        return Ok(());
    }
    let stopwatch = Stopwatch::start();
    socket.send(Message::text(r#"{"predict":{"pool":1,"side":0}}"#))?;
    let value = read_matching(&mut socket, |value| value["prediction"].is_u64())?;
    ensure!(
        stopwatch.elapsed() + Duration::from_millis(2) >= region.round_trip(),
        "an answer from {} came sooner than light",
        region.name
    );
    // One of each side and the one that was predicted.
    ensure!(
        value["odds"]["1"] == serde_json::json!([1.5, 3.0]),
        "the odds are {value}"
    );
    read_matching(&mut socket, |value| {
        value["odds"]
            .as_object()
            .is_some_and(|pools| pools.len() == 10)
    })?;
    Ok(())
}

fn open(port: u16) -> Result<WebSocket<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}/live"), stream)
        .map_err(|error| anyhow::anyhow!("a WebSocket was not opened: {error}"))?;
    Ok(socket)
}

/// The first message that is wanted.
fn read_matching(
    socket: &mut WebSocket<TcpStream>,
    is_wanted: impl Fn(&Value) -> bool,
) -> Result<Value> {
    let stopwatch = Stopwatch::start();
    while stopwatch.elapsed() < PATIENCE {
        let message = socket.read()?;
        if let Message::Text(text) = message {
            let value: Value = serde_json::from_str(&text)?;
            if is_wanted(&value) {
                return Ok(value);
            }
        }
    }
    anyhow::bail!("what was awaited did not come")
}
