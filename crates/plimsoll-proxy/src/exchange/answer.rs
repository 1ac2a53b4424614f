//! The response of a server, from its first byte to its last.

use std::ops::Range;

use plimsoll_config::edge::BalancingPolicy;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::{self, BodyLength, HEAD_LEN_MAX, Head, Header};

use super::course::Course;
use super::response_body::ResponseBody;
use super::{Exchange, ExchangeEnd, Facts, Side, UpstreamFailure};
use crate::message::compress::Coded;
use crate::respond::forwarded::{self, Answering, Framing};
use crate::respond::head::ConnectionHeader;

/// Most consecutive interim responses.
const INTERIM_MAX: u8 = 32;

/// Progress of a response.
#[derive(Debug, Default)]
pub(super) struct UpstreamResponse {
    state: ResponseState,
    /// The received part of an incomplete head.
    partial: Vec<u8>,
    pub(super) body: ResponseBody,
    keeps_client: bool,
    keeps_server: bool,
    has_switched: bool,
    status: u16,
    interim: u8,
    /// Destination of the body.
    pub(super) course: Course,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ResponseState {
    #[default]
    Head,
    Body,
    Complete,
}

impl UpstreamResponse {
    pub(super) fn clear(&mut self) {
        let mut partial = std::mem::take(&mut self.partial);
        partial.clear();
        *self = Self {
            partial,
            ..Self::default()
        };
    }

    pub(super) fn status(&self) -> Option<u16> {
        (self.status > 0).then_some(self.status)
    }

    /// Memory of an incomplete head.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.partial.capacity()
    }

    #[inline]
    pub(super) fn is_coding(&self) -> bool {
        self.body.is_coding()
    }

    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.state == ResponseState::Complete
    }

    pub(super) fn has_begun(&self) -> bool {
        self.state != ResponseState::Head || !self.partial.is_empty() || self.interim > 0
    }

    pub(super) fn has_switched(&self) -> bool {
        self.has_switched
    }

    pub(super) fn keeps_client(&self) -> bool {
        self.keeps_client
    }
}

/// Framing of a response as sent to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeliveryPlan {
    framing: Framing,
    connection: ConnectionHeader,
    keeps_client: bool,
    length: BodyLength,
}

impl DeliveryPlan {
    fn of(head: &Head, facts: &Facts) -> Self {
        let has_no_body = facts.is_head || matches!(head.status, 204 | 304);
        let (framing, length, delimited) = match head.length {
            _ if head.status == 204 => (Framing::Nothing, BodyLength::Sized(0), true),
            _ if has_no_body => (Framing::AsIs, BodyLength::Sized(0), true),
            BodyLength::Sized(len) => (Framing::AsIs, BodyLength::Sized(len), true),
            length if facts.is_1_1 => (Framing::Chunked, length, true),
            // HTTP/1.0 has no chunked coding: the end of the connection ends the body.
            length => (Framing::AsIs, length, false),
        };
        let keeps_client = facts.keep_alive && delimited;
        Self {
            framing,
            connection: ConnectionHeader::new(keeps_client, facts.is_1_1),
            keeps_client,
            length,
        }
    }

    /// The length of a compressed body is not known in advance.
    fn coded(self, coded: Coded, is_head: bool) -> Self {
        let framing = match coded {
            Coded::As(_) if is_head => Framing::Nothing,
            Coded::As(_) => Framing::Chunked,
            _ => self.framing,
        };
        Self { framing, ..self }
    }
}

impl Exchange {
    /// Processes bytes from the server. Output is appended to `to_client`; returns the part of `bytes` that is to be
    /// sent after it unchanged.
    pub(super) fn take_answer(
        &mut self,
        bytes: &[u8],
        side: &Side<'_>,
    ) -> Result<Range<usize>, ExchangeEnd> {
        let mut at = 0;
        while self.answer.state == ResponseState::Head {
            match self.take_head(&bytes[at..], side) {
                Ok(Some(taken)) => at += taken,
                Ok(None) => return Ok(0..0),
                Err(error) => {
                    self.blame(side);
                    return Err(self.failure(match error {
                        Http1Error::HeadTooLong(_) => UpstreamFailure::HeadTooLong,
                        Http1Error::TooManyHeaders(_) => UpstreamFailure::TooManyHeaders,
                        _ => UpstreamFailure::BadAnswer,
                    }));
                }
            }
            if self.answer.has_switched {
                return Ok(at..bytes.len());
            }
        }
        let start = at;
        if !matches!(self.answer.course, Course::ToClient) {
            at += self.take_aside(&bytes[at..], side)?;
            self.end_if_complete(at == bytes.len(), side)?;
            return Ok(0..0);
        }
        if self.answer.body.is_transformed() {
            at += self.take_apart(&bytes[at..], side)?;
            self.end_if_complete(at == bytes.len(), side)?;
            return Ok(0..0);
        }
        let out = self.to_client.buffer();
        let is_plain = self.answer.body.is_plain();
        let taken = if is_plain {
            self.answer.body.read(&bytes[at..], |_| ())
        } else {
            self.answer.body.frame(&bytes[at..], out)
        };
        at += taken?;
        self.end_if_complete(at == bytes.len(), side)?;
        Ok(if is_plain { start..at } else { 0..0 })
    }

    /// Ends a response whose body is complete; excess bytes could be taken for the next response.
    fn end_if_complete(&mut self, is_all: bool, side: &Side<'_>) -> Result<(), ExchangeEnd> {
        if self.answer.body.is_complete() {
            self.answer.keeps_server &= is_all;
            self.end_body(side)?;
            self.complete(side);
        }
        Ok(())
    }

    /// Ends the body.
    fn end_body(&mut self, side: &Side<'_>) -> Result<(), ExchangeEnd> {
        let start = self.to_client.end();
        self.end_coding(side)?;
        self.end_keeping(start, side);
        Ok(())
    }

    /// Parses a head, if it is complete; returns its length in `bytes`.
    fn take_head(&mut self, bytes: &[u8], side: &Side<'_>) -> Result<Option<usize>, Http1Error> {
        if self.answer.partial.is_empty() {
            let Some(end) = head::find_end(bytes, 0)? else {
                self.answer.partial.extend_from_slice(bytes);
                return Ok(None);
            };
            self.on_head(&bytes[..end], side)?;
            return Ok(Some(end));
        }
        let scanned = self.answer.partial.len();
        let room = bytes.len().min(HEAD_LEN_MAX.saturating_sub(scanned));
        self.answer.partial.extend_from_slice(&bytes[..room]);
        let Some(end) = head::find_end(&self.answer.partial, scanned)? else {
            return Ok(None);
        };
        let mut partial = std::mem::take(&mut self.answer.partial);
        let taken = self.on_head(&partial[..end], side);
        partial.clear();
        self.answer.partial = partial;
        taken.map(|()| Some(end - scanned))
    }

    fn on_head(&mut self, bytes: &[u8], side: &Side<'_>) -> Result<(), Http1Error> {
        head::parse_with(bytes, |head, headers| match head.status {
            101 if self.facts.upgrade => {
                self.write_head(
                    bytes,
                    head,
                    headers,
                    Framing::Nothing,
                    ConnectionHeader::Upgrade,
                    Coded::Plain,
                    side,
                );
                self.answered(head, side);
                self.answer.has_switched = true;
                self.answer.state = ResponseState::Complete;
                Ok(())
            }
            101 => Err(Http1Error::UnaskedUpgrade),
            100..=199 => {
                self.answer.interim += 1;
                if self.answer.interim > INTERIM_MAX {
                    return Err(Http1Error::TooManyInterim);
                }
                // HTTP/1.0 has no interim responses.
                if self.facts.is_1_1 {
                    let (framing, connection) = (Framing::Nothing, ConnectionHeader::Omitted);
                    let coded = Coded::Plain;
                    self.write_head(bytes, head, headers, framing, connection, coded, side);
                }
                Ok(())
            }
            _ => {
                self.got_in(side);
                let (coded, coding) = self.coded(head, headers, side);
                let way = DeliveryPlan::of(head, &self.facts).coded(coded, self.facts.is_head);
                let course = self.course(bytes, head, headers, coded, way.length, side);
                let is_for_client = matches!(course, Course::ToClient);
                if is_for_client {
                    if let (Some(inner), Some(draft)) =
                        (side.client.inner(), self.draft(head, headers))
                    {
                        inner.mark(draft);
                    }
                    let (framing, connection) = (way.framing, way.connection);
                    self.write_head(bytes, head, headers, framing, connection, coded, side);
                }
                let coding = coding.filter(|_| !matches!(course, Course::Nowhere));
                let candidate = self.candidate(head, headers, side);
                self.answered(head, side);
                let answer = &mut self.answer;
                answer.course = course;
                answer.keeps_client = way.keeps_client;
                answer.keeps_server = head.keep_alive && way.length != BodyLength::Unspecified;
                let in_chunks = is_for_client && way.framing == Framing::Chunked;
                let reader = BodyReader::new(way.length, u64::MAX);
                answer.body = ResponseBody::new(reader, in_chunks, coding, candidate);
                answer.state = ResponseState::Body;
                Ok(())
            }
        })?
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all of them settle how one head is written"
    )]
    fn write_head(
        &mut self,
        bytes: &[u8],
        head: &Head,
        headers: &[Header<'_>],
        framing: Framing,
        connection: ConnectionHeader,
        coded: Coded,
        side: &Side<'_>,
    ) {
        let cookie = self.cookie();
        let settings = self.settings.as_ref();
        let route = settings.map(|settings| &settings.routes.get(self.facts.route).config);
        let edits = route.map_or(&[][..], |route| &route.answer_headers);
        let fallback = route.and_then(|route| route.learned_fallback.as_ref());
        let date = side.event_loop.date.borrow();
        let answering = Answering {
            framing,
            connection,
            date: &date,
            edits,
            cookies: [cookie.as_deref(), self.waiting_client.pass()]
                .map(|cookie| cookie.filter(|_| head.status >= 200)),
            coded,
            cache_status: self.cache.status().filter(|_| head.status >= 200),
            dropped: fallback.and_then(|fallback| fallback.header.as_deref()),
        };
        forwarded::write(self.to_client.buffer(), bytes, head, headers, &answering);
    }

    /// A client from the waiting room was answered by a server: it is admitted, and bypasses the waiting room from now
    /// on.
    fn got_in(&mut self, side: &Side<'_>) {
        let (Some((number, secure)), Some(settings)) =
            (self.waiting_client.take_number(), &self.settings)
        else {
            return;
        };
        let route = settings.routes.get(self.facts.route);
        if let Some(room) = &route.shared.waiting_room {
            let now = side.event_loop.clock.now();
            self.waiting_client.admit(room.got_in(number, now, secure));
        }
    }

    /// The stickiness cookie, if the client needs one.
    fn cookie(&self) -> Option<String> {
        let permit = self.link.permit()?;
        let BalancingPolicy::Cookie(name) = &permit.pool.config.load_balancer else {
            return None;
        };
        let hash = permit.server.hash;
        (!self.link.is_named(hash))
            .then(|| format!("{name}={hash:016x}; Path=/; HttpOnly; SameSite=Lax"))
    }

    /// Reports latency and outcome of a response to its pool.
    fn answered(&mut self, head: &Head, side: &Side<'_>) {
        self.answer.status = head.status;
        let now = side.event_loop.clock.now();
        self.record.answered(now);
        let Some(permit) = self.link.permit() else {
            return;
        };
        let overload = matches!(head.status, 429 | 503);
        let sample = self.record.sample(now, permit.in_flight, overload);
        permit.pool.answered(permit, now, sample, head.status < 500);
    }

    /// The last byte arrived: releases the permit and the connection, however slow the client is.
    fn complete(&mut self, side: &Side<'_>) {
        self.answer.state = ResponseState::Complete;
        self.answer.body.end_framing(self.to_client.buffer());
        let Some(permit) = self.link.take_permit() else {
            return;
        };
        let is_clean = self.upload.is_sent();
        if let Some(stream) = self.link.take()
            && self.answer.keeps_server
            && is_clean
        {
            let config = &permit.pool.config;
            let keep = config.timeouts.keep_alive;
            let event_loop = side.event_loop;
            event_loop.put_idle(&permit.server, stream, keep, config.idle_max);
        }
    }

    /// The connection ended after the response had begun, properly if `is_clean`. A reset, or a TLS stream without
    /// `close_notify`, may be an attacker's truncation: it does not complete the response.
    pub(super) fn answer_ended(
        &mut self,
        side: &Side<'_>,
        is_clean: bool,
    ) -> Result<(), ExchangeEnd> {
        let is_end = is_clean && self.answer.body.ends_with_connection();
        if self.answer.state == ResponseState::Body && is_end {
            self.end_body(side)?;
            self.complete(side);
            return Ok(());
        }
        side.event_loop.figures.broken.increment();
        if self.answer.state == ResponseState::Head {
            self.blame(side);
            return Err(self.failure(UpstreamFailure::BadAnswer));
        }
        Err(ExchangeEnd::Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        answer: &str,
        facts: Facts,
        framing: Framing,
        connection: ConnectionHeader,
        length: BodyLength,
    ) {
        let way =
            head::parse_with(answer.as_bytes(), |head, _| DeliveryPlan::of(head, &facts)).unwrap();
        assert_eq!(
            (way.framing, way.connection, way.length),
            (framing, connection, length),
            "{answer}"
        );
    }

    #[test]
    fn each_framing_becomes_one_the_client_knows() {
        use ConnectionHeader::{Close, KeepAlive, Omitted};
        let new = Facts {
            is_1_1: true,
            keep_alive: true,
            ..Facts::default()
        };
        let old = Facts {
            keep_alive: true,
            ..Facts::default()
        };
        let head = Facts {
            is_head: true,
            ..new
        };
        let none = BodyLength::Sized(0);
        let sized = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let unframed = "HTTP/1.0 200 OK\r\n\r\n";
        check(sized, new, Framing::AsIs, Omitted, BodyLength::Sized(5));
        check(sized, old, Framing::AsIs, KeepAlive, BodyLength::Sized(5));
        check(sized, head, Framing::AsIs, Omitted, none);
        check(
            sized,
            Facts::default(),
            Framing::AsIs,
            Close,
            BodyLength::Sized(5),
        );
        check(chunked, new, Framing::Chunked, Omitted, BodyLength::Chunked);
        check(chunked, old, Framing::AsIs, Close, BodyLength::Chunked);
        check(chunked, head, Framing::AsIs, Omitted, none);
        check(
            unframed,
            new,
            Framing::Chunked,
            Omitted,
            BodyLength::Unspecified,
        );
        check(unframed, old, Framing::AsIs, Close, BodyLength::Unspecified);
        check(
            "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
            new,
            Framing::Nothing,
            Omitted,
            none,
        );
        check(
            "HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n",
            new,
            Framing::AsIs,
            Omitted,
            none,
        );
    }
}
