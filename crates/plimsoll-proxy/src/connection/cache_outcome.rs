//! The response of an exchange is not streamed directly: it is stored and read along, or a stored response is served.

use plimsoll_cache::{CacheStatus, Shape, reuse};

use super::admitted::ResponseContext;
use super::collapsed_reader::CollapsedReader;
use super::lookup::Seeking;
use super::serving::Served;
use super::{DownstreamConnection, RequestStage};
use crate::client::ClientStream;
use crate::exchange::Exchange;
use crate::lookup::CachedResponse;
use crate::lookup::fetch::CacheOutcome;
use crate::lookup::keyed_request::KeyedRequest;

impl DownstreamConnection {
    /// Continues after an exchange whose response is not streamed directly.
    pub(super) fn end_diverted(&mut self, mut exchange: Box<Exchange>) {
        let (Some((outcome, keyed)), Some(settings)) =
            (exchange.take_outcome(), exchange.settings())
        else {
            return;
        };
        if self.client.is_nobody() {
            return self.end_unasked(exchange, &outcome);
        }
        self.take_back(&exchange);
        let own = ResponseContext {
            facts: exchange.facts(),
            has_body: exchange.has_unread_body(),
            moments: exchange.record().moments(),
        };
        match outcome {
            CacheOutcome::Collapsed(follower, pace, status) => {
                let reader = CollapsedReader::own(
                    follower,
                    pace,
                    keyed,
                    status,
                    own,
                    settings,
                    &mut exchange,
                );
                self.stage = RequestStage::Collapsed(Box::new(reader));
                return self.let_go_on(exchange);
            }
            CacheOutcome::Page(object, status) => {
                self.serve_stored(&mut exchange, object.value(), &keyed, status, &own);
            }
            CacheOutcome::Once(page, status) => {
                self.serve_stored(&mut exchange, &page, &keyed, status, &own);
            }
            CacheOutcome::Ill(status) => {
                let fetch = exchange.take_fetch();
                let copy = fetch.and_then(|fetch| fetch.fail().0);
                let line = exchange.record_mut().take_line();
                self.stands_in(copy, &keyed, &settings, &own, &line, Some(status));
            }
            CacheOutcome::Again => {
                self.retry_lookup(&keyed.bytes, own, &settings, Seeking::default());
            }
            CacheOutcome::Nothing => {}
        }
        self.event_loop.exchanges().recycle(exchange);
    }

    /// The rest of the response is still stored, without a client.
    fn let_go_on(&self, mut exchange: Box<Exchange>) {
        if exchange.has_all() {
            self.event_loop.exchanges().recycle(exchange);
            return;
        }
        exchange.detach();
        let peer = (*self.peer).clone();
        let mut alone = Self::of_stream(ClientStream::Nobody, peer, &self.event_loop);
        alone.stage = RequestStage::Exchanging(exchange);
        tokio::task::spawn_local(alone);
    }

    /// Ends a background fetch.
    fn end_unasked(&mut self, mut exchange: Box<Exchange>, kept: &CacheOutcome) {
        if let CacheOutcome::Collapsed(_, pace, _) = kept {
            pace.leave();
            if !exchange.has_all() {
                self.stage = RequestStage::Exchanging(exchange);
                return;
            }
        }
        if let Some(fetch) = exchange.take_fetch()
            && let (Some(copy), _) = fetch.fail()
            && matches!(kept, CacheOutcome::Ill(_))
        {
            let now = self.event_loop.clock.now();
            copy.object.value().note_failure(now);
        }
        self.event_loop.exchanges().recycle(exchange);
    }

    fn serve_stored(
        &mut self,
        exchange: &mut Exchange,
        page: &CachedResponse,
        keyed: &KeyedRequest,
        status: CacheStatus,
        own: &ResponseContext,
    ) {
        let settings = exchange.settings();
        let settings = settings.unwrap_or_else(|| self.event_loop.settings());
        let Some(here) = &settings.routes.get(own.facts.route).cache else {
            return;
        };
        let stored = &page.metadata.stored;
        let len = Some(page.len());
        let shape = keyed.with(&here.policy, |parsed| {
            reuse::shape(&parsed.semantics, stored, len)
        });
        let early = exchange.take_early();
        self.serve(&Served {
            early: early.left(),
            stored,
            body: page.body(),
            mosaic: page.mosaic(),
            shape: shape.unwrap_or(Shape::Whole),
            status,
            own,
            line: exchange.record().line(),
            server: exchange.record().server_name(),
            reason: None,
            pass: exchange.waiting_pass(),
        });
    }
}
