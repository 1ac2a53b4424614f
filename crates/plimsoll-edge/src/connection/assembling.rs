//! A page is put together: it is asked for within the edge, and so are its fragments; all goes out in order.
//!
//! What is no page with fragments goes through as it comes. The body of the request, if it has one, is passed on to
//! whoever answers it.

mod phases;

use std::future::Future as _;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf as _, Bytes};
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::request_head::{header_room, parse};

use super::begin::{client_of, default_host, length};
use super::cached::{Admitted, Seeking};
use super::joining::Joining;
use super::own_answer::Own;
use super::serving::Slowness;
use super::{After, Connection, Stage};
use crate::client::Client;
use crate::clock;
use crate::fragments::Draft;
use crate::fragments::incoming::Incoming;
use crate::fragments::lineage::Lineage;
use crate::fragments::pipe::{ReadEnd, pipe};
use crate::fragments::request::without_range;
use crate::outgoing::Outgoing;
use crate::record::Outcome;
use crate::settings::Settings;
use crate::trace::Trace;

/// A request for a page that is put together.
#[derive(Debug)]
pub(super) struct Assembling {
    own: Own,
    settings: Rc<Settings>,
    /// The beginning of its line in the log.
    line: Vec<u8>,
    /// Its head.
    request: Vec<u8>,
    lineage: Rc<Lineage>,
    trace: Option<String>,
    /// The request for the page itself, before it is under way.
    starting: Option<Box<Connection>>,
    page: Incoming,
    phase: Phase,
    /// What is still to come of the request.
    body: BodyReader,
    is_bad: bool,
    out: Outgoing,
    /// Goes out behind it as it is.
    direct: Bytes,
    bytes_out: u64,
    status: u16,
    keeps_client: bool,
    slowness: Slowness,
    is_for_client: bool,
}

#[derive(Debug)]
enum Phase {
    Head,
    /// It is no such page: it goes through, in chunks or as it is.
    Passing(bool),
    /// It may be one, when all of it is there.
    Gathering(Vec<u8>, Draft),
    Joining(Box<Joining>),
    Done,
}

enum Step {
    Moved,
    /// Others have their turn.
    Yield,
    Wait(u64),
    Whole,
    Left,
    Broke,
    /// A part was asked for, of what has no parts.
    Again,
}

impl Assembling {
    pub(super) fn memory(&self) -> usize {
        let phase = match &self.phase {
            Phase::Gathering(gathered, _) => gathered.capacity(),
            Phase::Joining(joining) => joining.memory(),
            Phase::Head | Phase::Passing(_) | Phase::Done => 0,
        };
        self.request.capacity() + self.out.memory() + self.page.memory() + phase
    }

    /// Whether the request's own bytes have all come.
    fn has_request(&self) -> bool {
        self.body.is_complete() && !self.is_bad
    }

    /// Passes on what belongs to the request; how much that is.
    fn feed(&mut self, bytes: &[u8]) -> usize {
        let taken = self.body.take(bytes, |_| ()).unwrap_or_else(|_| {
            // Whoever answers it finds the fault too.
            self.is_bad = true;
            bytes.len()
        });
        self.page.feed(&bytes[..taken]);
        taken
    }
}

/// What is said of the client's connection.
pub(super) fn connection_line(keeps: bool, is_1_1: bool) -> &'static str {
    match (keeps, is_1_1) {
        (false, _) => "Connection: close\r\n",
        (true, true) => "",
        (true, false) => "Connection: keep-alive\r\n",
    }
}

/// Sets a request within the edge on its way. One that a copy answers is over at once.
pub(super) fn launch(mut alone: Connection) {
    if matches!(
        alone.stage,
        Stage::Serving(_) | Stage::Answering(..) | Stage::Assembling(_) | Stage::Over
    ) {
        let mut cx = Context::from_waker(Waker::noop());
        if std::pin::Pin::new(&mut alone).poll(&mut cx).is_ready() {
            return;
        }
        alone.is_polled = false;
    }
    tokio::task::spawn_local(alone);
}

impl Connection {
    /// Asks for a page within the edge, to put it together.
    pub(super) fn assemble(&mut self, request: Admitted<'_>) {
        let (own, settings) = (request.own, request.settings);
        let route = settings.routes.get(own.facts.route);
        let Some(config) = &route.config.fragments else {
            return self.look_up(request, Seeking::default());
        };
        let head = request.head;
        let lineage = match &self.client {
            Client::Inner(inner) => inner.fragment.clone(),
            _ => None,
        };
        let lineage = lineage.unwrap_or_else(|| {
            let host = head.host.unwrap_or(default_host(route, settings));
            Rc::new(Lineage::of_page(host, head.target, config.most))
        });
        let mut line = Vec::new();
        self.begin_line(&mut line, head, request.client);
        let trace = self.trace().map(Trace::header);
        let (starting, end) = self.page(request);
        self.stage = Stage::Assembling(Box::new(Assembling {
            own,
            settings: Rc::clone(settings),
            line,
            request: request.bytes.to_vec(),
            lineage,
            trace,
            starting: Some(starting),
            page: Incoming::new(end, own.facts.is_head),
            phase: Phase::Head,
            body: BodyReader::new(length(head), u64::MAX),
            is_bad: false,
            out: Outgoing::default(),
            direct: Bytes::new(),
            bytes_out: 0,
            status: 0,
            keeps_client: false,
            slowness: Slowness::default(),
            is_for_client: false,
        }));
    }

    /// The request for the page itself, in the name of the client.
    fn page(&mut self, request: Admitted<'_>) -> (Box<Self>, ReadEnd) {
        let (inner, end) = pipe(None);
        let peer = (*self.peer).clone();
        let mut page = Self::of_stream(Client::Inner(inner), peer, &self.event_loop);
        page.particulars = self.particulars.take();
        page.look_up(request, Seeking::default());
        (Box::new(page), end)
    }

    /// Asks for all of a page of which a part was asked for.
    fn page_again(&mut self, one: &mut Assembling) -> Step {
        let bytes = without_range(&one.request);
        if bytes.len() == one.request.len() {
            one.pass();
            return Step::Moved;
        }
        let mut room = header_room();
        let Ok(head) = parse(&bytes, &mut room) else {
            return Step::Broke;
        };
        let settings = Rc::clone(&one.settings);
        let (starting, end) = self.page(Admitted {
            bytes: &bytes,
            head: &head,
            client: client_of(&self.peer, &head, &settings),
            own: one.own,
            settings: &settings,
        });
        one.starting = Some(starting);
        one.page = Incoming::new(end, one.own.facts.is_head);
        one.request = bytes;
        Step::Moved
    }

    pub(super) fn poll_assembling(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Stage::Assembling(mut one) = std::mem::replace(&mut self.stage, Stage::Over) else {
                return Poll::Ready(());
            };
            let step = self.assemble_step(&mut one, cx);
            match step {
                Step::Moved | Step::Again => self.stage = Stage::Assembling(one),
                Step::Yield => {
                    self.stage = Stage::Assembling(one);
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Step::Wait(ticks) => {
                    self.stage = Stage::Assembling(one);
                    self.event_loop.set_deadline(self.deadline, ticks);
                    return Poll::Pending;
                }
                Step::Whole => {
                    self.tell_of_assembled(&one, None);
                    let keeps = one.keeps_client && one.has_request();
                    let after = if keeps {
                        After::NextRequest
                    } else {
                        After::Close
                    };
                    self.follow_answer(after);
                    return Poll::Ready(());
                }
                Step::Left => {
                    self.count_gone();
                    self.tell_of_assembled(&one, Some("client-gone"));
                    return Poll::Ready(());
                }
                Step::Broke => {
                    self.tell_of_assembled(&one, Some("broken"));
                    return Poll::Ready(());
                }
            }
        }
    }

    fn assemble_step(&mut self, one: &mut Assembling, cx: &mut Context<'_>) -> Step {
        if let Some(page) = one.starting.take() {
            launch(*page);
        }
        if !self.pump(one, cx) {
            return Step::Left;
        }
        if !(one.out.is_empty() && one.direct.is_empty()) {
            return self.write_out(one, cx);
        }
        let step = one.produce(self, cx);
        if matches!(step, Step::Again) {
            return self.page_again(one);
        }
        if !matches!(step, Step::Wait(_) | Step::Whole) {
            return step;
        }
        one.is_for_client = false;
        one.slowness.moved(self.event_loop.clock.now());
        match self.client.poll_flush(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Step::Left,
            Poll::Pending => return self.wait_for_client(one),
        }
        let waits = matches!(step, Step::Wait(_));
        if waits && one.has_request() && self.client_left(cx) {
            return Step::Left;
        }
        step
    }

    fn write_out(&mut self, one: &mut Assembling, cx: &mut Context<'_>) -> Step {
        let first = one.out.left();
        let first_len = first.len();
        match self.client.poll_write(cx, first, &one.direct) {
            Poll::Ready(Ok(count)) if count > 0 => {
                one.out.advance(count.min(first_len));
                one.out.clear_if_written();
                one.direct.advance(count.saturating_sub(first_len));
                one.bytes_out += count as u64;
                Step::Moved
            }
            Poll::Ready(_) => Step::Left,
            Poll::Pending => self.wait_for_client(one),
        }
    }

    fn wait_for_client(&self, one: &mut Assembling) -> Step {
        one.is_for_client = true;
        Step::Wait(one.slowness.patience(one.bytes_out, &self.event_loop))
    }

    /// Passes on what comes of the request's body; `false` when the client has left.
    fn pump(&mut self, one: &mut Assembling, cx: &mut Context<'_>) -> bool {
        while !one.body.is_complete() && !one.is_bad && !one.page.is_over() {
            let room = one.page.room();
            if room == 0 {
                break;
            }
            if !self.held.is_empty() {
                let len = self.held.len().min(room);
                let taken = one.feed(&self.held[..len]);
                self.held.drain(..taken);
                continue;
            }
            let event_loop = Rc::clone(&self.event_loop);
            let mut shared = event_loop.shared.borrow_mut();
            let room = room.min(shared.len());
            match self.client.poll_read(cx, &mut shared[..room]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    let taken = one.feed(&shared[..count]);
                    self.held.extend_from_slice(&shared[taken..count]);
                }
                Poll::Ready(_) => return false,
                Poll::Pending => break,
            }
        }
        true
    }

    /// Its deadline has passed. Fragments that are late are seen to when it goes on.
    pub(super) fn assembling_expired(&mut self) {
        let Stage::Assembling(one) = &self.stage else {
            return;
        };
        if !one.is_for_client {
            return;
        }
        if let Stage::Assembling(one) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.count_gone();
            self.tell_of_assembled(&one, Some("client-gone"));
        }
    }

    fn tell_of_assembled(&mut self, one: &Assembling, reason: Option<&'static str>) {
        if one.status == 0 {
            return;
        }
        let report = one.page.report();
        let ended = self.event_loop.clock.now();
        let moments = crate::moments::Moments {
            began: one.own.moments.began,
            ..report.moments
        };
        self.count(one.status, one.bytes_out, moments.began, ended);
        if !self.is_told_of(&one.line) {
            return;
        }
        let outcome = Outcome {
            status: one.status,
            bytes: one.bytes_out,
            reason: reason.or(report.reason),
            server: report.server.as_deref(),
            moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(&one.line, &outcome);
    }
}
