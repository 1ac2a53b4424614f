//! The first phase: connections of clients.

pub mod listen;
pub mod proxy_header;
