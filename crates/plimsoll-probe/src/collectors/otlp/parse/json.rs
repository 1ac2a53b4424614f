//! The JSON encoding of OTLP: ids as hexadecimal text, numbers of 64 bits as text.

use std::sync::Arc;

use serde_json::Value;

use super::{
    OtlpDecodeError, OtlpSpan, SPAN_ID_LEN, STATUS_ERROR, SpanKind, TRACE_ID_LEN, is_relevant,
    push, shortened,
};

/// Reads a message of spans.
///
/// # Errors
/// When the text is not JSON, or not OTLP, with the reason.
pub fn from_json(bytes: &[u8]) -> Result<Vec<OtlpSpan>, OtlpDecodeError> {
    let root = root(bytes, "resourceSpans")?;
    let mut spans = Vec::new();
    for resource in list(&root, "resourceSpans")? {
        let attributes = resource.get("resource").unwrap_or(&Value::Null);
        let mut service: Arc<str> = Arc::from("");
        for (name, value) in attributes_of(attributes)? {
            if name == "service.name" {
                service = Arc::from(value);
            }
        }
        for scope in list(resource, "scopeSpans")? {
            for item in list(scope, "spans")? {
                push(&mut spans, span(item, &service)?)?;
            }
        }
    }
    Ok(spans)
}

/// The object of a message, which holds `list`.
pub(super) fn root(bytes: &[u8], list: &str) -> Result<Value, OtlpDecodeError> {
    let root: Value = serde_json::from_slice(bytes)
        .map_err(|error| OtlpDecodeError::new(format!("invalid JSON: {error}")))?;
    if !root.is_object() {
        let why = format!("the message is not an object: it must hold `{list}`");
        return Err(OtlpDecodeError::new(why));
    }
    Ok(root)
}

/// Items of the list of this name; empty without one.
pub(super) fn list<'a>(of: &'a Value, name: &str) -> Result<&'a [Value], OtlpDecodeError> {
    match of.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(OtlpDecodeError::new(format!("`{name}` is not a list"))),
    }
}

/// Names and values of attributes that are texts or whole numbers.
fn attributes_of(of: &Value) -> Result<impl Iterator<Item = (&str, String)>, OtlpDecodeError> {
    let items = list(of, "attributes")?.iter();
    Ok(items.filter_map(|item| {
        let value = item.get("value")?;
        let text = match value.get("stringValue") {
            Some(text) => shortened(text.as_str()?),
            None => number(value.get("intValue")?)?.to_string(),
        };
        Some((item.get("key")?.as_str()?, text))
    }))
}

/// A number, or a number in a string.
pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    }
}

fn span(of: &Value, service: &Arc<str>) -> Result<OtlpSpan, OtlpDecodeError> {
    let mut span = OtlpSpan::new(Arc::clone(service));
    let time = |name: &str| {
        number(of.get(name).unwrap_or(&Value::Null)).ok_or_else(|| {
            OtlpDecodeError::new(format!(
                "`{name}` of a span is not a number of nanoseconds since 1970"
            ))
        })
    };
    span.trace = id(of, "traceId", TRACE_ID_LEN)?.unwrap_or(0);
    let short = |name: &str| -> Result<u64, OtlpDecodeError> {
        let id = id(of, name, SPAN_ID_LEN)?.unwrap_or(0);
        Ok(u64::try_from(id).unwrap_or(0))
    };
    span.id = short("spanId")?;
    span.parent = short("parentSpanId")?;
    span.start_ns = time("startTimeUnixNano")?;
    span.end_ns = time("endTimeUnixNano")?;
    span.name = shortened(of.get("name").and_then(Value::as_str).unwrap_or_default());
    span.kind = SpanKind::numbered(of.get("kind").and_then(Value::as_u64).unwrap_or(0));
    let code = of.get("status").and_then(|status| status.get("code"));
    span.is_error = code.and_then(Value::as_u64) == Some(STATUS_ERROR);
    for (name, value) in attributes_of(of)? {
        if is_relevant(name) {
            span.put(name, value);
        }
    }
    span.finished()
}

/// An id of this many bytes in hexadecimal digits; `None` where there is none.
fn id(of: &Value, name: &str, len: usize) -> Result<Option<u128>, OtlpDecodeError> {
    let text = match of.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_str().unwrap_or("?"),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let digits = 2 * len;
    let is_right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = u128::from_str_radix(text, 16)
        .ok()
        .filter(|_| is_right)
        .ok_or_else(|| {
            OtlpDecodeError::new(format!(
                "`{name}` of a span must be {digits} hexadecimal digits"
            ))
        })?;
    Ok(Some(id))
}
