//! A request that reads along with a fetch: its own, which is stored, or one already in progress.
//!
//! It waits for the head; then the body is sent to its client as it arrives. When the fetch ends without a result it
//! repeats the lookup, fetches itself, or serves the replacement for a failure.

mod reading;

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use plimsoll_cache::store::{Follower, HeadPoll, Hit};
use plimsoll_cache::{CacheStatus, reuse};
use plimsoll_config::edge::Action;
use plimsoll_net::deadline::ticks;
use plimsoll_net::reason::Reason;

use self::reading::ReadProgress;
use super::admitted::{Admitted, ResponseContext};
use super::disk_lookup::DiskLookup;
use super::lookup::Seeking;
use super::serving::Slowness;
use super::{DownstreamConnection, RequestStage};
use crate::balance::server::UpstreamServer;
use crate::exchange::Exchange;
use crate::lookup::keyed_request::KeyedRequest;
use crate::lookup::pace::Pace;
use crate::lookup::{CachedResponse, ResponseMetadata};
use crate::message::outgoing::Outgoing;
use crate::settings::Settings;

/// A request that reads along.
#[derive(Debug)]
pub(super) struct CollapsedReader {
    follower: Follower<ResponseMetadata>,
    keyed_request: KeyedRequest,
    /// The response that may replace a failure.
    copy: Option<Hit<CachedResponse>>,
    status: CacheStatus,
    own: ResponseContext,
    settings: Rc<Settings>,
    line: Vec<u8>,
    seeking: Seeking,
    reading: Option<ReadProgress>,
    out: Outgoing,
    slowness: Slowness,
    is_for_client: bool,
    /// For a fetch of its own: its server, and the pace.
    server: Option<Arc<UpstreamServer>>,
    pass: Option<String>,
    pace: Option<Rc<Pace>>,
}

impl CollapsedReader {
    /// A reader of the request's own fetch, which continues without it.
    pub(super) fn own(
        follower: Follower<ResponseMetadata>,
        pace: Rc<Pace>,
        keyed_request: KeyedRequest,
        status: CacheStatus,
        own: ResponseContext,
        settings: Rc<Settings>,
        exchange: &mut Exchange,
    ) -> Self {
        Self {
            follower,
            keyed_request,
            copy: None,
            status,
            own,
            settings,
            line: exchange.record_mut().take_line(),
            seeking: Seeking::default(),
            reading: None,
            out: exchange.take_early(),
            slowness: Slowness::default(),
            is_for_client: false,
            server: exchange.record().server().cloned(),
            pass: exchange.take_waiting_pass(),
            pace: Some(pace),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.out.memory() + self.keyed_request.bytes.capacity()
    }
}

impl Drop for CollapsedReader {
    fn drop(&mut self) {
        if let Some(pace) = &self.pace {
            pace.leave();
        }
    }
}

impl DownstreamConnection {
    /// Reads along with a fetch of another request.
    pub(super) fn follow(
        &mut self,
        request: &Admitted<'_>,
        follower: Follower<ResponseMetadata>,
        copy: Option<Hit<CachedResponse>>,
        keyed: KeyedRequest,
        status: CacheStatus,
        seeking: Seeking,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, request.head, request.client);
        let settings = Rc::clone(request.settings);
        let wait = match seeking.disk {
            DiskLookup::Waits => settings.ticks.disk_lookup,
            DiskLookup::Not | DiskLookup::Done => longest_wait(&settings, &request.own),
        };
        self.timer.set(&self.event_loop, wait);
        self.stage = RequestStage::Collapsed(Box::new(CollapsedReader {
            follower,
            keyed_request: keyed,
            copy,
            status,
            own: request.own,
            settings,
            line,
            seeking,
            reading: None,
            out: Outgoing::default(),
            slowness: Slowness::default(),
            is_for_client: false,
            server: None,
            pass: None,
            pace: None,
        }));
    }

    pub(super) fn poll_collapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let RequestStage::Collapsed(reader) = &mut self.stage else {
            return Poll::Ready(());
        };
        if reader.reading.is_some() {
            return self.poll_reading(cx);
        }
        match reader.follower.poll_head(cx.waker()) {
            HeadPoll::Wait => {
                if self.client_left(cx) {
                    self.count_gone();
                    self.stage = RequestStage::Over;
                    return Poll::Ready(());
                }
                return Poll::Pending;
            }
            HeadPoll::Head(metadata) => self.receive_head(&metadata),
            HeadPoll::Again => {
                let seeking = reader.seeking.again();
                self.seek_again(seeking);
            }
            HeadPoll::Alone => {
                let seeking = Seeking {
                    alone: true,
                    ..reader.seeking.again()
                };
                self.seek_again(seeking);
            }
            HeadPoll::Failed => self.fail_collapsed(503, Reason::NoServer),
        }
        Poll::Ready(())
    }

    /// The head arrived: it matches this request, or only others.
    fn receive_head(&mut self, metadata: &ResponseMetadata) {
        let RequestStage::Collapsed(reader) = &mut self.stage else {
            return;
        };
        let settings = Rc::clone(&reader.settings);
        let route = settings.routes.get(reader.own.facts.route);
        let Some(here) = &route.cache else {
            return;
        };
        let (space, len) = (here.space, metadata.len());
        let is_own = reader.pace.is_some();
        let event_loop = Rc::clone(&self.event_loop);
        let keyed = &reader.keyed_request;
        let shape = keyed.with(&here.policy, |parsed| {
            let mut room = event_loop.scratch.borrow_mut();
            let headers = parsed.head.headers;
            let is_for = is_own || metadata.is_for(space, headers, &here.policy, &mut room);
            is_for.then(|| reuse::shape(&parsed.semantics, &metadata.stored, len))
        });
        if let Some(shape) = shape.flatten() {
            self.begin_reading(metadata, shape);
        } else {
            let seeking = Seeking {
                names: Some(metadata.names().into()),
                ..reader.seeking.again()
            };
            self.seek_again(seeking);
        }
    }

    /// The fetch ended without a result.
    fn seek_again(&mut self, seeking: Seeking) {
        let RequestStage::Collapsed(mut reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let bytes = std::mem::take(&mut reader.keyed_request.bytes);
        let own = reader.own;
        let settings = Rc::clone(&reader.settings);
        drop(reader);
        self.retry_lookup(&bytes, own, &settings, seeking);
    }

    /// The fetch failed, or takes too long.
    fn fail_collapsed(&mut self, status: u16, reason: Reason) {
        let RequestStage::Collapsed(reader) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return;
        };
        let mut reader = reader;
        let (own, settings) = (reader.own, Rc::clone(&reader.settings));
        let line = std::mem::take(&mut reader.line);
        let copy = reader.copy.take();
        let keyed = reader.keyed_request.clone();
        drop(reader);
        if !self.stands_in(copy, &keyed, &settings, &own, &line, None) {
            self.refuse(&settings, &own, status, reason, &line);
        }
    }

    /// Its deadline has passed.
    pub(super) fn collapsed_expired(&mut self) {
        match &self.stage {
            // A stuck disk is no reason to fail: the request goes upstream.
            RequestStage::Collapsed(reader) if reader.seeking.disk == DiskLookup::Waits => {
                let seeking = reader.seeking.again();
                self.seek_again(seeking);
            }
            RequestStage::Collapsed(reader) if reader.reading.is_none() => {
                self.fail_collapsed(504, Reason::NoServer);
            }
            RequestStage::Collapsed(reader) if reader.is_for_client => {
                self.count_gone();
                self.end_collapsed(false);
            }
            _ => self.break_collapsed(),
        }
    }
}

fn timeouts<'a>(
    settings: &'a Settings,
    own: &ResponseContext,
) -> Option<&'a plimsoll_config::edge::PoolConfig> {
    match settings.routes.get(own.facts.route).config.action {
        Action::Pool(pool) => settings.pools.get(pool).map(|pool| &pool.config),
        Action::Redirect { .. } => None,
    }
}

/// Longest time to wait for the head of a fetch, ticks.
fn longest_wait(settings: &Settings, own: &ResponseContext) -> u64 {
    timeouts(settings, own).map_or(1, |config| {
        let times = &config.timeouts;
        let most = config.queue_timeout + times.connect + times.first_byte;
        ticks(times.total.map_or(most, |total| total.min(most)))
    })
}
