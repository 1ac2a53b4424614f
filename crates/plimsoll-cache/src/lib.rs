//! A shared HTTP cache without I/O: what may be stored, what may be reused, and where it is kept.
//!
//! Nothing here reads a clock or a socket: heads come as slices, time as seconds, and answers are data.

pub mod store;
