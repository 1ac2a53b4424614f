//! Exchange: a request that has a server is sent, its response is received, and what follows depends on how that ended.

use std::task::{Context, Poll, ready};

use plimsoll_net::deadline::ticks;
use plimsoll_net::reason::Reason;

use super::request_context::HeadLimit;
use super::{DownstreamConnection, RequestStage};
use crate::exchange::tunnel::Tunnel;
use crate::exchange::{Exchange, ExchangeEnd, Side, UpstreamFailure};

impl DownstreamConnection {
    /// The exchange has its permit: sends it upstream.
    pub(super) fn begin_exchange(&mut self, mut exchange: Box<Exchange>) {
        let side = Side {
            client: &mut self.client,
            event_loop: &self.event_loop,
            deadline: self.timer.key(),
        };
        exchange.link_up(&side);
        self.stage = RequestStage::Exchanging(exchange);
    }

    /// Moves bytes until the exchange ends.
    pub(super) fn poll_exchange(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let RequestStage::Exchanging(exchange) = &mut self.stage else {
            return Poll::Ready(());
        };
        let mut side = Side {
            client: &mut self.client,
            event_loop: &self.event_loop,
            deadline: self.timer.key(),
        };
        let end = ready!(exchange.poll(cx, &mut side));
        if end == ExchangeEnd::ClientGone && exchange.leads() {
            // Other clients wait for it: the fetch continues without the client that triggered it.
            exchange.detach();
            self.count_gone();
            self.client.detach();
            return Poll::Ready(());
        }
        self.end_exchange(end);
        Poll::Ready(())
    }

    /// Continues after an exchange.
    fn end_exchange(&mut self, end: ExchangeEnd) {
        let RequestStage::Exchanging(mut exchange) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        self.report_exchange(&exchange, end);
        if self.client.is_nobody() && end != ExchangeEnd::Diverted {
            if let Some(fetch) = exchange.take_fetch() {
                fetch.fail();
            }
            self.event_loop.exchanges().recycle(exchange);
            return;
        }
        match end {
            ExchangeEnd::Diverted => return self.end_diverted(exchange),
            ExchangeEnd::Done { keep: true } => self.next_request(),
            ExchangeEnd::Done { keep: false } => self.linger(),
            ExchangeEnd::Switched => self.open_tunnel(&mut exchange),
            ExchangeEnd::Failed(failure) => {
                let status = match failure {
                    UpstreamFailure::Timeout => 504,
                    UpstreamFailure::NoConnection
                    | UpstreamFailure::Reset
                    | UpstreamFailure::BadAnswer
                    | UpstreamFailure::HeadTooLong
                    | UpstreamFailure::TooManyHeaders => 502,
                };
                if let Some(limit) = HeadLimit::of_response(failure) {
                    self.exceeded(limit);
                }
                self.refuse_exchange(&mut exchange, status, Reason::NoServer);
            }
            ExchangeEnd::Refused(status) => {
                self.refuse_exchange(&mut exchange, status, Reason::BadRequest);
            }
            ExchangeEnd::Broken | ExchangeEnd::ClientGone => {}
        }
        self.event_loop.exchanges().recycle(exchange);
    }

    fn open_tunnel(&mut self, exchange: &mut Exchange) {
        let idle = exchange.timeouts().tunnel;
        // A tunnel may last for hours; it must not hold a permit.
        let Some((server, permit)) = exchange.take_link() else {
            return;
        };
        drop(permit);
        let early = self.client.take_held();
        self.event_loop.figures.tunnels.increment();
        self.stage = RequestStage::Tunnel(Box::new(Tunnel::new(server, early, ticks(idle))));
    }

    /// The deadline of the exchange has passed.
    pub(super) fn exchange_expired(&mut self) {
        let RequestStage::Exchanging(exchange) = &mut self.stage else {
            return;
        };
        let mut side = Side {
            client: &mut self.client,
            event_loop: &self.event_loop,
            deadline: self.timer.key(),
        };
        if let Err(end) = exchange.expired(&mut side) {
            self.end_exchange(end);
        }
    }
}
