//! The client side of HTTP/1.1 as state machines over bytes.
//!
//! [`request::encode`] makes a request's bytes once; [`response::ResponseReader`] takes the answer in whatever
//! pieces the network delivers it. Neither does I/O, reads a clock or allocates per request on its usual path.
//!
//! What two readers of the same bytes could understand differently is refused, not guessed: see [`fault::Fault`].
//! However the bytes are split, the result is the same.

pub mod body;
pub mod fault;
pub mod head;
pub mod request;
pub mod response;
