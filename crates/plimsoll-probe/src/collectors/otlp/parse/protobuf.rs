//! The protobuf of `opentelemetry/proto/trace/v1/trace.proto`, as far as it is kept.

use std::sync::Arc;

use super::{
    OtlpDecodeError, OtlpSpan, SPAN_ID_LEN, STATUS_ERROR, SpanKind, TRACE_ID_LEN, is_relevant,
    push, shortened,
};

/// Longest number of variable length, bytes.
const VARINT_LEN_MAX: usize = 10;

/// The value of a field.
#[derive(Clone, Copy, Debug)]
enum ProtobufValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> ProtobufValue<'a> {
    /// What is a text, bytes or a message.
    fn bytes(self, what: &str) -> Result<&'a [u8], OtlpDecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(OtlpDecodeError::new(format!(
                "{what} is a number, not bytes: not an ExportTraceServiceRequest"
            ))),
        }
    }

    fn number(self, what: &str) -> Result<u64, OtlpDecodeError> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(OtlpDecodeError::new(format!(
                "{what} is not a number: not an ExportTraceServiceRequest"
            ))),
        }
    }
}

/// The fields of a message, one after the other.
#[derive(Clone, Copy, Debug)]
struct ProtobufFields<'a> {
    rest: &'a [u8],
    /// Its name, for faults.
    of: &'static str,
}

impl<'a> ProtobufFields<'a> {
    fn new(rest: &'a [u8], of: &'static str) -> Self {
        Self { rest, of }
    }

    fn error(&self, why: &str) -> OtlpDecodeError {
        let left = self.rest.len();
        OtlpDecodeError::new(format!("{why}, {left} bytes before the end of {}", self.of))
    }

    fn varint(&mut self) -> Result<u64, OtlpDecodeError> {
        let (mut number, mut shift) = (0_u64, 0_u32);
        for (index, &byte) in self.rest.iter().take(VARINT_LEN_MAX).enumerate() {
            // Of the tenth byte only one bit fits; the others are dropped.
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(number);
            }
        }
        Err(self.error("a number does not end"))
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], OtlpDecodeError> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.error("a field is longer than the rest of the message"));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn fixed<const LEN: usize>(&mut self) -> Result<u64, OtlpDecodeError> {
        let taken = self.take(LEN as u64)?;
        let folded = taken
            .iter()
            .rev()
            .fold(0_u64, |sum, &byte| (sum << 8) | u64::from(byte));
        Ok(folded)
    }

    /// Number and value of the next field.
    fn next(&mut self) -> Result<Option<(u64, ProtobufValue<'a>)>, OtlpDecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => ProtobufValue::Number(self.varint()?),
            1 => ProtobufValue::Number(self.fixed::<8>()?),
            2 => {
                let len = self.varint()?;
                ProtobufValue::Bytes(self.take(len)?)
            }
            5 => ProtobufValue::Number(self.fixed::<4>()?),
            _ => return Err(self.error("a field has an unknown wire type")),
        };
        match tag >> 3 {
            0 => Err(self.error("a field has the number 0")),
            number => Ok(Some((number, value))),
        }
    }
}

/// Reads a message of spans.
///
/// # Errors
/// When the bytes break the format, with the reason.
pub fn from_protobuf(bytes: &[u8]) -> Result<Vec<OtlpSpan>, OtlpDecodeError> {
    let mut spans = Vec::new();
    let mut fields = ProtobufFields::new(bytes, "the message");
    while let Some((number, value)) = fields.next()? {
        if number == 1 {
            resource_spans(value.bytes("resource_spans")?, &mut spans)?;
        }
    }
    Ok(spans)
}

/// Spans of one resource, which is a service.
fn resource_spans(bytes: &[u8], spans: &mut Vec<OtlpSpan>) -> Result<(), OtlpDecodeError> {
    let all = ProtobufFields::new(bytes, "resource_spans");
    let mut service: Arc<str> = Arc::from("");
    let mut fields = all;
    while let Some((number, value)) = fields.next()? {
        if number == 1 {
            let resource = value.bytes("resource")?;
            service = self::service(resource)?.unwrap_or(service);
        }
    }
    let mut fields = all;
    while let Some((number, value)) = fields.next()? {
        if number != 2 {
            continue;
        }
        let mut scope = ProtobufFields::new(value.bytes("scope_spans")?, "scope_spans");
        while let Some((number, value)) = scope.next()? {
            if number == 2 {
                push(spans, span(value.bytes("a span")?, &service)?)?;
            }
        }
    }
    Ok(())
}

/// The service name of a resource.
fn service(bytes: &[u8]) -> Result<Option<Arc<str>>, OtlpDecodeError> {
    let mut fields = ProtobufFields::new(bytes, "resource");
    while let Some((number, value)) = fields.next()? {
        if number != 1 {
            continue;
        }
        let (name, value) = attribute(value.bytes("an attribute")?)?;
        if name == b"service.name" {
            return Ok(text_of(value)?.map(Arc::from));
        }
    }
    Ok(None)
}

/// An attribute's name, and its raw value.
fn attribute(bytes: &[u8]) -> Result<(&[u8], &[u8]), OtlpDecodeError> {
    let (mut name, mut value) = (&b""[..], &b""[..]);
    let mut fields = ProtobufFields::new(bytes, "an attribute");
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => name = field.bytes("an attribute's key")?,
            2 => value = field.bytes("an attribute's value")?,
            _ => {}
        }
    }
    Ok((name, value))
}

/// A value that is a text or a whole number, as text.
fn text_of(value: &[u8]) -> Result<Option<String>, OtlpDecodeError> {
    let mut fields = ProtobufFields::new(value, "an attribute's value");
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => {
                let text = String::from_utf8_lossy(field.bytes("a text")?);
                return Ok(Some(shortened(&text)));
            }
            3 => return Ok(Some(field.number("a whole number")?.to_string())),
            _ => {}
        }
    }
    Ok(None)
}

fn span(bytes: &[u8], service: &Arc<str>) -> Result<OtlpSpan, OtlpDecodeError> {
    let mut span = OtlpSpan::new(Arc::clone(service));
    let mut fields = ProtobufFields::new(bytes, "a span");
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => span.trace = id(value.bytes("trace_id")?, TRACE_ID_LEN, "trace_id")?,
            2 => span.id = short_id(value.bytes("span_id")?, "span_id")?,
            4 => {
                let parent = value.bytes("parent_span_id")?;
                if !parent.is_empty() {
                    span.parent = short_id(parent, "parent_span_id")?;
                }
            }
            5 => span.name = shortened(&String::from_utf8_lossy(value.bytes("a span's name")?)),
            6 => span.kind = SpanKind::numbered(value.number("kind")?),
            7 => span.start_ns = value.number("start_time_unix_nano")?,
            8 => span.end_ns = value.number("end_time_unix_nano")?,
            9 => {
                let (name, value) = attribute(value.bytes("attributes")?)?;
                let name = str::from_utf8(name).unwrap_or_default();
                if is_relevant(name)
                    && let Some(value) = text_of(value)?
                {
                    span.put(name, value);
                }
            }
            15 => {
                let mut status = ProtobufFields::new(value.bytes("status")?, "a status");
                while let Some((number, value)) = status.next()? {
                    if number == 3 {
                        span.is_error = value.number("a status' code")? == STATUS_ERROR;
                    }
                }
            }
            _ => {}
        }
    }
    span.finished()
}

fn short_id(bytes: &[u8], what: &str) -> Result<u64, OtlpDecodeError> {
    let id = id(bytes, SPAN_ID_LEN, what)?;
    Ok(u64::try_from(id).unwrap_or(0))
}

/// An id of so many bytes, the highest first.
fn id(bytes: &[u8], len: usize, what: &str) -> Result<u128, OtlpDecodeError> {
    if bytes.len() != len {
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
