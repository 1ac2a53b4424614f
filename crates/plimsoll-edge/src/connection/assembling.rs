//! A page is put together: it is asked for within the edge, and so are its fragments; all goes out in order.
//!
//! What is no page with fragments goes through as it comes. The body of the request, if it has one, is passed on to
//! whoever answers it.

use std::future::Future as _;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::Length;
use plimsoll_wire::request_head::{header_room, parse};

use super::begin::{client_of, default_host, length};
use super::cached::{Admitted, Seeking};
use super::including::Asker;
use super::joining::{Joining, Produced};
use super::own_answer::Own;
use super::serving::Slowness;
use super::{After, Connection, Stage};
use crate::client::{Client, Outgoing};
use crate::clock;
use crate::forward;
use crate::fragments::Draft;
use crate::fragments::head::{self, Joined, Lifetime};
use crate::fragments::incoming::{Coming, Incoming};
use crate::fragments::lineage::Lineage;
use crate::fragments::pipe::{ReadEnd, pipe};
use crate::fragments::request::without_range;
use crate::record::Outcome;
use crate::settings::{Settings, ticks};
use crate::trace::Trace;

/// How long nothing is looked at when whoever answers keeps the time.
const LOOK: Duration = Duration::from_hours(1);

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

    /// The next bytes for the client, or what is waited for.
    fn produce(&mut self, alone: &Connection, cx: &mut Context<'_>) -> Step {
        match &mut self.phase {
            Phase::Head => self.take_head(alone, cx),
            Phase::Passing(in_chunks) => {
                let in_chunks = *in_chunks;
                self.pass_on(in_chunks, cx)
            }
            Phase::Gathering(..) => self.gather(alone, cx),
            Phase::Joining(joining) => {
                let asker = Asker {
                    event_loop: &alone.event_loop,
                    peer: &alone.peer,
                    settings: &self.settings,
                    route: self.own.facts.route,
                    request: &self.request,
                    lineage: &self.lineage,
                    trace: self.trace.as_deref(),
                };
                match joining.produce(&mut self.out, &asker, cx) {
                    Produced::More if joining.is_coding() => Step::Yield,
                    Produced::More => Step::Moved,
                    Produced::Wait(due) => {
                        let left = due.saturating_sub(alone.event_loop.clock.now());
                        Step::Wait(ticks(Duration::from_nanos(left)))
                    }
                    Produced::End => {
                        self.keeps_client = joining.keeps_client;
                        self.phase = Phase::Done;
                        Step::Moved
                    }
                    Produced::Broke => Step::Broke,
                }
            }
            Phase::Done => Step::Whole,
        }
    }

    fn take_head(&mut self, alone: &Connection, cx: &mut Context<'_>) -> Step {
        let page = &mut self.page;
        page.advance(cx);
        if !page.early.is_empty() {
            let early = std::mem::take(&mut page.early);
            // HTTP/1.0 knows none.
            if self.own.facts.is_1_1 {
                self.out.bytes.extend_from_slice(&early);
            }
        }
        let Some(head) = page.head else {
            return if page.is_over() {
                Step::Broke
            } else {
                wait_for_page()
            };
        };
        self.status = head.status;
        let (mosaic, draft) = page.marks();
        let has_tags = mosaic.as_ref().map(|one| !one.parts.is_plain());
        match (draft, mosaic) {
            (Some(_), _) if matches!(head.status, 206 | 416) => return Step::Again,
            (None, None) => self.pass(),
            _ if self.own.facts.is_head && has_tags != Some(false) => self.show_head(),
            (_, Some(mosaic)) if !self.own.facts.is_head => {
                self.join(Joining::new(
                    mosaic,
                    &self.page,
                    &self.own,
                    alone,
                    &self.settings,
                ));
            }
            (Some(draft), None) => self.phase = Phase::Gathering(Vec::new(), draft),
            _ => self.pass(),
        }
        Step::Moved
    }

    fn join(&mut self, joining: Joining) {
        if joining.changes_nothing() {
            return self.pass();
        }
        let mut joining = joining;
        joining.keeps_client = self.own.facts.keep_alive && self.has_request();
        self.phase = Phase::Joining(Box::new(joining));
    }

    /// What a HEAD is told of a page that may be put together: nothing that is true of the page alone.
    fn show_head(&mut self) {
        self.keeps_client = self.own.facts.keep_alive && self.has_request();
        let joined = Joined {
            lifetime: Some(Lifetime::UNKNOWN),
            fragments: "",
            coding: None,
            varies: self.own.facts.coding.is_some(),
            framing: connection_line(self.keeps_client, self.own.facts.is_1_1),
        };
        let (out, bytes) = (&mut self.out.bytes, self.page.head_bytes());
        self.page
            .with_head(|_, headers| head::write(out, bytes, headers, &joined));
        self.phase = Phase::Done;
    }

    /// It goes through as it is.
    fn pass(&mut self) {
        let Some(head) = self.page.head else {
            return;
        };
        let has_none = self.own.facts.is_head || matches!(head.status, 204 | 304);
        let is_open = head.length == Length::Unsaid && !has_none;
        self.keeps_client = head.keep_alive && !is_open;
        self.out.bytes.extend_from_slice(self.page.head_bytes());
        self.phase = Phase::Passing(head.length == Length::Chunked && !has_none);
    }

    fn pass_on(&mut self, in_chunks: bool, cx: &mut Context<'_>) -> Step {
        let page = &mut self.page;
        page.advance(cx);
        if !page.content.is_empty() {
            put(&mut self.out.bytes, &page.content, in_chunks);
            page.content.clear();
            return Step::Moved;
        }
        if let Some(piece) = page.piece.take() {
            if in_chunks {
                forward::chunk(&mut self.out.bytes, &piece);
            } else {
                self.direct = piece;
            }
            return Step::Moved;
        }
        match page.state {
            Coming::Whole => {
                if in_chunks {
                    self.out.bytes.extend_from_slice(forward::LAST_CHUNK);
                }
                self.phase = Phase::Done;
                Step::Moved
            }
            Coming::Broken => Step::Broke,
            Coming::Head | Coming::Body => wait_for_page(),
        }
    }

    fn gather(&mut self, alone: &Connection, cx: &mut Context<'_>) -> Step {
        let Phase::Gathering(gathered, draft) = &mut self.phase else {
            return Step::Moved;
        };
        let page = &mut self.page;
        page.advance(cx);
        gathered.append(&mut page.content);
        if let Some(piece) = page.piece.take() {
            gathered.extend_from_slice(&piece);
        }
        let is_long = gathered.len() as u64 > draft.len_max;
        match page.state {
            Coming::Broken => return Step::Broke,
            Coming::Head | Coming::Body if !is_long => return wait_for_page(),
            Coming::Head | Coming::Body | Coming::Whole => {}
        }
        let body = Bytes::from(std::mem::take(gathered));
        let mosaic = draft.mosaic(&body).map(std::sync::Arc::new);
        match mosaic.filter(|_| !is_long) {
            Some(mosaic) => {
                self.join(Joining::new(
                    mosaic,
                    &self.page,
                    &self.own,
                    alone,
                    &self.settings,
                ));
            }
            None => self.pass(),
        }
        if let Phase::Passing(in_chunks) = self.phase {
            put(&mut self.out.bytes, &body, in_chunks);
        }
        Step::Moved
    }
}

fn wait_for_page() -> Step {
    Step::Wait(ticks(LOOK))
}

fn put(out: &mut Vec<u8>, content: &[u8], in_chunks: bool) {
    if !in_chunks {
        out.extend_from_slice(content);
    } else if !content.is_empty() {
        forward::chunk(out, content);
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
        let moments = crate::exchange::Moments {
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
