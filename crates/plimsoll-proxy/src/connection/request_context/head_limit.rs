//! The limit of heads that a request or its response exceeded: its status does not tell, its log line does.

use plimsoll_wire::head::{HEAD_LEN_MAX, HEADERS_MAX};
use plimsoll_wire::request_head::{LINE_LEN_MAX, RequestError};

use super::super::DownstreamConnection;
use crate::exchange::UpstreamFailure;

/// A limit, and what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) struct HeadLimit {
    what: &'static str,
    max: usize,
}

impl HeadLimit {
    /// The limit that a request exceeded, if it did; a head has at most `head_len_max` bytes.
    pub(in crate::connection) fn of_request(
        error: RequestError,
        head_len_max: u32,
    ) -> Option<Self> {
        let (what, max) = match error {
            RequestError::LineTooLong => ("bytes of the request line", LINE_LEN_MAX),
            RequestError::HeadTooLong => ("bytes of the request head", head_len_max as usize),
            RequestError::TooManyHeaders => ("headers of the request", HEADERS_MAX),
            _ => return None,
        };
        Some(Self { what, max })
    }

    /// The limit that a response exceeded, if it did.
    pub(in crate::connection) fn of_response(failure: UpstreamFailure) -> Option<Self> {
        let (what, max) = match failure {
            UpstreamFailure::HeadTooLong => ("bytes of the response head", HEAD_LEN_MAX),
            UpstreamFailure::TooManyHeaders => ("headers of the response", HEADERS_MAX),
            _ => return None,
        };
        Some(Self { what, max })
    }

    fn text(self) -> String {
        format!("{} {}", self.max, self.what)
    }
}

impl DownstreamConnection {
    /// Notes a limit for the log line of the response.
    pub(in crate::connection) fn exceeded(&mut self, limit: HeadLimit) {
        self.context_mut().exceeded = Some(limit);
    }

    /// The noted limit in words.
    pub(in crate::connection) fn take_exceeded(&mut self) -> Option<String> {
        let limit = self.context.as_mut()?.exceeded.take()?;
        Some(limit.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_with_its_value() {
        let request = |error| HeadLimit::of_request(error, 32 << 10).map(HeadLimit::text);
        assert_eq!(
            request(RequestError::HeadTooLong).as_deref(),
            Some("32768 bytes of the request head")
        );
        assert_eq!(request(RequestError::Host), None);
        let response = HeadLimit::of_response(UpstreamFailure::TooManyHeaders);
        assert_eq!(response.unwrap().text(), "1000 headers of the response");
        assert_eq!(HeadLimit::of_response(UpstreamFailure::Reset), None);
    }
}
