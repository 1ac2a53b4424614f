//! HTTP messages as they pass: heads that are forwarded, bodies that are compressed, and bytes still to be written.

pub(crate) mod compress;
pub(crate) mod header_lines;
pub(crate) mod outgoing;
pub(crate) mod receive_buffer;
pub(crate) mod upstream_request;
