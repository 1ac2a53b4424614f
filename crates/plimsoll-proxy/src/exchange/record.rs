//! What an exchange reports: times, bytes and server, for the access log, the metrics and the limit of its server.

use std::sync::Arc;

use plimsoll_net::clock::Nanoseconds;

use crate::balance::Permit;
use crate::balance::limit::LimitSample;
use crate::balance::server::UpstreamServer;
use crate::telemetry::moments::Moments;

/// The record of one exchange.
#[derive(Debug, Default)]
pub(crate) struct ExchangeRecord {
    moments: Moments,
    /// The beginning of its access-log entry.
    line: Vec<u8>,
    /// The name of the server will be reported.
    names_server: bool,
    /// The server that was contacted last.
    server: Option<Arc<UpstreamServer>>,
    /// Bytes sent to the client.
    bytes_out: u64,
}

impl ExchangeRecord {
    /// Resets what the next request does not set.
    pub(super) fn clear(&mut self) {
        self.moments = Moments::default();
        self.line.clear();
        self.server = None;
        self.bytes_out = 0;
    }

    /// Starts the record of a request that has come this far.
    pub(super) fn begin(&mut self, moments: Moments) {
        self.moments = moments;
    }

    /// The buffer for the beginning of its access-log entry.
    pub(crate) fn line_mut(&mut self) -> &mut Vec<u8> {
        &mut self.line
    }

    /// Whether the name of the server will be reported.
    pub(crate) fn set_names_server(&mut self, names_server: bool) {
        self.names_server = names_server;
    }

    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Takes the beginning of the access-log entry: another one completes it.
    pub(crate) fn take_line(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.line)
    }

    /// Nothing is logged.
    pub(super) fn clear_line(&mut self) {
        self.line.clear();
    }

    #[inline]
    pub(crate) fn moments(&self) -> Moments {
        self.moments
    }

    #[inline]
    pub(crate) fn began(&self) -> Nanoseconds {
        self.moments.began
    }

    /// A server was picked.
    #[inline]
    pub(super) fn admitted(&mut self, permit: &Permit) {
        self.moments.admitted = permit.granted;
        if self.names_server {
            self.server = Some(Arc::clone(&permit.server));
        }
    }

    /// An open connection to the server was there at once.
    #[inline]
    pub(super) fn reused(&mut self) {
        self.moments.connected = self.moments.admitted;
    }

    /// The connection to the server is ready.
    pub(super) fn connected(&mut self, now: Nanoseconds) {
        self.moments.connected = now;
    }

    /// The head of the response arrived.
    #[inline]
    pub(super) fn answered(&mut self, now: Nanoseconds) {
        self.moments.first_byte = now;
    }

    /// The latency of the server up to now.
    #[inline]
    pub(super) fn sample(&self, now: Nanoseconds, in_flight: u32, overload: bool) -> LimitSample {
        LimitSample {
            service: now.saturating_sub(self.moments.admitted),
            total: now.saturating_sub(self.moments.began),
            in_flight,
            overload,
        }
    }

    /// Bytes were sent to the client.
    #[inline]
    pub(super) fn sent(&mut self, count: usize) {
        self.bytes_out += count as u64;
    }

    /// Bytes sent to the client so far.
    #[inline]
    pub(crate) fn bytes_out(&self) -> u64 {
        self.bytes_out
    }

    pub(crate) fn server(&self) -> Option<&Arc<UpstreamServer>> {
        self.server.as_ref()
    }

    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server.as_ref().map(|server| server.name.as_str())
    }
}
