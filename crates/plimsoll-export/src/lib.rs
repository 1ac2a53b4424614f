//! Sends the metrics of a run, while it goes on, to what people already watch.
//!
//! An [`Exporter`] follows the events of a run and turns each second of results or readings into points. A thread for each
//! destination sends them. Nothing here holds up a run: queues are bounded, and what does not fit is dropped and counted.

mod aggregate;
mod clock;
mod definition;
mod experiment;
mod exponential;
mod exporter;
mod http;
mod prometheus;
mod record;
mod request;
mod resolver;
mod send_error;
mod target;

pub use exporter::{Exporter, Report};
pub use request::{ExportHeader, ExportRequest, RequestError};
