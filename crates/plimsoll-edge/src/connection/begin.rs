//! A complete head: read, routed, admitted.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::CacheStatus;
use plimsoll_cache::vary::Codings;
use plimsoll_config::edge::{Action, Chooser, HashKey};
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::{Header, Length};
use plimsoll_wire::request::is_idempotent;
use plimsoll_wire::request_head::{
    RequestFault, RequestHead, find_end, header_room, parse, skip_empty_lines,
};

use super::cached::{Admitted, Seeking};
use super::own_answer::Own;
use super::{Connection, Peer, Stage, Waiting};
use crate::cache::fetch::Fetch;
use crate::client::Client;
use crate::compress;
use crate::deadline::ticks;
use crate::exchange::{self, Exchange, Facts};
use crate::forward::{self, Asking, Cached};
use crate::hash::hash;
use crate::moments::Moments;
use crate::pool::queue::Refused;
use crate::pool::{Asker, Entry, Pool};
use crate::reason::Reason;
use crate::record;
use crate::route::Route;
use crate::settings::Settings;

impl Connection {
    /// Begins a request when `bytes` start with a complete head, of which the first `scanned` held no end.
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
                if self.requests == 0 && self.speaks_frames(&bytes[..end]) {
                    self.speak_frames(bytes);
                    return true;
                }
                self.held.clear();
                self.held.extend_from_slice(&bytes[end..]);
                self.begin(&bytes[skip..end]);
            }
            Err(fault) => self.refuse_bad(fault.status()),
        }
        true
    }

    /// Another protocol is spoken: an answer of HTTP would only be taken for something else.
    fn turn_away(&mut self) {
        self.event_loop.figures.turned_away.increment();
        self.stage = Stage::Over;
    }

    fn begin(&mut self, bytes: &[u8]) {
        let event_loop = Rc::clone(&self.event_loop);
        let settings = event_loop.settings();
        let is_fragment = self.is_fragment();
        if !is_fragment {
            event_loop.figures.requests.increment();
        }
        self.requests = self.requests.saturating_add(1);
        let mut room = header_room();
        let head = match parse(bytes, &mut room) {
            Ok(head) => head,
            Err(RequestFault::Foreign) => return self.turn_away(),
            Err(fault) => return self.refuse_bad(fault.status()),
        };
        let mut own = self.own_of(&head);
        let client = client_of(&self.peer, &head, &settings);
        if let Some(traces) = settings.traces.as_ref().filter(|_| !is_fragment) {
            self.begin_trace(&head, client, traces);
        }
        let address = client.unwrap_or(self.peer.address);
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
        self.look_closer(&head, &mut own.facts, &settings);
        // A page with many fragments is one request of its client, and no page stands in for a part of one.
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

    fn own_of(&self, head: &RequestHead<'_, '_>) -> Own {
        Own {
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

    /// To a server, into line, or refused.
    pub(super) fn enter(
        &mut self,
        mut request: Admitted<'_>,
        pool: &Arc<Pool>,
        fetch: Option<Box<Fetch>>,
        status: Option<CacheStatus>,
    ) {
        if self.event_loop.memory.is_full() {
            // The words are shorter than a page.
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
        let asker = Asker {
            class: settings.routes.get(own.facts.route).config.class,
            key: key(&pool.config.chooser, &self.peer, client, head),
            sticky: sticky(&pool.config.chooser, head),
            avoid: None,
            random: self.event_loop.random(),
        };
        match pool.enter(&asker) {
            Entry::Granted(permit) => {
                if let Some(mut exchange) = self.exchange(&request, asker, fetch, status) {
                    exchange.permit = Some(permit);
                    self.start(exchange);
                }
            }
            Entry::Wait(ticket) => match self.exchange(&request, asker, fetch, status) {
                Some(exchange) => {
                    let timeout = ticks(pool.config.queue_timeout);
                    self.event_loop.set_deadline(self.deadline, timeout);
                    self.stage = Stage::Waiting(Box::new(Waiting {
                        exchange,
                        pool: Arc::clone(pool),
                        ticket,
                    }));
                }
                None => pool.leave(&ticket),
            },
            Entry::Refused(refused) => {
                let reason = match refused {
                    Refused::Full => Reason::QueueFull,
                    Refused::Shed => Reason::Shed,
                };
                self.refuse_request(&request, fetch, 503, reason);
            }
            Entry::NoServer => self.refuse_request(&request, fetch, 503, Reason::NoServer),
        }
    }

    /// An exchange with the request as the server gets it; `None` when it was refused after all.
    fn exchange(
        &mut self,
        request: &Admitted<'_>,
        asker: Asker,
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
        // A copy is made from what its key is made from.
        let cut = fetch.as_ref().filter(|fetch| fetch.subject.is_cut);
        let cut = cut.map(|fetch| fetch.subject.bytes.clone());
        let mut room = header_room();
        let read = cut.as_ref().and_then(|bytes| parse(bytes, &mut room).ok());
        let (bytes, head) = match (&cut, &read) {
            (Some(bytes), Some(head)) => (&bytes[..], head),
            _ => (request.bytes, sent),
        };
        let Ok(target) = route.rewritten(head.target) else {
            self.refuse_head(sent, client, &own, 400, Reason::BadRequest);
            return None;
        };
        let mut exchange = exchange::new_exchange();
        exchange.facts = own.facts;
        exchange.moments = own.moments;
        exchange.asker = Some(asker);
        exchange.body_done = !own.has_body;
        exchange.is_whole = !own.has_body;
        exchange.body_is_chunked = head.length == Length::Chunked;
        exchange.body = BodyReader::new(length(head), settings.limits.body_len_max);
        let fills = fetch.as_ref().filter(|fetch| fetch.fills());
        let codings = fills.and_then(|_| Codings::of(head.headers));
        let codings = codings.map(Codings::as_str);
        if let (Some(codings), Some(compress)) = (codings, &route.config.compress) {
            // What is kept must be right for all who say so.
            let said = Header {
                name: "accept-encoding",
                value: codings.as_bytes(),
            };
            exchange.facts.coding = compress::accepted(&[said], &compress.codings);
        }
        let conditions = fills.map_or_else(Vec::new, |fetch| fetch.conditions());
        let asking = Asking {
            peer: &self.peer.text,
            secure: self.peer.secure,
            trusted: self.peer.trusted,
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
        forward::request(&mut exchange.to_server.bytes, bytes, head, &asking);
        if !matches!(self.client, Client::Nobody) {
            self.begin_line(&mut exchange.line, sent, client);
        }
        exchange.settings = Some(Rc::clone(settings));
        exchange.is_told_of = self.is_told_of(&exchange.line);
        exchange.fetch = fetch;
        exchange.cache_status = status;
        self.hand_over(&mut exchange);
        Some(exchange)
    }

    /// The beginning of the request's line in the access log, if there is one.
    pub(super) fn begin_line(
        &self,
        line: &mut Vec<u8>,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
    ) {
        let log = self.event_loop.log.borrow();
        // What the edge asks itself is told of with the page that it is for.
        if !log.are_wanted() || matches!(self.client, Client::Inner(_)) {
            return;
        }
        match client {
            Some(client) => record::begin(line, log.format, &client.to_string(), head),
            None => record::begin(line, log.format, &self.peer.text, head),
        }
    }

    fn redirect(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &Own,
        route: &Route,
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

/// Why a route takes no such request of this client.
fn refusal(
    route: &Route,
    settings: &Settings,
    head: &RequestHead<'_, '_>,
    own: &Own,
    address: IpAddr,
    is_counted: bool,
) -> Option<(u16, Reason)> {
    if let Some(gate) = &route.shared.gate
        && !gate.lets_in(address)
    {
        return Some((403, Reason::Blocked));
    }
    let len_max = settings.limits.body_len_max;
    if matches!(head.length, Length::Sized(len) if len > len_max) {
        return Some((413, Reason::BadRequest));
    }
    if let Some(buckets) = &route.shared.buckets
        && is_counted
        && !buckets.take(address, own.moments.began)
    {
        return Some((429, Reason::RateLimited));
    }
    None
}

/// What a client of HTTP/1.0 that names no host is taken to mean.
pub(super) fn default_host<'a>(route: &Route, settings: &'a Settings) -> &'a str {
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
    !matches!(head.length, Length::Unsaid | Length::Sized(0))
}

pub(super) fn length(head: &RequestHead<'_, '_>) -> Length {
    match head.length {
        Length::Unsaid => Length::Sized(0),
        length => length,
    }
}

/// Whom a trusted peer speaks for: the last address it names that is not trusted itself. `None` is the peer.
pub(super) fn client_of(
    peer: &Peer,
    head: &RequestHead<'_, '_>,
    settings: &Settings,
) -> Option<IpAddr> {
    if !peer.trusted {
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

/// What the pool's chooser wants hashed.
fn key(chooser: &Chooser, peer: &Peer, client: Option<IpAddr>, head: &RequestHead<'_, '_>) -> u64 {
    match chooser {
        Chooser::Hash(HashKey::Client) => match client {
            Some(client) => hash(client.to_string().as_bytes()),
            None => hash(peer.text.as_bytes()),
        },
        Chooser::Hash(HashKey::Target) => hash(head.target.as_bytes()),
        Chooser::Hash(HashKey::Header(name)) => {
            let mut headers = head.headers.iter();
            let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
            hash(found.map_or(&[], |header| header.value))
        }
        _ => 0,
    }
}

/// The server that the client's cookie speaks of.
fn sticky(chooser: &Chooser, head: &RequestHead<'_, '_>) -> Option<u64> {
    let Chooser::Cookie(name) = chooser else {
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
        .find(|(one, _)| one == name)
        .and_then(|(_, value)| u64::from_str_radix(value, 16).ok())
}

/// A number in [0, 1) of random bits.
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
