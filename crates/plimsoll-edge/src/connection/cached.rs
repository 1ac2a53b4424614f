//! Look up: what the cache has for a request, and who fetches what it has not.
//!
//! A hit is answered here: one look into the store, one head written, and the bytes go out. A miss goes on to a server,
//! with a fetch that says what its answer is for; or it follows somebody else's.

mod seeking;
mod standing_in;

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::reuse::{decide, is_refused_without, shape};
use plimsoll_cache::stale::may_serve;
use plimsoll_cache::store::{self, Hit, Remembered};
use plimsoll_cache::vary::preferred_language;
use plimsoll_cache::{
    Asked, CacheStatus, Class, Decision, Forward, Moment, Passing, Reason as Why, Renewal, Serve,
};
use plimsoll_config::edge::Action;
use plimsoll_wire::request_head::{RequestHead, header_room, parse};

use self::seeking::kind;
use super::Connection;
use super::begin::default_host;
use super::own_answer::Own;
use super::recalling::{AskedDisk, lies_on_disk};
use super::serving::Served;
use crate::cache::address::Address;
use crate::cache::as_forwarded::as_forwarded;
use crate::cache::fetch::{Fetch, Role};
use crate::cache::subject::{self, Subject};
use crate::cache::{Cache, Page, RouteCache, Wanted};
use crate::client::Client;
use crate::forward::Dropping;
use crate::pool::Pool;
use crate::reason::Reason;
use crate::settings::Settings;

/// A request that was admitted.
#[derive(Clone, Copy)]
pub(super) struct Admitted<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) head: &'a RequestHead<'a, 'a>,
    /// Whom a trusted peer speaks for.
    pub(super) client: Option<IpAddr>,
    pub(super) own: Own,
    pub(super) settings: &'a Rc<Settings>,
}

/// What a request that is looked up once more has learnt.
#[derive(Clone, Debug, Default)]
pub(super) struct Seeking {
    pub(super) tries: u8,
    /// What the answer that it followed varies by.
    pub(super) names: Option<Box<str>>,
    /// It waits for nobody any more.
    pub(super) alone: bool,
    /// Whether the disk was asked.
    pub(super) disk: AskedDisk,
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

/// All that a look-up is about.
pub(super) struct Look<'a> {
    pub(super) request: Admitted<'a>,
    pub(super) cache: &'a Arc<Cache>,
    /// The request as its server would get it, and whether that is not what the client sent.
    bytes: (&'a [u8], bool),
    route: &'a RouteCache,
    asked: Asked<'a, 'a>,
    pub(super) wanted: Wanted<'a>,
    secure: bool,
    pub(super) seeking: Seeking,
}

impl Look<'_> {
    /// When its copy was purged. After the grace a purged copy waits for its turn all the same: what a purge of
    /// everything has met must not be asked for all at once either.
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

    pub(super) fn subject(&self) -> Subject {
        let settings = self.request.settings;
        let route = settings.routes.get(self.request.own.facts.route);
        Subject::new(
            self.bytes,
            self.secure,
            default_host(route, settings),
            plimsoll_cache::store::Lookup::hash(&self.wanted),
            self.route.space,
        )
    }
}

impl Connection {
    /// Answers from the cache, or goes on with what the cache wants.
    pub(super) fn look_up(&mut self, request: Admitted<'_>, seeking: Seeking) {
        let settings = request.settings;
        let route = settings.routes.get(request.own.facts.route);
        let (Some(cache), Some(here)) = (&settings.cache, &route.cache) else {
            return self.go(request, None, None);
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
            return self.go(request, None, Some(bypass(why)));
        };
        let dropping = Dropping {
            trusted: self.peer.trusted,
            steering: &route.config.steering_headers,
        };
        let is_bare = subject::is_bare(head);
        let cut = as_forwarded(head, &address, &dropping, &here.policy, is_bare);
        let mut room = header_room();
        let cut_head = cut.as_ref().map(|bytes| parse(bytes, &mut room));
        let head = match &cut_head {
            None => head,
            Some(Ok(head)) => head,
            // It was read once: it can be read again.
            Some(Err(_)) => return self.go(request, None, None),
        };
        let address = address.written(head.host.unwrap_or(host));
        let asked = subject::asked(head, &here.policy);
        let look = Look {
            request,
            bytes: (cut.as_deref().unwrap_or(request.bytes), cut.is_some()),
            cache,
            route: here,
            asked,
            wanted: subject::wanted(head.target, &address, cache, here),
            secure: address.secure,
            seeking,
        };
        if let Class::Alone(passing) = asked.class {
            if self.purges_by_method(&look.request, cache) {
                return;
            }
            self.event_loop.figures.cache_passed.increment();
            let status = bypass(Why::Passing(passing));
            let watches = passing == Passing::Method && asked.method.invalidates();
            let fetch = watches.then(|| self.fetch(&look, Role::Watch, None, status));
            return self.go(request, fetch, Some(status));
        }
        self.look_into_store(look);
    }

    fn look_into_store(&mut self, look: Look<'_>) {
        let (space, policy) = (look.route.space, &look.route.policy);
        let mut has_others = false;
        let found = {
            let mut room = self.event_loop.room.borrow_mut();
            let is_for = |page: &Page| {
                has_others = true;
                page.told
                    .is_for(space, look.asked.headers, policy, &mut room)
            };
            let now_ns = look.request.own.moments.began;
            let store = &look.cache.store;
            store.look(&look.wanted, kind(&look), now_ns, is_for)
        };
        let is_all = !has_others && look.seeking.names.is_none();
        match found {
            store::Look::Hit(hit) => self.found(look, hit),
            store::Look::Pass(remembered) if is_all && !lies_on_disk(&look) => {
                self.pass(look, remembered);
            }
            store::Look::Pass(_) | store::Look::Nothing => self.missed(look),
        }
    }

    /// There is no copy at all, so nothing that the request could be told apart by; and it is remembered that nobody
    /// waits for another.
    fn pass(&mut self, look: Look<'_>, remembered: Remembered) {
        if is_refused_without(&look.asked) {
            return self.refuse_look(&look);
        }
        self.seek(look, None, Forward::UriMiss, Some(remembered));
    }

    /// There is a copy.
    fn found(&mut self, look: Look<'_>, hit: Hit<Page>) {
        let page = hit.object.value();
        let stored = &page.told.stored;
        let now = self.event_loop.moment();
        let purged_at = hit.purged.then(|| look.purged_at(now));
        let policy = &look.route.policy;
        match decide(
            &look.asked,
            stored,
            purged_at,
            Some(page.len()),
            now,
            policy,
        ) {
            Decision::Serve(serve) => {
                let began = look.request.own.moments.began;
                let pacing = &look.cache.pacing;
                let is_to_be_renewed = serve.renew.is_some_and(|renewal| {
                    page.is_to_be_tried(began, || renewal != Renewal::Purged || pacing.lets(began))
                });
                if is_to_be_renewed {
                    self.renew(&look, &hit);
                }
                self.serve_hit(&look.request, page, serve);
            }
            Decision::Revalidate(why) => {
                let began = look.request.own.moments.began;
                if page.has_failed(began) && may_serve(&look.asked, stored, now) {
                    if !page.rests(began) && page.is_to_be_tried(began, || is_worth_a_try(&look)) {
                        self.renew(&look, &hit);
                    }
                    let request = &look.request;
                    let mut line = Vec::new();
                    self.begin_line(&mut line, request.head, request.client);
                    let shape = shape(&look.asked, stored, Some(page.len()));
                    return self.serve_stale(page, shape, &request.own, &line, None);
                }
                self.seek(look, Some(hit), why.into(), None);
            }
            Decision::Fetch(why) => self.seek(look, None, why.into(), None),
            Decision::Refuse => self.refuse_look(&look),
        }
    }

    fn missed(&mut self, look: Look<'_>) {
        let Some(mut look) = self.recall(look) else {
            return;
        };
        if is_refused_without(&look.asked) {
            return self.refuse_look(&look);
        }
        if let Some(hit) = self.in_preferred_language(&look) {
            return self.found(look, hit);
        }
        // Copies for other requests tell what this one is to be told apart by.
        let space = look.route.space;
        let other = look
            .cache
            .store
            .get(&look.wanted, |page| page.told.is_in(space));
        let forward = match &other {
            Some(hit) => {
                let names = hit.object.value().told.names();
                look.seeking.names.get_or_insert_with(|| names.into());
                Forward::VaryMiss
            }
            None => Forward::UriMiss,
        };
        self.seek(look, None, forward, None);
    }

    /// The fresh copy in the one language that the request prefers to all others, if it is the only one that says so:
    /// no origin has anything better for it. Of several, some may be labelled wrongly.
    fn in_preferred_language(&self, look: &Look<'_>) -> Option<Hit<Page>> {
        let language = preferred_language(look.asked.headers)?;
        let space = look.route.space;
        let (cache, now) = (look.cache, self.event_loop.moment());
        let mut count = 0;
        let counted = |page: &Page| {
            count += usize::from(page.told.is_in_language(space, language));
            false
        };
        cache.store.get(&look.wanted, counted);
        if count != 1 {
            return None;
        }
        let is_it = |page: &Page| {
            let terms = page.told.stored.terms();
            page.told.is_in_language(space, language) && terms.is_fresh(look.asked.class, now)
        };
        let hit = cache.store.get(&look.wanted, is_it);
        hit.filter(|hit| !hit.purged)
    }

    /// The client wants a copy or nothing.
    fn refuse_look(&mut self, look: &Look<'_>) {
        let Admitted {
            head, client, own, ..
        } = look.request;
        self.refuse_head(head, client, &own, 504, Reason::NoCopy);
    }

    fn serve_hit(&mut self, request: &Admitted<'_>, page: &Page, serve: Serve) {
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
            stored: &page.told.stored,
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

    /// On to a server.
    pub(super) fn go(
        &mut self,
        request: Admitted<'_>,
        fetch: Option<Box<Fetch>>,
        status: Option<CacheStatus>,
    ) {
        if let Some(count) = request.settings.misses_of(request.own.facts.route)
            && status.is_some()
            && !matches!(self.client, Client::Nobody)
        {
            count.increment();
        }
        let Some(pool) = pool(&request) else {
            return;
        };
        if let Some(cache) = &request.settings.cache {
            cache.pacing.note();
        }
        self.enter(request, pool, fetch, status);
    }
}

/// The pool that a request goes to.
fn pool<'a>(request: &Admitted<'a>) -> Option<&'a Arc<Pool>> {
    let settings = request.settings;
    let route = settings.routes.get(request.own.facts.route);
    match route.config.action {
        Action::Pool(pool) => Some(&settings.pools[pool]),
        Action::Redirect { .. } => None,
    }
}

/// Whether its servers may have got well.
fn is_worth_a_try(look: &Look<'_>) -> bool {
    let began = look.request.own.moments.began;
    pool(&look.request).is_none_or(|pool| pool.is_worth_a_try(began))
}
