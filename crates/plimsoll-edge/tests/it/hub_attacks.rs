//! Attacks on a hub that runs: by its clients, by the programs that it listens to or shares channels through, by the
//! application that it asks, and at the address where is published. Each test states the bound that held.

mod application;
mod collector;
mod compressed;
mod floods;
mod nats;
mod peers;
mod postgres;
mod publishing;
mod readers;
mod redis;
mod rights;
mod subscriptions;

use plimsoll_config::edge::{HubConfig, Rate};
use serde_json::{Value, json};

use crate::hub::{HubClient, live, publish};
use crate::support::{Afloat, ObservedEdge, wait_for};

const SOCKETS: &str = "plimsoll_edge_hub_connections{kind=\"websocket\"}";
const EVENTS: &str = "plimsoll_edge_hub_connections{kind=\"sse\"}";
const CHANNELS: &str = "plimsoll_edge_hub_channels";

/// A hub whose clients may say as much as they like: what is bounded then is bounded by something else.
fn patient() -> HubConfig {
    HubConfig {
        commands: Rate {
            per_second: 100_000.0,
            burst: 100_000,
        },
        ..live()
    }
}

/// Waits until nobody is there any more, and nothing is kept of those who were.
#[track_caller]
fn wait_for_nobody(edge: &Afloat) {
    for name in [SOCKETS, EVENTS, CHANNELS] {
        wait_for(edge, name, 0.0);
    }
}

/// The hub has clients as ever, whatever became of the program that it talks to.
#[track_caller]
fn goes_on(observed: &ObservedEdge) {
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("a");
    publish(&observed.edge, "a", &json!("still here"));
    assert_eq!(client.receive()["data"], "still here");
}

/// The refusal in what a client is told.
#[track_caller]
fn error(reply: &Value) -> &str {
    reply["error"].as_str().unwrap_or_else(|| panic!("{reply}"))
}
