//! Spans as OTLP/HTTP carries them: the JSON encoding of `ExportTraceServiceRequest`. Pure.
//!
//! A request is a server span; its exchange with a server is a client span below it. Names and attributes follow the
//! semantic conventions of HTTP (1.x, stable).

use std::time::{Duration, SystemTime};

use plimsoll_model::redact;
use plimsoll_net::clock::Nanoseconds;
use serde_json::{Value, json};

use super::{RequestSpan, SpanRequest};

const KIND_SERVER: u8 = 2;
const KIND_CLIENT: u8 = 3;
const STATUS_ERROR: u8 = 2;
/// The trace continues with the parent's sampling decision, and the parent is remote.
const FLAGS_SAMPLED: u32 = 1;
const FLAG_HAS_IS_REMOTE: u32 = 0x100;
const FLAG_IS_REMOTE: u32 = 0x200;
/// Methods that may appear in a span's name.
const METHODS: [&str; 10] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY",
];

/// One export request.
pub fn request(spans: &[RequestSpan], service: &str, instance: &str) -> String {
    let spans: Vec<Value> = spans.iter().flat_map(both).collect();
    json!({
        "resourceSpans": [{
            "resource": { "attributes": [
                text("service.name", service),
                text("service.instance.id", instance),
                text("telemetry.sdk.name", "plimsoll"),
                text("telemetry.sdk.language", "rust"),
                text("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
            ]},
            "scopeSpans": [{
                "scope": { "name": "plimsoll-edge", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
                "schemaUrl": "https://opentelemetry.io/schemas/1.27.0",
            }],
        }]
    })
    .to_string()
}

/// The span of a request, and that of its exchange if there was one.
fn both(span: &RequestSpan) -> Vec<Value> {
    let mut spans = vec![server(span)];
    if span.admitted > 0 {
        spans.push(client(span));
    }
    spans
}

fn server(span: &RequestSpan) -> Value {
    let request = &span.request;
    let method = method(request);
    let name = if request.route.is_empty() {
        method.to_owned()
    } else {
        format!("{method} {}", request.route)
    };
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let (host, port) = split_port(&request.host);
    let mut attributes = vec![
        text("http.request.method", method),
        text("url.scheme", if request.secure { "https" } else { "http" }),
        text("url.path", &redact::target(path)),
        text("client.address", &request.client),
        text("network.protocol.name", "http"),
        text("network.protocol.version", version(request)),
        number("http.response.status_code", span.status.into()),
    ];
    for (key, value) in [
        ("url.query", &*redact::query(query)),
        ("server.address", host),
        ("user_agent.original", &request.agent),
        ("http.route", &request.route),
        ("plimsoll.reason", span.reason.unwrap_or_default()),
    ] {
        if !value.is_empty() {
            attributes.push(text(key, value));
        }
    }
    attributes.extend(port.map(|port| number("server.port", port)));
    attributes.extend(original_method(request));
    let remote = if span.context.parent != 0 {
        FLAG_HAS_IS_REMOTE | FLAG_IS_REMOTE
    } else {
        FLAG_HAS_IS_REMOTE
    };
    // A server span has status error only for server errors.
    let failed = span.status >= 500;
    put_error(&mut attributes, span, failed);
    json!({
        "traceId": format!("{:032x}", span.context.trace),
        "spanId": format!("{:016x}", span.id),
        "parentSpanId": parent(span.context.parent),
        "flags": FLAGS_SAMPLED | remote,
        "name": name,
        "kind": KIND_SERVER,
        "startTimeUnixNano": unix(span, span.began),
        "endTimeUnixNano": unix(span, span.ended),
        "attributes": attributes,
        "status": status(failed),
    })
}

fn client(span: &RequestSpan) -> Value {
    let request = &span.request;
    let method = method(request);
    let server = span.server.as_deref().unwrap_or_default();
    let (host, port) = split_port(server);
    let mut attributes = vec![
        text("http.request.method", method),
        text("server.address", host),
        text(
            "url.full",
            &format!("http://{server}{}", redact::target(&request.target)),
        ),
        text("network.protocol.version", "1.1"),
    ];
    attributes.extend(port.map(|port| number("server.port", port)));
    attributes.extend(original_method(request));
    let answered = span.first_byte > 0;
    if answered && span.reason.is_none() {
        attributes.push(number("http.response.status_code", span.status.into()));
    }
    let mut events = Vec::new();
    if answered {
        events.push(json!({
            "timeUnixNano": unix(span, span.first_byte),
            "name": "http.response.first_byte",
        }));
    }
    let failed = !answered || span.status >= 400 || span.reason == Some("broken");
    put_error(&mut attributes, span, failed);
    json!({
        "traceId": format!("{:032x}", span.context.trace),
        "spanId": format!("{:016x}", span.exchange),
        "parentSpanId": format!("{:016x}", span.id),
        "flags": FLAGS_SAMPLED | FLAG_HAS_IS_REMOTE,
        "name": method,
        "kind": KIND_CLIENT,
        "startTimeUnixNano": unix(span, span.admitted),
        "endTimeUnixNano": unix(span, span.ended),
        "attributes": attributes,
        "events": events,
        "status": status(failed),
    })
}

fn put_error(attributes: &mut Vec<Value>, span: &RequestSpan, failed: bool) {
    if failed {
        let status = span.status.to_string();
        attributes.push(text("error.type", span.reason.unwrap_or(&status)));
    }
}

fn status(failed: bool) -> Value {
    if failed {
        json!({ "code": STATUS_ERROR })
    } else {
        json!({})
    }
}

fn parent(parent: u64) -> String {
    if parent == 0 {
        String::new()
    } else {
        format!("{parent:016x}")
    }
}

/// A time of a span as nanoseconds since 1970; 64-bit numbers are strings in this encoding.
fn unix(span: &RequestSpan, moment: Nanoseconds) -> String {
    let before = Duration::from_nanos(span.ended.saturating_sub(moment));
    let at = span.wall.checked_sub(before).unwrap_or(span.wall);
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    since.as_nanos().to_string()
}

/// Unknown methods share one name, so that cardinality stays low.
fn method(request: &SpanRequest) -> &str {
    if METHODS.contains(&request.method.as_str()) {
        &request.method
    } else {
        "_OTHER"
    }
}

fn original_method(request: &SpanRequest) -> Option<Value> {
    let is_known = METHODS.contains(&request.method.as_str());
    (!is_known).then(|| text("http.request.method_original", &request.method))
}

fn version(request: &SpanRequest) -> &'static str {
    match (request.is_h2, request.is_1_1) {
        (true, _) => "2",
        (false, true) => "1.1",
        (false, false) => "1.0",
    }
}

fn split_port(authority: &str) -> (&str, Option<u64>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !authority.ends_with(']') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (authority, None),
        },
        _ => (authority, None),
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

#[cfg(test)]
mod tests;
