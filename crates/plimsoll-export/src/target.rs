//! The destinations: each turns records into what its receiver understands.

mod annotations;
mod file;
mod hlog;
mod influx;
mod jsonl;
mod otlp;
mod remote_write;
mod scrape;
mod statsd;

use std::sync::Arc;

use crate::record::{Record, RunLabels};
use crate::request::{Destination, ExportHeader, ExportRequest};
use crate::send_error::SendError;

/// A destination that is open.
pub(crate) trait Target: Send {
    /// Sends some records, older ones first. After an error none of them counts as sent.
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError>;

    /// Where people find it, if it is a page.
    fn address(&self) -> Option<String> {
        None
    }

    /// Sends what marks the end.
    fn close(&mut self) -> Result<(), SendError> {
        Ok(())
    }
}

/// Opens a destination.
///
/// # Errors
/// Why it cannot be used: the port is taken, the file exists.
pub(crate) fn open(
    request: &ExportRequest,
    headers: &[ExportHeader],
    run: &RunLabels,
) -> Result<Box<dyn Target>, String> {
    let receiver = |url| crate::http::Receiver::new(url, request.kind(), headers);
    let run = run.clone();
    Ok(match &request.destination {
        Destination::RemoteWrite(url) => {
            Box::new(remote_write::RemoteWrite::new(receiver(url), run))
        }
        Destination::Scrape(address) => Box::new(scrape::ScrapePage::serve(*address, run)?),
        Destination::Otlp(url) => Box::new(otlp::Otlp::new(receiver(url), run)),
        Destination::Influx(url) => Box::new(influx::Influx::to_server(receiver(url), run)),
        Destination::InfluxFile(path) => Box::new(influx::Influx::to_file(path, run)?),
        Destination::Statsd(address, tags) => Box::new(statsd::Statsd::open(*address, *tags, run)?),
        Destination::Hlog(path) => Box::new(hlog::Hlog::create(path, run)?),
        Destination::Jsonl(path) => Box::new(jsonl::Jsonl::create(path, run)?),
        Destination::Grafana(url) => Box::new(annotations::Annotations::new(receiver(url), run)),
    })
}

/// A destination that could not be opened: everything is dropped, with the reason.
pub(crate) struct Unavailable(pub(crate) String);

impl Target for Unavailable {
    fn send(&mut self, _: &[Arc<Record>]) -> Result<(), SendError> {
        Err(SendError {
            message: self.0.clone(),
            may_repeat: false,
        })
    }
}
