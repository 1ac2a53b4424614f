//! Why bytes are not an acceptable HTTP/1.1 response.

use thiserror::Error;

/// Why a response is refused. Its connection cannot be used any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Http1Error {
    /// The bytes do not start with `HTTP/1.`.
    #[error("the response does not start with `HTTP/1.`")]
    NotHttp,
    /// A line of the head, a chunk line or a trailer ends without a carriage return.
    #[error("a line ends with a bare line feed")]
    BareLineFeed,
    /// The head is longer than this limit, bytes.
    #[error("the head is longer than {0} bytes")]
    HeadTooLong(usize),
    /// The head has more headers than this limit.
    #[error("the head has more than {0} headers")]
    TooManyHeaders(usize),
    /// The status line or a header breaks the grammar; a folded header does too.
    #[error("the head is not valid: {0}")]
    Head(httparse::Error),
    /// The status lies outside 100 to 999.
    #[error("the status is below 100")]
    Status,
    /// `101 Switching Protocols` without an upgrade request.
    #[error("the server switched protocols without an upgrade request")]
    UnaskedUpgrade,
    /// More than [`crate::limits::INTERIM_MAX`] interim responses in a row.
    #[error(
        "more than {} interim responses (1xx) in a row",
        crate::limits::INTERIM_MAX
    )]
    TooManyInterim,
    /// A `Content-Length` is not a number, or too large for one.
    #[error("the Content-Length is not a number")]
    ContentLength,
    /// Two `Content-Length` values differ.
    #[error("two Content-Length values differ")]
    ContentLengthsDiffer,
    /// Both `Content-Length` and `Transfer-Encoding` are present, as in request smuggling.
    #[error("both Content-Length and Transfer-Encoding are present")]
    TwoFramings,
    /// A transfer coding other than `chunked`, or any in HTTP/1.0.
    #[error("the Transfer-Encoding is not exactly `chunked`")]
    TransferEncoding,
    /// A chunk line, the end of a chunk or a trailer breaks the grammar.
    #[error("the chunked body is not valid")]
    Chunk,
    /// A chunk line or the trailers are longer than their limits.
    #[error("a chunk line or the trailers are too long")]
    ChunkTooLong,
    /// The body is longer than the limit handed in.
    #[error("the body is longer than its limit")]
    BodyTooLong,
}
