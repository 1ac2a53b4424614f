//! Reading along: the body of a fetch is sent as it arrives.

use std::task::{Context, Poll};

use plimsoll_cache::Shape;
use plimsoll_cache::store::Copied;
use plimsoll_net::chunk_writer;
use plimsoll_net::clock;
use plimsoll_net::deadline::ticks;

use super::super::admitted::ResponseContext;
use super::super::respond::{after, connection_header};
use super::super::serving::status_of;
use super::super::{After, DownstreamConnection, RequestStage};
use super::{CollapsedReader, timeouts};
use crate::event_loop::EventLoop;
use crate::lookup::ResponseMetadata;
use crate::respond::stored::{self, StoredHead};
use crate::settings::Settings;
use crate::telemetry::access_log_entry::RequestOutcome;

/// Progress of the reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadProgress {
    status: u16,
    at: u64,
    /// End of the requested range; `None` for the end of the body.
    end: Option<u64>,
    in_chunks: bool,
    is_over: bool,
    after: After,
    bytes_out: u64,
}

/// Result of one step of reading.
enum ReaderStep {
    Moved,
    /// Wait at most this many ticks.
    Wait(u64),
    /// The client has received everything.
    Whole,
    /// The client disconnected.
    Left,
    /// The fetch broke off.
    Broke,
}

impl CollapsedReader {
    /// Takes the next piece of the body: into `shared`, or chunked after pending output. `None` when the fetch broke
    /// off.
    fn piece(&mut self, shared: &mut [u8], cx: &Context<'_>) -> Option<usize> {
        let reading = self.reading.as_mut()?;
        let wanted = reading.end.map_or(u64::MAX, |end| end - reading.at);
        let is_behind = reading.in_chunks && !self.out.is_empty();
        if reading.is_over || wanted == 0 || is_behind {
            return Some(0);
        }
        let room = usize::try_from(wanted)
            .unwrap_or(usize::MAX)
            .min(shared.len());
        match self
            .follower
            .copy(reading.at, &mut shared[..room], cx.waker())
        {
            Copied::Bytes(count) if reading.in_chunks => {
                chunk_writer::write(self.out.buffer(), &shared[..count]);
                reading.at += count as u64;
                Some(0)
            }
            Copied::Bytes(count) => Some(count),
            Copied::Wait => Some(0),
            Copied::End => {
                reading.is_over = true;
                if reading.in_chunks {
                    self.out.append(chunk_writer::LAST_CHUNK);
                }
                Some(0)
            }
            Copied::Broken => None,
        }
    }

    fn has_all(&self) -> bool {
        self.reading
            .is_some_and(|reading| reading.is_over || reading.end == Some(reading.at))
    }

    /// The client has taken this many bytes.
    fn wrote(&mut self, count: usize) {
        let first_len = self.out.left().len();
        self.out.advance(count.min(first_len));
        self.out.clear_if_written();
        let Some(reading) = &mut self.reading else {
            return;
        };
        reading.at += count.saturating_sub(first_len) as u64;
        reading.bytes_out += count as u64;
        if let Some(pace) = &self.pace {
            pace.has_read(reading.at);
        }
    }

    fn wait_for_more(&mut self, event_loop: &EventLoop) -> u64 {
        self.is_for_client = false;
        self.slowness.moved(event_loop.clock.now());
        idle_wait(&self.settings, &self.own)
    }

    fn wait_for_client(&mut self, event_loop: &EventLoop) -> u64 {
        self.is_for_client = true;
        let sent = self.reading.map_or(0, |reading| reading.bytes_out);
        self.slowness.patience(sent, event_loop)
    }
}

impl DownstreamConnection {
    /// The head matches: writes the client's, and reads along from here.
    pub(super) fn begin_reading(&mut self, metadata: &ResponseMetadata, shape: Shape) {
        let RequestStage::Collapsed(mut reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let own = reader.own;
        let mut shape = shape;
        if let (Some(inner), Some(draft)) = (self.client.inner(), &metadata.draft) {
            // An ESI page supports neither ranges nor conditions.
            shape = Shape::Whole;
            inner.mark((**draft).clone());
        }
        let (at, end) = match shape {
            _ if own.facts.is_head => (0, Some(0)),
            Shape::Whole => (0, metadata.len()),
            Shape::NotModified | Shape::Unsatisfiable => (0, Some(0)),
            Shape::Partial { first, last } => (first, Some(last + 1)),
        };
        let is_open = end.is_none() && metadata.stored.status() != 204;
        let in_chunks = is_open && own.facts.is_1_1;
        let after = if is_open && !in_chunks {
            After::Close
        } else {
            after(&own)
        };
        let made = StoredHead {
            shape,
            body_len: metadata.len(),
            in_chunks,
            now: self.event_loop.moment(),
            status: reader.status,
            pass: reader.pass.as_deref(),
            connection: connection_header(&own, after),
        };
        stored::write(reader.out.buffer(), &metadata.stored, &made);
        reader.reading = Some(ReadProgress {
            status: status_of(shape, &metadata.stored),
            at,
            end,
            in_chunks,
            is_over: false,
            after,
            bytes_out: 0,
        });
        self.stage = RequestStage::Collapsed(reader);
    }

    pub(super) fn poll_reading(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.read_step(cx) {
                ReaderStep::Moved => {}
                ReaderStep::Wait(ticks) => {
                    self.timer.set(&self.event_loop, ticks);
                    return Poll::Pending;
                }
                ReaderStep::Whole => {
                    self.end_collapsed(true);
                    return Poll::Ready(());
                }
                ReaderStep::Left => {
                    self.count_gone();
                    self.end_collapsed(false);
                    return Poll::Ready(());
                }
                ReaderStep::Broke => {
                    self.break_collapsed();
                    return Poll::Ready(());
                }
            }
        }
    }

    /// Reads one piece from the fetch, and writes as much as fits to the client.
    fn read_step(&mut self, cx: &mut Context<'_>) -> ReaderStep {
        let RequestStage::Collapsed(reader) = &mut self.stage else {
            return ReaderStep::Broke;
        };
        let event_loop = &self.event_loop;
        let mut shared = event_loop.shared.borrow_mut();
        let Some(copied) = reader.piece(&mut shared, cx) else {
            return ReaderStep::Broke;
        };
        let direct = &shared[..copied];
        if reader.out.is_empty() && direct.is_empty() {
            if !reader.has_all() {
                // More is to come; the waker is registered.
                return ReaderStep::Wait(reader.wait_for_more(event_loop));
            }
            return match self.client.poll_flush(cx) {
                Poll::Ready(Ok(())) => ReaderStep::Whole,
                Poll::Ready(Err(_)) => ReaderStep::Left,
                Poll::Pending => ReaderStep::Wait(reader.wait_for_client(event_loop)),
            };
        }
        match self.client.poll_write(cx, reader.out.left(), direct) {
            Poll::Ready(Ok(count)) if count > 0 => {
                reader.wrote(count);
                ReaderStep::Moved
            }
            Poll::Ready(_) => ReaderStep::Left,
            Poll::Pending => ReaderStep::Wait(reader.wait_for_client(event_loop)),
        }
    }

    /// The client has received everything, or has disconnected.
    pub(super) fn end_collapsed(&mut self, is_whole: bool) {
        let RequestStage::Collapsed(reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let reason = if is_whole { None } else { Some("client-gone") };
        self.report_collapsed(&reader, reason);
        if is_whole && let Some(reading) = reader.reading {
            self.follow_answer(reading.after);
        }
    }

    /// The fetch broke off.
    pub(super) fn break_collapsed(&mut self) {
        if let RequestStage::Collapsed(reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        {
            self.report_collapsed(&reader, Some("broken"));
        }
    }

    fn report_collapsed(&mut self, reader: &CollapsedReader, reason: Option<&'static str>) {
        let Some(reading) = reader.reading else {
            return;
        };
        let ended = self.event_loop.clock.now();
        let moments = reader.own.moments;
        self.count(reading.status, reading.bytes_out, moments.began, ended);
        if !self.is_reported(&reader.line) {
            return;
        }
        let is_own = reader.pace.is_some();
        let outcome = RequestOutcome {
            status: reading.status,
            bytes: reading.bytes_out,
            reason: reason.or((!is_own).then_some("collapsed")),
            limit: None,
            server: reader.server.as_ref().map(|server| server.name.as_str()),
            moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(&reader.line, &outcome);
        self.end_trace(&outcome);
    }
}

/// Longest time without progress of the body, ticks. Longer than the timeout of the fetch itself.
fn idle_wait(settings: &Settings, own: &ResponseContext) -> u64 {
    timeouts(settings, own).map_or(1, |config| ticks(config.timeouts.idle) + 100)
}
