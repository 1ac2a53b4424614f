//! Cache lookup: what is stored for a request, and who fetches what is missing.
//!
//! A hit is served here: one lookup, one head, and the body. A miss goes upstream with a
//! [`Fetch`](crate::lookup::fetch::Fetch), which states what its response is for; or it follows a fetch in progress.

mod seeking;
mod stale_if_error;

use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::reuse::{decide, is_refused_without, shape};
use plimsoll_cache::stale::may_serve;
use plimsoll_cache::store::{self, HashedKey, Hit, Remembered};
use plimsoll_cache::vary::preferred_language;
use plimsoll_cache::{
    CacheRequest, CacheStatus, Class, Decision, Forward, Moment, Passing, Reason as Why, Renewal,
    Serve,
};
use plimsoll_net::reason::Reason;
use plimsoll_wire::request_head::{header_buffer, parse};

use self::seeking::kind;
use super::admitted::{Admitted, ResponseContext};
use super::balance::{default_host, pool};
use super::client_address::client_of;
use super::disk_lookup::{DiskLookup, lies_on_disk};
use super::serving::Served;
use super::{DownstreamConnection, RequestStage};
use crate::lookup::address::Address;
use crate::lookup::as_forwarded::as_forwarded;
use crate::lookup::fetch::FetchRole;
use crate::lookup::keyed_request::{self, KeyedRequest};
use crate::lookup::{Cache, CachedResponse, RouteCache};
use crate::message::upstream_request::Dropping;
use crate::settings::Settings;

/// State of a request across repeated lookups.
#[derive(Clone, Debug, Default)]
pub(super) struct Seeking {
    pub(super) tries: u8,
    /// The `Vary` names of the response that it followed.
    pub(super) names: Option<Box<str>>,
    /// It does not collapse with other requests any more.
    pub(super) alone: bool,
    /// State of the disk lookup.
    pub(super) disk: DiskLookup,
}

impl Seeking {
    pub(super) fn again(&self) -> Self {
        Self {
            tries: self.tries + 1,
            disk: self.disk.again(),
            ..self.clone()
        }
    }
}

/// The context of a lookup.
pub(super) struct CacheLookup<'a> {
    pub(super) request: Admitted<'a>,
    pub(super) cache: &'a Arc<Cache>,
    /// The request as forwarded, and whether it differs from what the client sent.
    bytes: (&'a [u8], bool),
    route: &'a RouteCache,
    semantics: CacheRequest<'a, 'a>,
    pub(super) hashed_key: HashedKey<'a>,
    secure: bool,
    pub(super) seeking: Seeking,
}

impl CacheLookup<'_> {
    /// When its stored response was purged. Pacing also applies after the grace period: not everything that a large
    /// purge affected may be fetched at once.
    fn purged_at(&self, now: Moment) -> Moment {
        let at = self.cache.purged_at();
        let grace_ms = u64::from(self.route.policy.purge_grace) * 1000;
        let began = self.request.own.moments.began;
        if now < at.after(grace_ms) || self.cache.pacing.lets(began) {
            at
        } else {
            now
        }
    }

    pub(super) fn keyed_request(&self) -> KeyedRequest {
        let settings = self.request.settings;
        let route = settings.routes.get(self.request.own.facts.route);
        KeyedRequest::new(
            self.bytes,
            self.secure,
            default_host(route, settings),
            plimsoll_cache::store::Lookup::hash(&self.hashed_key),
            self.route.space,
        )
    }
}

impl DownstreamConnection {
    /// Serves from the cache, or continues as the cache requires.
    pub(super) fn look_up(&mut self, request: Admitted<'_>, seeking: Seeking) {
        let settings = request.settings;
        let route = settings.routes.get(request.own.facts.route);
        let (Some(cache), Some(here)) = (&settings.cache, &route.cache) else {
            return self.enter_upstream(request, None, None);
        };
        let head = request.head;
        let bypass = |why: Why| CacheStatus {
            forward: Some(why.into()),
            detail: Some(why.word()),
            ..CacheStatus::default()
        };
        let host = head.host.unwrap_or_else(|| default_host(route, settings));
        let address = Address::of(head, host, &self.peer);
        let Some(address) = address.filter(|_| !head.upgrade) else {
            let why = Why::Passing(Passing::Steering);
            return self.enter_upstream(request, None, Some(bypass(why)));
        };
        let dropping = Dropping {
            trusted: self.peer.is_trusted(),
            steering: &route.config.steering_headers,
        };
        let is_bare = keyed_request::is_bare(head);
        let cut = as_forwarded(head, &address, &dropping, &here.policy, is_bare);
        let mut room = header_buffer();
        let cut_head = cut.as_ref().map(|bytes| parse(bytes, &mut room));
        let head = match &cut_head {
            None => head,
            Some(Ok(head)) => head,
            // It was parsed once already, so it is valid.
            Some(Err(_)) => return self.enter_upstream(request, None, None),
        };
        let address = address.written(head.host.unwrap_or(host));
        let semantics = keyed_request::cache_semantics(head, &here.policy);
        let lookup = CacheLookup {
            request,
            bytes: (cut.as_deref().unwrap_or(request.bytes), cut.is_some()),
            cache,
            route: here,
            semantics,
            hashed_key: keyed_request::hash_key(head.target, &address, cache, here),
            secure: address.secure,
            seeking,
        };
        if let Class::Alone(passing) = semantics.class {
            if self.purges_by_method(&lookup.request, cache) {
                return;
            }
            self.event_loop.figures.cache_passed.increment();
            let status = bypass(Why::Passing(passing));
            let watches = passing == Passing::Method && semantics.method.invalidates();
            let fetch = watches.then(|| self.fetch(&lookup, FetchRole::Watch, None, status));
            return self.enter_upstream(request, fetch, Some(status));
        }
        self.lookup_in_store(lookup);
    }

    /// Repeats the lookup of a parsed request.
    pub(super) fn retry_lookup(
        &mut self,
        bytes: &[u8],
        own: ResponseContext,
        settings: &Rc<Settings>,
        seeking: Seeking,
    ) {
        let mut room = header_buffer();
        let Ok(head) = parse(bytes, &mut room) else {
            self.stage = RequestStage::Over;
            return;
        };
        let request = Admitted {
            bytes,
            head: &head,
            client: client_of(&self.peer, &head, settings),
            own,
            settings,
        };
        self.look_up(request, seeking);
    }

    fn lookup_in_store(&mut self, lookup: CacheLookup<'_>) {
        let (space, policy) = (lookup.route.space, &lookup.route.policy);
        let mut has_others = false;
        let found = {
            let mut room = self.event_loop.scratch.borrow_mut();
            let is_for = |page: &CachedResponse| {
                has_others = true;
                page.metadata
                    .is_for(space, lookup.semantics.headers, policy, &mut room)
            };
            let now_ns = lookup.request.own.moments.began;
            let store = &lookup.cache.store;
            store.lookup(&lookup.hashed_key, kind(&lookup), now_ns, is_for)
        };
        let is_all = !has_others && lookup.seeking.names.is_none();
        match found {
            store::LookupOutcome::Hit(hit) => self.found(lookup, hit),
            store::LookupOutcome::Pass(remembered) if is_all && !lies_on_disk(&lookup) => {
                self.pass(lookup, remembered);
            }
            store::LookupOutcome::Pass(_) | store::LookupOutcome::Nothing => self.missed(lookup),
        }
    }

    /// A miss without any stored response, hence without a known `Vary`; and hit-for-miss is remembered for this
    /// request.
    fn pass(&mut self, lookup: CacheLookup<'_>, remembered: Remembered) {
        if is_refused_without(&lookup.semantics) {
            return self.refuse_without_copy(&lookup);
        }
        self.seek(lookup, None, Forward::UriMiss, Some(remembered));
    }

    /// A stored response was found.
    fn found(&mut self, lookup: CacheLookup<'_>, hit: Hit<CachedResponse>) {
        let page = hit.object.value();
        let stored = &page.metadata.stored;
        let now = self.event_loop.moment();
        let purged_at = hit.purged.then(|| lookup.purged_at(now));
        let policy = &lookup.route.policy;
        match decide(
            &lookup.semantics,
            stored,
            purged_at,
            Some(page.len()),
            now,
            policy,
        ) {
            Decision::Serve(serve) => {
                let began = lookup.request.own.moments.began;
                let pacing = &lookup.cache.pacing;
                let is_to_be_renewed = serve.renew.is_some_and(|renewal| {
                    page.is_to_be_tried(began, || renewal != Renewal::Purged || pacing.lets(began))
                });
                if is_to_be_renewed {
                    self.renew(&lookup, &hit);
                }
                self.serve_hit(&lookup.request, page, serve);
            }
            Decision::Revalidate(why) => {
                let began = lookup.request.own.moments.began;
                if page.has_failed(began) && may_serve(&lookup.semantics, stored, now) {
                    if !page.rests(began) && page.is_to_be_tried(began, || is_worth_a_try(&lookup))
                    {
                        self.renew(&lookup, &hit);
                    }
                    let request = &lookup.request;
                    let mut line = Vec::new();
                    self.begin_line(&mut line, request.head, request.client);
                    let shape = shape(&lookup.semantics, stored, Some(page.len()));
                    return self.serve_stale(page, shape, &request.own, &line, None);
                }
                self.seek(lookup, Some(hit), why.into(), None);
            }
            Decision::Fetch(why) => self.seek(lookup, None, why.into(), None),
            Decision::Refuse => self.refuse_without_copy(&lookup),
        }
    }

    fn missed(&mut self, lookup: CacheLookup<'_>) {
        let Some(mut lookup) = self.recall(lookup) else {
            return;
        };
        if is_refused_without(&lookup.semantics) {
            return self.refuse_without_copy(&lookup);
        }
        if let Some(hit) = self.in_preferred_language(&lookup) {
            return self.found(lookup, hit);
        }
        // Stored responses for other requests reveal the `Vary` names.
        let space = lookup.route.space;
        let other = lookup
            .cache
            .store
            .get(&lookup.hashed_key, |page| page.metadata.is_in(space));
        let forward = match &other {
            Some(hit) => {
                let names = hit.object.value().metadata.names();
                lookup.seeking.names.get_or_insert_with(|| names.into());
                Forward::VaryMiss
            }
            None => Forward::UriMiss,
        };
        self.seek(lookup, None, forward, None);
    }

    /// The fresh response in the client's preferred language, if it is the only one with this label: no origin has a
    /// better one. Of several, some may be labelled wrongly.
    fn in_preferred_language(&self, lookup: &CacheLookup<'_>) -> Option<Hit<CachedResponse>> {
        let language = preferred_language(lookup.semantics.headers)?;
        let space = lookup.route.space;
        let (cache, now) = (lookup.cache, self.event_loop.moment());
        let mut count = 0;
        let counted = |page: &CachedResponse| {
            count += usize::from(page.metadata.is_in_language(space, language));
            false
        };
        cache.store.get(&lookup.hashed_key, counted);
        if count != 1 {
            return None;
        }
        let is_it = |page: &CachedResponse| {
            let terms = page.metadata.stored.terms();
            page.metadata.is_in_language(space, language)
                && terms.is_fresh(lookup.semantics.class, now)
        };
        let hit = cache.store.get(&lookup.hashed_key, is_it);
        hit.filter(|hit| !hit.purged)
    }

    /// The client requires a stored response (`only-if-cached`).
    fn refuse_without_copy(&mut self, lookup: &CacheLookup<'_>) {
        let Admitted {
            head, client, own, ..
        } = lookup.request;
        self.refuse_head(head, client, &own, 504, Reason::NoCopy);
    }

    fn serve_hit(&mut self, request: &Admitted<'_>, page: &CachedResponse, serve: Serve) {
        let figures = &self.event_loop.figures;
        let is_stale = serve.ttl_ms < 0;
        if is_stale {
            figures.cache_stale.increment();
        } else {
            figures.cache_hits.increment();
        }
        if let Some(count) = request.settings.hits_of(request.own.facts.route) {
            count.increment();
        }
        let mut line = self.event_loop.spare_bytes();
        self.begin_line(&mut line, request.head, request.client);
        self.serve(&Served {
            early: &[],
            stored: &page.metadata.stored,
            body: page.body(),
            mosaic: page.mosaic(),
            shape: serve.shape,
            status: CacheStatus {
                ttl: Some(serve.ttl_ms.div_euclid(1000)),
                detail: serve.renew.map(plimsoll_cache::Renewal::word),
                ..CacheStatus::default()
            },
            own: &request.own,
            line: &line,
            server: None,
            reason: Some(if is_stale { "stale" } else { "hit" }),
            pass: None,
        });
        self.event_loop.return_bytes(line);
    }
}

/// Whether the upstream may have recovered.
fn is_worth_a_try(lookup: &CacheLookup<'_>) -> bool {
    let began = lookup.request.own.moments.began;
    pool(&lookup.request).is_none_or(|pool| pool.is_worth_a_try(began))
}
