//! A browser's place in a waiting room.

use std::net::IpAddr;
use std::rc::Rc;

use plimsoll_config::edge::Action;
use plimsoll_net::reason::Reason;
use plimsoll_wire::request_head::RequestHead;

use super::super::DownstreamConnection;
use super::super::admitted::ResponseContext;
use crate::admission::waiting::WaitingDecision;
use crate::exchange::{Exchange, Facts};
use crate::respond::synthetic_response::WaitingPage;
use crate::settings::Settings;

/// What the waiting room decided about a request.
#[derive(Debug, Default)]
pub(super) struct WaitingState {
    /// Its place in the waiting room, if its turn has come.
    queue_number: Option<u64>,
    /// It may bypass the waiting room; its new cookie, if it needs one.
    past: bool,
    pass: Option<String>,
}

impl DownstreamConnection {
    /// Whether a browser may proceed now; if others are before it, it was answered with the waiting page.
    pub(in crate::connection) fn is_let_past(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        settings: &Rc<Settings>,
    ) -> bool {
        let route = settings.routes.get(own.facts.route);
        let Some(room) = &route.shared.waiting_room else {
            return true;
        };
        let path = head.target.split('?').next().unwrap_or_default();
        if room.len() == 0 || route.page(path).is_some() {
            return true;
        }
        let now = own.moments.began;
        let decision = room.decide(
            head,
            now,
            self.peer.is_secure(),
            places(settings, own.facts.route),
        );
        match decision {
            WaitingDecision::Past(pass) => {
                let waiting = &mut self.context_mut().waiting;
                waiting.past = true;
                waiting.pass = pass;
                true
            }
            WaitingDecision::Try(number) => {
                self.context_mut().waiting.queue_number = Some(number);
                true
            }
            WaitingDecision::Wait(place) => {
                let page = room.page(&place, now, self.peer.is_secure());
                let mut line = Vec::new();
                self.begin_line(&mut line, head, client);
                self.answer_waiting(own, &page, &line);
                false
            }
            WaitingDecision::Full => {
                self.context_mut().path.clear();
                let facts = Facts {
                    takes_page: false,
                    ..own.facts
                };
                let own = ResponseContext { facts, ..*own };
                self.refuse_head(head, client, &own, 503, Reason::QueueFull);
                false
            }
        }
    }

    /// Transfers the waiting-room state to the exchange.
    pub(in crate::connection) fn transfer_context(&mut self, exchange: &mut Exchange) {
        if let Some(context) = &mut self.context {
            let secure = self.peer.is_secure();
            let waiting = &mut context.waiting;
            let number = waiting.queue_number.take().map(|number| (number, secure));
            exchange.set_waiting_client(number, waiting.pass.take());
        }
    }

    /// Takes the state back when the exchange is rejected.
    pub(in crate::connection) fn take_back(&mut self, exchange: &Exchange) {
        if let Some(number) = exchange.queue_number() {
            self.context_mut().waiting.queue_number = Some(number);
        }
        if let Some(pass) = exchange.waiting_pass() {
            self.context_mut().waiting.pass = Some(pass.to_owned());
        }
    }

    /// The waiting page for a browser without a free slot, on a route with a waiting room.
    pub(in crate::connection) fn waiting_page(
        &mut self,
        settings: &Settings,
        own: &ResponseContext,
    ) -> Option<WaitingPage> {
        let route = settings.routes.get(own.facts.route);
        let room = route.shared.waiting_room.as_ref()?;
        let now = self.event_loop.clock.now();
        let places = places(settings, own.facts.route);
        let waiting = self.context.as_mut().map(|context| &mut context.waiting);
        let decision = match waiting {
            Some(known) if known.past => return Some(room.page_at_front(known.pass.take())),
            Some(known) => match known.queue_number.take() {
                Some(number) => room.capacity_exhausted(number, now, places),
                None => room.join(now, places),
            },
            None => room.join(now, places),
        };
        match decision {
            WaitingDecision::Wait(place) => Some(room.page(&place, now, self.peer.is_secure())),
            WaitingDecision::Past(_) | WaitingDecision::Try(_) | WaitingDecision::Full => None,
        }
    }
}

/// The concurrency limit of a route's pool.
fn places(settings: &Settings, route: usize) -> u32 {
    match settings.routes.get(route).config.action {
        Action::Pool(pool) => {
            let servers = settings.pools[pool].servers.iter();
            servers
                .map(|server| server.limit())
                .fold(0, u32::saturating_add)
        }
        Action::Redirect { .. } => 0,
    }
}
