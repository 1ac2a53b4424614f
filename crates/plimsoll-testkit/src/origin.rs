//! Origins on real sockets: servers with known behaviour, as a reference for measurements.
//!
//! [`known_law`] serves by a queueing law (FIFO, c servers, deterministic or exponential service), so that the right
//! result is a formula. [`fault`] misbehaves in one named way. [`http2`] is a server of HTTP/2, correct or not.
//! [`site`] has a login, forms and pages. All listen on a free port of the loopback address by default, run on their
//! own threads, and stop when the handle is dropped.
//!
//! They implement as much HTTP as their purpose needs and are no example of a web server.

mod clock;
pub mod fault;
pub mod http2;
pub mod known_law;
mod request;
mod response;
pub mod site;

use std::io;

/// Raises this process's soft limit of open descriptors to its hard limit, and returns that limit.
///
/// An origin in the test's own process costs a second descriptor per connection; a thousand connections do not fit
/// into the usual soft limit of 1,024.
///
/// # Errors
/// When the kernel refuses the new limit.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}
