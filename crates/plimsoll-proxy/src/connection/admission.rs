//! Admission: a complete head is parsed, routed and admitted.

use std::net::IpAddr;
use std::rc::Rc;

use plimsoll_config::edge::Action;
use plimsoll_net::reason::Reason;
use plimsoll_wire::head::BodyLength;
use plimsoll_wire::request::is_idempotent;
use plimsoll_wire::request_head::{
    RequestError, RequestHead, find_end, header_buffer, parse, skip_empty_lines,
};

use super::admitted::{Admitted, ResponseContext};
use super::client_address::client_of;
use super::lookup::Seeking;
use super::refusal::refusal;
use super::{DownstreamConnection, RequestStage};
use crate::admission::route::{CompiledRoute, takes_page};
use crate::exchange::Facts;
use crate::message::compress;
use crate::settings::Settings;
use crate::telemetry::moments::Moments;

impl DownstreamConnection {
    /// Begins a request if `bytes` start with a complete head; the first `scanned` bytes contain no end of a head.
    pub(super) fn begin_if_complete(&mut self, bytes: &[u8], scanned: usize) -> bool {
        let limits = self.event_loop.settings().limits;
        let found = skip_empty_lines(bytes).and_then(|skip| {
            let scanned = scanned.saturating_sub(skip);
            let len_max = limits.head_len_max as usize;
            find_end(&bytes[skip..], scanned, len_max).map(|end| (skip, end))
        });
        match found {
            Ok((_, None)) => return false,
            Ok((skip, Some(end))) => {
                let end = skip + end;
                if self.account.is_new() && self.is_h2c_preface(&bytes[..end]) {
                    self.serve_h2c(bytes);
                    return true;
                }
                self.client.hold_only(&bytes[end..]);
                self.begin(&bytes[skip..end]);
            }
            Err(error) => self.refuse_bad(error),
        }
        true
    }

    /// The client speaks another protocol, and could misread an HTTP response.
    fn reject_foreign(&mut self) {
        self.event_loop.figures.rejected.increment();
        self.stage = RequestStage::Over;
    }

    fn begin(&mut self, bytes: &[u8]) {
        let event_loop = Rc::clone(&self.event_loop);
        let settings = event_loop.settings();
        let is_fragment = self.is_fragment();
        if !is_fragment {
            event_loop.figures.requests.increment();
        }
        self.account.count_request();
        let mut room = header_buffer();
        let head = match parse(bytes, &mut room) {
            Ok(head) => head,
            Err(RequestError::Foreign) => return self.reject_foreign(),
            Err(error) => return self.refuse_bad(error),
        };
        let mut own = self.own_of(&head);
        let client = client_of(&self.peer, &head, &settings);
        if let Some(traces) = settings.traces.as_ref().filter(|_| !is_fragment) {
            self.begin_trace(&head, client, traces);
        }
        let address = client.unwrap_or(self.peer.address());
        if let Some(gate) = &settings.gate
            && !gate.lets_in(address)
        {
            return self.refuse_head(&head, client, &own, 403, Reason::Blocked);
        }
        if let Some(hub) = &settings.hub
            && self.goes_to_hub(&head, client, &own, hub)
        {
            return;
        }
        let random = event_loop.random();
        let index = match settings.routes.find(&head, unit(random)) {
            Ok(Some(index)) => index,
            Ok(None) => return self.refuse_head(&head, client, &own, 404, Reason::NoServer),
            Err(_) => return self.refuse_head(&head, client, &own, 400, Reason::BadRequest),
        };
        let route = settings.routes.get(index);
        own.facts.route = index;
        if let Some(count) = settings.count_of(index).filter(|_| !is_fragment) {
            count.increment();
        }
        self.inspect_request(&head, &mut own.facts, &settings);
        // A page with many fragments counts as one request, and a fallback page must not replace a fragment.
        own.facts.takes_page &= !is_fragment;
        if let Some((status, reason)) =
            refusal(route, &settings, &head, &own, address, !is_fragment)
        {
            return self.refuse_head(&head, client, &own, status, reason);
        }
        if matches!(route.config.action, Action::Redirect { .. }) {
            return self.redirect(&head, client, &own, route);
        }
        let request = Admitted {
            bytes,
            head: &head,
            client,
            own,
            settings: &settings,
        };
        if route.config.fragments.is_some() && !head.upgrade {
            return self.assemble(request);
        }
        self.look_up(request, Seeking::default());
    }

    /// Handles route features beyond forwarding.
    fn inspect_request(
        &mut self,
        head: &RequestHead<'_, '_>,
        facts: &mut Facts,
        settings: &Settings,
    ) {
        let route = settings.routes.get(facts.route);
        if route.may_stand_in() {
            facts.takes_page = takes_page(head, &settings.crawlers);
            if facts.takes_page && route.shared.learned_fallbacks.is_some() {
                self.keep_path(head.target);
            }
        }
        self.trace_route(route);
        if let Some(compress) = &route.config.compress {
            facts.coding = compress::accepted(head.headers, &compress.codings);
        }
    }

    fn own_of(&self, head: &RequestHead<'_, '_>) -> ResponseContext {
        ResponseContext {
            facts: Facts {
                keep_alive: head.keep_alive && !self.event_loop.is_draining(),
                ..facts(head)
            },
            has_body: has_body(head),
            moments: Moments {
                began: self.event_loop.clock.now(),
                ..Moments::default()
            },
        }
    }

    fn redirect(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        route: &CompiledRoute,
    ) {
        let Some((status, location)) = route.location(head) else {
            return;
        };
        let mut line = Vec::new();
        self.begin_line(&mut line, head, client);
        let extra = format!("Location: {location}\r\n");
        self.answer_in_words(own, status, Reason::Redirect, &extra, &line);
    }
}

fn facts(head: &RequestHead<'_, '_>) -> Facts {
    Facts {
        is_head: head.method == "HEAD",
        is_idempotent: is_idempotent(head.method),
        is_1_1: head.is_1_1,
        keep_alive: head.keep_alive,
        upgrade: head.upgrade,
        takes_page: false,
        is_get: head.method == "GET",
        coding: None,
        route: 0,
    }
}

fn has_body(head: &RequestHead<'_, '_>) -> bool {
    !matches!(head.length, BodyLength::Unspecified | BodyLength::Sized(0))
}

/// A number in [0, 1) from random bits.
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
