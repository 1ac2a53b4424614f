//! A request reads along with a fetch: its own that is kept, or somebody else's that was under way.
//!
//! Until the head is there it waits; then the bytes go to its client as they come. When there is nothing to follow any
//! more it looks up again, asks for itself, or takes what stands in for a failure.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use plimsoll_cache::store::{Copied, Follower, Hit, Turn};
use plimsoll_cache::{CacheStatus, Shape, reuse};
use plimsoll_config::edge::Action;
use plimsoll_wire::request_head::{header_room, parse};

use super::begin::client_of;
use super::cached::{Admitted, Seeking};
use super::own_answer::{Own, after};
use super::recalling::AskedDisk;
use super::serving::{Slowness, end_served_head, status_of};
use super::{After, Connection, Stage};
use crate::cache::pace::Pace;
use crate::cache::subject::Subject;
use crate::cache::{Page, Told};
use crate::client::Client;
use crate::clock;
use crate::deadline::TICK_MS;
use crate::deadline::ticks;
use crate::event_loop::EventLoop;
use crate::exchange::Exchange;
use crate::forward;
use crate::outgoing::Outgoing;
use crate::pool::server::Server;
use crate::reason::Reason;
use crate::record::Outcome;
use crate::settings::Settings;

/// How long copies from the disk are waited for, ticks; then a server is asked.
const DISK_TICKS: u64 = 1000 / TICK_MS;

/// A request that reads along.
#[derive(Debug)]
pub(super) struct Following {
    follower: Follower<Told>,
    subject: Subject,
    /// What may stand in for a failure.
    copy: Option<Hit<Page>>,
    status: CacheStatus,
    own: Own,
    settings: Rc<Settings>,
    line: Vec<u8>,
    seeking: Seeking,
    reading: Option<Reading>,
    out: Outgoing,
    slowness: Slowness,
    is_for_client: bool,
    /// Of a fetch of its own: who answered it, and how far ahead it may run.
    server: Option<Arc<Server>>,
    pass: Option<String>,
    pace: Option<Rc<Pace>>,
}

/// How far it has read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    status: u16,
    at: u64,
    /// Where what it wants ends; `None` is where the body does.
    end: Option<u64>,
    in_chunks: bool,
    is_over: bool,
    after: After,
    bytes_out: u64,
}

impl Following {
    /// Of a fetch of its own, that goes on without it.
    pub(super) fn own(
        follower: Follower<Told>,
        pace: Rc<Pace>,
        subject: Subject,
        status: CacheStatus,
        own: Own,
        settings: Rc<Settings>,
        exchange: &mut Exchange,
    ) -> Self {
        Self {
            follower,
            subject,
            copy: None,
            status,
            own,
            settings,
            line: std::mem::take(&mut exchange.line),
            seeking: Seeking::default(),
            reading: None,
            out: exchange.take_early(),
            slowness: Slowness::default(),
            is_for_client: false,
            server: exchange.server.clone(),
            pass: exchange.pass.take(),
            pace: Some(pace),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.out.memory() + self.subject.bytes.capacity()
    }
}

/// What came of one step of reading.
enum Step {
    Moved,
    /// So many ticks at most.
    Wait(u64),
    /// The client has all.
    Whole,
    /// The client has left.
    Left,
    /// The rest will not come.
    Broke,
}

impl Following {
    /// Takes the next piece of the body: into `shared`, or in chunks behind what is to go out. `None` when it broke off.
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
                forward::chunk(&mut self.out.bytes, &shared[..count]);
                reading.at += count as u64;
                Some(0)
            }
            Copied::Bytes(count) => Some(count),
            Copied::Wait => Some(0),
            Copied::End => {
                reading.is_over = true;
                if reading.in_chunks {
                    self.out.bytes.extend_from_slice(forward::LAST_CHUNK);
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

    /// The client took so many bytes.
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

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(pace) = &self.pace {
            pace.leave();
        }
    }
}

impl Connection {
    /// Reads along with somebody else's fetch.
    pub(super) fn follow(
        &mut self,
        request: &Admitted<'_>,
        follower: Follower<Told>,
        copy: Option<Hit<Page>>,
        subject: Subject,
        status: CacheStatus,
        seeking: Seeking,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, request.head, request.client);
        let settings = Rc::clone(request.settings);
        let wait = match seeking.disk {
            AskedDisk::Waits => DISK_TICKS,
            AskedDisk::Not | AskedDisk::Done => longest_wait(&settings, &request.own),
        };
        self.event_loop.set_deadline(self.deadline, wait);
        self.stage = Stage::Following(Box::new(Following {
            follower,
            subject,
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

    pub(super) fn poll_following(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Stage::Following(following) = &mut self.stage else {
            return Poll::Ready(());
        };
        if following.reading.is_some() {
            return self.poll_reading(cx);
        }
        match following.follower.turn(cx.waker()) {
            Turn::Wait => {
                if self.client_left(cx) {
                    self.count_gone();
                    self.stage = Stage::Over;
                    return Poll::Ready(());
                }
                return Poll::Pending;
            }
            Turn::Head(told) => self.take_told(&told),
            Turn::Again => {
                let seeking = following.seeking.again();
                self.seek_again(seeking);
            }
            Turn::Alone => {
                let seeking = Seeking {
                    alone: true,
                    ..following.seeking.again()
                };
                self.seek_again(seeking);
            }
            Turn::Failed => self.following_failed(503, Reason::NoServer),
        }
        Poll::Ready(())
    }

    /// The head is there: it is for this request, or for others.
    fn take_told(&mut self, told: &Told) {
        let Stage::Following(following) = &mut self.stage else {
            return;
        };
        let settings = Rc::clone(&following.settings);
        let route = settings.routes.get(following.own.facts.route);
        let Some(here) = &route.cache else {
            return;
        };
        let (space, len) = (here.space, told.len());
        let is_own = following.pace.is_some();
        let event_loop = Rc::clone(&self.event_loop);
        let subject = &following.subject;
        let shape = subject.with(&here.policy, |parts| {
            let mut room = event_loop.room.borrow_mut();
            let headers = parts.head.headers;
            let is_for = is_own || told.is_for(space, headers, &here.policy, &mut room);
            is_for.then(|| reuse::shape(&parts.asked, &told.stored, len))
        });
        if let Some(shape) = shape.flatten() {
            self.begin_reading(told, shape);
        } else {
            let seeking = Seeking {
                names: Some(told.names().into()),
                ..following.seeking.again()
            };
            self.seek_again(seeking);
        }
    }

    fn begin_reading(&mut self, told: &Told, shape: Shape) {
        let Stage::Following(mut following) = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        let own = following.own;
        let mut shape = shape;
        if let (Client::Inner(inner), Some(draft)) = (&self.client, &told.draft) {
            // What is put together has no parts, and nobody has it already.
            shape = Shape::Whole;
            inner.mark((**draft).clone());
        }
        let (at, end) = match shape {
            _ if own.facts.is_head => (0, Some(0)),
            Shape::Whole => (0, told.len()),
            Shape::NotModified | Shape::Unsatisfiable => (0, Some(0)),
            Shape::Part { first, last } => (first, Some(last + 1)),
        };
        let is_open = end.is_none() && told.stored.status() != 204;
        let in_chunks = is_open && own.facts.is_1_1;
        let after = if is_open && !in_chunks {
            After::Close
        } else {
            after(&own)
        };
        let framing = if in_chunks {
            "Transfer-Encoding: chunked\r\n"
        } else {
            ""
        };
        let head = &mut following.out.bytes;
        let now = self.event_loop.moment();
        told.stored.write_head(head, shape, told.len(), now);
        following.status.write(head);
        end_served_head(head, &own, after, following.pass.as_deref(), framing);
        following.reading = Some(Reading {
            status: status_of(shape, &told.stored),
            at,
            end,
            in_chunks,
            is_over: false,
            after,
            bytes_out: 0,
        });
        self.stage = Stage::Following(following);
    }

    fn poll_reading(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.read_step(cx) {
                Step::Moved => {}
                Step::Wait(ticks) => {
                    self.event_loop.set_deadline(self.deadline, ticks);
                    return Poll::Pending;
                }
                Step::Whole => {
                    self.end_following(true);
                    return Poll::Ready(());
                }
                Step::Left => {
                    self.count_gone();
                    self.end_following(false);
                    return Poll::Ready(());
                }
                Step::Broke => {
                    self.following_broke();
                    return Poll::Ready(());
                }
            }
        }
    }

    /// One piece from the fetch, and as much as fits to the client.
    fn read_step(&mut self, cx: &mut Context<'_>) -> Step {
        let Stage::Following(following) = &mut self.stage else {
            return Step::Broke;
        };
        let event_loop = &self.event_loop;
        let mut shared = event_loop.shared.borrow_mut();
        let Some(copied) = following.piece(&mut shared, cx) else {
            return Step::Broke;
        };
        let direct = &shared[..copied];
        if following.out.is_empty() && direct.is_empty() {
            if !following.has_all() {
                // More is to come: its waker is filed.
                return Step::Wait(following.wait_for_more(event_loop));
            }
            return match self.client.poll_flush(cx) {
                Poll::Ready(Ok(())) => Step::Whole,
                Poll::Ready(Err(_)) => Step::Left,
                Poll::Pending => Step::Wait(following.wait_for_client(event_loop)),
            };
        }
        match self.client.poll_write(cx, following.out.left(), direct) {
            Poll::Ready(Ok(count)) if count > 0 => {
                following.wrote(count);
                Step::Moved
            }
            Poll::Ready(_) => Step::Left,
            Poll::Pending => Step::Wait(following.wait_for_client(event_loop)),
        }
    }

    /// All of it is with the client, or the client has left.
    fn end_following(&mut self, is_whole: bool) {
        let Stage::Following(following) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        let reason = if is_whole { None } else { Some("client-gone") };
        self.tell_of_following(&following, reason);
        if is_whole && let Some(reading) = following.reading {
            self.follow_answer(reading.after);
        }
    }

    fn following_broke(&mut self) {
        if let Stage::Following(following) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.tell_of_following(&following, Some("broken"));
        }
    }

    fn tell_of_following(&mut self, following: &Following, reason: Option<&'static str>) {
        let Some(reading) = following.reading else {
            return;
        };
        let ended = self.event_loop.clock.now();
        let moments = following.own.moments;
        self.count(reading.status, reading.bytes_out, moments.began, ended);
        if !self.is_told_of(&following.line) {
            return;
        }
        let is_own = following.pace.is_some();
        let outcome = Outcome {
            status: reading.status,
            bytes: reading.bytes_out,
            reason: reason.or((!is_own).then_some("collapsed")),
            server: following.server.as_ref().map(|server| server.name.as_str()),
            moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(&following.line, &outcome);
        self.end_trace(&outcome);
    }

    /// There is nothing to follow any more.
    fn seek_again(&mut self, seeking: Seeking) {
        let Stage::Following(mut following) = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        let bytes = std::mem::take(&mut following.subject.bytes);
        let own = following.own;
        let settings = Rc::clone(&following.settings);
        drop(following);
        self.ask_again(&bytes, own, &settings, seeking);
    }

    /// Looks up again what was read before.
    pub(super) fn ask_again(
        &mut self,
        bytes: &[u8],
        own: Own,
        settings: &Rc<Settings>,
        seeking: Seeking,
    ) {
        let mut room = header_room();
        let Ok(head) = parse(bytes, &mut room) else {
            self.stage = Stage::Over;
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

    /// Whoever was followed has failed, or takes too long.
    fn following_failed(&mut self, status: u16, reason: Reason) {
        let Stage::Following(following) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        let mut following = following;
        let (own, settings) = (following.own, Rc::clone(&following.settings));
        let line = std::mem::take(&mut following.line);
        let copy = following.copy.take();
        let subject = following.subject.clone();
        drop(following);
        if !self.stands_in(copy, &subject, &settings, &own, &line, None) {
            self.refuse(&settings, &own, status, reason, &line);
        }
    }

    /// Its deadline has passed.
    pub(super) fn following_expired(&mut self) {
        match &self.stage {
            // A disk that stands still is no reason to fail.
            Stage::Following(following) if following.seeking.disk == AskedDisk::Waits => {
                let seeking = following.seeking.again();
                self.seek_again(seeking);
            }
            Stage::Following(following) if following.reading.is_none() => {
                self.following_failed(504, Reason::NoServer);
            }
            Stage::Following(following) if following.is_for_client => {
                self.count_gone();
                self.end_following(false);
            }
            _ => self.following_broke(),
        }
    }
}

fn timeouts<'a>(settings: &'a Settings, own: &Own) -> Option<&'a plimsoll_config::edge::Pool> {
    match settings.routes.get(own.facts.route).config.action {
        Action::Pool(pool) => settings.pools.get(pool).map(|pool| &pool.config),
        Action::Redirect { .. } => None,
    }
}

/// How long whoever leads may take to get a head, ticks.
fn longest_wait(settings: &Settings, own: &Own) -> u64 {
    timeouts(settings, own).map_or(1, |config| {
        let times = &config.timeouts;
        let most = config.queue_timeout + times.connect + times.first_byte;
        ticks(times.total.map_or(most, |total| total.min(most)))
    })
}

/// How long there may be nothing new of a body, ticks. Whoever leads notices first.
fn idle_wait(settings: &Settings, own: &Own) -> u64 {
    timeouts(settings, own).map_or(1, |config| ticks(config.timeouts.idle) + 100)
}
