//! Responses to span messages.

/// How a message is written.
#[derive(Clone, Copy)]
pub(super) struct Packing {
    pub(super) is_json: bool,
    pub(super) is_packed: bool,
}

/// A response.
pub(super) struct OtlpResponse {
    pub(super) status: u16,
    pub(super) reason: String,
    is_json: bool,
    body: Vec<u8>,
    is_retried: bool,
}

impl OtlpResponse {
    /// A refusal, as `google.rpc.Status` in the encoding of the request.
    pub(super) fn of(packing: Packing, status: u16, reason: &str) -> Self {
        let body = if packing.is_json {
            serde_json::json!({ "message": reason })
                .to_string()
                .into_bytes()
        } else {
            field(2, reason.as_bytes())
        };
        Self {
            status,
            reason: reason.to_owned(),
            is_json: packing.is_json,
            body,
            is_retried: false,
        }
    }

    /// A refusal of a message that was not read to its end.
    pub(super) fn refuse(status: u16, reason: &str) -> Self {
        Self {
            status,
            reason: reason.to_owned(),
            is_json: true,
            body: serde_json::json!({ "message": reason })
                .to_string()
                .into_bytes(),
            is_retried: false,
        }
    }

    pub(super) fn busy(reason: &str) -> Self {
        Self {
            is_retried: true,
            ..Self::refuse(503, reason)
        }
    }

    /// `ExportTraceServiceResponse`, with the number of dropped spans.
    pub(super) fn taken(packing: Packing, refused: u64) -> Self {
        let why = "more spans wait for their request than can be held";
        let body = match (packing.is_json, refused) {
            (true, 0) => b"{}".to_vec(),
            (false, 0) => Vec::new(),
            (true, refused) => {
                let partial = serde_json::json!({
                    "rejectedSpans": refused.to_string(),
                    "errorMessage": why,
                });
                serde_json::json!({ "partialSuccess": partial })
                    .to_string()
                    .into_bytes()
            }
            (false, refused) => {
                let mut partial = vec![1 << 3];
                varint(&mut partial, refused);
                partial.extend(field(2, why.as_bytes()));
                field(1, &partial)
            }
        };
        Self {
            status: 200,
            reason: String::new(),
            is_json: packing.is_json,
            body,
            is_retried: false,
        }
    }

    pub(super) fn bytes(&self, keep_alive: bool) -> Vec<u8> {
        let name = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            503 => "Service Unavailable",
            _ => "Refused",
        };
        let kind = if self.is_json {
            "application/json"
        } else {
            "application/x-protobuf"
        };
        let mut text = format!(
            "HTTP/1.1 {} {name}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n",
            self.status,
            self.body.len()
        );
        if self.is_retried {
            text.push_str("Retry-After: 1\r\n");
        }
        if self.status == 405 {
            text.push_str("Allow: POST\r\n");
        }
        if !keep_alive {
            text.push_str("Connection: close\r\n");
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }
}

/// A field of bytes, as protobuf writes it.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut written = vec![(number << 3) | 2];
    varint(&mut written, bytes.len() as u64);
    written.extend_from_slice(bytes);
    written
}

fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(0x80 | u8::try_from(number & 0x7f).unwrap_or(0));
        number >>= 7;
    }
    to.push(u8::try_from(number).unwrap_or(0));
}
