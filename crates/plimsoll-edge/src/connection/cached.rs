//! Look up: what the cache has for a request, and who fetches what it has not.
//!
//! A hit is answered here: one look into the store, one head written, and the bytes go out. A miss goes on to a server,
//! with a fetch that says what its answer is for; or it follows somebody else's.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::reuse::{decide, is_refused_without, shape};
use plimsoll_cache::stale::may_serve;
use plimsoll_cache::store::{self, Begin, Hit, Remembered};
use plimsoll_cache::storing::Simple;
use plimsoll_cache::vary::{preferred_language, write_selecting};
use plimsoll_cache::{
    Asked, CacheStatus, Class, Decision, Forward, Method, Moment, Passing, Reason as Why, Renewal,
    Serve, Shape,
};
use plimsoll_config::edge::Action;
use plimsoll_wire::request_head::{RequestHead, header_room, parse};

use super::begin::default_host;
use super::own_answer::Own;
use super::recalling::{AskedDisk, lies_on_disk};
use super::serving::Served;
use super::{Connection, Stage};
use crate::cache::fetch::{Fetch, Role};
use crate::cache::subject::{self, Subject};
use crate::cache::{Cache, Page, RouteCache, Wanted};
use crate::client::Client;
use crate::exchange::Facts;
use crate::own::Reason;
use crate::pool::chooser::{hash, mix};
use crate::settings::Settings;

/// Most times that one request is looked up.
const TRIES_MAX: u8 = 4;

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
            self.request.bytes,
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
        let asked = subject::asked(head, &here.policy);
        let default_host = default_host(route, settings);
        let wanted = subject::wanted(head, &self.peer, default_host, cache, here);
        let bypass = |why: Why| CacheStatus {
            forward: Some(why.into()),
            detail: Some(why.word()),
            ..CacheStatus::default()
        };
        let Some((_, wanted, secure)) = wanted.filter(|_| !head.upgrade) else {
            let why = Why::Passing(Passing::Steering);
            return self.go(request, None, Some(bypass(why)));
        };
        let look = Look {
            request,
            cache,
            route: here,
            asked,
            wanted,
            secure,
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
                    if !page.rests(began) && page.is_to_be_tried(began, || true) {
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
            body: &page.body,
            mosaic: page.mosaic.as_ref(),
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

    /// Who asks a server for what is not there. `passes` is known when it is remembered that nobody waits for another.
    fn seek(
        &mut self,
        look: Look<'_>,
        copy: Option<Hit<Page>>,
        forward: Forward,
        passes: Option<Remembered>,
    ) {
        self.event_loop.figures.cache_misses.increment();
        let status = CacheStatus {
            forward: Some(forward),
            ..CacheStatus::default()
        };
        let asked = &look.asked;
        let request = look.request;
        if asked.method == Method::Head {
            let fetch = copy.map(|copy| self.fetch(&look, Role::Watch, Some(copy), status));
            return self.go(request, fetch, Some(status));
        }
        let never_stored = asked.wishes.is_some_and(|wishes| wishes.no_store);
        if copy.is_none() && (asked.range.is_some() || never_stored) {
            return self.go(request, None, Some(status));
        }
        let variant = self.variant(&look, copy.as_ref());
        let is_alone = look.seeking.alone || asked.authorized || never_stored;
        let begun = if is_alone || passes.is_some() {
            Begin::Pass
        } else {
            self.begin_fill(&look, variant)
        };
        match begun {
            Begin::Lead(leader) => {
                let fetch = self.fetch(&look, Role::Lead(leader), copy, status);
                self.go(request, Some(fetch), Some(status));
            }
            Begin::Follow(follower) => {
                self.event_loop.figures.cache_collapsed.increment();
                let status = CacheStatus {
                    collapsed: true,
                    ..status
                };
                let subject = look.subject();
                self.follow(&request, follower, copy, subject, status, look.seeking);
            }
            Begin::Again if look.seeking.tries < TRIES_MAX => {
                self.look_up(request, look.seeking.again());
            }
            // What the client knows already is for the server to judge: nothing is kept of a 304.
            _ if copy.is_none() && (asked.conditional || never_stored) => {
                self.go(request, None, Some(status));
            }
            Begin::Again | Begin::Pass | Begin::Full => {
                let mut fetch = self.fetch(&look, Role::Solo(variant), copy, status);
                fetch.is_known_to_pass = passes.is_some_and(|passes| passes.is_recent);
                self.go(request, Some(fetch), Some(status));
            }
        }
    }

    fn begin_fill(&self, look: &Look<'_>, variant: u64) -> Begin<Page, crate::cache::Told> {
        let now = self.event_loop.moment();
        let policy = &look.route.policy;
        let mut room = self.event_loop.room.borrow_mut();
        let good = |page: &Page| {
            let told = &page.told;
            let headers = look.asked.headers;
            told.is_for(look.route.space, headers, policy, &mut room)
                && matches!(
                    decide(
                        &look.asked,
                        &told.stored,
                        None,
                        Some(page.len()),
                        now,
                        policy
                    ),
                    Decision::Serve(_)
                )
        };
        let now_ns = look.request.own.moments.began;
        look.cache.store.begin(&look.wanted, variant, now_ns, good)
    }

    /// Which requests for the same URL one answer serves, as far as is known.
    fn variant(&self, look: &Look<'_>, copy: Option<&Hit<Page>>) -> u64 {
        let kind = kind(look);
        let names = match copy {
            Some(copy) => copy.object.value().told.names(),
            None => look.seeking.names.as_deref().unwrap_or_default(),
        };
        if names.is_empty() {
            return kind;
        }
        let mut room = self.event_loop.room.borrow_mut();
        write_selecting(&mut room, names, look.asked.headers, &look.route.policy);
        mix(kind ^ hash(&room))
    }

    fn fetch(
        &self,
        look: &Look<'_>,
        role: Role,
        copy: Option<Hit<Page>>,
        status: CacheStatus,
    ) -> Box<Fetch> {
        let fills = matches!(role, Role::Lead(_) | Role::Solo(_));
        let has_validator = copy
            .as_ref()
            .is_some_and(|copy| copy.object.value().told.stored.has_validator());
        Box::new(Fetch {
            cache: Arc::clone(look.cache),
            subject: look.subject(),
            is_conditional: fills && has_validator && look.route.may_merge,
            role,
            copy,
            asked_at: self.event_loop.moment(),
            begun: look.cache.begun(),
            status,
            simple: Simple::of(&look.asked),
            is_known_to_pass: false,
        })
    }

    /// Renews a copy while it is served, on a connection without a client: it does not end with the request that
    /// happened to come at the time.
    fn renew(&self, look: &Look<'_>, hit: &Hit<Page>) {
        let subject = look.subject().as_get();
        let mut room = header_room();
        let Ok(head) = parse(&subject.bytes, &mut room) else {
            return;
        };
        let variant = self.variant(look, Some(hit));
        let ours = &hit.object.value().told;
        let begun = {
            let mut room = self.event_loop.room.borrow_mut();
            let headers = look.asked.headers;
            let (space, policy) = (look.route.space, &look.route.policy);
            let newer = |page: &Page| {
                !Arc::ptr_eq(&page.told, ours)
                    && page.told.is_for(space, headers, policy, &mut room)
            };
            let now_ns = look.request.own.moments.began;
            look.cache.store.begin(&look.wanted, variant, now_ns, newer)
        };
        let role = match begun {
            Begin::Lead(leader) => Role::Lead(leader),
            // Nobody waits for it, but it is wanted all the same.
            Begin::Pass | Begin::Full => Role::Solo(variant),
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
        let mut fetch = self.fetch(look, role, Some(copy), status);
        fetch.subject = subject.clone();
        let own = Own {
            facts: Facts {
                is_head: false,
                is_get: true,
                takes_page: false,
                keep_alive: false,
                ..look.request.own.facts
            },
            ..look.request.own
        };
        let peer = (*self.peer).clone();
        let mut alone = Self::of_stream(Client::Nobody, peer, &self.event_loop);
        let request = Admitted {
            bytes: &subject.bytes,
            head: &head,
            own,
            ..look.request
        };
        alone.go(request, Some(fetch), Some(status));
        if !matches!(alone.stage, Stage::Over) {
            tokio::task::spawn_local(alone);
        }
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
        let Action::Pool(pool) = request
            .settings
            .routes
            .get(request.own.facts.route)
            .config
            .action
        else {
            return;
        };
        if let Some(cache) = &request.settings.cache {
            cache.pacing.note();
        }
        let pool = &request.settings.pools[pool];
        self.enter(request, pool, fetch, status);
    }

    /// A stale copy answers in place of the servers, if there is one and it may.
    pub(super) fn stands_in(
        &mut self,
        copy: Option<Hit<Page>>,
        subject: &Subject,
        settings: &Settings,
        own: &Own,
        line: &[u8],
        ill: Option<u16>,
    ) -> bool {
        let route = settings.routes.get(own.facts.route);
        let (Some(copy), Some(here)) = (copy, &route.cache) else {
            return false;
        };
        let page = copy.object.value();
        let now = self.event_loop.moment();
        let shape = subject.with(&here.policy, |parts| {
            let stored = &page.told.stored;
            may_serve(&parts.asked, stored, now)
                .then(|| shape(&parts.asked, stored, Some(page.len())))
        });
        let Some(shape) = shape.flatten() else {
            return false;
        };
        page.note_failure(self.event_loop.clock.now());
        if matches!(self.client, Client::Nobody) {
            self.stage = Stage::Over;
            return true;
        }
        self.serve_stale(page, shape, own, line, ill);
        true
    }

    /// Answers with a stale copy because its servers fail.
    fn serve_stale(&mut self, page: &Page, shape: Shape, own: &Own, line: &[u8], ill: Option<u16>) {
        self.event_loop.figures.cache_stale.increment();
        let now = self.event_loop.moment();
        let stored = &page.told.stored;
        let until = stored.terms().plain_until.max(stored.terms().fresh_until);
        let ttl = i64::try_from(until.since(now) / 1000).unwrap_or_default()
            - i64::try_from(now.since(until) / 1000).unwrap_or_default();
        self.serve(&Served {
            early: &[],
            stored,
            body: &page.body,
            mosaic: page.mosaic.as_ref(),
            shape,
            status: CacheStatus {
                forward: ill.map(|_| Forward::Stale),
                forward_status: ill,
                ttl: Some(ttl),
                detail: Some("stale-if-error"),
                ..CacheStatus::default()
            },
            own,
            line,
            server: None,
            reason: Some("stale"),
            pass: None,
        });
    }

    /// Refuses a request that did not get to a server: a stale copy goes before everything else.
    pub(super) fn refuse_request(
        &mut self,
        request: &Admitted<'_>,
        fetch: Option<Box<Fetch>>,
        status: u16,
        reason: Reason,
    ) {
        if let Some(fetch) = fetch {
            let mut line = Vec::new();
            self.begin_line(&mut line, request.head, request.client);
            let (copy, subject) = fetch.fail();
            if self.stands_in(copy, &subject, request.settings, &request.own, &line, None) {
                return;
            }
        }
        self.refuse_head(request.head, request.client, &request.own, status, reason);
    }
}

/// Which requests for the same URL one answer serves, where no copy says what else they are told apart by.
fn kind(look: &Look<'_>) -> u64 {
    let class = match look.asked.class {
        Class::Plain => 0,
        Class::Named => 1,
        Class::Alone(_) => 2,
    };
    mix(look.route.space.0 ^ class)
}
