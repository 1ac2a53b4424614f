//! State that only some requests carry: a trace, the path for choosing a fallback, a place in the waiting room.

use std::net::IpAddr;
use std::rc::Rc;

use plimsoll_config::edge::{Action, Traces};
use plimsoll_net::reason::Reason;
use plimsoll_wire::request_head::RequestHead;

use super::DownstreamConnection;
use super::admitted::ResponseContext;
use crate::admission::route::shared::path;
use crate::admission::route::takes_page;
use crate::admission::waiting::WaitingDecision;
use crate::exchange::{Exchange, Facts};
use crate::message::compress;
use crate::respond::synthetic_response::WaitingPage;
use crate::settings::Settings;
use crate::telemetry::access_log_entry::RequestOutcome;
use crate::telemetry::trace::{RequestSpan, RequestTrace, SpanRequest, cut};

/// State kept until such a request is answered.
#[derive(Debug, Default)]
pub(super) struct RequestContext {
    trace: Option<RequestTrace>,
    /// Its path, where the fallback depends on it.
    path: String,
    /// Its place in the waiting room, if its turn has come.
    queue_number: Option<u64>,
    /// It may bypass the waiting room; its new cookie, if it needs one.
    past: bool,
    pass: Option<String>,
}

impl DownstreamConnection {
    fn context_mut(&mut self) -> &mut RequestContext {
        self.context.get_or_insert_default()
    }

    /// Handles route features beyond forwarding.
    pub(super) fn inspect_request(
        &mut self,
        head: &RequestHead<'_, '_>,
        facts: &mut Facts,
        settings: &Settings,
    ) {
        let route = settings.routes.get(facts.route);
        if route.may_stand_in() {
            facts.takes_page = takes_page(head, &settings.crawlers);
            if facts.takes_page && route.shared.learned_fallbacks.is_some() {
                let path = head.target.split('?').next().unwrap_or_default();
                path.clone_into(&mut self.context_mut().path);
            }
        }
        let sampled = self
            .context
            .as_mut()
            .and_then(|context| context.trace.as_mut());
        if let Some(request) = sampled.and_then(|trace| trace.request.as_mut()) {
            request.route = path(&route.config.matches).unwrap_or_default();
        }
        if let Some(compress) = &route.config.compress {
            facts.coding = compress::accepted(head.headers, &compress.codings);
        }
    }

    pub(super) fn path(&self) -> &str {
        self.context.as_ref().map_or("", |context| &context.path)
    }

    /// Whether a browser may proceed now; if others are before it, it was answered with the waiting page.
    pub(super) fn is_let_past(
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
                let context = self.context_mut();
                context.past = true;
                context.pass = pass;
                true
            }
            WaitingDecision::Try(number) => {
                self.context_mut().queue_number = Some(number);
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
    pub(super) fn transfer_context(&mut self, exchange: &mut Exchange) {
        if let Some(context) = &mut self.context {
            let secure = self.peer.is_secure();
            let number = context.queue_number.take().map(|number| (number, secure));
            exchange.set_waiting_client(number, context.pass.take());
        }
    }

    /// Takes the state back when the exchange is rejected.
    pub(super) fn take_back(&mut self, exchange: &Exchange) {
        if let Some(number) = exchange.queue_number() {
            self.context_mut().queue_number = Some(number);
        }
        if let Some(pass) = exchange.waiting_pass() {
            self.context_mut().pass = Some(pass.to_owned());
        }
    }

    /// The waiting page for a browser without a free slot, on a route with a waiting room.
    pub(super) fn waiting_page(
        &mut self,
        settings: &Settings,
        own: &ResponseContext,
    ) -> Option<WaitingPage> {
        let route = settings.routes.get(own.facts.route);
        let room = route.shared.waiting_room.as_ref()?;
        let now = self.event_loop.clock.now();
        let places = places(settings, own.facts.route);
        let context = self.context.as_mut();
        let decision = match context {
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

    pub(super) fn trace(&self) -> Option<&RequestTrace> {
        self.context.as_ref()?.trace.as_ref()
    }

    /// Continues the request's trace, or starts one.
    pub(super) fn begin_trace(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        traces: &Traces,
    ) {
        let event_loop = Rc::clone(&self.event_loop);
        let random = || event_loop.random();
        let mut trace = RequestTrace::begin(head.headers, traces, self.peer.is_trusted(), random);
        if trace.context.sampled {
            let mut headers = head.headers.iter();
            let agent = headers.find(|header| header.name.eq_ignore_ascii_case("user-agent"));
            trace.request = Some(Box::new(SpanRequest {
                method: cut(head.method.as_bytes()),
                host: cut(head.host.unwrap_or_default().as_bytes()),
                target: cut(head.target.as_bytes()),
                agent: agent.map_or_else(String::new, |agent| cut(agent.value)),
                client: client.map_or_else(
                    || self.peer.text().to_owned(),
                    |address| address.to_string(),
                ),
                secure: self.peer.is_secure(),
                is_h2: self.client.is_http2(),
                is_1_1: head.is_1_1,
                route: String::new(),
            }));
        }
        self.context_mut().trace = Some(trace);
    }

    /// Exports the span of a sampled request.
    pub(super) fn end_trace(&mut self, outcome: &RequestOutcome<'_>) {
        let Some(context) = &mut self.context else {
            return;
        };
        let Some(mut trace) = context.trace.take() else {
            return;
        };
        let Some(request) = trace.request.take() else {
            return;
        };
        let span = RequestSpan {
            context: trace.context,
            id: trace.span,
            exchange: trace.exchange,
            request,
            status: outcome.status,
            reason: outcome.reason,
            server: outcome.server.map(str::to_owned),
            wall: outcome.wall,
            began: outcome.moments.began,
            admitted: outcome.moments.admitted,
            first_byte: outcome.moments.first_byte,
            ended: outcome.ended,
        };
        let event_loop = &self.event_loop;
        event_loop
            .spans
            .borrow_mut()
            .push(span, &event_loop.figures);
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
