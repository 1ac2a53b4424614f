//! The access-log entry of a request, and its part in the figures.

use std::net::IpAddr;

use plimsoll_net::clock::{self, Nanoseconds};
use plimsoll_wire::request_head::RequestHead;

use super::DownstreamConnection;
use crate::exchange::{Exchange, ExchangeEnd};
use crate::fragments::pipe::Report;
use crate::telemetry::access_log_entry::{self, RequestOutcome};

impl DownstreamConnection {
    /// Writes the beginning of the access-log entry, if logging is on.
    pub(super) fn begin_line(
        &self,
        line: &mut Vec<u8>,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
    ) {
        let log = self.event_loop.log.borrow();
        // Subrequests are logged with their page.
        if !log.is_enabled() || self.client.is_inner() {
            return;
        }
        match client {
            Some(client) => access_log_entry::begin(line, log.format, &client.to_string(), head),
            None => access_log_entry::begin(line, log.format, self.peer.text(), head),
        }
    }

    /// Counts and logs a finished exchange.
    pub(super) fn report_exchange(&mut self, exchange: &Exchange, end: ExchangeEnd) {
        // These get a synthetic response, and are reported with it.
        let is_for_nobody = self.client.is_nobody();
        if is_for_nobody
            || matches!(
                end,
                ExchangeEnd::Failed(_) | ExchangeEnd::Refused(_) | ExchangeEnd::Diverted
            )
        {
            return;
        }
        let ended = self.event_loop.clock.now();
        if end == ExchangeEnd::ClientGone {
            self.count_gone();
        }
        let status = exchange.status().unwrap_or(0);
        self.count(
            status,
            exchange.record().bytes_out(),
            exchange.record().began(),
            ended,
        );
        if !self.is_reported(exchange.record().line()) {
            return;
        }
        let outcome = RequestOutcome {
            status: exchange.status().unwrap_or(499),
            bytes: exchange.record().bytes_out(),
            reason: match end {
                ExchangeEnd::ClientGone => Some("client-gone"),
                ExchangeEnd::Broken => Some("broken"),
                _ => None,
            },
            limit: None,
            server: exchange.record().server_name(),
            moments: exchange.record().moments(),
            ended,
            wall: clock::wall(),
        };
        self.write_line(exchange.record().line(), &outcome);
        self.end_trace(&outcome);
    }

    /// Whether a response is counted and logged.
    pub(super) fn is_reported(&self, line: &[u8]) -> bool {
        !line.is_empty() || self.context.is_some() || self.client.is_inner()
    }

    /// Counts a response with the bytes sent; status 0 means that no response had begun.
    pub(super) fn count(&self, status: u16, bytes: u64, began: Nanoseconds, ended: Nanoseconds) {
        if self.client.is_inner() {
            return;
        }
        let figures = &self.event_loop.figures;
        if status > 0 {
            figures.statuses[usize::from(status / 100 - 1).min(4)].increment();
        }
        figures.bytes_out.add(bytes);
        figures.answer_times.record(ended.saturating_sub(began));
    }

    /// Counts a client that disconnected.
    pub(super) fn count_gone(&self) {
        if !self.client.is_inner() {
            self.event_loop.figures.clients_gone.increment();
        }
    }

    pub(super) fn write_line(&self, begun: &[u8], outcome: &RequestOutcome<'_>) {
        if let Some(inner) = self.client.inner() {
            inner.report(Report {
                reason: outcome.reason,
                server: outcome.server.map(str::to_owned),
                moments: outcome.moments,
            });
        }
        if begun.is_empty() {
            return;
        }
        let mut log = self.event_loop.log.borrow_mut();
        let format = log.format;
        access_log_entry::end(log.next(), format, begun, outcome);
        log.flush_if_full(&self.event_loop.figures);
    }
}
