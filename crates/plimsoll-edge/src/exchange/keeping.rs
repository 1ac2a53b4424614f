//! What the cache does with an answer: kept while it comes, merged into a copy, or let past.
//!
//! Whether it is kept is judged by what the server said. What is kept is what a client would get: with the route's
//! edits and, on a route that compresses, in the coding that the asker takes.

use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::invalidate::{invalidated, labels};
use plimsoll_cache::stale::{self, Illness};
use plimsoll_cache::store::{Named, Put};
use plimsoll_cache::storing::{Storable, Terms};
use plimsoll_cache::vary::Vary;
use plimsoll_cache::{Answer, Exchange as Times, KeyRef, Method, Policy, Stored, storing};
use plimsoll_wire::head::{self, Head, Header, Length};

use super::renewing::compare;
use super::{End, Exchange, Side};
use crate::cache::fetch::{Fetch, Filling, Kept, Role};
use crate::cache::pace::Pace;
use crate::cache::subject::Parts;
use crate::cache::unkept::{Refused, Unkept};
use crate::cache::{Page, Told, Wanted};
use crate::client::Client;
use crate::compress::Coded;
use crate::forward::{self, Answering, Connection, Framing};

/// Where an answer goes.
#[derive(Debug, Default)]
pub(super) enum Course {
    /// To the client, as it comes.
    #[default]
    ToClient,
    /// To all who read along, and into the store when it is whole.
    Kept(Box<Filling>),
    /// Nowhere.
    Nowhere,
}

/// What is said of an answer by its server, and what a client would be told.
pub(super) struct Said<'a> {
    pub(super) bytes: &'a [u8],
    head: &'a Head,
    headers: &'a [Header<'a>],
    coded: Coded,
    length: Length,
}

impl Said<'_> {
    /// The words behind the status.
    fn reason(&self) -> &str {
        let line = self.bytes.split(|&byte| byte == b'\r' || byte == b'\n');
        let line = line.clone().next().unwrap_or_default();
        let reason = line.get(13..).unwrap_or_default();
        std::str::from_utf8(reason).unwrap_or_default()
    }

    /// Length of the body as it is kept, if that is known yet.
    fn kept_len(&self) -> Option<u64> {
        match self.length {
            Length::Sized(len) if !matches!(self.coded, Coded::As(_)) => Some(len),
            _ => None,
        }
    }

    pub(super) fn answer<'h>(&'h self, headers: &'h [Header<'h>]) -> Answer<'h, 'h> {
        Answer {
            status: self.head.status,
            reason: self.reason(),
            headers,
        }
    }
}

/// What is known of an answer before what was asked is read once more.
struct Judging {
    times: Times,
    /// It is kept, on these terms; `None` is not judged yet.
    storable: Option<Storable>,
}

impl Exchange {
    /// Settles where an answer goes whose head is there.
    pub(super) fn course(
        &mut self,
        bytes: &[u8],
        head: &Head,
        headers: &[Header<'_>],
        coded: Coded,
        length: Length,
        side: &Side<'_>,
    ) -> Course {
        let (Some(fetch), Some(settings)) = (self.fetch.take(), self.settings.clone()) else {
            return Course::ToClient;
        };
        let Some(route) = &settings.routes.get(self.facts.route).cache else {
            return Course::ToClient;
        };
        let said = Said {
            bytes,
            head,
            headers,
            coded,
            length,
        };
        let times = Times {
            asked_at: fetch.asked_at,
            received_at: side.event_loop.moment(),
            chance: (side.event_loop.random() >> 32) as u32,
        };
        // Where the answer alone decides, what was asked is read once more only when there is something to keep.
        let simple = fetch.simple.filter(|_| fetch.copy.is_none());
        let answer = said.answer(headers);
        let judged =
            simple.map(|simple| storing::judge_simple(simple, &answer, &route.policy, &times));
        let is_unasked = matches!(side.client, Client::Nobody);
        if let Some(Err(refusal)) = judged
            && !is_unasked
        {
            self.let_past(*fetch, Unkept::Refused(refusal), &said, side);
            return Course::ToClient;
        }
        let judging = Judging {
            times,
            storable: judged.and_then(Result::ok),
        };
        let subject = fetch.subject.clone();
        let course = subject.with(&route.policy, |parts| {
            self.course_of(*fetch, parts, &said, &route.policy, judging, side)
        });
        let course = course.unwrap_or_default();
        if is_unasked && matches!(course, Course::ToClient) {
            self.kept = Some(Kept::Nothing);
        }
        if self.kept.is_some() {
            self.subject = Some(subject);
        }
        match course {
            Course::ToClient if is_unasked => Course::Nowhere,
            course => course,
        }
    }

    fn course_of(
        &mut self,
        mut fetch: Fetch,
        parts: &Parts<'_, '_>,
        said: &Said<'_>,
        policy: &Policy,
        judging: Judging,
        side: &Side<'_>,
    ) -> Course {
        let Judging { times, storable } = judging;
        let answer = said.answer(said.headers);
        if parts.asked.method.invalidates() {
            invalidate(&fetch, parts, &answer, policy);
            // What this answer makes invalid was there before it.
            fetch.begun = fetch.cache.begun();
        }
        if said.head.status == 304 && fetch.is_conditional {
            return self.renewed(fetch, parts, said, policy, &times, side);
        }
        if let Some(copy) = &fetch.copy
            && Illness::of_status(said.head.status).is_some()
            && stale::may_serve(
                &parts.asked,
                &copy.object.value().told.stored,
                times.received_at,
            )
        {
            let status = said.head.status;
            self.kept = Some(Kept::Ill(status));
            self.fetch = Some(Box::new(fetch));
            return Course::Nowhere;
        }
        if parts.asked.method == Method::Head {
            compare(&fetch, parts, &answer, policy, &times);
        }
        let judge = || storing::judge(&parts.asked, &parts.key, &answer, policy, &times);
        let rule = match storable.map_or_else(judge, Ok) {
            Ok(storable) => match self.keep(fetch, parts, said, policy, storable, side) {
                Ok(course) => return course,
                Err((back, rule)) => {
                    fetch = *back;
                    rule
                }
            },
            Err(refusal) => Unkept::Refused(refusal),
        };
        self.let_past(fetch, rule, said, side);
        Course::ToClient
    }

    /// An answer that is not kept: nobody waits for it any longer.
    fn let_past(&mut self, fetch: Fetch, rule: Unkept, said: &Said<'_>, side: &Side<'_>) {
        let now = side.event_loop.clock.now();
        let is_ill = Illness::of_status(said.head.status).is_some();
        let is_remembered = rule.is_remembered();
        let named = fetch.subject.named();
        if !matches!(fetch.role, Role::Watch) {
            fetch.cache.note_refusal(Refused {
                hash: fetch.subject.hash,
                rule,
                header: rule.header(said.headers),
                at: side.event_loop.moment(),
            });
        }
        match fetch.role {
            Role::Lead(leader) if is_ill => leader.fail(),
            Role::Lead(leader) if is_remembered => leader.uncacheable(now),
            Role::Solo(variant) if is_remembered && !is_ill && !fetch.is_known_to_pass => {
                fetch.cache.store.remember_pass(&named, variant, now);
            }
            Role::Lead(_) | Role::Solo(_) | Role::Watch => {}
        }
        // What the copy was of is not what is there now.
        if fetch.copy.is_some() && !is_ill && fetch.subject.is_get() {
            fetch.cache.drop_key(&named);
        }
        self.cache_status = Some(plimsoll_cache::CacheStatus {
            detail: Some(rule.word()),
            ..fetch.status
        });
    }

    /// Begins to keep an answer; gives the fetch back, with a word why, when it cannot be.
    fn keep(
        &mut self,
        fetch: Fetch,
        parts: &Parts<'_, '_>,
        said: &Said<'_>,
        policy: &Policy,
        mut storable: Storable,
        side: &Side<'_>,
    ) -> Result<Course, (Box<Fetch>, Unkept)> {
        let len = said.kept_len();
        if len.is_some_and(|len| len > fetch.cache.body_len_max(&storable.terms)) {
            return Err((Box::new(fetch), Unkept::TooLarge));
        }
        let Some(labels) = labels(said.headers, &parts.key, fetch.cache.seed) else {
            return Err((Box::new(fetch), Unkept::TooManyTags));
        };
        if said.coded != Coded::Plain {
            vary_by_coding(&mut storable.vary);
        }
        let is_fresh = is_fresh(parts, &storable.terms);
        let shown = self.shown(said, side);
        let stored = head::parse_with(&shown, |_, headers| {
            Stored::new(&said.answer(headers), &storable)
        });
        let told = stored.ok().and_then(|stored| {
            let (space, request) = (fetch.subject.space, parts.head.headers);
            let mut told = Told::new(stored, &storable.vary, space, request, policy, len)?;
            told.draft = self.draft(said.head, said.headers).map(Box::new);
            Some(told)
        });
        let Some(told) = told.map(Arc::new) else {
            return Err((Box::new(fetch), Unkept::SaysTooMuch));
        };
        let now = side.event_loop.clock.now();
        let (store, begun) = (&fetch.cache.store, fetch.begun.store);
        let (leader, variant) = match fetch.role {
            Role::Lead(leader) if is_fresh => (leader, None),
            Role::Lead(leader) => {
                // Nobody else may be given it: they ask for themselves.
                let variant = leader.variant();
                leader.uncacheable(now);
                (store.alone(&parts.wanted, variant, begun), Some(variant))
            }
            Role::Solo(variant) => {
                let passes = (!is_fresh).then_some(variant);
                (store.alone(&parts.wanted, variant, begun), passes)
            }
            Role::Watch => (store.alone(&parts.wanted, 0, begun), None),
        };
        let announced = len.and_then(|len| usize::try_from(len).ok());
        leader.head(Arc::clone(&told), announced);
        let status = plimsoll_cache::CacheStatus {
            stored: true,
            ..fetch.status
        };
        let pace = Rc::new(Pace::default());
        self.kept = Some(Kept::Following(leader.follow(), Rc::clone(&pace), status));
        let labels: Box<[u64]> = labels.iter().map(|label| label.0).collect();
        let spool = fetch.cache.spool(&told, leader.key(), &labels, fetch.begun);
        Ok(Course::Kept(Box::new(Filling {
            leader,
            cache: fetch.cache,
            told,
            labels,
            begun: fetch.begun,
            spool,
            passes: variant.map(|variant| (fetch.subject.hash, variant)),
            len: 0,
            fits: true,
            status,
            pace,
        })))
    }

    /// The head of an answer as it is kept.
    pub(super) fn shown(&self, said: &Said<'_>, side: &Side<'_>) -> Vec<u8> {
        let settings = self.settings.as_ref();
        let route = settings.map(|settings| &settings.routes.get(self.facts.route).config);
        let shell = route.and_then(|route| route.shell.as_ref());
        let date = side.event_loop.date.borrow();
        let answering = Answering {
            framing: Framing::Nothing,
            connection: Connection::Unsaid,
            date: &date,
            edits: route.map_or(&[][..], |route| &route.answer_headers),
            cookies: [None, None],
            cache_status: None,
            coded: said.coded,
            dropped: shell.and_then(|shell| shell.header.as_deref()),
        };
        let mut shown = Vec::with_capacity(said.bytes.len() + 128);
        forward::answer(&mut shown, said.bytes, said.head, said.headers, &answering);
        shown
    }

    /// Takes a piece of an answer that does not go to the client; how much of `bytes` was body.
    pub(super) fn take_aside(&mut self, bytes: &[u8], side: &Side<'_>) -> Result<usize, End> {
        let now = side.event_loop.clock.now();
        let is_plain = self.answer.coding.is_none() && self.answer.candidate.is_none();
        match &mut self.answer.course {
            Course::Kept(filling) if is_plain => {
                let taken = self
                    .answer
                    .body
                    .take(bytes, |content| filling.append(content, now));
                taken.map_err(|_| End::Broken)
            }
            Course::Kept(_) => {
                let start = self.to_client.bytes.len();
                let taken = self.take_apart(bytes, side)?;
                self.put_aside(start, now);
                Ok(taken)
            }
            Course::ToClient | Course::Nowhere => {
                let taken = self.answer.body.take(bytes, |_| ());
                taken.map_err(|_| End::Broken)
            }
        }
    }

    /// What came out of a coder is kept.
    fn put_aside(&mut self, start: usize, now: u64) {
        if let Course::Kept(filling) = &mut self.answer.course {
            filling.append(&self.to_client.bytes[start..], now);
            self.to_client.bytes.truncate(start);
        }
    }

    /// The last byte has come of an answer that is kept.
    pub(super) fn end_keeping(&mut self, start: usize, side: &Side<'_>) {
        if !matches!(self.answer.course, Course::Kept(_)) {
            return;
        }
        let now = side.event_loop.clock.now();
        self.put_aside(start, now);
        let Course::Kept(filling) = std::mem::take(&mut self.answer.course) else {
            return;
        };
        self.answer.course = Course::Nowhere;
        let Filling {
            leader,
            cache,
            told,
            labels,
            passes,
            status,
            begun,
            spool,
            ..
        } = *filling;
        let supersedes = |other: &Page| told.supersedes(&other.told);
        let put = leader.store(&labels, supersedes, |body| Page::new(&told, body));
        cache.note_put(&put, spool, begun, side.event_loop.moment());
        if let Some((hash, variant)) = passes {
            cache
                .store
                .remember_pass(&Named { hash, key: &[] }, variant, now);
        }
        if let Put::Stored(hit) = put
            && matches!(self.kept, Some(Kept::Following(..)))
        {
            self.kept = Some(Kept::Page(hit.object, status));
        }
    }

    /// Whether it fetches for others too.
    pub(crate) fn leads(&self) -> bool {
        let fetch = self.fetch.as_ref();
        fetch.is_some_and(|fetch| matches!(fetch.role, Role::Lead(_)))
    }
}

/// A change at the origin: copies of what it was go.
fn invalidate(fetch: &Fetch, parts: &Parts<'_, '_>, answer: &Answer<'_, '_>, policy: &Policy) {
    let cache = &fetch.cache;
    let (key, target) = (&parts.key, parts.head.target);
    let invalid = invalidated(parts.asked.method, key, target, answer, cache.seed);
    for target in &invalid.targets {
        let key = KeyRef::new(key.is_secure(), key.host(), target, &policy.key);
        cache.drop_key(&Wanted::new(key, cache.seed));
    }
    for group in &invalid.groups {
        cache.drop_tag(group.0);
    }
}

/// Whether others of the asker's kind may be given an answer that is stored on these terms.
pub(super) fn is_fresh(parts: &Parts<'_, '_>, terms: &Terms) -> bool {
    terms.is_fresh(parts.asked.class, terms.received_at)
}

/// What is compressed for some varies by what they accept.
fn vary_by_coding(vary: &mut Vary) {
    if vary.names("accept-encoding") {
        return;
    }
    let mut names: Vec<&str> = match vary {
        Vary::Fields(names) => names.split(',').collect(),
        Vary::Nothing | Vary::Everything => Vec::new(),
    };
    names.push("accept-encoding");
    names.sort_unstable();
    *vary = Vary::Fields(names.join(",").into_boxed_str());
}
