//! The effect of a 304, or of a response to HEAD, on a stored response.

use std::sync::Arc;

use plimsoll_cache::store::{Hit, Put};
use plimsoll_cache::update::{HeadEffect, Renewed, head_effect, renew};
use plimsoll_cache::{CachePolicy, CacheStatus, OriginExchange as Times, OriginResponse};
use plimsoll_wire::head;

use super::course::Course;
use super::received_head::{ReceivedHead, is_fresh};
use super::{Exchange, Side};
use crate::lookup::fetch::{CacheOutcome, Fetch, FetchRole};
use crate::lookup::keyed_request::ParsedRequest;
use crate::lookup::{CachedResponse, ResponseMetadata};

impl Exchange {
    /// The server confirmed the stored response.
    pub(super) fn renewed(
        &mut self,
        mut fetch: Fetch,
        parsed: &ParsedRequest<'_, '_>,
        received: &ReceivedHead<'_>,
        policy: &CachePolicy,
        times: &Times,
        side: &Side<'_>,
    ) -> Course {
        let Some(copy) = fetch.copy.take() else {
            return Course::ToClient;
        };
        let page = copy.object.value();
        let shown = self.shown(received, side);
        let renewed = head::parse_with(&shown, |_, headers| {
            let answer = received.answer(headers);
            renew(
                &page.metadata.stored,
                &parsed.semantics,
                &parsed.key,
                &answer,
                policy,
                times,
            )
        });
        let status = plimsoll_cache::CacheStatus {
            forward_status: Some(304),
            ..fetch.status
        };
        let now = side.event_loop.clock.now();
        let cache = Arc::clone(&fetch.cache);
        let named = fetch.keyed_request.named();
        let kept = match renewed {
            Ok(Renewed::Copy(stored, vary)) => {
                let metadata = page
                    .metadata
                    .renewed(*stored, &vary, parsed.head.headers, policy);
                side.event_loop.figures.cache_renewed.increment();
                put_renewed(fetch, parsed, &copy, &metadata, status, side)
            }
            Ok(Renewed::Once(stored, refusal)) => {
                let metadata = page.metadata.with_head(*stored);
                cache.drop_key(&named);
                if let FetchRole::Lead(leader) = fetch.role {
                    leader.uncacheable(now);
                }
                let status = plimsoll_cache::CacheStatus {
                    detail: Some(refusal.word()),
                    ..status
                };
                CacheOutcome::Once(Arc::new(page.with_head(&metadata)), status)
            }
            Ok(Renewed::Mismatch) | Err(_) => {
                cache.drop_key(&named);
                CacheOutcome::Again
            }
        };
        self.cache.divert(kept);
        Course::Nowhere
    }
}

/// Replaces a stored response by its updated version.
fn put_renewed(
    fetch: Fetch,
    parsed: &ParsedRequest<'_, '_>,
    copy: &Hit<CachedResponse>,
    metadata: &ResponseMetadata,
    status: CacheStatus,
    side: &Side<'_>,
) -> CacheOutcome {
    let (cache, begun) = (Arc::clone(&fetch.cache), fetch.begun);
    let (store, now) = (&cache.store, side.event_loop.clock.now());
    let is_fresh = is_fresh(parsed, metadata.stored.terms());
    let tags = copy.object.tags();
    let new = || copy.object.value().with_head(metadata);
    let supersedes = |other: &CachedResponse| metadata.supersedes(&other.metadata);
    let put = match fetch.role {
        FetchRole::Lead(leader) if is_fresh => leader.store(tags, supersedes, |_| new()),
        role => {
            let put = store.put(&parsed.hashed_key, begun.store, tags, supersedes, new());
            match role {
                // Every request must revalidate by itself: no collapsing.
                FetchRole::Lead(leader) => leader.uncacheable(now),
                FetchRole::Solo(variant) if !is_fresh => {
                    store.remember_pass(&fetch.keyed_request.named(), variant, now);
                }
                FetchRole::Solo(_) | FetchRole::Watch => {}
            }
            put
        }
    };
    cache.note_put(&put, None, begun, side.event_loop.moment());
    match put {
        Put::Stored(hit) => CacheOutcome::Page(hit.object, status),
        Put::TooLarge | Put::Full | Put::Purged => CacheOutcome::Once(Arc::new(new()), status),
    }
}

/// Compares the response to a HEAD with the stored response.
pub(super) fn compare(
    fetch: &Fetch,
    parsed: &ParsedRequest<'_, '_>,
    answer: &OriginResponse<'_, '_>,
    policy: &CachePolicy,
    times: &Times,
) {
    let Some(copy) = &fetch.copy else {
        return;
    };
    let page = copy.object.value();
    let (stored, len) = (&page.metadata.stored, Some(page.len()));
    let store = &fetch.cache.store;
    let (semantics, key) = (&parsed.semantics, &parsed.key);
    match head_effect(stored, len, semantics, key, answer, policy, times) {
        HeadEffect::Copy(stored, vary) => {
            let metadata = page
                .metadata
                .renewed(*stored, &vary, parsed.head.headers, policy);
            let new = page.with_head(&metadata);
            let supersedes = |other: &CachedResponse| metadata.supersedes(&other.metadata);
            let put = store.put(
                &parsed.hashed_key,
                fetch.begun.store,
                copy.object.tags(),
                supersedes,
                new,
            );
            let now = times.received_at;
            fetch.cache.note_put(&put, None, fetch.begun, now);
        }
        // Not even served while it is revalidated: it is known to be outdated.
        HeadEffect::Stale => fetch.cache.drop_key(&parsed.hashed_key),
        HeadEffect::Nothing => {}
    }
}
