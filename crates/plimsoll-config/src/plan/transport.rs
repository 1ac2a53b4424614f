//! How connections are made, as far as the plan says it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::plan::STREAMS_MAX;

use super::desk::Desk;
use super::tree::Node;
use super::words::TRANSPORT;
use crate::units;

/// What a plan says of connections; `None` leaves the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportPlan {
    /// Time-out of a request.
    pub timeout: Option<Duration>,
    /// Time-out of making a connection.
    pub connect_timeout: Option<Duration>,
    /// Connections open at most.
    pub connections_max: Option<u32>,
    /// Requests on one connection; 0 for no bound.
    pub requests_per_connection: Option<u32>,
    /// Accept any certificate.
    pub insecure: bool,
    /// Certificates to trust, from the plan file's folder.
    pub ca_file: Option<PathBuf>,
    /// Version of HTTP.
    pub http: Option<Http>,
    /// Requests under way on one connection of HTTP/2 at once, at most.
    pub streams: Option<u32>,
    /// Local addresses to connect from.
    pub sources: Vec<IpAddr>,
    /// Longest body accepted, bytes.
    pub body_len_max: Option<u64>,
}

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    One,
    /// HTTP/2 over TLS where the target chooses it, else HTTP/1.1.
    Two,
    /// As [`Http::Two`], and HTTP/2 to `http://` targets without asking.
    PriorKnowledge,
}

/// Reads `transport:`.
pub(crate) fn transport(desk: &Desk<'_>, node: &Node) -> TransportPlan {
    let Some(fields) = desk.fields(node, &TRANSPORT) else {
        return TransportPlan::default();
    };
    let duration = |word: &str| {
        fields
            .get(word)
            .and_then(|node| desk.duration_above_zero(node))
    };
    let ca_file = fields
        .get("ca_file")
        .and_then(|node| desk.word(node, "a PEM file"));
    TransportPlan {
        timeout: duration("timeout"),
        connect_timeout: duration("connect_timeout"),
        connections_max: fields
            .get("max_connections")
            .and_then(|node| desk.count32(node, 1..=1_000_000)),
        requests_per_connection: fields
            .get("requests_per_connection")
            .and_then(|node| desk.count32(node, 0..=u32::MAX)),
        insecure: fields.get("insecure").and_then(|node| desk.switch(node)) == Some(true),
        ca_file: ca_file.map(PathBuf::from),
        http: fields.get("http").and_then(|node| {
            let words = [
                ("1", Http::One),
                ("2", Http::Two),
                ("prior-knowledge", Http::PriorKnowledge),
            ];
            desk.one_of(node, &words)
        }),
        streams: fields
            .get("streams")
            .and_then(|node| desk.count32(node, 1..=STREAMS_MAX)),
        sources: fields
            .get("sources")
            .map(|node| sources(desk, node))
            .unwrap_or_default(),
        body_len_max: fields
            .get("max_body")
            .and_then(|node| desk.value(node, "a size such as 64MiB", units::size)),
    }
}

fn sources(desk: &Desk<'_>, node: &Node) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for item in desk.one_or_more(node) {
        let Some(text) = desk.text(item, "an IP address") else {
            continue;
        };
        match text.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => desk.fault(
                item,
                format!("`{text}` is not an address"),
                "an IP address of this machine",
            ),
        }
    }
    addresses
}
