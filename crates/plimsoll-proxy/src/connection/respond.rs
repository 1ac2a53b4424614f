//! Synthetic responses, sent on a client connection.

use std::net::IpAddr;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use plimsoll_hub_io::browser_client::File;
use plimsoll_net::clock;
use plimsoll_net::reason::Reason;
use plimsoll_wire::request_head::{RequestError, RequestHead};

use super::admitted::{Admitted, ResponseContext};
use super::request_context::HeadLimit;
use super::{After, DownstreamConnection, RequestStage};
use crate::exchange::Exchange;
use crate::lookup::fetch::Fetch;
use crate::respond::head::ConnectionHeader;
use crate::respond::synthetic_response::{self, ResponseOptions, WaitingPage};
use crate::settings::Settings;
use crate::telemetry::access_log_entry::{self, RequestOutcome};
use crate::telemetry::moments::Moments;

impl DownstreamConnection {
    /// Rejects bytes that are not a valid request.
    pub(super) fn refuse_bad(&mut self, error: RequestError) {
        let limits = self.event_loop.settings().limits;
        if let Some(limit) = HeadLimit::of_request(error, limits.head_len_max) {
            self.exceeded(limit);
        }
        self.refuse_early(error.status(), Reason::BadRequest);
    }

    /// Rejects a request before its head was read.
    pub(super) fn refuse_early(&mut self, status: u16, reason: Reason) {
        let own = ResponseContext {
            moments: Moments {
                began: self.event_loop.clock.now(),
                ..Moments::default()
            },
            ..ResponseContext::default()
        };
        let mut line = Vec::new();
        let log = self.event_loop.log.borrow();
        if log.is_enabled() && !self.client.is_inner() {
            access_log_entry::begin_unread(&mut line, log.format, self.peer.text());
        }
        drop(log);
        self.answer_in_words(&own, status, reason, "", &line);
    }

    /// Rejects a partial request: there is no memory for the rest.
    pub(super) fn shed(&mut self) {
        self.event_loop.figures.memory_full.increment();
        self.refuse_early(503, Reason::Shed);
    }

    /// Rejects a request whose head was read, with the fallback if permitted.
    pub(super) fn refuse_head(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        status: u16,
        reason: Reason,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, head, client);
        let settings = self.event_loop.settings();
        self.refuse(&settings, own, status, reason, &line);
    }

    /// Rejects a request that did not reach a server, unless a stale response can be served.
    pub(super) fn refuse_request(
        &mut self,
        request: &Admitted<'_>,
        fetch: Option<Box<Fetch>>,
        status: u16,
        reason: Reason,
    ) {
        if let Some(fetch) = fetch {
            let mut line = Vec::new();
            self.begin_line(&mut line, request.head, request.client);
            let (copy, keyed) = fetch.fail();
            if self.stands_in(copy, &keyed, request.settings, &request.own, &line, None) {
                return;
            }
        }
        self.refuse_head(request.head, request.client, &request.own, status, reason);
    }

    /// Rejects a request in progress.
    pub(super) fn refuse_exchange(&mut self, exchange: &mut Exchange, status: u16, reason: Reason) {
        self.take_back(exchange);
        let fetch = exchange.take_fetch();
        let own = ResponseContext {
            facts: exchange.facts(),
            has_body: exchange.has_unread_body(),
            moments: exchange.record().moments(),
        };
        // Its own settings: a reload may have changed the routes.
        let settings = exchange.settings();
        let settings = settings.unwrap_or_else(|| self.event_loop.settings());
        if let Some(fetch) = fetch {
            let (copy, keyed) = fetch.fail();
            if self.stands_in(
                copy,
                &keyed,
                &settings,
                &own,
                exchange.record().line(),
                None,
            ) {
                return;
            }
        }
        self.refuse(&settings, &own, status, reason, exchange.record().line());
    }

    pub(super) fn refuse(
        &mut self,
        settings: &Settings,
        own: &ResponseContext,
        status: u16,
        reason: Reason,
        line: &[u8],
    ) {
        if self.client.is_nobody() {
            self.stage = RequestStage::Over;
            return;
        }
        if own.facts.takes_page && reason.may_fall_back() {
            let route = settings.routes.get(own.facts.route);
            if let Some(page) = route.page(self.path()) {
                let after = after(own);
                let mut bytes = self.event_loop.spare_bytes();
                // A fragment is compressed together with its page.
                let is_inner = self.client.is_inner();
                synthetic_response::fallback(
                    &mut bytes,
                    &page,
                    own.facts.coding.filter(|_| !is_inner),
                    manner(own, after, &self.event_loop.date.borrow()),
                );
                self.event_loop.figures.fallback_causes[reason as usize].increment();
                return self.send_own(bytes, after, own, 200, Reason::Fallback, line);
            }
            if let Some(page) = self.waiting_page(settings, own) {
                return self.answer_waiting(own, &page, line);
            }
        }
        let extra = match status {
            405 => "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n".to_owned(),
            // Randomized, so that clients rejected together do not retry together.
            429 | 503 => format!("Retry-After: {}\r\n", 1 + self.event_loop.random() % 5),
            _ => String::new(),
        };
        self.answer_in_words(own, status, reason, &extra, line);
    }

    /// Answers with the waiting page.
    pub(super) fn answer_waiting(
        &mut self,
        own: &ResponseContext,
        page: &WaitingPage,
        line: &[u8],
    ) {
        let after = after(own);
        let mut bytes = self.event_loop.spare_bytes();
        let date = self.event_loop.date.borrow();
        synthetic_response::waiting(&mut bytes, page, manner(own, after, &date));
        drop(date);
        self.send_own(bytes, after, own, 503, Reason::Waiting, line);
    }

    /// A short text response.
    pub(super) fn answer_in_words(
        &mut self,
        own: &ResponseContext,
        status: u16,
        reason: Reason,
        extra: &str,
        line: &[u8],
    ) {
        // After unparsable input, nothing more is read.
        let after = match reason {
            Reason::BadRequest => After::Close,
            _ => after(own),
        };
        let mut bytes = self.event_loop.spare_bytes();
        let date = self.event_loop.date.borrow();
        synthetic_response::words(&mut bytes, status, reason, extra, manner(own, after, &date));
        drop(date);
        self.send_own(bytes, after, own, status, reason, line);
    }

    /// A response with an explanation besides its reason; `why` comes with complete header lines.
    pub(super) fn answer_explained(
        &mut self,
        own: &ResponseContext,
        status: u16,
        reason: Reason,
        why: (&str, &str),
        line: &[u8],
    ) {
        let after = after(own);
        let mut bytes = self.event_loop.spare_bytes();
        let date = self.event_loop.date.borrow();
        synthetic_response::explained(&mut bytes, status, reason, why, manner(own, after, &date));
        drop(date);
        self.send_own(bytes, after, own, status, reason, line);
    }

    /// A plain text response; `extra` are complete header lines.
    pub(super) fn answer_text(
        &mut self,
        own: &ResponseContext,
        text: &str,
        extra: &str,
        line: &[u8],
    ) {
        let after = after(own);
        let mut bytes = self.event_loop.spare_bytes();
        let date = self.event_loop.date.borrow();
        synthetic_response::text(&mut bytes, text, extra, manner(own, after, &date));
        drop(date);
        self.send_own(bytes, after, own, 200, Reason::Hub, line);
    }

    /// A document of the hub; `extra` are complete header lines.
    pub(super) fn answer_document(
        &mut self,
        own: &ResponseContext,
        media_type: &str,
        document: &str,
        extra: &str,
        line: &[u8],
    ) {
        let after = after(own);
        let mut bytes = self.event_loop.spare_bytes();
        let date = self.event_loop.date.borrow();
        let content = (media_type, document);
        synthetic_response::document(&mut bytes, content, extra, manner(own, after, &date));
        drop(date);
        self.send_own(bytes, after, own, 200, Reason::Hub, line);
    }

    /// A file of the hub's browser client.
    pub(super) fn answer_file(
        &mut self,
        own: &ResponseContext,
        file: &File,
        is_known: bool,
        line: &[u8],
    ) {
        let after = after(own);
        let mut bytes = self.event_loop.spare_bytes();
        let date = self.event_loop.date.borrow();
        synthetic_response::file(&mut bytes, file, is_known, manner(own, after, &date));
        drop(date);
        let status = if is_known { 304 } else { 200 };
        self.send_own(bytes, after, own, status, Reason::Hub, line);
    }

    fn send_own(
        &mut self,
        bytes: Vec<u8>,
        after: After,
        own: &ResponseContext,
        status: u16,
        reason: Reason,
        line: &[u8],
    ) {
        let event_loop = Rc::clone(&self.event_loop);
        let figures = &event_loop.figures;
        figures.own[reason as usize].increment();
        if !self.client.is_inner() {
            figures.statuses[usize::from(status / 100 - 1).min(4)].increment();
            figures.bytes_out.add(bytes.len() as u64);
        }
        let limit = self.take_exceeded();
        if self.is_reported(line) {
            let outcome = RequestOutcome {
                status,
                bytes: bytes.len() as u64,
                reason: Some(reason.name()),
                limit: limit.as_deref(),
                server: None,
                moments: own.moments,
                ended: event_loop.clock.now(),
                wall: clock::wall(),
            };
            self.write_line(line, &outcome);
            self.end_trace(&outcome);
        }
        self.timer
            .set(&event_loop, event_loop.settings().ticks.write);
        self.stage = RequestStage::Answering(bytes.into(), after);
    }

    /// Sends the response.
    pub(super) fn poll_answering(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let RequestStage::Answering(out, after) = &mut self.stage else {
            return Poll::Ready(());
        };
        let after = *after;
        while !out.is_empty() {
            match ready!(self.client.poll_write(cx, out.left(), &[])) {
                Ok(count) if count > 0 => out.advance(count),
                _ => {
                    self.stage = RequestStage::Over;
                    return Poll::Ready(());
                }
            }
        }
        if ready!(self.client.poll_flush(cx)).is_err() {
            self.stage = RequestStage::Over;
            return Poll::Ready(());
        }
        if let RequestStage::Answering(out, _) = &mut self.stage {
            let bytes = out.take_bytes();
            self.event_loop.return_bytes(bytes);
        }
        self.follow_answer(after);
        Poll::Ready(())
    }

    /// Whether this is a subrequest for an ESI fragment.
    pub(super) fn is_fragment(&self) -> bool {
        self.client
            .inner()
            .is_some_and(|inner| inner.fragment.is_some())
    }
}

pub(super) fn after(own: &ResponseContext) -> After {
    if own.facts.keep_alive && !own.has_body {
        After::NextRequest
    } else {
        After::Close
    }
}

/// The `Connection` header of a response, by what follows it.
pub(super) fn connection_header(own: &ResponseContext, after: After) -> ConnectionHeader {
    ConnectionHeader::new(after == After::NextRequest, own.facts.is_1_1)
}

fn manner<'a>(own: &ResponseContext, after: After, date: &'a str) -> ResponseOptions<'a> {
    ResponseOptions {
        head_only: own.facts.is_head,
        connection: connection_header(own, after),
        date,
    }
}
