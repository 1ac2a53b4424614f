//! Reads the settings of connections.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::plan::STREAMS_MAX;

use super::keywords::TRANSPORT;
use crate::document::{DocumentNode, DocumentReader};
use crate::units;

/// Settings of connections; `None` is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportPlan {
    /// Time-out of a request.
    pub timeout: Option<Duration>,
    /// Connect time-out.
    pub connect_timeout: Option<Duration>,
    /// Maximum open connections.
    pub connections_max: Option<u32>,
    /// Requests per connection; 0 is unlimited.
    pub requests_per_connection: Option<u32>,
    /// Accept invalid certificates.
    pub insecure: bool,
    /// File of trusted CA certificates, relative to the folder of the plan file.
    pub ca_file: Option<PathBuf>,
    /// HTTP version.
    pub http: Option<Http>,
    /// Maximum concurrent requests per HTTP/2 connection.
    pub streams: Option<u32>,
    /// Local addresses to connect from.
    pub sources: Vec<IpAddr>,
    /// Maximum size of a response body, bytes.
    pub body_len_max: Option<u64>,
}

/// HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 over TLS where the target negotiates it, else HTTP/1.1.
    Http2,
    /// As [`Http::Http2`], and HTTP/2 for `http://` targets without negotiation.
    PriorKnowledge,
}

/// Reads `transport:`.
pub(crate) fn transport(reader: &DocumentReader<'_>, node: &DocumentNode) -> TransportPlan {
    let Some(fields) = reader.fields(node, &TRANSPORT) else {
        return TransportPlan::default();
    };
    let duration = |word: &str| {
        fields
            .get(word)
            .and_then(|node| reader.duration_above_zero(node))
    };
    let ca_file = fields
        .get("ca_file")
        .and_then(|node| reader.word(node, "a PEM file"));
    TransportPlan {
        timeout: duration("timeout"),
        connect_timeout: duration("connect_timeout"),
        connections_max: fields
            .get("max_connections")
            .and_then(|node| reader.count32(node, 1..=1_000_000)),
        requests_per_connection: fields
            .get("requests_per_connection")
            .and_then(|node| reader.count32(node, 0..=u32::MAX)),
        insecure: fields.get("insecure").and_then(|node| reader.switch(node)) == Some(true),
        ca_file: ca_file.map(PathBuf::from),
        http: fields.get("http").and_then(|node| {
            let words = [
                ("1", Http::Http1),
                ("2", Http::Http2),
                ("prior-knowledge", Http::PriorKnowledge),
            ];
            reader.one_of(node, &words)
        }),
        streams: fields
            .get("streams")
            .and_then(|node| reader.count32(node, 1..=STREAMS_MAX)),
        sources: fields
            .get("sources")
            .map(|node| sources(reader, node))
            .unwrap_or_default(),
        body_len_max: fields
            .get("max_body")
            .and_then(|node| reader.value(node, "a size such as 64MiB", units::size)),
    }
}

fn sources(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for item in reader.one_or_more(node) {
        let Some(text) = reader.text(item, "an IP address") else {
            continue;
        };
        match text.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => reader.report(
                item,
                format!("`{text}` is not an IP address"),
                "an IP address of this machine",
            ),
        }
    }
    addresses
}
