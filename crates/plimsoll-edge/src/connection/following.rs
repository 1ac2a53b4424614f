//! A request reads along with a fetch: its own that is kept, or somebody else's that was under way.
//!
//! Until the head is there it waits; then the bytes go to its client as they come. When there is nothing to follow any
//! more it looks up again, asks for itself, or takes what stands in for a failure.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use plimsoll_cache::store::{Copied, Follower, Hit, Turn};
use plimsoll_cache::{CacheStatus, Shape, reuse};
use plimsoll_config::edge::Action;
use plimsoll_wire::request_head::{header_room, parse};

use super::begin::client_of;
use super::cached::{Admitted, Seeking};
use super::own_answer::{Own, after};
use super::serving::{Served, Slowness, status_of};
use super::{After, Connection, Stage};
use crate::cache::fetch::Kept;
use crate::cache::subject::Subject;
use crate::cache::{Page, Told};
use crate::client::{Client, Outgoing};
use crate::clock;
use crate::exchange::{Exchange, Pace};
use crate::forward;
use crate::own::Reason;
use crate::pool::server::Server;
use crate::record::Outcome;
use crate::settings::{Settings, ticks};

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
    pub(super) pass: Option<String>,
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
    pub(super) fn memory(&self) -> usize {
        self.out.memory() + self.subject.bytes.capacity()
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
        self.event_loop
            .set_deadline(self.deadline, longest_wait(&settings, &request.own));
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
                    self.event_loop.figures.clients_gone.increment();
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
        let (space, len) = (here.space, told.len);
        let is_own = following.pace.is_some();
        let event_loop = Rc::clone(&self.event_loop);
        let subject = &following.subject;
        let shape = subject.with(&here.policy, |parts| {
            let mut room = event_loop.room.borrow_mut();
            let headers = parts.head.headers;
            let is_for = is_own || told.is_for(space, headers, &here.policy, &mut room);
            is_for.then(|| reuse::shape(&parts.asked, &told.stored, len))
        });
        match shape.flatten() {
            Some(shape) => self.begin_reading(told, shape),
            None => {
                let seeking = Seeking {
                    names: Some(told.names().into()),
                    ..following.seeking.again()
                };
                self.seek_again(seeking);
            }
        }
    }

    /// The answer to its exchange does not go on as it comes.
    pub(super) fn end_kept(&mut self, mut exchange: Box<Exchange>) {
        let subject = exchange.subject.take();
        let (Some(kept), Some(subject), Some(settings)) =
            (exchange.kept.take(), subject, exchange.settings.clone())
        else {
            return;
        };
        if matches!(self.client, Client::Nobody) {
            return self.end_unasked(exchange, kept);
        }
        self.take_back(&exchange);
        let own = Own {
            facts: exchange.facts,
            has_body: !exchange.body_done,
            moments: exchange.moments,
        };
        match kept {
            Kept::Following(follower, pace, status) => {
                self.stage = Stage::Following(Box::new(Following {
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
                }));
                return self.let_go_on(exchange);
            }
            Kept::Page(object, status) => {
                self.serve_kept(&mut exchange, object.value(), &subject, status, &own);
            }
            Kept::Once(page, status) => {
                self.serve_kept(&mut exchange, &page, &subject, status, &own);
            }
            Kept::Ill(status) => {
                let fetch = exchange.fetch.take();
                let copy = fetch.and_then(|fetch| fetch.fail().0);
                let line = std::mem::take(&mut exchange.line);
                self.stands_in(copy, &subject, &settings, &own, &line, Some(status));
            }
            Kept::Again => self.ask_again(&subject.bytes, own, &settings, Seeking::default()),
            Kept::Nothing => {}
        }
        self.event_loop.recycle(exchange);
    }

    /// What is kept of it still comes, without a client.
    fn let_go_on(&self, mut exchange: Box<Exchange>) {
        if exchange.has_all() {
            self.event_loop.recycle(exchange);
            return;
        }
        exchange.detach();
        let peer = (*self.peer).clone();
        let mut alone = Self::of_stream(Client::Nobody, peer, &self.event_loop);
        alone.stage = Stage::Exchanging(exchange);
        tokio::task::spawn_local(alone);
    }

    /// Nobody asked for it but the cache.
    fn end_unasked(&mut self, mut exchange: Box<Exchange>, kept: Kept) {
        if let Kept::Following(_, pace, _) = &kept {
            pace.leave();
            if !exchange.has_all() {
                self.stage = Stage::Exchanging(exchange);
                return;
            }
        }
        if let Some(fetch) = exchange.fetch.take() {
            fetch.fail();
        }
        self.event_loop.recycle(exchange);
    }

    fn serve_kept(
        &mut self,
        exchange: &mut Exchange,
        page: &Page,
        subject: &Subject,
        status: CacheStatus,
        own: &Own,
    ) {
        let settings = exchange.settings.clone();
        let settings = settings.unwrap_or_else(|| self.event_loop.settings());
        let Some(here) = &settings.routes.get(own.facts.route).cache else {
            return;
        };
        let stored = &page.told.stored;
        let len = Some(page.len());
        let shape = subject.with(&here.policy, |parts| {
            reuse::shape(&parts.asked, stored, len)
        });
        let early = exchange.take_early();
        self.serve(&Served {
            early: early.left(),
            stored,
            body: &page.body,
            shape: shape.unwrap_or(Shape::Whole),
            status,
            own,
            line: &exchange.line,
            server: exchange.server.as_ref().map(|server| server.name.as_str()),
            reason: None,
            pass: exchange.pass.as_deref(),
        });
    }

    fn begin_reading(&mut self, told: &Told, shape: Shape) {
        let Stage::Following(mut following) = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        let own = following.own;
        let (at, end) = match shape {
            _ if own.facts.is_head => (0, Some(0)),
            Shape::Whole => (0, told.len),
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
        told.stored.write_head(head, shape, told.len, now);
        following.status.write(head);
        self.end_served_head(head, &own, after, following.pass.as_deref(), framing);
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
            let Stage::Following(following) = &mut self.stage else {
                return Poll::Ready(());
            };
            let Following {
                follower,
                out,
                reading: Some(reading),
                slowness,
                is_for_client,
                pace,
                ..
            } = &mut **following
            else {
                return Poll::Ready(());
            };
            let wanted = reading.end.map_or(u64::MAX, |end| end - reading.at);
            let mut shared = self.event_loop.shared.borrow_mut();
            let room = usize::try_from(wanted)
                .unwrap_or(usize::MAX)
                .min(shared.len());
            let is_waiting = out.is_empty() || !reading.in_chunks;
            let copied = if reading.is_over || wanted == 0 || !is_waiting {
                0
            } else {
                match follower.copy(reading.at, &mut shared[..room], cx.waker()) {
                    Copied::Bytes(count) => count,
                    Copied::Wait => 0,
                    Copied::End => {
                        reading.is_over = true;
                        if reading.in_chunks {
                            out.bytes.extend_from_slice(forward::LAST_CHUNK);
                        }
                        0
                    }
                    Copied::Broken => {
                        drop(shared);
                        return self.following_broke();
                    }
                }
            };
            let mut direct = &shared[..copied];
            if reading.in_chunks && copied > 0 {
                forward::chunk(&mut out.bytes, direct);
                reading.at += copied as u64;
                direct = &[];
            }
            if out.is_empty() && direct.is_empty() {
                drop(shared);
                let is_all = reading.is_over || reading.end == Some(reading.at);
                if !is_all {
                    // More is to come: its waker is filed.
                    *is_for_client = false;
                    slowness.moved(self.event_loop.clock.now());
                    let idle = idle_wait(&following.settings, &following.own);
                    self.event_loop.set_deadline(self.deadline, idle);
                    return Poll::Pending;
                }
                let is_flushed = ready!(self.client.poll_flush(cx)).is_ok();
                self.end_following(is_flushed);
                return Poll::Ready(());
            }
            let first_len = out.left().len();
            match self.client.poll_write(cx, out.left(), direct) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    out.advance(count.min(first_len));
                    out.clear_if_written();
                    reading.at += count.saturating_sub(first_len) as u64;
                    reading.bytes_out += count as u64;
                    if let Some(pace) = pace {
                        pace.has_read(reading.at);
                    }
                }
                Poll::Ready(_) => {
                    drop(shared);
                    self.event_loop.figures.clients_gone.increment();
                    self.end_following(false);
                    return Poll::Ready(());
                }
                Poll::Pending => {
                    *is_for_client = true;
                    let wait = slowness.patience(reading.bytes_out, &self.event_loop);
                    self.event_loop.set_deadline(self.deadline, wait);
                    return Poll::Pending;
                }
            }
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

    fn following_broke(&mut self) -> Poll<()> {
        if let Stage::Following(following) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.tell_of_following(&following, Some("broken"));
        }
        Poll::Ready(())
    }

    fn tell_of_following(&mut self, following: &Following, reason: Option<&'static str>) {
        let Some(reading) = following.reading else {
            return;
        };
        let event_loop = Rc::clone(&self.event_loop);
        let figures = &event_loop.figures;
        figures.statuses[usize::from(reading.status / 100 - 1).min(4)].increment();
        figures.bytes_out.add(reading.bytes_out);
        let ended = event_loop.clock.now();
        let moments = following.own.moments;
        figures
            .answer_times
            .record(ended.saturating_sub(moments.began));
        if following.line.is_empty() && self.particulars.is_none() {
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
            Stage::Following(following) if following.reading.is_none() => {
                self.following_failed(504, Reason::NoServer);
            }
            Stage::Following(following) if following.is_for_client => {
                self.event_loop.figures.clients_gone.increment();
                self.end_following(false);
            }
            _ => {
                let _ = self.following_broke();
            }
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
