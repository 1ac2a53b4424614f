//! The trace of a request.

use std::net::IpAddr;
use std::rc::Rc;

use plimsoll_config::edge::Traces;
use plimsoll_wire::request_head::RequestHead;

use super::super::DownstreamConnection;
use crate::admission::route::CompiledRoute;
use crate::admission::route::shared::path;
use crate::telemetry::access_log_entry::RequestOutcome;
use crate::telemetry::trace::{RequestSpan, RequestTrace, SpanRequest, cut};

impl DownstreamConnection {
    pub(in crate::connection) fn trace(&self) -> Option<&RequestTrace> {
        self.context.as_ref()?.trace.as_ref()
    }

    /// Continues the request's trace, or starts one.
    pub(in crate::connection) fn begin_trace(
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

    /// Notes the route of a sampled request.
    pub(in crate::connection) fn trace_route(&mut self, route: &CompiledRoute) {
        let sampled = self
            .context
            .as_mut()
            .and_then(|context| context.trace.as_mut());
        if let Some(request) = sampled.and_then(|trace| trace.request.as_mut()) {
            request.route = path(&route.config.matches).unwrap_or_default();
        }
    }

    /// Exports the span of a sampled request.
    pub(in crate::connection) fn end_trace(&mut self, outcome: &RequestOutcome<'_>) {
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
