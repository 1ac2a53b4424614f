//! One client's connection: request after request, each on its way through admission, pool and exchange.
//!
//! A connection that waits for its next request holds no buffer. Everything a request needs is made when its head is
//! complete and given back when its answer is with the client.

mod asking;
mod assembling;
mod begin;
mod cached;
mod following;
mod including;
mod joining;
mod kept;
mod mercure;
mod own_answer;
mod particulars;
mod prior;
mod purging;
mod recalling;
mod serving;
mod visiting;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::client::Client;
use crate::deadline::ticks;
use crate::event_loop::EventLoop;
use crate::exchange::{self, End, Exchange, Failure, Side};
use crate::hub::visitor::{Arrival, Visitor};
use crate::outgoing::Outgoing;
use crate::peer::Peer;
use crate::pool::Pool;
use crate::pool::ticket::Ticket;
use crate::reason::Reason;
use crate::tunnel::Tunnel;
use asking::Asking;
use assembling::Assembling;
use following::Following;
use mercure::Posting;
use particulars::Particulars;
use prior::Frames;
use serving::Serving;

/// Most bytes that are read and thrown away after a last answer, so that it reaches a client that still sends.
const LINGER_LEN_MAX: usize = 256 * 1024;
/// Longest time for that, ticks.
const LINGER_TICKS: u64 = 200;
/// Most bytes of a body that are taken while its request waits in line.
const HELD_LEN_MAX: usize = 64 * 1024;

/// A client's connection, a future that ends with it.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    event_loop: Rc<EventLoop>,
    deadline: usize,
    peer: Box<Peer>,
    /// Bytes that came and were not used yet.
    held: Vec<u8>,
    stage: Stage,
    /// The first head has longer than those that follow: it has the time of a head, they have that of an idle client.
    requests: u32,
    is_polled: bool,
    /// What only some requests carry.
    particulars: Option<Box<Particulars>>,
    /// Bytes that the loop was told it holds.
    holds: usize,
    /// A connection of its own; a stream of HTTP/2 is counted with its connection.
    is_counted: bool,
}

/// How far the current request is.
#[derive(Debug)]
enum Stage {
    /// Its head is awaited, or not complete.
    Head,
    /// It waits in line.
    Waiting(Box<Waiting>),
    Exchanging(Box<Exchange>),
    /// An answer of the edge's own goes out.
    Answering(Outgoing, After),
    /// A copy goes out.
    Serving(Serving),
    /// It reads along with a fetch.
    Following(Box<Following>),
    /// It is put together from what the edge asks itself.
    Assembling(Box<Assembling>),
    Tunnel(Box<Tunnel>),
    /// The application is asked whether it may come to the hub.
    Asking(Box<Asking>),
    /// It comes to the hub.
    Arriving(Box<Arrival>),
    /// An update for the hub comes.
    Posting(Box<Posting>),
    /// It is a client of the hub, which has its socket.
    Visiting(Box<Visitor>),
    /// It speaks HTTP/2 without encryption; each stream is a connection of its own.
    Frames(Frames),
    /// All was said; what the client still sends is thrown away.
    Lingering(usize),
    Over,
}

/// A request in line.
#[derive(Debug)]
struct Waiting {
    exchange: Box<Exchange>,
    pool: Arc<Pool>,
    ticket: Arc<Ticket>,
}

/// What follows an answer of the edge's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    NextRequest,
    Close,
}

impl Connection {
    pub(crate) fn new(client: Client, peer: Peer, event_loop: &Rc<EventLoop>) -> Self {
        event_loop.figures.accepted.increment();
        event_loop.figures.connections.increment();
        let mut new = Self::of_stream(client, peer, event_loop);
        new.is_counted = true;
        new
    }

    /// Begins with the request of a stream, on a task of its own.
    pub(crate) fn begin_stream(client: Client, peer: Peer, event_loop: &Rc<EventLoop>) {
        tokio::task::spawn_local(Self::of_stream(client, peer, event_loop));
    }

    /// One request of a connection that is counted elsewhere.
    pub(crate) fn of_stream(client: Client, peer: Peer, event_loop: &Rc<EventLoop>) -> Self {
        let deadline = event_loop.enter();
        event_loop.set_deadline(deadline, event_loop.settings().ticks.head);
        Self {
            client,
            event_loop: Rc::clone(event_loop),
            deadline,
            peer: Box::new(peer),
            held: Vec::new(),
            stage: Stage::Head,
            requests: 0,
            is_polled: false,
            particulars: None,
            holds: 0,
            is_counted: false,
        }
    }

    /// Takes it from stage to stage until one waits, or all is over.
    fn poll_stages(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !matches!(self.stage, Stage::Over) {
            let is_idle = matches!(self.stage, Stage::Head) && self.held.is_empty();
            // A stream, or a request within the edge, is one that has come: it is answered.
            if is_idle && self.is_counted && self.event_loop.is_draining() {
                break;
            }
            ready!(self.poll_stage(cx));
        }
        Poll::Ready(())
    }

    /// Memory that it takes for bytes on their way.
    fn memory(&self) -> usize {
        let stage = match &self.stage {
            Stage::Waiting(waiting) => waiting.exchange.memory(),
            Stage::Exchanging(exchange) => exchange.memory(),
            Stage::Answering(out, _) => out.memory(),
            Stage::Serving(serving) => serving.memory(),
            Stage::Following(following) => following.memory(),
            Stage::Assembling(assembling) => assembling.memory(),
            Stage::Tunnel(tunnel) => tunnel.memory(),
            Stage::Visiting(visitor) => visitor.memory(),
            Stage::Posting(posting) => posting.memory(),
            Stage::Asking(_)
            | Stage::Arriving(_)
            | Stage::Head
            | Stage::Frames(_)
            | Stage::Lingering(_)
            | Stage::Over => 0,
        };
        self.held.capacity() + self.client.memory() + stage
    }

    fn poll_stage(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.stage {
            Stage::Head => self.poll_head(cx),
            Stage::Waiting(_) => self.poll_waiting(cx),
            Stage::Exchanging(_) => self.poll_exchange(cx),
            Stage::Answering(..) => self.poll_answering(cx),
            Stage::Serving(_) => self.poll_serving(cx),
            Stage::Following(_) => self.poll_following(cx),
            Stage::Assembling(_) => self.poll_assembling(cx),
            Stage::Tunnel(tunnel) => {
                let event_loop = &self.event_loop;
                ready!(tunnel.poll(cx, &mut self.client, event_loop, self.deadline));
                event_loop.figures.tunnels.decrement();
                self.stage = Stage::Over;
                Poll::Ready(())
            }
            Stage::Asking(_) => self.poll_asking(cx),
            Stage::Arriving(_) => self.poll_arriving(cx),
            Stage::Posting(_) => self.poll_posting(cx),
            Stage::Visiting(visitor) => {
                ready!(visitor.poll(cx, &self.event_loop));
                self.end_visit();
                Poll::Ready(())
            }
            Stage::Frames(frames) => {
                ready!(frames.poll(cx));
                self.stage = Stage::Over;
                Poll::Ready(())
            }
            Stage::Lingering(_) => self.poll_lingering(cx),
            Stage::Over => Poll::Ready(()),
        }
    }

    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.held.is_empty() {
            // Sent ahead behind the last request, or the beginning of a head.
            let held = std::mem::take(&mut self.held);
            if self.begin_if_complete(&held, 0) {
                return Poll::Ready(());
            }
            self.held = held;
        }
        let event_loop = Rc::clone(&self.event_loop);
        let mut shared = event_loop.shared.borrow_mut();
        loop {
            let count = match ready!(self.client.poll_read(cx, &mut shared)) {
                Ok(count) if count > 0 => count,
                _ => {
                    self.stage = Stage::Over;
                    return Poll::Ready(());
                }
            };
            event_loop.figures.bytes_in.add(count as u64);
            if self.held.is_empty() {
                if self.begin_if_complete(&shared[..count], 0) {
                    return Poll::Ready(());
                }
                if event_loop.memory.is_full() {
                    self.shed();
                    return Poll::Ready(());
                }
                self.held.extend_from_slice(&shared[..count]);
                event_loop.set_deadline(self.deadline, event_loop.settings().ticks.head);
            } else {
                let seen = self.held.len();
                let mut held = std::mem::take(&mut self.held);
                held.extend_from_slice(&shared[..count]);
                if self.begin_if_complete(&held, seen) {
                    return Poll::Ready(());
                }
                self.held = held;
            }
        }
    }

    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.client_left(cx) {
            self.count_gone();
            // Dropped with its ticket: whoever left keeps nobody waiting.
            self.leave_queue();
            return Poll::Ready(());
        }
        let Stage::Waiting(waiting) = &mut self.stage else {
            return Poll::Ready(());
        };
        let server = ready!(waiting.ticket.poll(cx));
        let Stage::Waiting(waiting) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Poll::Ready(());
        };
        let mut exchange = waiting.exchange;
        let permit = waiting.pool.permit(server);
        let waited = permit.granted.saturating_sub(exchange.moments.began);
        exchange.permit = Some(permit);
        self.event_loop.figures.wait_times.record(waited);
        self.start(exchange);
        Poll::Ready(())
    }

    /// The exchange has its permit: on to the server.
    fn start(&mut self, mut exchange: Box<Exchange>) {
        exchange.link_up(&self.side_without_exchange());
        self.stage = Stage::Exchanging(exchange);
    }

    fn side_without_exchange(&mut self) -> Side<'_> {
        Side {
            client: &mut self.client,
            held: &mut self.held,
            event_loop: &self.event_loop,
            deadline: self.deadline,
        }
    }

    fn poll_exchange(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Stage::Exchanging(exchange) = &mut self.stage else {
            return Poll::Ready(());
        };
        let mut side = Side {
            client: &mut self.client,
            held: &mut self.held,
            event_loop: &self.event_loop,
            deadline: self.deadline,
        };
        let end = ready!(exchange.poll(cx, &mut side));
        if end == End::ClientGone && exchange.leads() {
            // Others wait for it: it goes on without the one who asked first.
            exchange.detach();
            self.count_gone();
            self.client = Client::Nobody;
            return Poll::Ready(());
        }
        self.end_exchange(end);
        Poll::Ready(())
    }

    /// What follows an exchange.
    fn end_exchange(&mut self, end: End) {
        let Stage::Exchanging(mut exchange) = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        self.tell_of(&exchange, end);
        if matches!(self.client, Client::Nobody) && end != End::Kept {
            if let Some(fetch) = exchange.fetch.take() {
                fetch.fail();
            }
            exchange::recycle(exchange);
            return;
        }
        match end {
            End::Kept => return self.end_kept(exchange),
            End::Done { keep: true } => self.next_request(),
            End::Done { keep: false } => self.linger(),
            End::Switched => self.open_tunnel(&mut exchange),
            End::Failed(failure) => {
                let status = match failure {
                    Failure::Timeout => 504,
                    Failure::NoConnection | Failure::Reset | Failure::BadAnswer => 502,
                };
                self.refuse_exchange(&mut exchange, status, Reason::NoServer);
            }
            End::Refused(status) => self.refuse_exchange(&mut exchange, status, Reason::BadRequest),
            End::Broken | End::ClientGone => {}
        }
        exchange::recycle(exchange);
    }

    fn open_tunnel(&mut self, exchange: &mut Exchange) {
        let idle = exchange
            .permit
            .as_ref()
            .map_or_else(Default::default, |permit| permit.pool.config.timeouts)
            .tunnel;
        // A tunnel stays for hours; it takes no place from requests.
        let Some((server, permit)) = exchange.take_link() else {
            return;
        };
        drop(permit);
        let early = std::mem::take(&mut self.held);
        self.event_loop.figures.tunnels.increment();
        self.stage = Stage::Tunnel(Box::new(Tunnel::new(server, early, ticks(idle))));
    }

    fn next_request(&mut self) {
        if self.end_inner() {
            return;
        }
        let settings = self.event_loop.settings();
        self.event_loop
            .set_deadline(self.deadline, settings.ticks.idle);
        self.particulars = None;
        self.stage = Stage::Head;
    }

    /// A request within the edge is one: its answer was given to its end.
    fn end_inner(&mut self) -> bool {
        let Client::Inner(inner) = &self.client else {
            return false;
        };
        inner.end();
        self.stage = Stage::Over;
        true
    }

    fn linger(&mut self) {
        if self.end_inner() {
            return;
        }
        self.held = Vec::new();
        self.event_loop.set_deadline(self.deadline, LINGER_TICKS);
        self.stage = Stage::Lingering(0);
    }

    fn poll_answering(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Stage::Answering(out, after) = &mut self.stage else {
            return Poll::Ready(());
        };
        let after = *after;
        while !out.is_empty() {
            match ready!(self.client.poll_write(cx, out.left(), &[])) {
                Ok(count) if count > 0 => out.advance(count),
                _ => {
                    self.stage = Stage::Over;
                    return Poll::Ready(());
                }
            }
        }
        if ready!(self.client.poll_flush(cx)).is_err() {
            self.stage = Stage::Over;
            return Poll::Ready(());
        }
        if let Stage::Answering(out, _) = &mut self.stage {
            let bytes = std::mem::take(&mut out.bytes);
            self.event_loop.return_bytes(bytes);
        }
        self.follow_answer(after);
        Poll::Ready(())
    }

    fn follow_answer(&mut self, after: After) {
        match after {
            After::NextRequest => self.next_request(),
            After::Close => self.linger(),
        }
    }

    /// A close with unread bytes would reset the connection, and the answer with it.
    fn poll_lingering(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = ready!(self.client.poll_shutdown(cx));
        let event_loop = Rc::clone(&self.event_loop);
        let mut shared = event_loop.shared.borrow_mut();
        let Stage::Lingering(thrown_away) = &mut self.stage else {
            return Poll::Ready(());
        };
        loop {
            match ready!(self.client.poll_read(cx, &mut shared)) {
                Ok(count) if count > 0 && *thrown_away < LINGER_LEN_MAX => *thrown_away += count,
                _ => break,
            }
        }
        self.stage = Stage::Over;
        Poll::Ready(())
    }

    /// The deadline of the current stage has passed.
    fn expired(&mut self) {
        match &mut self.stage {
            Stage::Head if !self.held.is_empty() => {
                self.held = Vec::new();
                self.refuse_bad(408);
            }
            Stage::Waiting(_) => self.give_up_waiting(),
            Stage::Exchanging(exchange) => {
                let mut side = Side {
                    client: &mut self.client,
                    held: &mut self.held,
                    event_loop: &self.event_loop,
                    deadline: self.deadline,
                };
                if let Err(end) = exchange.expired(&mut side) {
                    self.end_exchange(end);
                }
            }
            Stage::Tunnel(_) => {
                self.event_loop.figures.tunnels.decrement();
                self.stage = Stage::Over;
            }
            Stage::Visiting(visitor) => {
                if visitor.expired(&self.event_loop) {
                    self.stage = Stage::Over;
                }
            }
            Stage::Following(_) => self.following_expired(),
            Stage::Assembling(_) => self.assembling_expired(),
            // Their time is kept with them.
            Stage::Frames(_) => {}
            _ => self.stage = Stage::Over,
        }
    }

    /// Whether a client in line has hung up. What it sends meanwhile is kept, within bounds.
    fn client_left(&mut self, cx: &mut Context<'_>) -> bool {
        let event_loop = Rc::clone(&self.event_loop);
        let mut shared = event_loop.shared.borrow_mut();
        while self.held.len() < HELD_LEN_MAX {
            let room = HELD_LEN_MAX - self.held.len();
            let room = room.min(shared.len());
            match self.client.poll_read(cx, &mut shared[..room]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.held.extend_from_slice(&shared[..count]);
                }
                Poll::Ready(_) => return true,
                Poll::Pending => return false,
            }
        }
        false
    }

    fn leave_queue(&mut self) {
        if let Stage::Waiting(waiting) = std::mem::replace(&mut self.stage, Stage::Over) {
            waiting.pool.leave(&waiting.ticket);
            exchange::recycle(waiting.exchange);
        }
    }

    fn give_up_waiting(&mut self) {
        let Stage::Waiting(mut waiting) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        waiting.pool.leave(&waiting.ticket);
        self.refuse_exchange(&mut waiting.exchange, 503, Reason::QueueTimeout);
        exchange::recycle(waiting.exchange);
    }
}

impl Future for Connection {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let connection = self.get_mut();
        if !connection.is_polled {
            // A task's waker stays the same: it is filed once.
            connection.is_polled = true;
            let mut wheel = connection.event_loop.wheel.borrow_mut();
            wheel.set_waker(connection.deadline, cx.waker().clone());
        }
        let expired = connection
            .event_loop
            .wheel
            .borrow_mut()
            .take_expired(connection.deadline);
        if expired {
            connection.expired();
        }
        let polled = connection.poll_stages(cx);
        let holds = connection.memory();
        connection.event_loop.memory.hold(connection.holds, holds);
        connection.holds = holds;
        polled
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Stage::Waiting(waiting) = &self.stage {
            waiting.pool.leave(&waiting.ticket);
        }
        self.event_loop.memory.hold(self.holds, 0);
        self.event_loop.wheel.borrow_mut().leave(self.deadline);
        if self.is_counted {
            self.event_loop.figures.connections.decrement();
        }
    }
}
