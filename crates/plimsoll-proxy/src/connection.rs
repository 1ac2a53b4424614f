//! A client connection: one request after another, each through admission, pool and exchange.
//!
//! A connection that waits for its next request holds no buffer. Everything a request needs is created when its head is
//! complete, and released when its response is delivered.
//!
//! A file that has the name of a phase of the data path takes a request through it: `admission`, `lookup`, `balance`,
//! `exchange`, `respond`. This one only waits for the next: it reads heads, and continues the stage that can.

mod account;
mod admission;
mod admitted;
mod balance;
mod cache_outcome;
mod client_address;
mod collapsed_reader;
mod disk_lookup;
mod esi_assembly;
mod esi_include;
mod esi_merge;
mod exchange;
mod h2c;
mod hub_admission;
mod hub_upgrade;
mod lookup;
mod mercure;
mod purging;
mod queued_request;
mod refusal;
mod request_context;
mod request_log;
mod respond;
mod serving;
mod timer;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use plimsoll_hub_io::subscribers::subscriber::{Arrival, SubscriberConnection};
use plimsoll_net::reason::Reason;

use crate::client::ClientStream;
use crate::client::channel::ClientChannel;
use crate::exchange::Exchange;
use crate::exchange::tunnel::Tunnel;
use crate::message::outgoing::Outgoing;
use crate::peer::Peer;
use crate::worker::Worker;
use account::ConnectionAccount;
use collapsed_reader::CollapsedReader;
use esi_assembly::EsiAssembly;
use h2c::H2cConnection;
use hub_admission::HubAdmission;
use mercure::Posting;
use queued_request::QueuedRequest;
use request_context::RequestContext;
use serving::Serving;
use timer::Timer;

/// Lingering close: most bytes that are read and discarded after the last response, so that it reaches a client that
/// still sends.
const LINGER_LEN_MAX: usize = 256 * 1024;
/// Longest time of a lingering close, ticks.
const LINGER_TICKS: u64 = 200;
/// Most bytes of a body that are buffered while its request waits in a queue.
const HELD_LEN_MAX: usize = 64 * 1024;

/// A client connection, as a future that completes with it.
#[derive(Debug)]
pub(crate) struct DownstreamConnection {
    client: ClientChannel,
    event_loop: Rc<Worker>,
    timer: Timer,
    peer: Box<Peer>,
    stage: RequestStage,
    account: ConnectionAccount,
    /// State that only some requests need.
    context: Option<Box<RequestContext>>,
}

/// The stage of the current request.
#[derive(Debug)]
enum RequestStage {
    /// Waiting for a complete head.
    Head,
    /// Waiting in a queue.
    Waiting(Box<QueuedRequest>),
    Exchanging(Box<Exchange>),
    /// A synthetic response is sent.
    Answering(Outgoing, After),
    /// A stored response is sent.
    Serving(Serving),
    /// Reads along with a fetch.
    Collapsed(Box<CollapsedReader>),
    /// An ESI page is assembled from subrequests.
    Assembling(Box<EsiAssembly>),
    Tunnel(Box<Tunnel>),
    /// Waits for the application to authorize a hub client.
    Authorizing(Box<HubAdmission>),
    /// Is entering the hub.
    Arriving(Box<Arrival>),
    /// An update for the hub is being received.
    Posting(Box<Posting>),
    /// A hub subscriber, which owns the socket.
    Subscribed(Box<SubscriberConnection>),
    /// HTTP/2 without TLS; each stream is a connection of its own.
    H2c(H2cConnection),
    /// The last response is sent; further input is discarded.
    Lingering(usize),
    Over,
}

/// What follows a synthetic response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    NextRequest,
    Close,
}

impl DownstreamConnection {
    pub(crate) fn new(client: ClientStream, peer: Peer, event_loop: &Rc<Worker>) -> Self {
        let account = ConnectionAccount::accepted(event_loop);
        let mut new = Self::of_stream(client, peer, event_loop);
        new.account = account;
        new
    }

    /// Starts the request of an HTTP/2 stream on a task of its own.
    pub(crate) fn begin_stream(client: ClientStream, peer: Peer, event_loop: &Rc<Worker>) {
        tokio::task::spawn_local(Self::of_stream(client, peer, event_loop));
    }

    /// A single request whose connection is counted elsewhere.
    pub(crate) fn of_stream(client: ClientStream, peer: Peer, event_loop: &Rc<Worker>) -> Self {
        let timer = Timer::enter(event_loop, event_loop.settings().ticks.head);
        Self {
            client: client.into(),
            event_loop: Rc::clone(event_loop),
            timer,
            peer: Box::new(peer),
            stage: RequestStage::Head,
            account: ConnectionAccount::default(),
            context: None,
        }
    }

    /// Advances through the stages until one is pending, or the connection ends.
    fn poll_stages(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !matches!(self.stage, RequestStage::Over) {
            let is_idle = matches!(self.stage, RequestStage::Head) && self.client.is_idle();
            // A stream or subrequest has its request already: it is answered even while draining.
            if is_idle && self.account.is_counted() && self.event_loop.is_draining() {
                break;
            }
            ready!(self.poll_stage(cx));
        }
        Poll::Ready(())
    }

    /// Memory for bytes in flight.
    fn memory(&self) -> usize {
        let stage = match &self.stage {
            RequestStage::Waiting(waiting) => waiting.memory(),
            RequestStage::Exchanging(exchange) => exchange.memory(),
            RequestStage::Answering(out, _) => out.memory(),
            RequestStage::Serving(serving) => serving.memory(),
            RequestStage::Collapsed(reader) => reader.memory(),
            RequestStage::Assembling(assembling) => assembling.memory(),
            RequestStage::Tunnel(tunnel) => tunnel.memory(),
            RequestStage::Subscribed(subscriber) => subscriber.memory(),
            RequestStage::Posting(posting) => posting.memory(),
            RequestStage::Authorizing(_)
            | RequestStage::Arriving(_)
            | RequestStage::Head
            | RequestStage::H2c(_)
            | RequestStage::Lingering(_)
            | RequestStage::Over => 0,
        };
        self.client.memory() + stage
    }

    fn poll_stage(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.stage {
            RequestStage::Head => self.poll_head(cx),
            RequestStage::Waiting(_) => self.poll_waiting(cx),
            RequestStage::Exchanging(_) => self.poll_exchange(cx),
            RequestStage::Answering(..) => self.poll_answering(cx),
            RequestStage::Serving(_) => self.poll_serving(cx),
            RequestStage::Collapsed(_) => self.poll_collapsed(cx),
            RequestStage::Assembling(_) => self.poll_assembling(cx),
            RequestStage::Tunnel(tunnel) => {
                let event_loop = &self.event_loop;
                ready!(tunnel.poll(cx, &mut self.client, event_loop, self.timer.key()));
                event_loop.figures.tunnels.decrement();
                self.stage = RequestStage::Over;
                Poll::Ready(())
            }
            RequestStage::Authorizing(_) => self.poll_authorizing(cx),
            RequestStage::Arriving(_) => self.poll_arriving(cx),
            RequestStage::Posting(_) => self.poll_posting(cx),
            RequestStage::Subscribed(subscriber) => {
                ready!(subscriber.poll(cx, &self.event_loop));
                self.end_visit();
                Poll::Ready(())
            }
            RequestStage::H2c(frames) => {
                ready!(frames.poll(cx));
                self.stage = RequestStage::Over;
                Poll::Ready(())
            }
            RequestStage::Lingering(_) => self.poll_lingering(cx),
            RequestStage::Over => Poll::Ready(()),
        }
    }

    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.client.is_idle() {
            // A pipelined request, or the beginning of a head.
            let held = self.client.take_held();
            if self.begin_if_complete(&held, 0) {
                return Poll::Ready(());
            }
            self.client.put_back(held);
        }
        let event_loop = Rc::clone(&self.event_loop);
        let mut shared = event_loop.shared.borrow_mut();
        loop {
            let count = match ready!(self.client.poll_read(cx, &mut shared)) {
                Ok(count) if count > 0 => count,
                _ => {
                    self.stage = RequestStage::Over;
                    return Poll::Ready(());
                }
            };
            event_loop.figures.bytes_in.add(count as u64);
            if self.client.is_idle() {
                if self.begin_if_complete(&shared[..count], 0) {
                    return Poll::Ready(());
                }
                if event_loop.memory.is_full() {
                    self.shed();
                    return Poll::Ready(());
                }
                self.client.hold(&shared[..count]);
                self.timer
                    .set(&event_loop, event_loop.settings().ticks.head);
            } else {
                let scanned = self.client.held_len();
                let mut held = self.client.take_held();
                held.extend_from_slice(&shared[..count]);
                if self.begin_if_complete(&held, scanned) {
                    return Poll::Ready(());
                }
                self.client.put_back(held);
            }
        }
    }

    fn next_request(&mut self) {
        if self.end_inner() {
            return;
        }
        let settings = self.event_loop.settings();
        self.timer.set(&self.event_loop, settings.ticks.idle);
        self.context = None;
        self.stage = RequestStage::Head;
    }

    /// A subrequest is complete: its response is in the pipe.
    fn end_inner(&mut self) -> bool {
        let Some(inner) = self.client.inner() else {
            return false;
        };
        inner.end();
        self.stage = RequestStage::Over;
        true
    }

    fn linger(&mut self) {
        if self.end_inner() {
            return;
        }
        self.client.release_held();
        self.timer.set(&self.event_loop, LINGER_TICKS);
        self.stage = RequestStage::Lingering(0);
    }

    fn follow_answer(&mut self, after: After) {
        match after {
            After::NextRequest => self.next_request(),
            After::Close => self.linger(),
        }
    }

    /// Closing with unread bytes would reset the connection, and lose the response.
    fn poll_lingering(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = ready!(self.client.poll_shutdown(cx));
        let event_loop = Rc::clone(&self.event_loop);
        let mut shared = event_loop.shared.borrow_mut();
        let RequestStage::Lingering(discarded) = &mut self.stage else {
            return Poll::Ready(());
        };
        loop {
            match ready!(self.client.poll_read(cx, &mut shared)) {
                Ok(count) if count > 0 && *discarded < LINGER_LEN_MAX => *discarded += count,
                _ => break,
            }
        }
        self.stage = RequestStage::Over;
        Poll::Ready(())
    }

    /// The deadline of the current stage has passed.
    fn expired(&mut self) {
        match &mut self.stage {
            RequestStage::Head if !self.client.is_idle() => {
                self.client.release_held();
                self.refuse_early(408, Reason::BadRequest);
            }
            RequestStage::Waiting(_) => self.give_up_waiting(),
            RequestStage::Exchanging(_) => self.exchange_expired(),
            RequestStage::Tunnel(_) => {
                self.event_loop.figures.tunnels.decrement();
                self.stage = RequestStage::Over;
            }
            RequestStage::Subscribed(subscriber) => {
                if subscriber.expired(&self.event_loop) {
                    self.stage = RequestStage::Over;
                }
            }
            RequestStage::Collapsed(_) => self.collapsed_expired(),
            RequestStage::Assembling(_) => self.assembling_expired(),
            // Their streams have deadlines of their own.
            RequestStage::H2c(_) => {}
            _ => self.stage = RequestStage::Over,
        }
    }

    /// Whether a queued client has disconnected. What it sends meanwhile is held, within limits.
    fn client_left(&mut self, cx: &mut Context<'_>) -> bool {
        let mut shared = self.event_loop.shared.borrow_mut();
        self.client.has_left(cx, &mut shared, HELD_LEN_MAX)
    }
}

impl Future for DownstreamConnection {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let connection = self.get_mut();
        if connection.timer.take_expired(&connection.event_loop, cx) {
            connection.expired();
        }
        let polled = connection.poll_stages(cx);
        let memory = connection.memory();
        connection.account.hold(memory, &connection.event_loop);
        polled
    }
}

impl Drop for DownstreamConnection {
    fn drop(&mut self) {
        if let RequestStage::Waiting(waiting) = &self.stage {
            waiting.leave();
        }
        self.timer.leave(&self.event_loop);
        self.account.close(&self.event_loop);
    }
}
