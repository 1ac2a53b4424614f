//! Balance: what the cache does not answer gets a server of its pool, waits for one, or is refused.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_cache::CacheStatus;
use plimsoll_cache::vary::Codings;
use plimsoll_config::edge::{Action, BalancingPolicy, HashKey};
use plimsoll_net::deadline::ticks;
use plimsoll_net::reason::Reason;
use plimsoll_wire::head::{BodyLength, Header};
use plimsoll_wire::request_head::{RequestHead, header_buffer, parse};

use super::admitted::Admitted;
use super::queued_request::QueuedRequest;
use super::{DownstreamConnection, Peer, RequestStage};
use crate::admission::route::CompiledRoute;
use crate::balance::queue::QueueRejection;
use crate::balance::{PoolAdmission, PoolRequest, UpstreamPool};
use crate::exchange::Exchange;
use crate::hash::hash;
use crate::lookup::fetch::Fetch;
use crate::message::compress;
use crate::message::upstream_request::{self, Cached, UpstreamRequest};
use crate::settings::Settings;

impl DownstreamConnection {
    /// What the cache does not answer goes to the pool of its route.
    pub(super) fn enter_upstream(
        &mut self,
        request: Admitted<'_>,
        fetch: Option<Box<Fetch>>,
        status: Option<CacheStatus>,
    ) {
        if let Some(count) = request.settings.misses_of(request.own.facts.route)
            && status.is_some()
            && !self.client.is_nobody()
        {
            count.increment();
        }
        let Some(pool) = pool(&request) else {
            return;
        };
        if let Some(cache) = &request.settings.cache {
            cache.pacing.note();
        }
        self.enter_pool(request, pool, fetch, status);
    }

    /// Sends a request upstream, queues it, or rejects it.
    fn enter_pool(
        &mut self,
        mut request: Admitted<'_>,
        pool: &Arc<UpstreamPool>,
        fetch: Option<Box<Fetch>>,
        status: Option<CacheStatus>,
    ) {
        if self.event_loop.memory.is_full() {
            self.event_loop.figures.memory_full.increment();
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
                    self.begin_exchange(exchange);
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
        upstream_request::write_head(out, bytes, head, &upstream_request);
        if !self.client.is_nobody() {
            self.begin_line(exchange.record_mut().line_mut(), sent, client);
        }
        let names_server = self.is_reported(exchange.record().line());
        exchange.record_mut().set_names_server(names_server);
        exchange.set_fetch(fetch, status);
        self.transfer_context(&mut exchange);
        Some(exchange)
    }
}

/// The pool of a request.
pub(super) fn pool<'a>(request: &Admitted<'a>) -> Option<&'a Arc<UpstreamPool>> {
    let settings = request.settings;
    let route = settings.routes.get(request.own.facts.route);
    match route.config.action {
        Action::Pool(pool) => Some(&settings.pools[pool]),
        Action::Redirect { .. } => None,
    }
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

pub(super) fn length(head: &RequestHead<'_, '_>) -> BodyLength {
    match head.length {
        BodyLength::Unspecified => BodyLength::Sized(0),
        length => length,
    }
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
