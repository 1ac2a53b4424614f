//! Settings of connections.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::plan::{HEADERS_MAX, STREAMS_MAX};

use crate::document::Shape::{Count, Either, OneOf, OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, count, file, settings, size, size_as, switch, time,
};

/// Limits of heads that can be configured, bytes.
pub const HEADS: RangeInclusive<u64> = 1 << 10..=16 << 20;
/// The same in words.
pub const HEADS_VALID: &str = "1KiB to 16MiB, such as 256KiB";

/// Numbers of open connections that can be configured.
pub const CONNECTIONS: RangeInclusive<u32> = 1..=1_000_000;

settings! {
    /// Settings of connections.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TransportPlan, TRANSPORT "transport" {
        /// Time-out of a request, counted from its due time. Default: 30s.
        timeout: Option<Duration> = None, "timeout": time();
        /// Connect time-out. Default: the request time-out.
        connect_timeout: Option<Duration> = None, "connect_timeout": time();
        /// Maximum open connections. Default: 10,000; a million where users hold WebSockets.
        connections_max: Option<u32> = None, "max_connections": count(CONNECTIONS);
        /// Requests per connection before it is closed; 0 is unlimited.
        requests_per_connection: Option<u32> = None, "requests_per_connection": count(0..=u32::MAX);
        /// Whether invalid certificates are accepted; the report notes it.
        insecure: bool = false, "insecure": switch(), unsaid;
        /// PEM file of the trusted CA certificates. Default: those of the system.
        ca_file: Option<PathBuf> = None, "ca_file": file("a PEM file");
        /// HTTP version: 1; 2 (over TLS if the target negotiates it, else 1.1); or `prior-knowledge` (2, and for
        /// `http://` targets without negotiation). Default: 1.
        http: Option<Http> = None, "http": Either(&[Count(1, 2), OneOf(&["prior-knowledge"])]) => http;
        /// Maximum concurrent requests per HTTP/2 connection, within the limit of the target. Default: 100 with steps,
        /// 1 without.
        streams: Option<u32> = None, "streams": count(1..=STREAMS_MAX);
        /// Local addresses to connect from, in round-robin order.
        sources: Vec<IpAddr> = Vec::new(), "sources": OneOrMore(&Text) => each source;
        /// Maximum size of the head of a response; the outcome of a longer one is `head_too_long`. Default: 256KiB.
        head_len_max: Option<u32> = None, "max_head": size_as::<u32>(HEADS).such_as(HEADS_VALID);
        /// Maximum headers of a response; the outcome of one with more is `too_many_headers`. Default: 1000.
        headers_max: Option<u32> = None, "max_headers": count(1..=HEADERS_MAX);
        /// Maximum size of a response body. Default: 1GiB.
        body_len_max: Option<u64> = None, "max_body": size(0..=u64::MAX).such_as("a size such as 64MiB");
    }
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

fn http(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Http> {
    let words = [
        ("1", Http::Http1),
        ("2", Http::Http2),
        ("prior-knowledge", Http::PriorKnowledge),
    ];
    reader.one_of(node, &words)
}

fn source(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<IpAddr> {
    let text = reader.text(node, "an IP address")?;
    let address = text.parse().ok();
    if address.is_none() {
        reader.report(
            node,
            format!("`{text}` is not an IP address"),
            "an IP address of this machine",
        );
    }
    address
}
