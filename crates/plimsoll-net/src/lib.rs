//! What the proxy and the hub both stand on: the clock and deadlines of an event loop, its metrics and memory, the sockets
//! of clients and servers, and TLS towards servers. Links listen with it too.
//!
//! It knows neither requests nor messages.

pub mod chunk_writer;
pub mod client_socket;
pub mod clock;
pub mod deadline;
pub mod fragment_outcome;
pub mod listener;
pub mod loop_metrics;
pub mod loop_state;
pub mod memory;
pub mod notice;
pub mod outbound;
pub mod reason;
pub mod stream;
pub mod tls_error;
pub mod upstream;

pub use plimsoll_model::lock;
