//! The hub of one event loop: its clients, and the messages for them.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use plimsoll_hub::channels::Subscriber;
use plimsoll_hub::command_handler::{CommandHandler, Speaker};
use plimsoll_hub::{Audience, ClientFormat, ClientId};
use plimsoll_net::client_socket::ClientSocket;
use plimsoll_net::clock::EdgeClock;
use plimsoll_net::loop_metrics::LoopMetrics;
use plimsoll_wire::websocket::WebSocketLimits as WireLimits;
use plimsoll_wire::websocket::deflate::Inflater;

use super::disconnect_reports::{self, DisconnectQueue, DisconnectedClient};
use super::subscriber_sockets::{SubscriberSocket, SubscriberSockets};
use crate::access::connection_quota::ConnectionLimits;
use crate::access::hooks::{HookKind, Hooks, Links};
use crate::access::token::TokenGate;
use crate::hub::ActiveHub;
use crate::hub::broker::{Broker, FromLoop};
use crate::hub::inbox::{Dated, Letter};

/// Maximum unsent bytes in the kernel per client. By default it buffers some 2.5 MB for each client that does not read,
/// all older than what the hub would send instead.
const UNSENT_MAX: u32 = 64 * 1024;

/// The hub of one event loop.
#[derive(Debug)]
pub struct LocalHub {
    pub(super) broker: Arc<Broker>,
    number: u8,
    clock: EdgeClock,
    pub(super) figures: Arc<LoopMetrics>,
    /// Limits of client messages.
    pub(super) wire_limits: Cell<WireLimits>,
    pub(super) ping_ticks: Cell<u64>,
    /// Checks the tokens of clients.
    pub(super) gate: RefCell<Option<Arc<TokenGate>>>,
    /// Hooks of the application, and this loop's connections to it.
    pub(super) hooks: RefCell<Option<Arc<Hooks>>>,
    /// Connections of this loop to the application.
    pub links: Rc<Links>,
    bounds: RefCell<ConnectionLimits>,
    /// Clients that were assigned a name.
    named: Cell<u64>,
    /// Disconnects to report.
    disconnects: Rc<DisconnectQueue>,
    /// Whether the hub is still configured.
    pub(super) is_open: Cell<bool>,
    pub(super) subscribers: RefCell<SubscriberTable>,
}

/// Its clients.
#[derive(Debug)]
pub(super) struct SubscriberTable {
    pub(super) audience: Audience,
    pub(super) sockets: SubscriberSockets,
    /// Created for the first compressed message.
    pub(super) inflater: Option<Inflater>,
    pub(super) inflated: Vec<u8>,
}

impl LocalHub {
    /// Opens it for a loop, on which its tasks are spawned.
    pub fn open(
        hub: &ActiveHub,
        number: usize,
        clock: EdgeClock,
        figures: &Arc<LoopMetrics>,
    ) -> Rc<Self> {
        let local_hub = Rc::new(Self {
            broker: Arc::clone(&hub.broker),
            // Bounded by `LOOPS_MAX`.
            number: u8::try_from(number).unwrap_or_default(),
            clock,
            figures: Arc::clone(figures),
            wire_limits: Cell::new(hub.wire_limits()),
            ping_ticks: Cell::new(hub.ping_ticks()),
            gate: RefCell::new(hub.gate.clone()),
            hooks: RefCell::new(hub.hooks.clone()),
            bounds: RefCell::new(hub.bounds()),
            links: Rc::new(Links::new(clock)),
            named: Cell::new(0),
            disconnects: Rc::default(),
            is_open: Cell::new(true),
            subscribers: RefCell::new(SubscriberTable {
                audience: Audience::new(hub.audience_limits()),
                sockets: SubscriberSockets::default(),
                inflater: None,
                inflated: Vec::new(),
            }),
        });
        let delivering = deliver(Rc::downgrade(&local_hub), Arc::clone(&hub.broker), number);
        // With a write budget, clients would appear not to read.
        tokio::task::spawn_local(tokio::task::unconstrained(delivering));
        disconnect_reports::begin(&local_hub, &local_hub.disconnects);
        local_hub
    }

    /// Whether it belongs to this hub.
    pub fn is_of(&self, hub: &ActiveHub) -> bool {
        Arc::ptr_eq(&self.broker, &hub.broker)
    }

    /// Applies a new configuration.
    pub fn follow(&self, hub: &ActiveHub) {
        self.wire_limits.set(hub.wire_limits());
        self.ping_ticks.set(hub.ping_ticks());
        self.gate.borrow_mut().clone_from(&hub.gate);
        self.hooks.borrow_mut().clone_from(&hub.hooks);
        *self.bounds.borrow_mut() = hub.bounds();
        self.subscribers
            .borrow_mut()
            .audience
            .follow(hub.audience_limits());
    }

    /// The hub was removed from the configuration: its clients disconnect when woken.
    pub fn close(&self) {
        self.is_open.set(false);
    }

    /// Token gate and hooks that decide what clients may do.
    pub(super) fn deciders(
        &self,
    ) -> (Option<Arc<TokenGate>>, Option<Arc<Hooks>>, ConnectionLimits) {
        (
            self.gate.borrow().clone(),
            self.hooks.borrow().clone(),
            self.bounds.borrow().clone(),
        )
    }

    /// Hooks, and the connections to the application.
    pub(super) fn hooks_and_links(&self) -> (Option<Arc<Hooks>>, Rc<Links>) {
        (self.hooks.borrow().clone(), Rc::clone(&self.links))
    }

    /// Reports a disconnect to the application.
    pub(super) fn report_disconnect(&self, left: DisconnectedClient) {
        if !self.disconnects.push(left)
            && let Some(hooks) = &*self.hooks.borrow()
        {
            hooks.miss(
                HookKind::Disconnect,
                "too many disconnects at once to report all of them",
            );
        }
    }

    /// A name that is unique among the clients of all edges.
    pub(super) fn name_client(&self) -> String {
        let count = self.named.get() + 1;
        self.named.set(count);
        format!("{}-{}-{count}", self.broker.life(), self.number)
    }

    pub(super) fn speaker<'a>(
        &self,
        client: ClientId,
        format: ClientFormat,
        user: Option<&'a str>,
    ) -> Speaker<'a> {
        Speaker {
            client,
            format,
            subscriber: Subscriber {
                event_loop: self.number,
                user,
            },
            now_ms: self.broker.now_ms(),
        }
    }

    /// Registers a client, which [`Self::count_in`] counts once it is subscribed.
    pub(super) fn welcome(
        &self,
        client: ClientSocket,
        waker: &Waker,
        format: ClientFormat,
    ) -> ClientId {
        client.bound_unsent(UNSENT_MAX);
        let mut subscribers = self.subscribers.borrow_mut();
        let id = subscribers.audience.enter(self.broker.now_ms(), format);
        subscribers
            .sockets
            .give(id, SubscriberSocket::new(client, waker.clone()));
        id
    }

    /// Counts a client. Whoever sees the count may rely on its subscriptions.
    pub(super) fn count_in(&self, format: ClientFormat) {
        self.count_of(format).increment();
    }

    /// No longer counts a client. Whoever sees the count may take its place.
    pub(super) fn count_out(&self, format: ClientFormat) {
        self.count_of(format).decrement();
    }

    /// Removes a client.
    pub(super) fn dismiss(&self, id: ClientId, format: ClientFormat, user: Option<&str>) {
        let mut subscribers = self.subscribers.borrow_mut();
        subscribers
            .command_handler(&mut self.shards())
            .dismiss(&self.speaker(id, format, user));
        subscribers.sockets.take(id);
        subscribers.settle(&self.figures);
    }

    /// All channels, for a client of this loop.
    pub(super) fn shards(&self) -> FromLoop<'_> {
        FromLoop {
            broker: &self.broker,
            event_loop: usize::from(self.number),
        }
    }

    fn count_of(&self, format: ClientFormat) -> &plimsoll_net::loop_metrics::Counter {
        match format {
            ClientFormat::Sse => &self.figures.hub_events,
            ClientFormat::Mercure => &self.figures.hub_mercure,
            ClientFormat::WebSocket | ClientFormat::Deflated => &self.figures.hub_sockets,
        }
    }

    /// Delivers messages to the subscribed clients of this loop.
    fn deliver_batch(&self, batch: &mut Vec<Dated>) {
        let mut subscribers = self.subscribers.borrow_mut();
        let subscribers = &mut *subscribers;
        for (at, message) in batch.drain(..) {
            subscribers
                .audience
                .deliver(&message, &mut subscribers.sockets);
            let lag = self.clock.now().saturating_sub(at);
            self.figures.hub_lag.record(lag);
        }
        subscribers.settle(&self.figures);
    }

    /// Delivers the outcomes of publications to clients.
    fn deliver_letters(&self, letters: Vec<Letter>) {
        let mut subscribers = self.subscribers.borrow_mut();
        for letter in letters {
            let Letter {
                visit,
                channel,
                id,
                done,
            } = letter;
            subscribers.command_handler(&mut self.shards()).answer(
                visit,
                &channel,
                id.as_deref(),
                done,
            );
        }
        subscribers.settle(&self.figures);
    }
}

impl Drop for LocalHub {
    fn drop(&mut self) {
        // So that publishers see that this loop has no clients left.
        self.broker
            .inbox(usize::from(self.number))
            .ready
            .notify_one();
        self.disconnects.close();
    }
}

impl SubscriberTable {
    /// The handler of a client's commands.
    pub(super) fn command_handler<'a, 'w>(
        &'a mut self,
        shards: &'a mut FromLoop<'w>,
    ) -> CommandHandler<'a, FromLoop<'w>, SubscriberSockets> {
        CommandHandler {
            shards,
            audience: &mut self.audience,
            outlet: &mut self.sockets,
        }
    }

    /// Disconnects clients that are too slow, and updates the counters.
    pub(super) fn settle(&mut self, figures: &LoopMetrics) {
        for id in self.audience.take_condemned() {
            self.sockets.condemn(id);
        }
        let counts = self.audience.counts();
        figures.hub_delivered.raise(counts.delivered);
        figures.hub_dropped.raise(counts.dropped);
        figures.hub_disconnected.raise(counts.disconnected);
        figures.hub_recovered.raise(counts.recovered);
        figures.hub_unrecovered.raise(counts.unrecovered);
        figures
            .bytes_out
            .add(std::mem::take(&mut self.sockets.written));
    }
}

/// Delivers the messages of a loop until its local hub is gone.
async fn deliver(local_hub: Weak<LocalHub>, broker: Arc<Broker>, number: usize) {
    let inbox = broker.inbox(number);
    let mut batch = Vec::new();
    while local_hub.strong_count() > 0 {
        inbox.ready.notified().await;
        loop {
            inbox.take(&mut batch);
            let letters = inbox.take_letters();
            let has_any = !batch.is_empty() || !letters.is_empty();
            let Some(local_hub) = local_hub.upgrade().filter(|_| has_any) else {
                break;
            };
            local_hub.deliver_batch(&mut batch);
            if !letters.is_empty() {
                local_hub.deliver_letters(letters);
            }
            drop(local_hub);
            // Yield to requests and to clients that send.
            tokio::task::yield_now().await;
        }
    }
}
