//! A request in the queue of its pool.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::reason::Reason;

use super::{DownstreamConnection, RequestStage};
use crate::balance::UpstreamPool;
use crate::balance::server::UpstreamServer;
use crate::balance::ticket::Ticket;
use crate::exchange::Exchange;

/// A queued request. It leaves the queue when it is granted a server, or explicitly.
#[derive(Debug)]
pub(super) struct QueuedRequest {
    exchange: Box<Exchange>,
    pool: Arc<UpstreamPool>,
    ticket: Arc<Ticket>,
}

impl QueuedRequest {
    pub(super) fn new(
        exchange: Box<Exchange>,
        pool: &Arc<UpstreamPool>,
        ticket: Arc<Ticket>,
    ) -> Self {
        Self {
            exchange,
            pool: Arc::clone(pool),
            ticket,
        }
    }

    /// Memory for bytes in flight.
    pub(super) fn memory(&self) -> usize {
        self.exchange.memory()
    }

    /// Waits for a server.
    fn poll(&self, cx: &Context<'_>) -> Poll<Arc<UpstreamServer>> {
        self.ticket.poll(cx)
    }

    /// The exchange with the server's permit, and how long it has waited.
    fn granted(self, server: Arc<UpstreamServer>) -> (Box<Exchange>, Nanoseconds) {
        let mut exchange = self.exchange;
        let permit = self.pool.permit(server);
        let waited = permit.granted.saturating_sub(exchange.record().began());
        exchange.set_permit(permit);
        (exchange, waited)
    }

    /// Leaves the queue.
    pub(super) fn leave(&self) {
        self.pool.leave(&self.ticket);
    }

    /// Leaves the queue; returns the exchange.
    fn give_up(self) -> Box<Exchange> {
        self.leave();
        self.exchange
    }
}

impl DownstreamConnection {
    /// Waits for a server, as long as the client does.
    pub(super) fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.client_left(cx) {
            self.count_gone();
            // Its ticket is dropped with it: a client that disconnected does not block the queue.
            self.leave_queue();
            return Poll::Ready(());
        }
        let RequestStage::Waiting(waiting) = &mut self.stage else {
            return Poll::Ready(());
        };
        let server = ready!(waiting.poll(cx));
        let RequestStage::Waiting(waiting) = std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return Poll::Ready(());
        };
        let (exchange, waited) = waiting.granted(server);
        self.event_loop.figures.wait_times.record(waited);
        self.begin_exchange(exchange);
        Poll::Ready(())
    }

    fn leave_queue(&mut self) {
        if let RequestStage::Waiting(waiting) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        {
            self.event_loop.exchanges().recycle(waiting.give_up());
        }
    }

    /// The time in the queue is over.
    pub(super) fn give_up_waiting(&mut self) {
        let RequestStage::Waiting(waiting) = std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let mut exchange = waiting.give_up();
        self.refuse_exchange(&mut exchange, 503, Reason::QueueTimeout);
        self.event_loop.exchanges().recycle(exchange);
    }
}
