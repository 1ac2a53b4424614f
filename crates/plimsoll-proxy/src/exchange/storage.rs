//! What the cache does with a response: store it while it arrives, merge it into a stored response, or ignore it.
//!
//! The decision is based on the response of the server. What is stored is what a client would get: with the route's
//! header edits and, on a route that compresses, in the coding that the client accepts.

use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::invalidate::{invalidated, labels};
use plimsoll_cache::stale::{self, OriginFailure};
use plimsoll_cache::store::{HashedKey, Put, RawKey};
use plimsoll_cache::storing::Storable;
use plimsoll_cache::vary::Vary;
use plimsoll_cache::{
    CachePolicy, KeyRef, Method, OriginExchange as Times, OriginResponse, Stored, storing,
};
use plimsoll_wire::head::{self, BodyLength, Head, Header};

use super::course::Course;
use super::received_head::{ReceivedHead, is_fresh};
use super::revalidation::compare;
use super::{Exchange, ExchangeEnd, Side};
use crate::lookup::fetch::{CacheOutcome, Fetch, FetchRole, Filling};
use crate::lookup::keyed_request::ParsedRequest;
use crate::lookup::pace::Pace;
use crate::lookup::store_rejection::{RejectedResponse, StoreRejection};
use crate::lookup::{CachedResponse, ResponseMetadata};
use crate::message::compress::Coded;

/// What is known of a response before its request is parsed again.
struct Judging {
    times: Times,
    /// The terms of storage; `None` is undecided.
    storable: Option<Storable>,
}

impl Exchange {
    /// Decides the destination of a response once its head is complete.
    pub(super) fn course(
        &mut self,
        bytes: &[u8],
        head: &Head,
        headers: &[Header<'_>],
        coded: Coded,
        length: BodyLength,
        side: &Side<'_>,
    ) -> Course {
        let (Some(fetch), Some(settings)) = (self.cache.take_fetch(), self.settings.clone()) else {
            return Course::ToClient;
        };
        let Some(route) = &settings.routes.get(self.facts.route).cache else {
            return Course::ToClient;
        };
        let received = ReceivedHead::new(bytes, head, headers, coded, length);
        let times = Times {
            requested_at: fetch.requested_at,
            received_at: side.event_loop.moment(),
            chance: (side.event_loop.random() >> 32) as u32,
        };
        // Where the response alone decides, the request is only parsed again if there is something to store.
        let simple = fetch.simple.filter(|_| fetch.copy.is_none());
        let answer = received.answer(headers);
        let verdict =
            simple.map(|simple| storing::evaluate_simple(simple, &answer, &route.policy, &times));
        let is_unasked = side.client.is_nobody();
        if let Some(Err(refusal)) = verdict
            && !is_unasked
        {
            self.let_past(*fetch, StoreRejection::Refused(refusal), &received, side);
            return Course::ToClient;
        }
        let judging = Judging {
            times,
            storable: verdict.and_then(Result::ok),
        };
        let keyed = fetch.keyed_request.clone();
        let course = keyed.with(&route.policy, |parsed| {
            self.course_of(*fetch, parsed, &received, &route.policy, judging, side)
        });
        let course = course.unwrap_or_default();
        if is_unasked && matches!(course, Course::ToClient) {
            self.cache.divert(CacheOutcome::Nothing);
        }
        self.cache.keep_request(keyed);
        match course {
            Course::ToClient if is_unasked => Course::Nowhere,
            course => course,
        }
    }

    fn course_of(
        &mut self,
        mut fetch: Fetch,
        parsed: &ParsedRequest<'_, '_>,
        received: &ReceivedHead<'_>,
        policy: &CachePolicy,
        judging: Judging,
        side: &Side<'_>,
    ) -> Course {
        let Judging { times, storable } = judging;
        let answer = received.answer(received.headers());
        if parsed.semantics.method.invalidates() {
            invalidate(&fetch, parsed, &answer, policy);
            // Responses that this one invalidates were stored before it.
            fetch.begun = fetch.cache.begun();
        }
        if received.head().status == 304 && fetch.is_conditional {
            return self.renewed(fetch, parsed, received, policy, &times, side);
        }
        if let Some(copy) = &fetch.copy
            && OriginFailure::of_status(received.head().status).is_some()
            && stale::may_serve(
                &parsed.semantics,
                &copy.object.value().metadata.stored,
                times.received_at,
            )
        {
            let status = received.head().status;
            self.cache.divert_failed(fetch, status);
            return Course::Nowhere;
        }
        if parsed.semantics.method == Method::Head {
            compare(&fetch, parsed, &answer, policy, &times);
        }
        let evaluate =
            || storing::evaluate(&parsed.semantics, &parsed.key, &answer, policy, &times);
        let rule = match storable.map_or_else(evaluate, Ok) {
            Ok(storable) => match self.keep(fetch, parsed, received, policy, storable, side) {
                Ok(course) => return course,
                Err((back, rule)) => {
                    fetch = *back;
                    rule
                }
            },
            Err(refusal) => StoreRejection::Refused(refusal),
        };
        self.let_past(fetch, rule, received, side);
        Course::ToClient
    }

    /// A response that is not stored: requests for the same stop waiting for it.
    fn let_past(
        &mut self,
        fetch: Fetch,
        rule: StoreRejection,
        received: &ReceivedHead<'_>,
        side: &Side<'_>,
    ) {
        let now = side.event_loop.clock.now();
        let is_ill = OriginFailure::of_status(received.head().status).is_some();
        let is_remembered = rule.is_remembered();
        let named = fetch.keyed_request.named();
        if !matches!(fetch.role, FetchRole::Watch) {
            fetch.cache.note_refusal(RejectedResponse {
                hash: fetch.keyed_request.hash,
                rule,
                header: rule.header(received.headers()),
                at: side.event_loop.moment(),
            });
        }
        match fetch.role {
            FetchRole::Lead(leader) if is_ill => leader.fail(),
            FetchRole::Lead(leader) if is_remembered => leader.uncacheable(now),
            FetchRole::Solo(variant) if is_remembered && !is_ill && !fetch.is_known_to_pass => {
                fetch.cache.store.remember_pass(&named, variant, now);
            }
            FetchRole::Lead(_) | FetchRole::Solo(_) | FetchRole::Watch => {}
        }
        // The stored response does not represent the current resource any more.
        if fetch.copy.is_some() && !is_ill && fetch.keyed_request.is_get() {
            fetch.cache.drop_key(&named);
        }
        self.cache.set_status(plimsoll_cache::CacheStatus {
            detail: Some(rule.word()),
            ..fetch.status
        });
    }

    /// Begins to store a response; returns the fetch with the rejection when that is not possible.
    fn keep(
        &mut self,
        fetch: Fetch,
        parsed: &ParsedRequest<'_, '_>,
        received: &ReceivedHead<'_>,
        policy: &CachePolicy,
        mut storable: Storable,
        side: &Side<'_>,
    ) -> Result<Course, (Box<Fetch>, StoreRejection)> {
        let len = received.stored_len();
        if len.is_some_and(|len| len > fetch.cache.body_len_max(&storable.terms)) {
            return Err((Box::new(fetch), StoreRejection::TooLarge));
        }
        let Some(labels) = labels(received.headers(), &parsed.key, fetch.cache.seed) else {
            return Err((Box::new(fetch), StoreRejection::TooManyTags));
        };
        if received.coded() != Coded::Plain {
            vary_by_coding(&mut storable.vary);
        }
        let is_fresh = is_fresh(parsed, &storable.terms);
        let shown = self.shown(received, side);
        let stored = head::parse_with(&shown, |_, headers| {
            Stored::new(&received.answer(headers), &storable)
        });
        let metadata = stored.ok().and_then(|stored| {
            let (space, request) = (fetch.keyed_request.space, parsed.head.headers);
            let mut metadata =
                ResponseMetadata::new(stored, &storable.vary, space, request, policy, len)?;
            metadata.draft = self
                .draft(received.head(), received.headers())
                .map(Box::new);
            Some(metadata)
        });
        let Some(metadata) = metadata.map(Arc::new) else {
            return Err((Box::new(fetch), StoreRejection::VaryTooLarge));
        };
        let now = side.event_loop.clock.now();
        let (store, begun) = (&fetch.cache.store, fetch.begun.store);
        let alone = |variant| store.alone(&parsed.hashed_key, variant, begun);
        let (leader, variant) = match fetch.role {
            FetchRole::Lead(leader) if is_fresh => (leader, None),
            FetchRole::Lead(leader) => {
                // The response is for one client only: other requests must not collapse.
                let variant = leader.variant();
                leader.uncacheable(now);
                (alone(variant), Some(variant))
            }
            FetchRole::Solo(variant) => {
                let passes = (!is_fresh).then_some(variant);
                (alone(variant), passes)
            }
            FetchRole::Watch => (alone(0), None),
        };
        let announced = len.and_then(|len| usize::try_from(len).ok());
        leader.head(Arc::clone(&metadata), announced);
        let status = plimsoll_cache::CacheStatus {
            stored: true,
            ..fetch.status
        };
        let pace = Rc::new(Pace::default());
        let outcome = CacheOutcome::Collapsed(leader.follow(), Rc::clone(&pace), status);
        self.cache.divert(outcome);
        let labels: Box<[u64]> = labels.iter().map(|label| label.0).collect();
        let spool = fetch
            .cache
            .spool(&metadata, leader.key(), &labels, fetch.begun);
        Ok(Course::ToStore(Box::new(Filling {
            leader,
            cache: fetch.cache,
            metadata,
            labels,
            begun: fetch.begun,
            spool,
            passes: variant.map(|variant| (fetch.keyed_request.hash, variant)),
            len: 0,
            fits: true,
            status,
            pace,
        })))
    }

    /// Takes a piece of a response that is not sent to the client directly; returns how many bytes belonged to it.
    pub(super) fn take_aside(
        &mut self,
        bytes: &[u8],
        side: &Side<'_>,
    ) -> Result<usize, ExchangeEnd> {
        let now = side.event_loop.clock.now();
        let is_plain = !self.answer.body.is_transformed();
        match &mut self.answer.course {
            Course::ToStore(filling) if is_plain => {
                let body = &mut self.answer.body;
                body.read(bytes, |content| filling.append(content, now))
            }
            Course::ToStore(_) => {
                let start = self.to_client.end();
                let taken = self.take_apart(bytes, side)?;
                self.put_aside(start, now);
                Ok(taken)
            }
            Course::ToClient | Course::Nowhere => self.answer.body.read(bytes, |_| ()),
        }
    }

    /// Stores output of a coder.
    fn put_aside(&mut self, start: usize, now: u64) {
        if let Course::ToStore(filling) = &mut self.answer.course {
            filling.append(self.to_client.since(start), now);
            self.to_client.truncate(start);
        }
    }

    /// The last byte arrived of a response being stored.
    pub(super) fn end_keeping(&mut self, start: usize, side: &Side<'_>) {
        if !matches!(self.answer.course, Course::ToStore(_)) {
            return;
        }
        let now = side.event_loop.clock.now();
        self.put_aside(start, now);
        let Course::ToStore(filling) = std::mem::take(&mut self.answer.course) else {
            return;
        };
        self.answer.course = Course::Nowhere;
        let Filling {
            leader,
            cache,
            metadata,
            labels,
            passes,
            status,
            begun,
            spool,
            ..
        } = *filling;
        let supersedes = |other: &CachedResponse| metadata.supersedes(&other.metadata);
        let put = leader.store(&labels, supersedes, |body| {
            CachedResponse::new(&metadata, body)
        });
        cache.note_put(&put, spool, begun, side.event_loop.moment());
        if let Some((hash, variant)) = passes {
            cache
                .store
                .remember_pass(&RawKey { hash, key: &[] }, variant, now);
        }
        if let Put::Stored(hit) = put
            && self.cache.is_collapsed()
        {
            self.cache.divert(CacheOutcome::Page(hit.object, status));
        }
    }
}

/// A change at the origin: invalidates stored responses of the old state.
fn invalidate(
    fetch: &Fetch,
    parsed: &ParsedRequest<'_, '_>,
    answer: &OriginResponse<'_, '_>,
    policy: &CachePolicy,
) {
    let cache = &fetch.cache;
    let (key, target) = (&parsed.key, parsed.head.target);
    let invalid = invalidated(parsed.semantics.method, key, target, answer, cache.seed);
    for target in &invalid.targets {
        let key = KeyRef::new(key.is_secure(), key.host(), target, &policy.key);
        cache.drop_key(&HashedKey::new(key, cache.seed));
    }
    for group in &invalid.groups {
        cache.drop_tag(group.0);
    }
}

/// A response that is compressed for some clients varies by `Accept-Encoding`.
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
