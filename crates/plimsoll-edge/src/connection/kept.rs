//! The answer of an exchange does not go on as it comes: it is kept and read along, or a copy answers.

use plimsoll_cache::{CacheStatus, Shape, reuse};

use super::cached::Seeking;
use super::following::Following;
use super::own_answer::Own;
use super::serving::Served;
use super::{Connection, Stage};
use crate::cache::Page;
use crate::cache::fetch::Kept;
use crate::cache::subject::Subject;
use crate::client::Client;
use crate::exchange::{self, Exchange};

impl Connection {
    /// The answer to its exchange does not go on as it comes.
    pub(super) fn end_kept(&mut self, mut exchange: Box<Exchange>) {
        let subject = exchange.subject.take();
        let (Some(kept), Some(subject), Some(settings)) =
            (exchange.kept.take(), subject, exchange.settings.clone())
        else {
            return;
        };
        if matches!(self.client, Client::Nobody) {
            return self.end_unasked(exchange, &kept);
        }
        self.take_back(&exchange);
        let own = Own {
            facts: exchange.facts,
            has_body: !exchange.body_done,
            moments: exchange.moments,
        };
        match kept {
            Kept::Following(follower, pace, status) => {
                let following = Following::own(
                    follower,
                    pace,
                    subject,
                    status,
                    own,
                    settings,
                    &mut exchange,
                );
                self.stage = Stage::Following(Box::new(following));
                return self.let_go_on(exchange);
            }
            Kept::Page(object, status) => {
                self.serve_kept(&mut exchange, object.value(), &subject, status, &own);
            }
            Kept::Once(page, status) => {
                self.serve_kept(&mut exchange, &page, &subject, status, &own);
            }
            Kept::Ill(status) => {
                let fetch = exchange.fetch.take();
                let copy = fetch.and_then(|fetch| fetch.fail().0);
                let line = std::mem::take(&mut exchange.line);
                self.stands_in(copy, &subject, &settings, &own, &line, Some(status));
            }
            Kept::Again => self.ask_again(&subject.bytes, own, &settings, Seeking::default()),
            Kept::Nothing => {}
        }
        exchange::recycle(exchange);
    }

    /// What is kept of it still comes, without a client.
    fn let_go_on(&self, mut exchange: Box<Exchange>) {
        if exchange.has_all() {
            exchange::recycle(exchange);
            return;
        }
        exchange.detach();
        let peer = (*self.peer).clone();
        let mut alone = Self::of_stream(Client::Nobody, peer, &self.event_loop);
        alone.stage = Stage::Exchanging(exchange);
        tokio::task::spawn_local(alone);
    }

    /// Nobody asked for it but the cache.
    fn end_unasked(&mut self, mut exchange: Box<Exchange>, kept: &Kept) {
        if let Kept::Following(_, pace, _) = kept {
            pace.leave();
            if !exchange.has_all() {
                self.stage = Stage::Exchanging(exchange);
                return;
            }
        }
        if let Some(fetch) = exchange.fetch.take()
            && let (Some(copy), _) = fetch.fail()
            && matches!(kept, Kept::Ill(_))
        {
            let now = self.event_loop.clock.now();
            copy.object.value().note_failure(now);
        }
        exchange::recycle(exchange);
    }

    fn serve_kept(
        &mut self,
        exchange: &mut Exchange,
        page: &Page,
        subject: &Subject,
        status: CacheStatus,
        own: &Own,
    ) {
        let settings = exchange.settings.clone();
        let settings = settings.unwrap_or_else(|| self.event_loop.settings());
        let Some(here) = &settings.routes.get(own.facts.route).cache else {
            return;
        };
        let stored = &page.told.stored;
        let len = Some(page.len());
        let shape = subject.with(&here.policy, |parts| {
            reuse::shape(&parts.asked, stored, len)
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
            line: &exchange.line,
            server: exchange.server.as_ref().map(|server| server.name.as_str()),
            reason: None,
            pass: exchange.pass.as_deref(),
        });
    }
}
