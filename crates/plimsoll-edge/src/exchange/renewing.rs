//! What a 304, or the answer to a HEAD, does to a copy.

use std::sync::Arc;

use plimsoll_cache::store::{Hit, Put};
use plimsoll_cache::update::{HeadEffect, Renewed, head_effect, renew};
use plimsoll_cache::{Answer, CacheStatus, Exchange as Times, Policy};
use plimsoll_wire::head;

use super::keeping::{Course, Said, is_fresh};
use super::{Exchange, Side};
use crate::cache::fetch::{Fetch, Kept, Role};
use crate::cache::subject::Parts;
use crate::cache::{Page, Told};

impl Exchange {
    /// The server says that the copy is still right.
    pub(super) fn renewed(
        &mut self,
        mut fetch: Fetch,
        parts: &Parts<'_, '_>,
        said: &Said<'_>,
        policy: &Policy,
        times: &Times,
        side: &Side<'_>,
    ) -> Course {
        let Some(copy) = fetch.copy.take() else {
            return Course::ToClient;
        };
        let page = copy.object.value();
        let shown = self.shown(said, side);
        let renewed = head::parse_with(&shown, |_, headers| {
            let answer = said.answer(headers);
            renew(
                &page.told.stored,
                &parts.asked,
                &parts.key,
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
        let named = fetch.subject.named();
        let kept = match renewed {
            Ok(Renewed::Copy(stored, vary)) => {
                let told = page
                    .told
                    .renewed(*stored, &vary, parts.head.headers, policy);
                side.event_loop.figures.cache_renewed.increment();
                put_renewed(fetch, parts, &copy, &told, status, side)
            }
            Ok(Renewed::Once(stored, refusal)) => {
                let told = page.told.with_head(*stored);
                cache.drop_key(&named);
                if let Role::Lead(leader) = fetch.role {
                    leader.uncacheable(now);
                }
                let status = plimsoll_cache::CacheStatus {
                    detail: Some(refusal.word()),
                    ..status
                };
                Kept::Once(Arc::new(page.with_head(&told)), status)
            }
            Ok(Renewed::Mismatch) | Err(_) => {
                cache.drop_key(&named);
                Kept::Again
            }
        };
        self.kept = Some(kept);
        Course::Nowhere
    }
}

/// Puts a renewed copy in the place of the one that was.
fn put_renewed(
    fetch: Fetch,
    parts: &Parts<'_, '_>,
    copy: &Hit<Page>,
    told: &Told,
    status: CacheStatus,
    side: &Side<'_>,
) -> Kept {
    let (cache, begun) = (Arc::clone(&fetch.cache), fetch.begun);
    let (store, now) = (&cache.store, side.event_loop.clock.now());
    let is_fresh = is_fresh(parts, told.stored.terms());
    let tags = copy.object.tags();
    let new = || copy.object.value().with_head(told);
    let supersedes = |other: &Page| told.supersedes(&other.told);
    let put = match fetch.role {
        Role::Lead(leader) if is_fresh => leader.store(tags, supersedes, |_| new()),
        role => {
            let put = store.put(&parts.wanted, begun.store, tags, supersedes, new());
            match role {
                // Each who wants it must ask anew: nobody waits for another.
                Role::Lead(leader) => leader.uncacheable(now),
                Role::Solo(variant) if !is_fresh => {
                    store.remember_pass(&fetch.subject.named(), variant, now);
                }
                Role::Solo(_) | Role::Watch => {}
            }
            put
        }
    };
    cache.note_put(&put, None, begun, side.event_loop.moment());
    match put {
        Put::Stored(hit) => Kept::Page(hit.object, status),
        Put::TooLarge | Put::Full | Put::Purged => Kept::Once(Arc::new(new()), status),
    }
}

/// What the answer to a HEAD says of the copy.
pub(super) fn compare(
    fetch: &Fetch,
    parts: &Parts<'_, '_>,
    answer: &Answer<'_, '_>,
    policy: &Policy,
    times: &Times,
) {
    let Some(copy) = &fetch.copy else {
        return;
    };
    let page = copy.object.value();
    let (stored, len) = (&page.told.stored, Some(page.len()));
    let store = &fetch.cache.store;
    let (asked, key) = (&parts.asked, &parts.key);
    match head_effect(stored, len, asked, key, answer, policy, times) {
        HeadEffect::Copy(stored, vary) => {
            let told = page
                .told
                .renewed(*stored, &vary, parts.head.headers, policy);
            let new = page.with_head(&told);
            let supersedes = |other: &Page| told.supersedes(&other.told);
            let put = store.put(
                &parts.wanted,
                fetch.begun.store,
                copy.object.tags(),
                supersedes,
                new,
            );
            let now = times.received_at;
            fetch.cache.note_put(&put, None, fetch.begun, now);
        }
        // Not even while it is renewed: it is known to be another.
        HeadEffect::Stale => fetch.cache.drop_key(&parts.wanted),
        HeadEffect::Nothing => {}
    }
}
