//! Spans as OpenTelemetry's SDKs and collectors send them: `ExportTraceServiceRequest` of OTLP, as protobuf and as
//! JSON. Metrics are in [`metrics`].
//!
//! A span keeps its ids, times, status and class attributes. Everything else is skipped unread, at any depth.
//! Malformed input is refused with the place and the reason.

mod json;
pub mod metrics;
mod protobuf;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use json::from_json;
pub use protobuf::from_protobuf;

/// Limit of spans in one message.
pub const SPANS_MAX: usize = 20_000;
/// Longest text of an attribute that is kept, bytes.
pub const TEXT_LEN_MAX: usize = 2048;
/// Limit of attributes that are kept of a span.
const ATTRIBUTES_MAX: usize = 24;
/// Bytes of a trace's and of a span's id.
const TRACE_ID_LEN: usize = 16;
const SPAN_ID_LEN: usize = 8;

/// Attributes that classify a span, by the current and the old names of OpenTelemetry's conventions.
const RELEVANT_ATTRIBUTES: [&str; 40] = [
    "db.system.name",
    "db.system",
    "db.query.text",
    "db.statement",
    "db.query.summary",
    "db.operation.name",
    "db.operation",
    "db.collection.name",
    "db.sql.table",
    "db.namespace",
    "db.name",
    "http.request.method",
    "http.method",
    "http.route",
    "http.response.status_code",
    "http.status_code",
    "http.target",
    "http.url",
    "http.host",
    "url.path",
    "url.full",
    "server.address",
    "server.port",
    "net.peer.name",
    "net.peer.port",
    "net.peer.ip",
    "net.sock.peer.addr",
    "network.peer.address",
    "network.peer.port",
    "peer.service",
    "service.peer.name",
    "rpc.system",
    "rpc.system.name",
    "rpc.service",
    "rpc.method",
    "rpc.grpc.status_code",
    "messaging.system",
    "messaging.destination.name",
    "messaging.destination",
    "messaging.operation",
];

/// Which side of a call a span is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpanKind {
    /// Neither: work inside a service, or unspecified.
    #[default]
    Internal,
    /// Handles an incoming call.
    Server,
    /// Makes an outgoing call.
    Client,
    /// Puts a message into a queue.
    Producer,
    /// Carries out a message.
    Consumer,
}

impl SpanKind {
    fn numbered(number: u64) -> Self {
        match number {
            2 => Self::Server,
            3 => Self::Client,
            4 => Self::Producer,
            5 => Self::Consumer,
            _ => Self::Internal,
        }
    }
}

/// Status of a span that failed.
const STATUS_ERROR: u64 = 2;

/// What is kept of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpSpan {
    /// The service that reports it; empty where missing.
    pub service: Arc<str>,
    /// The trace it belongs to.
    pub trace: u128,
    /// Its own id.
    pub id: u64,
    /// The parent span; 0 for none.
    pub parent: u64,
    /// Which side of a call it is.
    pub kind: SpanKind,
    /// Its name.
    pub name: String,
    /// When it began, ns since 1970.
    pub start_ns: u64,
    /// When it ended, ns since 1970; never before it began.
    pub end_ns: u64,
    /// Whether its status is an error.
    pub is_error: bool,
    /// Classifying attributes, by the names of the conventions; numbers as text.
    pub attributes: Vec<(&'static str, String)>,
}

impl OtlpSpan {
    fn new(service: Arc<str>) -> Self {
        Self {
            service,
            trace: 0,
            id: 0,
            parent: 0,
            kind: SpanKind::Internal,
            name: String::new(),
            start_ns: 0,
            end_ns: 0,
            is_error: false,
            attributes: Vec::new(),
        }
    }

    /// The first of these attributes that it has.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        let value = |name: &&str| {
            let mut own = self.attributes.iter();
            own.find(|(own, _)| own == name)
                .map(|(_, value)| value.as_str())
        };
        names
            .iter()
            .filter_map(value)
            .find(|value| !value.is_empty())
    }

    fn put(&mut self, name: &str, value: String) {
        let wanted = RELEVANT_ATTRIBUTES.iter().find(|wanted| **wanted == name);
        if let Some(wanted) = wanted
            && self.attributes.len() < ATTRIBUTES_MAX
        {
            self.attributes.push((wanted, value));
        }
    }

    /// The span, when it has its ids.
    fn finished(mut self) -> Result<Self, OtlpDecodeError> {
        if self.trace == 0 || self.id == 0 {
            return Err(OtlpDecodeError::new(
                "a span has no trace id or no span id; valid: 16 and 8 bytes, not all zero",
            ));
        }
        self.end_ns = self.end_ns.max(self.start_ns);
        Ok(self)
    }
}

/// Whether an attribute is kept.
fn is_relevant(name: &str) -> bool {
    RELEVANT_ATTRIBUTES.contains(&name)
}

/// Adds a span, if there is space.
fn push(spans: &mut Vec<OtlpSpan>, span: OtlpSpan) -> Result<(), OtlpDecodeError> {
    if spans.len() >= SPANS_MAX {
        let why = format!("more than {SPANS_MAX} spans in one message: send smaller ones");
        return Err(OtlpDecodeError(why));
    }
    spans.push(span);
    Ok(())
}

/// A text of at most [`TEXT_LEN_MAX`] bytes.
fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_LEN_MAX);
    text[..end].to_owned()
}

/// Why bytes are not a message of spans or of metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpDecodeError(String);

impl OtlpDecodeError {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for OtlpDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
