//! Tests that have the machine alone, or beside two others that measure as quietly.
//!
//! Tests begin in the order of their names. These come before those that share the machine, so that it never lies idle until
//! the last of those has ended; and what is expected of all programs here comes before programs are started for several
//! measurements.

mod compare;
mod discovery;
mod laws;
mod live_page;
mod overflows;
mod prepared;
mod through_agents;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use serde_json::Value;

use crate::found::found;
use crate::support::Sandbox;

/// An origin that answers any number of requests at once, each after this time.
fn origin(service_ms: u64) -> (KnownLaw, SocketAddr) {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(4096).unwrap(),
        service: Service::Deterministic(Duration::from_millis(service_ms)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let url = origin.url();
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let address = address.parse().unwrap();
    (origin, address)
}

/// Findings of a load on all paths in turn, at a rate at which each fails several times a second.
fn failures(
    place: &Sandbox,
    address: SocketAddr,
    watch: &str,
    paths: &[&str],
) -> Option<Vec<Value>> {
    std::fs::write(place.path().join("urls"), paths.join("\n")).unwrap();
    let url = format!("http://{address}/");
    let load = ["24/s:4s", "48/s:2s"];
    found(place, &url, watch, load, &["--urls", "urls"])
}
