//! Both encodings, written by the code that is generated from the published schema.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as ProtoValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span as Written, Status, span::Event,
};
use prost::Message as _;

use super::*;

pub(super) fn attribute(key: &str, value: ProtoValue) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

pub(super) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, ProtoValue::StringValue(value.to_owned()))
}

pub(super) fn message() -> ExportTraceServiceRequest {
    let list = ProtoValue::ArrayValue(ArrayValue {
        values: vec![AnyValue {
            value: Some(ProtoValue::DoubleValue(1.5)),
        }],
    });
    let span = Written {
        trace_id: (1..=16).collect(),
        span_id: vec![0xff; 8],
        parent_span_id: vec![0, 0, 0, 0, 0, 0, 1, 2],
        flags: 0x101,
        name: "SELECT orders".to_owned(),
        kind: 3,
        start_time_unix_nano: 1_700_000_000_000_000_000,
        end_time_unix_nano: 1_700_000_000_001_000_000,
        attributes: vec![
            text("db.system", "postgresql"),
            attribute("net.peer.port", ProtoValue::IntValue(5432)),
            attribute("tags", list),
            text("db.statement", "SELECT 1"),
        ],
        events: vec![Event {
            name: "exception".to_owned(),
            attributes: vec![text("db.statement", "not this")],
            ..Event::default()
        }],
        status: Some(Status {
            message: "no".to_owned(),
            code: 2,
        }),
        ..Written::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![text("host.name", "a"), text("service.name", "shop")],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                spans: vec![span],
                schema_url: "https://opentelemetry.io/schemas/1.27.0".to_owned(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

#[test]
fn both_encodings_tell_the_same() {
    let right = OtlpSpan {
        service: Arc::from("shop"),
        trace: 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10,
        id: u64::MAX,
        parent: 0x102,
        kind: SpanKind::Client,
        name: "SELECT orders".to_owned(),
        start_ns: 1_700_000_000_000_000_000,
        end_ns: 1_700_000_000_001_000_000,
        is_error: true,
        attributes: vec![
            ("db.system", "postgresql".to_owned()),
            ("net.peer.port", "5432".to_owned()),
            ("db.statement", "SELECT 1".to_owned()),
        ],
    };
    let message = message();
    let spans = from_protobuf(&message.encode_to_vec()).unwrap();
    assert_eq!(spans, std::slice::from_ref(&right));
    let spans = from_json(&serde_json::to_vec(&message).unwrap()).unwrap();
    assert_eq!(spans, [right]);
    assert_eq!(from_protobuf(&[]), Ok(Vec::new()));
    assert_eq!(from_json(b"{}"), Ok(Vec::new()));
}

#[test]
fn the_reason_is_said() {
    let mut short = message();
    short.resource_spans[0].scope_spans[0].spans[0].trace_id = vec![1, 2, 3];
    let bytes = short.encode_to_vec();
    let cut = &message().encode_to_vec()[..40];
    for (result, expected) in [
        (
            from_protobuf(&bytes),
            "trace_id has 3 bytes: it must have 16",
        ),
        (from_protobuf(cut), "buffer underflow"),
        (
            from_protobuf(b"GET / HTTP/1.1"),
            "invalid wire type value: 7",
        ),
        (
            from_protobuf(&[0x08, 0x01]),
            "ExportTraceServiceRequest.resource_spans: invalid wire type",
        ),
        (from_json(b"{"), "invalid JSON"),
        (from_json(b"[]"), "must hold `resourceSpans`"),
        (
            from_json(br#"{"resourceSpans":1}"#),
            "`resourceSpans` is not a list",
        ),
        (
            from_json(br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0x12"}]}]}]}"#),
            "`traceId` of a span must be 32 hexadecimal digits",
        ),
        (
            from_json(br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}"#),
            "`startTimeUnixNano` of a span is not a number",
        ),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(expected), "`{expected}` is not in `{error}`");
    }
}

#[test]
fn there_are_limits() {
    let mut many = message();
    let spans = &mut many.resource_spans[0].scope_spans[0].spans;
    spans[0].attributes = vec![text("db.statement", &"é".repeat(5000)); 100];
    let span = &from_protobuf(&many.encode_to_vec()).unwrap()[0];
    assert_eq!(span.attributes.len(), ATTRIBUTES_MAX);
    assert_eq!(span.attributes[0].1.len(), TEXT_LEN_MAX);
    let spans = &mut many.resource_spans[0].scope_spans[0].spans;
    spans[0].attributes.clear();
    *spans = vec![spans[0].clone(); SPANS_MAX + 1];
    let error = from_protobuf(&many.encode_to_vec()).unwrap_err();
    assert!(
        error.to_string().contains("more than 20000 spans"),
        "{error}"
    );
}
