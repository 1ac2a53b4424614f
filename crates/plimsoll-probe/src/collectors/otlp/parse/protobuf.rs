//! The protobuf of `opentelemetry/proto/trace/v1/trace.proto`, as far as it is kept.
//!
//! Lists stay encoded until their items are used: a list of decoded messages could take a hundred times the memory of
//! its bytes. Texts are bytes here, because a text that is not UTF-8 must not cost the whole message.

use std::sync::Arc;

use prost::bytes::Bytes;
use prost::{DecodeError, Message};

use super::{
    OtlpDecodeError, OtlpSpan, SPAN_ID_LEN, STATUS_ERROR, SpanKind, TRACE_ID_LEN, is_relevant,
    push, shortened,
};

#[derive(Clone, PartialEq, Message)]
struct ExportTraceServiceRequest {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    resource_spans: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    scope_spans: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(super) attributes: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(bytes = "bytes", repeated, tag = "2")]
    spans: Vec<Bytes>,
}

#[expect(clippy::struct_field_names, reason = "the names of the schema")]
#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "bytes", tag = "1")]
    trace_id: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    span_id: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    parent_span_id: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    name: Bytes,
    #[prost(uint64, tag = "6")]
    kind: u64,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(bytes = "bytes", repeated, tag = "9")]
    attributes: Vec<Bytes>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(uint64, tag = "3")]
    code: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: Bytes,
}

/// A value of another type has neither.
#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(bytes = "bytes", optional, tag = "1")]
    string_value: Option<Bytes>,
    #[prost(uint64, optional, tag = "3")]
    int_value: Option<u64>,
}

impl From<DecodeError> for OtlpDecodeError {
    fn from(error: DecodeError) -> Self {
        Self(error.to_string())
    }
}

/// Reads a message of spans.
///
/// # Errors
/// When the bytes break the format, with the reason.
pub fn from_protobuf(bytes: &[u8]) -> Result<Vec<OtlpSpan>, OtlpDecodeError> {
    let mut spans = Vec::new();
    // Its parts share this copy.
    let request = ExportTraceServiceRequest::decode(Bytes::copy_from_slice(bytes))?;
    for bytes in request.resource_spans {
        let of_resource = ResourceSpans::decode(bytes)?;
        let service = service(of_resource.resource.unwrap_or_default())?;
        for bytes in of_resource.scope_spans {
            for bytes in ScopeSpans::decode(bytes)?.spans {
                push(&mut spans, span(bytes, &service)?)?;
            }
        }
    }
    Ok(spans)
}

/// The service name of a resource; empty where missing.
fn service(resource: Resource) -> Result<Arc<str>, OtlpDecodeError> {
    for bytes in resource.attributes {
        let attribute = KeyValue::decode(bytes)?;
        if &attribute.key[..] == b"service.name" {
            return Ok(Arc::from(text_of(attribute.value)?.unwrap_or_default()));
        }
    }
    Ok(Arc::from(""))
}

/// A value that is a text or a whole number, as text.
fn text_of(value: Bytes) -> Result<Option<String>, OtlpDecodeError> {
    let value = AnyValue::decode(value)?;
    let text = value.string_value.map(|text| shortened_bytes(&text));
    Ok(text.or(value.int_value.map(|number| number.to_string())))
}

pub(super) fn shortened_bytes(text: &[u8]) -> String {
    shortened(&String::from_utf8_lossy(text))
}

fn span(bytes: Bytes, service: &Arc<str>) -> Result<OtlpSpan, OtlpDecodeError> {
    let read = Span::decode(bytes)?;
    let short_id = |bytes: &[u8], what: &str| -> Result<u64, OtlpDecodeError> {
        let id = id(bytes, SPAN_ID_LEN, what)?;
        Ok(u64::try_from(id).unwrap_or(0))
    };
    let mut span = OtlpSpan {
        trace: id(&read.trace_id, TRACE_ID_LEN, "trace_id")?,
        id: short_id(&read.span_id, "span_id")?,
        parent: short_id(&read.parent_span_id, "parent_span_id")?,
        kind: SpanKind::numbered(read.kind),
        name: shortened_bytes(&read.name),
        start_ns: read.start_time_unix_nano,
        end_ns: read.end_time_unix_nano,
        is_error: read
            .status
            .is_some_and(|status| status.code == STATUS_ERROR),
        ..OtlpSpan::new(Arc::clone(service))
    };
    for bytes in read.attributes {
        let attribute = KeyValue::decode(bytes)?;
        let name = str::from_utf8(&attribute.key).unwrap_or_default();
        if is_relevant(name)
            && let Some(value) = text_of(attribute.value)?
        {
            span.put(name, value);
        }
    }
    span.finished()
}

/// An id of so many bytes, the highest first; 0 where missing.
fn id(bytes: &[u8], len: usize, what: &str) -> Result<u128, OtlpDecodeError> {
    if !bytes.is_empty() && bytes.len() != len {
        let have = bytes.len();
        return Err(OtlpDecodeError::new(format!(
            "{what} has {have} bytes: it must have {len}"
        )));
    }
    let folded = bytes
        .iter()
        .fold(0_u128, |sum, &byte| (sum << 8) | u128::from(byte));
    Ok(folded)
}
