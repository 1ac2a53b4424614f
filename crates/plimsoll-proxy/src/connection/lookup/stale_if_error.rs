//! When the upstream fails, a stale response takes precedence over all others.

use plimsoll_cache::reuse::shape;
use plimsoll_cache::stale::may_serve;
use plimsoll_cache::store::Hit;
use plimsoll_cache::{CacheStatus, Forward, Shape};

use super::super::admitted::ResponseContext;
use super::super::serving::Served;
use super::super::{DownstreamConnection, RequestStage};
use crate::lookup::CachedResponse;
use crate::lookup::keyed_request::KeyedRequest;
use crate::settings::Settings;

impl DownstreamConnection {
    /// Serves a stale response instead of an error, if there is one and it is permitted.
    pub(in crate::connection) fn stands_in(
        &mut self,
        copy: Option<Hit<CachedResponse>>,
        keyed: &KeyedRequest,
        settings: &Settings,
        own: &ResponseContext,
        line: &[u8],
        ill: Option<u16>,
    ) -> bool {
        let route = settings.routes.get(own.facts.route);
        let (Some(copy), Some(here)) = (copy, &route.cache) else {
            return false;
        };
        let page = copy.object.value();
        let now = self.event_loop.moment();
        let shape = keyed.with(&here.policy, |parsed| {
            let stored = &page.metadata.stored;
            may_serve(&parsed.semantics, stored, now)
                .then(|| shape(&parsed.semantics, stored, Some(page.len())))
        });
        let Some(shape) = shape.flatten() else {
            return false;
        };
        page.note_failure(self.event_loop.clock.now());
        if self.client.is_nobody() {
            self.stage = RequestStage::Over;
            return true;
        }
        self.serve_stale(page, shape, own, line, ill);
        true
    }

    /// Serves a stale response because the upstream fails.
    pub(super) fn serve_stale(
        &mut self,
        page: &CachedResponse,
        shape: Shape,
        own: &ResponseContext,
        line: &[u8],
        ill: Option<u16>,
    ) {
        self.event_loop.figures.cache_stale.increment();
        let now = self.event_loop.moment();
        let stored = &page.metadata.stored;
        let until = stored.terms().plain_until.max(stored.terms().fresh_until);
        let ttl = i64::try_from(until.since(now) / 1000).unwrap_or_default()
            - i64::try_from(now.since(until) / 1000).unwrap_or_default();
        self.serve(&Served {
            early: &[],
            stored,
            body: page.body(),
            mosaic: page.mosaic(),
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
}
