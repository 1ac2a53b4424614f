//! Who asks a server for what is not there: one for all, each for itself, or nobody but the edge for a copy that is
//! served meanwhile.

use std::sync::Arc;

use plimsoll_cache::reuse::decide;
use plimsoll_cache::store::{Begin, Hit, Remembered};
use plimsoll_cache::storing::Simple;
use plimsoll_cache::vary::write_selecting;
use plimsoll_cache::{CacheStatus, Class, Decision, Forward, Method};
use plimsoll_wire::request_head::{header_room, parse};

use super::super::own_answer::Own;
use super::super::{Connection, Stage};
use super::{Admitted, Look};
use crate::cache::Page;
use crate::cache::fetch::{Fetch, Role};
use crate::client::Client;
use crate::exchange::Facts;
use crate::hash::hash;
use crate::hash::mix;

/// Most times that one request is looked up.
const TRIES_MAX: u8 = 4;

impl Connection {
    /// Who asks a server for what is not there. `passes` is known when it is remembered that nobody waits for another.
    pub(super) fn seek(
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

    pub(super) fn fetch(
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
    pub(super) fn renew(&self, look: &Look<'_>, hit: &Hit<Page>) {
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
                !std::ptr::eq(&raw const page.told, ours)
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
}

/// Which requests for the same URL one answer serves, where no copy says what else they are told apart by.
pub(super) fn kind(look: &Look<'_>) -> u64 {
    let class = match look.asked.class {
        Class::Plain => 0,
        Class::Named => 1,
        Class::Alone(_) => 2,
    };
    mix(look.route.space.0 ^ class)
}
