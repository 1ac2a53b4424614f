//! A request that reads along with a fetch: its own, which is stored, or one already in progress.
//!
//! It waits for the head; then the body is sent to its client as it arrives. When the fetch ends without a result it
//! repeats the lookup, fetches itself, or serves the replacement for a failure.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use plimsoll_cache::store::{Copied, Follower, HeadPoll, Hit};
use plimsoll_cache::{CacheStatus, Shape, reuse};
use plimsoll_config::edge::Action;
use plimsoll_net::chunked;
use plimsoll_net::clock;
use plimsoll_net::deadline::TICK_MS;
use plimsoll_net::deadline::ticks;
use plimsoll_net::reason::Reason;
use plimsoll_wire::request_head::{header_buffer, parse};

use super::admission::client_of;
use super::cached::{Admitted, Seeking};
use super::disk_lookup::DiskLookup;
use super::local_reply::{ResponseContext, after, connection_header};
use super::serving::{Slowness, status_of};
use super::{After, DownstreamConnection, RequestStage};
use crate::balance::server::UpstreamServer;
use crate::client::ClientStream;
use crate::event_loop::EventLoop;
use crate::exchange::Exchange;
use crate::lookup::keyed_request::KeyedRequest;
use crate::lookup::pace::Pace;
use crate::lookup::{CachedResponse, ResponseMetadata};
use crate::message::outgoing::Outgoing;
use crate::respond::stored::{self, StoredHead};
use crate::settings::Settings;
use crate::telemetry::access_log_entry::RequestOutcome;

/// Time limit for a disk lookup, ticks; then the request goes upstream.
const DISK_TICKS: u64 = 1000 / TICK_MS;

/// A request that reads along.
#[derive(Debug)]
pub(super) struct CollapsedReader {
    follower: Follower<ResponseMetadata>,
    keyed_request: KeyedRequest,
    /// The response that may replace a failure.
    copy: Option<Hit<CachedResponse>>,
    status: CacheStatus,
    own: ResponseContext,
    settings: Rc<Settings>,
    line: Vec<u8>,
    seeking: Seeking,
    reading: Option<ReadProgress>,
    out: Outgoing,
    slowness: Slowness,
    is_for_client: bool,
    /// For a fetch of its own: its server, and the pace.
    server: Option<Arc<UpstreamServer>>,
    pass: Option<String>,
    pace: Option<Rc<Pace>>,
}

/// Progress of the reader.
#[derive(Clone, Copy, Debug)]
struct ReadProgress {
    status: u16,
    at: u64,
    /// End of the requested range; `None` for the end of the body.
    end: Option<u64>,
    in_chunks: bool,
    is_over: bool,
    after: After,
    bytes_out: u64,
}

impl CollapsedReader {
    /// A reader of the request's own fetch, which continues without it.
    pub(super) fn own(
        follower: Follower<ResponseMetadata>,
        pace: Rc<Pace>,
        keyed_request: KeyedRequest,
        status: CacheStatus,
        own: ResponseContext,
        settings: Rc<Settings>,
        exchange: &mut Exchange,
    ) -> Self {
        Self {
            follower,
            keyed_request,
            copy: None,
            status,
            own,
            settings,
            line: exchange.record_mut().take_line(),
            seeking: Seeking::default(),
            reading: None,
            out: exchange.take_early(),
            slowness: Slowness::default(),
            is_for_client: false,
            server: exchange.record().server().cloned(),
            pass: exchange.take_waiting_pass(),
            pace: Some(pace),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.out.memory() + self.keyed_request.bytes.capacity()
    }
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
                chunked::chunk(self.out.buffer(), &shared[..count]);
                reading.at += count as u64;
                Some(0)
            }
            Copied::Bytes(count) => Some(count),
            Copied::Wait => Some(0),
            Copied::End => {
                reading.is_over = true;
                if reading.in_chunks {
                    self.out.append(chunked::LAST_CHUNK);
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

impl Drop for CollapsedReader {
    fn drop(&mut self) {
        if let Some(pace) = &self.pace {
            pace.leave();
        }
    }
}

impl DownstreamConnection {
    /// Reads along with a fetch of another request.
    pub(super) fn follow(
        &mut self,
        request: &Admitted<'_>,
        follower: Follower<ResponseMetadata>,
        copy: Option<Hit<CachedResponse>>,
        keyed: KeyedRequest,
        status: CacheStatus,
        seeking: Seeking,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, request.head, request.client);
        let settings = Rc::clone(request.settings);
        let wait = match seeking.disk {
            DiskLookup::Waits => DISK_TICKS,
            DiskLookup::Not | DiskLookup::Done => longest_wait(&settings, &request.own),
        };
        self.timer.set(&self.event_loop, wait);
        self.stage = RequestStage::Collapsed(Box::new(CollapsedReader {
            follower,
            keyed_request: keyed,
            copy,
            status,
            own: request.own,
            settings,
            line,
            seeking,
            reading: None,
            out: Outgoing::default(),
            slowness: Slowness::default(),
            is_for_client: false,
            server: None,
            pass: None,
            pace: None,
        }));
    }

    pub(super) fn poll_collapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let RequestStage::Collapsed(reader) = &mut self.stage else {
            return Poll::Ready(());
        };
        if reader.reading.is_some() {
            return self.poll_reading(cx);
        }
        match reader.follower.poll_head(cx.waker()) {
            HeadPoll::Wait => {
                if self.client_left(cx) {
                    self.count_gone();
                    self.stage = RequestStage::Over;
                    return Poll::Ready(());
                }
                return Poll::Pending;
            }
            HeadPoll::Head(metadata) => self.receive_head(&metadata),
            HeadPoll::Again => {
                let seeking = reader.seeking.again();
                self.seek_again(seeking);
            }
            HeadPoll::Alone => {
                let seeking = Seeking {
                    alone: true,
                    ..reader.seeking.again()
                };
                self.seek_again(seeking);
            }
            HeadPoll::Failed => self.fail_collapsed(503, Reason::NoServer),
        }
        Poll::Ready(())
    }

    /// The head arrived: it matches this request, or only others.
    fn receive_head(&mut self, metadata: &ResponseMetadata) {
        let RequestStage::Collapsed(reader) = &mut self.stage else {
            return;
        };
        let settings = Rc::clone(&reader.settings);
        let route = settings.routes.get(reader.own.facts.route);
        let Some(here) = &route.cache else {
            return;
        };
        let (space, len) = (here.space, metadata.len());
        let is_own = reader.pace.is_some();
        let event_loop = Rc::clone(&self.event_loop);
        let keyed = &reader.keyed_request;
        let shape = keyed.with(&here.policy, |parsed| {
            let mut room = event_loop.scratch.borrow_mut();
            let headers = parsed.head.headers;
            let is_for = is_own || metadata.is_for(space, headers, &here.policy, &mut room);
            is_for.then(|| reuse::shape(&parsed.semantics, &metadata.stored, len))
        });
        if let Some(shape) = shape.flatten() {
            self.begin_reading(metadata, shape);
        } else {
            let seeking = Seeking {
                names: Some(metadata.names().into()),
                ..reader.seeking.again()
            };
            self.seek_again(seeking);
        }
    }

    fn begin_reading(&mut self, metadata: &ResponseMetadata, shape: Shape) {
        let RequestStage::Collapsed(mut reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let own = reader.own;
        let mut shape = shape;
        if let (ClientStream::Inner(inner), Some(draft)) = (&self.client, &metadata.draft) {
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

    fn poll_reading(&mut self, cx: &mut Context<'_>) -> Poll<()> {
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
    fn end_collapsed(&mut self, is_whole: bool) {
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

    fn break_collapsed(&mut self) {
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
            server: reader.server.as_ref().map(|server| server.name.as_str()),
            moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(&reader.line, &outcome);
        self.end_trace(&outcome);
    }

    /// The fetch ended without a result.
    fn seek_again(&mut self, seeking: Seeking) {
        let RequestStage::Collapsed(mut reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let bytes = std::mem::take(&mut reader.keyed_request.bytes);
        let own = reader.own;
        let settings = Rc::clone(&reader.settings);
        drop(reader);
        self.retry_lookup(&bytes, own, &settings, seeking);
    }

    /// Repeats the lookup of a parsed request.
    pub(super) fn retry_lookup(
        &mut self,
        bytes: &[u8],
        own: ResponseContext,
        settings: &Rc<Settings>,
        seeking: Seeking,
    ) {
        let mut room = header_buffer();
        let Ok(head) = parse(bytes, &mut room) else {
            self.stage = RequestStage::Over;
            return;
        };
        let request = Admitted {
            bytes,
            head: &head,
            client: client_of(&self.peer, &head, settings),
            own,
            settings,
        };
        self.look_up(request, seeking);
    }

    /// The fetch failed, or takes too long.
    fn fail_collapsed(&mut self, status: u16, reason: Reason) {
        let RequestStage::Collapsed(reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let mut reader = reader;
        let (own, settings) = (reader.own, Rc::clone(&reader.settings));
        let line = std::mem::take(&mut reader.line);
        let copy = reader.copy.take();
        let keyed = reader.keyed_request.clone();
        drop(reader);
        if !self.stands_in(copy, &keyed, &settings, &own, &line, None) {
            self.refuse(&settings, &own, status, reason, &line);
        }
    }

    /// Its deadline has passed.
    pub(super) fn collapsed_expired(&mut self) {
        match &self.stage {
            // A stuck disk is no reason to fail: the request goes upstream.
            RequestStage::Collapsed(reader) if reader.seeking.disk == DiskLookup::Waits => {
                let seeking = reader.seeking.again();
                self.seek_again(seeking);
            }
            RequestStage::Collapsed(reader) if reader.reading.is_none() => {
                self.fail_collapsed(504, Reason::NoServer);
            }
            RequestStage::Collapsed(reader) if reader.is_for_client => {
                self.count_gone();
                self.end_collapsed(false);
            }
            _ => self.break_collapsed(),
        }
    }
}

fn timeouts<'a>(
    settings: &'a Settings,
    own: &ResponseContext,
) -> Option<&'a plimsoll_config::edge::PoolConfig> {
    match settings.routes.get(own.facts.route).config.action {
        Action::Pool(pool) => settings.pools.get(pool).map(|pool| &pool.config),
        Action::Redirect { .. } => None,
    }
}

/// Longest time to wait for the head of a fetch, ticks.
fn longest_wait(settings: &Settings, own: &ResponseContext) -> u64 {
    timeouts(settings, own).map_or(1, |config| {
        let times = &config.timeouts;
        let most = config.queue_timeout + times.connect + times.first_byte;
        ticks(times.total.map_or(most, |total| total.min(most)))
    })
}

/// Longest time without progress of the body, ticks. Longer than the timeout of the fetch itself.
fn idle_wait(settings: &Settings, own: &ResponseContext) -> u64 {
    timeouts(settings, own).map_or(1, |config| ticks(config.timeouts.idle) + 100)
}
