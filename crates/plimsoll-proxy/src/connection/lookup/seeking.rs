//! Who fetches what is missing: one request for all, each request for itself, or a background fetch while a stored
//! response is served.

use std::sync::Arc;

use plimsoll_cache::reuse::decide;
use plimsoll_cache::store::{Begin, Hit, Remembered};
use plimsoll_cache::storing::Simple;
use plimsoll_cache::vary::write_selecting;
use plimsoll_cache::{CacheStatus, Class, Decision, Forward, Method};
use plimsoll_wire::request_head::{header_buffer, parse};

use super::super::admitted::{Admitted, ResponseContext};
use super::super::{DownstreamConnection, RequestStage};
use super::CacheLookup;
use crate::client::ClientStream;
use crate::exchange::Facts;
use crate::hash::hash;
use crate::hash::mix;
use crate::lookup::CachedResponse;
use crate::lookup::fetch::{Fetch, FetchRole};

/// Most lookups of one request.
const TRIES_MAX: u8 = 4;

impl DownstreamConnection {
    /// Decides who fetches what is missing. `passes` is set when hit-for-miss is remembered.
    pub(super) fn seek(
        &mut self,
        lookup: CacheLookup<'_>,
        copy: Option<Hit<CachedResponse>>,
        forward: Forward,
        passes: Option<Remembered>,
    ) {
        self.event_loop.figures.cache_misses.increment();
        let status = CacheStatus {
            forward: Some(forward),
            ..CacheStatus::default()
        };
        let semantics = &lookup.semantics;
        let request = lookup.request;
        if semantics.method == Method::Head {
            let fetch = copy.map(|copy| self.fetch(&lookup, FetchRole::Watch, Some(copy), status));
            return self.enter_upstream(request, fetch, Some(status));
        }
        let never_stored = semantics
            .cache_control
            .is_some_and(|directives| directives.no_store);
        if copy.is_none() && (semantics.range.is_some() || never_stored) {
            return self.enter_upstream(request, None, Some(status));
        }
        let variant = self.variant(&lookup, copy.as_ref());
        let is_alone = lookup.seeking.alone || semantics.authorized || never_stored;
        let begun = if is_alone || passes.is_some() {
            Begin::Pass
        } else {
            self.begin_fill(&lookup, variant)
        };
        match begun {
            Begin::Lead(leader) => {
                let fetch = self.fetch(&lookup, FetchRole::Lead(leader), copy, status);
                self.enter_upstream(request, Some(fetch), Some(status));
            }
            Begin::Follow(follower) => {
                self.event_loop.figures.cache_collapsed.increment();
                let status = CacheStatus {
                    collapsed: true,
                    ..status
                };
                let keyed = lookup.keyed_request();
                self.follow(&request, follower, copy, keyed, status, lookup.seeking);
            }
            Begin::Again if lookup.seeking.tries < TRIES_MAX => {
                self.look_up(request, lookup.seeking.again());
            }
            // Conditional requests are for the server to decide: a 304 is not stored.
            _ if copy.is_none() && (semantics.conditional || never_stored) => {
                self.enter_upstream(request, None, Some(status));
            }
            Begin::Again | Begin::Pass | Begin::Full => {
                let mut fetch = self.fetch(&lookup, FetchRole::Solo(variant), copy, status);
                fetch.is_known_to_pass = passes.is_some_and(|passes| passes.is_recent);
                self.enter_upstream(request, Some(fetch), Some(status));
            }
        }
    }

    fn begin_fill(
        &self,
        lookup: &CacheLookup<'_>,
        variant: u64,
    ) -> Begin<CachedResponse, crate::lookup::ResponseMetadata> {
        let now = self.event_loop.moment();
        let policy = &lookup.route.policy;
        let mut room = self.event_loop.scratch.borrow_mut();
        let good = |page: &CachedResponse| {
            let metadata = &page.metadata;
            let headers = lookup.semantics.headers;
            metadata.is_for(lookup.route.space, headers, policy, &mut room)
                && matches!(
                    decide(
                        &lookup.semantics,
                        &metadata.stored,
                        None,
                        Some(page.len()),
                        now,
                        policy
                    ),
                    Decision::Serve(_)
                )
        };
        let now_ns = lookup.request.own.moments.began;
        lookup
            .cache
            .store
            .begin(&lookup.hashed_key, variant, now_ns, good)
    }

    /// The variant: which requests for the same URL share a response, as far as is known.
    fn variant(&self, lookup: &CacheLookup<'_>, copy: Option<&Hit<CachedResponse>>) -> u64 {
        let kind = kind(lookup);
        let names = match copy {
            Some(copy) => copy.object.value().metadata.names(),
            None => lookup.seeking.names.as_deref().unwrap_or_default(),
        };
        if names.is_empty() {
            return kind;
        }
        let mut room = self.event_loop.scratch.borrow_mut();
        write_selecting(
            &mut room,
            names,
            lookup.semantics.headers,
            &lookup.route.policy,
        );
        mix(kind ^ hash(&room))
    }

    pub(super) fn fetch(
        &self,
        lookup: &CacheLookup<'_>,
        role: FetchRole,
        copy: Option<Hit<CachedResponse>>,
        status: CacheStatus,
    ) -> Box<Fetch> {
        let fills = matches!(role, FetchRole::Lead(_) | FetchRole::Solo(_));
        let has_validator = copy
            .as_ref()
            .is_some_and(|copy| copy.object.value().metadata.stored.has_validator());
        Box::new(Fetch {
            cache: Arc::clone(lookup.cache),
            keyed_request: lookup.keyed_request(),
            is_conditional: fills && has_validator && lookup.route.may_merge,
            role,
            copy,
            requested_at: self.event_loop.moment(),
            begun: lookup.cache.begun(),
            status,
            simple: Simple::of(&lookup.semantics),
            is_known_to_pass: false,
        })
    }

    /// Revalidates a response while it is served, on a connection without a client: it is independent of the request
    /// that triggered it.
    pub(super) fn renew(&self, lookup: &CacheLookup<'_>, hit: &Hit<CachedResponse>) {
        let keyed = lookup.keyed_request().as_get();
        let mut room = header_buffer();
        let Ok(head) = parse(&keyed.bytes, &mut room) else {
            return;
        };
        let variant = self.variant(lookup, Some(hit));
        let ours = &hit.object.value().metadata;
        let begun = {
            let mut room = self.event_loop.scratch.borrow_mut();
            let headers = lookup.semantics.headers;
            let (space, policy) = (lookup.route.space, &lookup.route.policy);
            let newer = |page: &CachedResponse| {
                !std::ptr::eq(&raw const page.metadata, ours)
                    && page.metadata.is_for(space, headers, policy, &mut room)
            };
            let now_ns = lookup.request.own.moments.began;
            lookup
                .cache
                .store
                .begin(&lookup.hashed_key, variant, now_ns, newer)
        };
        let role = match begun {
            Begin::Lead(leader) => FetchRole::Lead(leader),
            // No client waits for it, but the response is needed.
            Begin::Pass | Begin::Full => FetchRole::Solo(variant),
            Begin::Follow(_) | Begin::Again => return,
        };
        let status = CacheStatus {
            forward: Some(Forward::Stale),
            ..CacheStatus::default()
        };
        let copy = Hit {
            object: Arc::clone(&hit.object),
            purged: hit.purged,
        };
        let mut fetch = self.fetch(lookup, role, Some(copy), status);
        fetch.keyed_request = keyed.clone();
        let own = ResponseContext {
            facts: Facts {
                is_head: false,
                is_get: true,
                takes_page: false,
                keep_alive: false,
                ..lookup.request.own.facts
            },
            ..lookup.request.own
        };
        let peer = (*self.peer).clone();
        let mut alone = Self::of_stream(ClientStream::Nobody, peer, &self.event_loop);
        let request = Admitted {
            bytes: &keyed.bytes,
            head: &head,
            own,
            ..lookup.request
        };
        alone.enter_upstream(request, Some(fetch), Some(status));
        if !matches!(alone.stage, RequestStage::Over) {
            tokio::task::spawn_local(alone);
        }
    }
}

/// The variant of a request when no stored response reveals the `Vary` names.
pub(super) fn kind(lookup: &CacheLookup<'_>) -> u64 {
    let class = match lookup.semantics.class {
        Class::Plain => 0,
        Class::Named => 1,
        Class::Alone(_) => 2,
    };
    mix(lookup.route.space.0 ^ class)
}
