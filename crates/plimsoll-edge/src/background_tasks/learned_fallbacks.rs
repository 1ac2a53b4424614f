//! Fallbacks that are pages of the origin: fetched at startup and at an interval, and compressed, as are the pages that
//! event loops have captured.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use plimsoll_config::edge::Captured;
use plimsoll_net::clock::{Nanoseconds, nanoseconds};
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_net::outbound::{self, OriginRequest};
use plimsoll_proxy::balance::UpstreamPool;
use plimsoll_proxy::respond::learned_fallback::{Candidate, LearnedFallbacks, Scope};

use crate::overview::OverviewSource;

/// How often due fallbacks are checked for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Delay before a failed fetch is repeated.
const AGAIN: Duration = Duration::from_secs(1);
/// Time limit of a fetch.
const TIMEOUT: Duration = Duration::from_secs(10);

/// State of one fallback page.
#[derive(Clone, Copy, Debug, Default)]
struct FallbackState {
    due: Nanoseconds,
    has_failed: bool,
    is_learned: bool,
}

/// Background task: fetches due fallbacks.
pub(super) async fn keep_fetching(watch: &OverviewSource, report: &NoticeSink) {
    // Keyed by the address of the shared fallback, which lives as long as its route is unchanged.
    let mut states: HashMap<usize, FallbackState> = HashMap::new();
    loop {
        let routes = lock(&watch.routes).clone();
        let pools = lock(&watch.pools).clone();
        let mut known = Vec::new();
        for route in &routes {
            route.pack_learnt();
            let (Some(learned_fallbacks), Some(pool)) = (&route.learned_fallbacks, route.pool())
            else {
                continue;
            };
            let (Some(captured), Some(pool)) =
                (&learned_fallbacks.config.captured, pools.get(pool))
            else {
                continue;
            };
            let key = Arc::as_ptr(learned_fallbacks) as usize;
            known.push(key);
            let state = states.entry(key).or_default();
            if state.due <= watch.clock.now() {
                fetch_fallback(watch, learned_fallbacks, captured, pool, state, report).await;
            }
        }
        states.retain(|key, _| known.contains(key));
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn fetch_fallback(
    watch: &OverviewSource,
    learned_fallbacks: &LearnedFallbacks,
    captured: &Captured,
    pool: &UpstreamPool,
    state: &mut FallbackState,
    report: &NoticeSink,
) {
    let fetched = fetch(watch, learned_fallbacks, captured, pool).await;
    let now = watch.clock.now();
    let every = nanoseconds(learned_fallbacks.config.every);
    let again = match &fetched {
        Ok(()) => every,
        Err(_) => every.min(nanoseconds(AGAIN)),
    };
    state.due = now.saturating_add(again);
    let target = &captured.target;
    match fetched {
        Ok(()) => {
            if state.has_failed {
                report(&format!("the fallback {target} can be fetched again"));
            }
            state.is_learned = true;
            state.has_failed = false;
        }
        Err(why) if !state.has_failed => {
            state.has_failed = true;
            let meanwhile = if state.is_learned {
                "the last good version stays in use"
            } else {
                "no version is available yet"
            };
            report(&format!(
                "the fallback {target} cannot be fetched, {meanwhile}: {why}"
            ));
        }
        Err(_) => {}
    }
}

async fn fetch(
    watch: &OverviewSource,
    learned_fallbacks: &LearnedFallbacks,
    captured: &Captured,
    pool: &UpstreamPool,
) -> Result<(), String> {
    let now = watch.clock.now();
    let server = pool.servers.iter().find(|server| server.is_in(now));
    let server = server.ok_or("no server is healthy")?;
    let address = server.addresses.first().ok_or("no server has an address")?;
    let page = OriginRequest {
        address: *address,
        secure: server.secure.clone(),
        host: captured.host.as_deref().unwrap_or(&server.authority),
        target: &captured.target,
        len_max: usize::try_from(learned_fallbacks.config.len_max).unwrap_or(usize::MAX),
    };
    let answer = outbound::get(page, TIMEOUT).await?;
    if answer.status != StatusCode::OK {
        return Err(format!("the server answered {}", answer.status));
    }
    let header = |name| {
        answer
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let candidate = Candidate {
        scope: Scope::Any,
        media_type: header(CONTENT_TYPE)
            .unwrap_or("text/html; charset=utf-8")
            .to_owned(),
        coding: header(CONTENT_ENCODING).unwrap_or_default().into(),
        content: answer.body.to_vec(),
    };
    if learned_fallbacks.keep(candidate, watch.clock.now()) {
        Ok(())
    } else {
        Err("the body is empty, too long, or in an unknown content coding".to_owned())
    }
}
