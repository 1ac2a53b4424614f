//! Admission: a complete head is parsed, routed and admitted.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::CacheStatus;
use plimsoll_cache::vary::Codings;
use plimsoll_config::edge::{Action, BalancingPolicy, HashKey};
use plimsoll_net::deadline::ticks;
use plimsoll_net::reason::Reason;
use plimsoll_wire::head::{BodyLength, Header};
use plimsoll_wire::request::is_idempotent;
use plimsoll_wire::request_head::{
    RequestError, RequestHead, find_end, header_buffer, parse, skip_empty_lines,
};

use super::cached::{Admitted, Seeking};
use super::local_reply::ResponseContext;
use super::queued_request::QueuedRequest;
use super::{DownstreamConnection, Peer, RequestStage};
use crate::admission::route::CompiledRoute;
use crate::balance::queue::QueueRejection;
use crate::balance::{PoolAdmission, PoolRequest, UpstreamPool};
use crate::client::ClientStream;
use crate::exchange::{Exchange, Facts};
use crate::hash::hash;
use crate::lookup::fetch::Fetch;
use crate::message::compress;
use crate::message::forward::{self, Cached, UpstreamRequest};
use crate::settings::Settings;
use crate::telemetry::access_log_entry;
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
                self.received.set(&bytes[end..]);
                self.begin(&bytes[skip..end]);
            }
            Err(error) => self.refuse_bad(error.status()),
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
            Err(error) => return self.refuse_bad(error.status()),
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

    /// Sends a request upstream, queues it, or rejects it.
    pub(super) fn enter(
        &mut self,
        mut request: Admitted<'_>,
        pool: &Arc<UpstreamPool>,
        fetch: Option<Box<Fetch>>,
        status: Option<CacheStatus>,
    ) {
        if self.event_loop.memory.is_full() {
            // A short text instead of a whole page.
            request.own.facts.takes_page = false;
            return self.refuse_request(&request, fetch, 503, Reason::Shed);
        }
        let Admitted {
            head,
            client,
            own,
            settings,
            ..
        } = request;
        if own.facts.takes_page && !self.is_let_past(head, client, &own, settings) {
            return;
        }
        let pool_request = PoolRequest {
            class: settings.routes.get(own.facts.route).config.class,
            key: key(&pool.config.load_balancer, &self.peer, client, head),
            sticky: sticky(&pool.config.load_balancer, head),
            avoid: None,
            random: self.event_loop.random(),
        };
        match pool.enter(&pool_request) {
            PoolAdmission::Granted(permit) => {
                if let Some(mut exchange) = self.exchange(&request, pool_request, fetch, status) {
                    exchange.set_permit(permit);
                    self.start(exchange);
                }
            }
            PoolAdmission::Wait(ticket) => {
                match self.exchange(&request, pool_request, fetch, status) {
                    Some(exchange) => {
                        let timeout = ticks(pool.config.queue_timeout);
                        self.timer.set(&self.event_loop, timeout);
                        let queued = QueuedRequest::new(exchange, pool, ticket);
                        self.stage = RequestStage::Waiting(Box::new(queued));
                    }
                    None => pool.leave(&ticket),
                }
            }
            PoolAdmission::Refused(refused) => {
                let reason = match refused {
                    QueueRejection::Full => Reason::QueueFull,
                    QueueRejection::Shed => Reason::Shed,
                };
                self.refuse_request(&request, fetch, 503, reason);
            }
            PoolAdmission::NoServer => self.refuse_request(&request, fetch, 503, Reason::NoServer),
        }
    }

    /// Builds an exchange with the request as forwarded; `None` when it was rejected.
    fn exchange(
        &mut self,
        request: &Admitted<'_>,
        pool_request: PoolRequest,
        fetch: Option<Box<Fetch>>,
        status: Option<CacheStatus>,
    ) -> Option<Box<Exchange>> {
        let Admitted {
            head: sent,
            client,
            own,
            settings,
            ..
        } = *request;
        let route = settings.routes.get(own.facts.route);
        // The response must be fetched with the same bytes as its key is made from.
        let cut = fetch.as_ref().filter(|fetch| fetch.keyed_request.is_cut);
        let cut = cut.map(|fetch| fetch.keyed_request.bytes.clone());
        let mut room = header_buffer();
        let read = cut.as_ref().and_then(|bytes| parse(bytes, &mut room).ok());
        let (bytes, head) = match (&cut, &read) {
            (Some(bytes), Some(head)) => (&bytes[..], head),
            _ => (request.bytes, sent),
        };
        let Ok(target) = route.rewritten(head.target) else {
            self.refuse_head(sent, client, &own, 400, Reason::BadRequest);
            return None;
        };
        let mut facts = own.facts;
        let fills = fetch.as_ref().filter(|fetch| fetch.fills());
        let codings = fills.and_then(|_| Codings::of(head.headers));
        let codings = codings.map(Codings::as_str);
        if let (Some(codings), Some(compress)) = (codings, &route.config.compress) {
            // Stored responses must suit every client with this coding.
            let accept_encoding = Header {
                name: "accept-encoding",
                value: codings.as_bytes(),
            };
            facts.coding = compress::accepted(&[accept_encoding], &compress.codings);
        }
        let conditions = fills.map_or_else(Vec::new, |fetch| fetch.conditions());
        let upstream_request = UpstreamRequest {
            peer: self.peer.text(),
            secure: self.peer.is_secure(),
            trusted: self.peer.is_trusted(),
            trace: self.trace(),
            target: target.as_deref(),
            default_host: default_host(route, settings),
            edits: &route.config.request_headers,
            steering: &route.config.steering_headers,
            cached: fills.map(|_| Cached {
                codings,
                conditions: &conditions,
            }),
        };
        let mut exchange = self.event_loop.exchanges().take();
        exchange.begin(facts, own.moments, settings, pool_request);
        let len_max = settings.limits.body_len_max;
        let out = exchange.begin_upload(own.has_body, length(head), len_max);
        forward::request(out, bytes, head, &upstream_request);
        if !matches!(self.client, ClientStream::Nobody) {
            self.begin_line(exchange.record_mut().line_mut(), sent, client);
        }
        let names_server = self.is_reported(exchange.record().line());
        exchange.record_mut().set_names_server(names_server);
        exchange.set_fetch(fetch, status);
        self.transfer_context(&mut exchange);
        Some(exchange)
    }

    /// Writes the beginning of the access-log entry, if logging is on.
    pub(super) fn begin_line(
        &self,
        line: &mut Vec<u8>,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
    ) {
        let log = self.event_loop.log.borrow();
        // Subrequests are logged with their page.
        if !log.is_enabled() || matches!(self.client, ClientStream::Inner(_)) {
            return;
        }
        match client {
            Some(client) => access_log_entry::begin(line, log.format, &client.to_string(), head),
            None => access_log_entry::begin(line, log.format, self.peer.text(), head),
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

/// Why a route rejects this request.
fn refusal(
    route: &CompiledRoute,
    settings: &Settings,
    head: &RequestHead<'_, '_>,
    own: &ResponseContext,
    address: IpAddr,
    is_counted: bool,
) -> Option<(u16, Reason)> {
    if let Some(gate) = &route.shared.gate
        && !gate.lets_in(address)
    {
        return Some((403, Reason::Blocked));
    }
    let len_max = settings.limits.body_len_max;
    if matches!(head.length, BodyLength::Sized(len) if len > len_max) {
        return Some((413, Reason::BadRequest));
    }
    if let Some(limiter) = &route.shared.rate_limiter
        && is_counted
        && !limiter.take(address, own.moments.began)
    {
        return Some((429, Reason::RateLimited));
    }
    None
}

/// The host that is assumed for a client of HTTP/1.0 without `Host`.
pub(super) fn default_host<'a>(route: &CompiledRoute, settings: &'a Settings) -> &'a str {
    let Action::Pool(pool) = route.config.action else {
        return "";
    };
    let servers = &settings.pools[pool].config.servers;
    servers
        .first()
        .map_or("", |server| server.authority.as_str())
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

pub(super) fn length(head: &RequestHead<'_, '_>) -> BodyLength {
    match head.length {
        BodyLength::Unspecified => BodyLength::Sized(0),
        length => length,
    }
}

/// The client behind a trusted peer: the last listed address that is not trusted itself. `None` means the peer.
pub(super) fn client_of(
    peer: &Peer,
    head: &RequestHead<'_, '_>,
    settings: &Settings,
) -> Option<IpAddr> {
    if !peer.is_trusted() {
        return None;
    }
    let mut lines = head.headers.iter().rev();
    let mut named = None;
    let all = lines.by_ref().filter(|header| {
        header.name.len() == 15 && header.name.eq_ignore_ascii_case("x-forwarded-for")
    });
    for line in all {
        for address in line.value.rsplit(|&byte| byte == b',') {
            let Ok(address) = std::str::from_utf8(address).unwrap_or("").trim().parse() else {
                return named;
            };
            named = Some(address);
            if !settings
                .trusted
                .iter()
                .any(|network| network.holds(address))
            {
                return named;
            }
        }
    }
    named
}

/// The hash key of the pool's balancing policy.
fn key(
    balancer: &BalancingPolicy,
    peer: &Peer,
    client: Option<IpAddr>,
    head: &RequestHead<'_, '_>,
) -> u64 {
    match balancer {
        BalancingPolicy::Hash(HashKey::Client) => match client {
            Some(client) => hash(client.to_string().as_bytes()),
            None => hash(peer.text().as_bytes()),
        },
        BalancingPolicy::Hash(HashKey::Target) => hash(head.target.as_bytes()),
        BalancingPolicy::Hash(HashKey::Header(name)) => {
            let mut headers = head.headers.iter();
            let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
            hash(found.map_or(&[], |header| header.value))
        }
        _ => 0,
    }
}

/// The server named in the client's stickiness cookie.
fn sticky(balancer: &BalancingPolicy, head: &RequestHead<'_, '_>) -> Option<u64> {
    let BalancingPolicy::Cookie(name) = balancer else {
        return None;
    };
    let cookies = head
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("cookie"))
        .filter_map(|header| std::str::from_utf8(header.value).ok());
    cookies
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(cookie_name, _)| cookie_name == name)
        .and_then(|(_, value)| u64::from_str_radix(value, 16).ok())
}

/// A number in [0, 1) from random bits.
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
