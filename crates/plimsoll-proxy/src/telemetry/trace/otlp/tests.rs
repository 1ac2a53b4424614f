use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::trace::v1::Span as Decoded;

use super::*;
use crate::telemetry::trace::Context;

fn span() -> RequestSpan {
    RequestSpan {
        context: Context {
            trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
            parent: 0xb7ad_6b71_6920_3331,
            sampled: true,
        },
        id: 0x11,
        exchange: 0x22,
        request: Box::new(SpanRequest {
            method: "GET".to_owned(),
            host: "a.example:8443".to_owned(),
            target: "/news/1?q=\"x\"".to_owned(),
            agent: "curl/8".to_owned(),
            client: "192.0.2.7".to_owned(),
            secure: true,
            is_h2: true,
            is_1_1: true,
            route: "/news/*".to_owned(),
        }),
        status: 200,
        reason: None,
        server: Some("10.0.0.1:3000".to_owned()),
        wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000),
        began: 1_000,
        admitted: 2_000,
        first_byte: 4_000,
        ended: 5_000,
    }
}

/// Decodes as the schema has it.
fn decode(spans: &[RequestSpan]) -> Vec<Decoded> {
    let json = request(spans, "edge", "7");
    let decoded: ExportTraceServiceRequest = serde_json::from_str(&json).unwrap();
    let resource = &decoded.resource_spans[0];
    let named = resource.resource.as_ref().unwrap();
    assert!(
        named
            .attributes
            .iter()
            .any(|attribute| attribute.key == "service.name")
    );
    resource.scope_spans[0].spans.clone()
}

fn attribute_text(span: &Decoded, key: &str) -> Option<String> {
    let found = span
        .attributes
        .iter()
        .find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        AttributeValue::StringValue(text) => Some(text.clone()),
        AttributeValue::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_two_spans_by_the_conventions() {
    let spans = decode(&[span()]);
    let [server, client] = spans.as_slice() else {
        panic!("{spans:?}");
    };
    assert_eq!(
        server.trace_id,
        0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes()
    );
    assert_eq!(
        server.parent_span_id,
        0xb7ad_6b71_6920_3331_u64.to_be_bytes()
    );
    assert_eq!(client.trace_id, server.trace_id);
    assert_eq!(client.parent_span_id, server.span_id);
    assert_eq!((server.kind, client.kind), (2, 3));
    assert_eq!(
        (server.name.as_str(), client.name.as_str()),
        ("GET /news/*", "GET")
    );
    assert_eq!((server.flags, client.flags), (0x301, 0x101));
    let end = 1_000_000 * 1_000_000_000;
    assert_eq!(
        (server.start_time_unix_nano, server.end_time_unix_nano),
        (end - 4000, end)
    );
    assert_eq!(client.start_time_unix_nano, end - 3000);
    assert_eq!(client.events[0].time_unix_nano, end - 1000);
    for (key, value) in [
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("http.route", "/news/*"),
        ("url.scheme", "https"),
        ("url.path", "/news/1"),
        ("url.query", "q=\"x\""),
        ("server.address", "a.example"),
        ("server.port", "8443"),
        ("client.address", "192.0.2.7"),
        ("network.protocol.version", "2"),
        ("user_agent.original", "curl/8"),
    ] {
        assert_eq!(attribute_text(server, key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(
        attribute_text(client, "server.address").as_deref(),
        Some("10.0.0.1")
    );
    assert_eq!(
        attribute_text(client, "server.port").as_deref(),
        Some("3000")
    );
    assert_eq!(attribute_text(server, "error.type"), None);
    assert_eq!(server.status.as_ref().map_or(0, |status| status.code), 0);
}

#[test]
fn failures_are_told_on_the_side_that_failed() {
    let refused = RequestSpan {
        admitted: 0,
        first_byte: 0,
        status: 503,
        reason: Some("queue-full"),
        context: Context {
            parent: 0,
            ..span().context
        },
        ..span()
    };
    let missing = RequestSpan {
        status: 404,
        ..span()
    };
    let spans = decode(&[refused, missing]);
    assert_eq!(spans.len(), 3, "no exchange, no span of one");
    assert!(spans[0].parent_span_id.is_empty());
    assert_eq!(
        attribute_text(&spans[0], "error.type").as_deref(),
        Some("queue-full")
    );
    assert_eq!(
        attribute_text(&spans[0], "plimsoll.reason").as_deref(),
        Some("queue-full")
    );
    assert_eq!(spans[0].status.as_ref().unwrap().code, 2);
    assert_eq!(spans[1].status.as_ref().map_or(0, |status| status.code), 0);
    assert_eq!(
        spans[2].status.as_ref().unwrap().code,
        2,
        "the client's side has failed"
    );
    assert_eq!(
        attribute_text(&spans[2], "error.type").as_deref(),
        Some("404")
    );
    let odd = RequestSpan {
        request: Box::new(SpanRequest {
            method: "BREW".to_owned(),
            route: String::new(),
            host: "[::1]".to_owned(),
            ..*span().request
        }),
        ..span()
    };
    let spans = decode(&[odd]);
    assert_eq!(spans[0].name, "_OTHER");
    assert_eq!(
        attribute_text(&spans[0], "http.request.method_original").as_deref(),
        Some("BREW")
    );
    assert_eq!(
        attribute_text(&spans[0], "server.address").as_deref(),
        Some("[::1]")
    );
}
