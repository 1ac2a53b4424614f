//! Responses to span messages.

use prost::Message;
use serde_json::json;

/// Why spans are dropped.
const DROPPED: &str = "more spans wait for their request than can be held";

/// How a message is written.
#[derive(Clone, Copy)]
pub(super) struct Packing {
    pub(super) is_json: bool,
    pub(super) is_packed: bool,
}

/// `google.rpc.Status`
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
}

#[derive(Clone, PartialEq, Message)]
struct ExportTraceServiceResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<ExportTracePartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct ExportTracePartialSuccess {
    #[prost(uint64, tag = "1")]
    rejected_spans: u64,
    #[prost(string, tag = "2")]
    error_message: String,
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
        let message = reason.to_owned();
        Self {
            status,
            reason: reason.to_owned(),
            is_json: packing.is_json,
            body: if packing.is_json {
                json!({ "message": message }).to_string().into_bytes()
            } else {
                Status { message }.encode_to_vec()
            },
            is_retried: false,
        }
    }

    /// A refusal of a message that was not read to its end.
    pub(super) fn refuse(status: u16, reason: &str) -> Self {
        let packing = Packing {
            is_json: true,
            is_packed: false,
        };
        Self::of(packing, status, reason)
    }

    pub(super) fn busy(reason: &str) -> Self {
        Self {
            is_retried: true,
            ..Self::refuse(503, reason)
        }
    }

    /// `ExportTraceServiceResponse`, with the number of dropped spans.
    pub(super) fn taken(packing: Packing, dropped: u64) -> Self {
        let body = match (packing.is_json, dropped) {
            (true, 0) => b"{}".to_vec(),
            (true, dropped) => {
                let partial =
                    json!({ "rejectedSpans": dropped.to_string(), "errorMessage": DROPPED });
                json!({ "partialSuccess": partial })
                    .to_string()
                    .into_bytes()
            }
            (false, dropped) => {
                let partial = (dropped > 0).then(|| ExportTracePartialSuccess {
                    rejected_spans: dropped,
                    error_message: DROPPED.to_owned(),
                });
                ExportTraceServiceResponse {
                    partial_success: partial,
                }
                .encode_to_vec()
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
