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

use std::net::SocketAddr;

use plimsoll_config::edge::{Endpoint, Hub, Rate};
use serde_json::Value;

use crate::hub::live;
use crate::support::{Afloat, wait_for};

const SOCKETS: &str = "plimsoll_edge_hub_connections{kind=\"websocket\"}";
const EVENTS: &str = "plimsoll_edge_hub_connections{kind=\"sse\"}";
const CHANNELS: &str = "plimsoll_edge_hub_channels";

/// A hub whose clients may say as much as they like: what is bounded then is bounded by something else.
fn patient() -> Hub {
    Hub {
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

fn endpoint(address: SocketAddr, target: &str) -> Endpoint {
    Endpoint {
        secure: false,
        host: address.ip().to_string(),
        port: address.port(),
        target: target.to_owned(),
        headers: Vec::new(),
    }
}

/// The refusal in what a client is told.
#[track_caller]
fn error(told: &Value) -> &str {
    told["error"].as_str().unwrap_or_else(|| panic!("{told}"))
}
