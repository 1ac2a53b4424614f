//! HTTP/1.1, WebSocket and the shared parts of PostgreSQL's protocol, as state machines over bytes.
//!
//! The client side: [`request::encode`] builds a request's bytes once; [`response::ResponseReader`] reads the response
//! in pieces of any size. The server side: [`request_head::parse`] reads the head of a request,
//! [`framing::BodyReader`] the body after a head on either side. [`websocket`] is both sides of a WebSocket connection,
//! [`event_stream`] the client side of Server-Sent Events. [`tls`] is the verifier of those that accept any
//! certificate. None does I/O, reads a clock or allocates per request on its usual path.
//!
//! Bytes that two readers could interpret differently are refused, not guessed: see [`error::Http1Error`].
//! However the bytes are split, the result is the same.

mod body;
mod chunked;
mod content_meter;
pub mod error;
pub mod event_stream;
pub mod framing;
pub mod head;
pub mod limits;
pub mod postgres;
pub mod request;
pub mod request_head;
pub mod response;
pub mod sink;
pub mod tls;
pub mod websocket;
