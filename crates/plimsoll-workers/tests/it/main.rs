//! Coordinators and workers over loopback, with an origin that counts.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod arrivals;
mod carrying;
mod strangers;
mod support;
