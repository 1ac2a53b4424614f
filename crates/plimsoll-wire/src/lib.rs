//! HTTP/1.1, WebSocket and what of PostgreSQL's protocol several need, as state machines over bytes.
//!
//! The client's side: [`request::encode`] makes a request's bytes once; [`response::ResponseReader`] takes the answer
//! in whatever pieces the network delivers it. The server's side: [`request_head::parse`] reads the head of a request,
//! [`framing::BodyReader`] what follows a head on either side. [`websocket`] is both sides of what a connection may
//! become, [`event_stream`] what a client reads of Server-Sent Events. None does I/O, reads a clock or allocates per
//! request on its usual path.
//!
//! What two readers of the same bytes could understand differently is refused, not guessed: see [`fault::Fault`].
//! However the bytes are split, the result is the same.

pub mod body;
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
pub mod websocket;
