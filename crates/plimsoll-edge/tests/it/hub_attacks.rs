//! Attacks on a running hub: by its clients, by message sources and shared streams, by the application, and at the
//! publish endpoint. Each test states the bound that held.

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

/// A hub without a command rate limit, so that other bounds apply.
fn patient() -> HubConfig {
    HubConfig {
        commands: Rate {
            per_second: 100_000.0,
            burst: 100_000,
        },
        ..live()
    }
}

/// Waits until all clients are gone and their memory is released.
#[track_caller]
fn wait_for_nobody(edge: &Afloat) {
    for name in [SOCKETS, EVENTS, CHANNELS] {
        wait_for(edge, name, 0.0);
    }
}

/// The hub serves clients as before, whatever happened to the attacked program.
#[track_caller]
fn goes_on(observed: &ObservedEdge) {
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("a");
    publish(&observed.edge, "a", &json!("still here"));
    assert_eq!(client.receive()["data"], "still here");
}

/// The error in a message to a client.
#[track_caller]
fn error(reply: &Value) -> &str {
    reply["error"].as_str().unwrap_or_else(|| panic!("{reply}"))
}
