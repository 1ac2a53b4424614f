//! Sends a stored response: its head is written once, its body is sent from the store without a copy.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use plimsoll_cache::{CacheStatus, Shape, Stored};
use plimsoll_net::clock::{self, Nanoseconds};
use plimsoll_net::deadline::TICK_MS;

use super::admitted::ResponseContext;
use super::respond::{after, connection_header};
use super::{After, DownstreamConnection, RequestStage};
use crate::event_loop::EventLoop;
use crate::exchange::SLOWEST;
use crate::fragments::Mosaic;
use crate::lookup::disk::{BodyRef, DiskBodyReader, NextPiece, within};
use crate::message::outgoing::GATHERED_MAX;
use crate::message::outgoing::Outgoing;
use crate::respond::stored::{self, StoredHead};
use crate::telemetry::access_log_entry::RequestOutcome;

/// Time limit for the disk to deliver a piece, ticks.
const DISK_TICKS: u64 = 10_000 / TICK_MS;

/// A stored response to be served.
pub(super) struct Served<'a> {
    /// Pending output before it, such as interim responses.
    pub(super) early: &'a [u8],
    pub(super) stored: &'a Stored,
    pub(super) body: BodyRef<'a>,
    /// Set if it may contain ESI includes.
    pub(super) mosaic: Option<&'a Arc<Mosaic>>,
    pub(super) shape: Shape,
    pub(super) status: CacheStatus,
    pub(super) own: &'a ResponseContext,
    /// The beginning of its access-log entry.
    pub(super) line: &'a [u8],
    /// The upstream server that was contacted.
    pub(super) server: Option<&'a str>,
    pub(super) reason: Option<&'static str>,
    /// A cookie that admits the client past the waiting room.
    pub(super) pass: Option<&'a str>,
}

/// A response being sent.
#[derive(Debug)]
pub(super) struct Serving {
    head: Outgoing,
    body: Bytes,
    /// The rest of the body, when it is on disk.
    rest: Option<DiskBodyReader>,
    sent: u64,
    after: After,
    slowness: Slowness,
}

impl Serving {
    pub(super) fn memory(&self) -> usize {
        let body = self.rest.as_ref().map_or(0, |_| self.body.len());
        self.head.memory() + body
    }
}

/// How long the connection has waited for its client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slowness {
    since: Nanoseconds,
    waited: Nanoseconds,
}

impl Slowness {
    /// The client made progress.
    pub(super) fn moved(&mut self, now: Nanoseconds) {
        if self.since > 0 {
            self.waited += now.saturating_sub(self.since);
            self.since = 0;
        }
    }

    /// The client is waited for; returns how much longer, in ticks, given the bytes sent so far.
    pub(super) fn patience(&mut self, sent: u64, event_loop: &EventLoop) -> u64 {
        let now = event_loop.clock.now();
        self.moved(now);
        self.since = now;
        let piece = event_loop.settings().ticks.write;
        let earned = sent * 1000 / (SLOWEST * TICK_MS);
        let lasted = self.waited / (TICK_MS * 1_000_000);
        piece.min((piece + earned).saturating_sub(lasted)).max(1)
    }
}

impl DownstreamConnection {
    /// Serves a stored response.
    pub(super) fn serve(&mut self, served: &Served<'_>) {
        let own = served.own;
        let after = after(own);
        let has_tags = served
            .mosaic
            .is_some_and(|mosaic| !mosaic.pieces.is_plain());
        // An ESI page supports neither ranges nor conditions.
        let shape = if has_tags { Shape::Whole } else { served.shape };
        let mut head = self.event_loop.spare_bytes();
        head.extend_from_slice(served.early);
        let len = served.body.len();
        let made = StoredHead {
            shape,
            body_len: Some(len),
            in_chunks: false,
            now: self.event_loop.moment(),
            status: served.status,
            pass: served.pass,
            connection: connection_header(own, after),
        };
        stored::write(&mut head, served.stored, &made);
        let (from, to) = match shape {
            _ if own.facts.is_head => (0, 0),
            Shape::Whole => (0, len),
            Shape::NotModified | Shape::Unsatisfiable => (0, 0),
            Shape::Partial { first, last } => (first, last + 1),
        };
        let is_inner = self.client.is_inner();
        let (mut body, rest) = match served.body {
            BodyRef::Short(bytes) if !is_inner => {
                head.extend_from_slice(&bytes[within(bytes, from, to)]);
                (Bytes::new(), None)
            }
            body => body.range(from, to),
        };
        let sent =
            head.len() as u64 + body.len() as u64 + rest.as_ref().map_or(0, DiskBodyReader::len);
        let status = status_of(shape, served.stored);
        self.report_served(served, status, sent);
        if let (Some(inner), None) = (self.client.inner(), &rest) {
            let mosaic = served.mosaic.filter(|_| shape == Shape::Whole);
            inner.put_body(std::mem::take(&mut body), mosaic.cloned());
        } else if body.len() <= GATHERED_MAX {
            head.extend_from_slice(&std::mem::take(&mut body));
        }
        self.stage = RequestStage::Serving(Serving {
            head: head.into(),
            body,
            rest,
            sent: 0,
            after,
            slowness: Slowness::default(),
        });
    }

    fn report_served(&mut self, served: &Served<'_>, status: u16, bytes: u64) {
        let ended = self.event_loop.clock.now();
        self.count(status, bytes, served.own.moments.began, ended);
        if !self.is_reported(served.line) {
            return;
        }
        let outcome = RequestOutcome {
            status,
            bytes,
            reason: served.reason,
            limit: None,
            server: served.server,
            moments: served.own.moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(served.line, &outcome);
        self.end_trace(&outcome);
    }

    pub(super) fn poll_serving(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let RequestStage::Serving(serving) = &mut self.stage else {
            return Poll::Ready(());
        };
        loop {
            if serving.head.is_empty() && serving.body.is_empty() {
                match serving.rest.as_mut().map(|rest| rest.poll_next(cx)) {
                    None | Some(Poll::Ready(NextPiece::End)) => break,
                    Some(Poll::Ready(NextPiece::Bytes(bytes))) => serving.body = bytes,
                    // The response is cut short, so that the client detects the missing bytes by its length.
                    Some(Poll::Ready(NextPiece::Broken)) => {
                        self.stage = RequestStage::Over;
                        return Poll::Ready(());
                    }
                    Some(Poll::Pending) => {
                        serving.slowness.moved(self.event_loop.clock.now());
                        self.timer.set(&self.event_loop, DISK_TICKS);
                        return Poll::Pending;
                    }
                }
            }
            let first = serving.head.left();
            let first_len = first.len();
            match self.client.poll_write(cx, first, &serving.body) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    serving.head.advance(count.min(first_len));
                    serving.body.advance(count.saturating_sub(first_len));
                    serving.sent += count as u64;
                }
                Poll::Ready(_) => {
                    self.stage = RequestStage::Over;
                    return Poll::Ready(());
                }
                Poll::Pending => {
                    let wait = serving.slowness.patience(serving.sent, &self.event_loop);
                    self.timer.set(&self.event_loop, wait);
                    return Poll::Pending;
                }
            }
        }
        if ready!(self.client.poll_flush(cx)).is_err() {
            self.stage = RequestStage::Over;
            return Poll::Ready(());
        }
        let after = serving.after;
        let bytes = serving.head.take_bytes();
        self.event_loop.return_bytes(bytes);
        self.follow_answer(after);
        Poll::Ready(())
    }
}

/// The status of a stored response in this shape.
pub(super) fn status_of(shape: Shape, stored: &Stored) -> u16 {
    match shape {
        Shape::Whole => stored.status(),
        Shape::NotModified => 304,
        Shape::Partial { .. } => 206,
        Shape::Unsatisfiable => 416,
    }
}
