//! How an edge joins and follows the shared stream; the protocols of Redis and NATS are in modules of their own.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_config::edge::HubSharedKind;
use plimsoll_hub::channels::{HubRefusal, Position};
use plimsoll_net::lock::lock;

use super::entry::OrderEntry;
use super::{Post, SharedHub, nats, redis};
use crate::hub::InUse;
use crate::hub::broker::Broker;
use crate::hub::dial::PAUSES;
use crate::hub::redis::CATCHING_UP;

/// Messages in flight: offset requested, no reply yet.
pub(super) const IN_FLIGHT_MAX: usize = 1024;
/// Idle time after which the connection is checked.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

/// Shares as long as it is configured.
pub async fn keep_sharing(in_use: InUse<'_>) {
    loop {
        let hub = in_use.hub();
        let shared = hub.and_then(|hub| Some((hub.broker.shared.clone()?, hub)));
        let Some((shared, hub)) = shared else {
            in_use.changed.notified().await;
            continue;
        };
        let mut sharing = pin!(share(&hub.broker, &shared, &**in_use.report));
        while in_use
            .hub()
            .is_some_and(|now| Arc::ptr_eq(&now.broker, &hub.broker))
        {
            tokio::select! {
                never = &mut sharing => match never {},
                () = in_use.changed.notified() => {}
            }
        }
        shared.detach(&hub.broker);
    }
}

/// Joins the stream, and rejoins whenever the connection is lost.
async fn share(
    broker: &Broker,
    shared: &SharedHub,
    report: &(dyn Fn(&str) + Send + Sync),
) -> Infallible {
    let title = shared.config.title();
    let mut session = SharedSession {
        broker,
        shared,
        report,
        title: &title,
        is_there: None,
        is_refusal_reported: false,
        in_flight: VecDeque::new(),
        skew_ms: 0,
    };
    let mut pause = PAUSES.0;
    loop {
        let why = match session.run().await {
            Ok(never) => match never {},
            Err(why) => why,
        };
        shared.detach(broker);
        for post in session.in_flight.drain(..) {
            shared.reply(broker, post, Err(HubRefusal::Unsure));
        }
        if session.is_there != Some(false) {
            report(&format!(
                "{title}, which the hub shares, is unavailable: {why}; nothing is published meanwhile; retrying"
            ));
            pause = PAUSES.0;
        }
        session.is_there = Some(false);
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(PAUSES.1);
    }
}

impl SharedHub {
    /// The stream is no longer followed: pending publications receive no offset.
    fn detach(&self, broker: &Broker) {
        let posts = {
            let mut posts = lock(&self.posts);
            self.is_joined.store(false, Ordering::Release);
            std::mem::take(&mut *posts)
        };
        for post in posts {
            self.reply(broker, post, Err(HubRefusal::SharedLogUnavailable));
        }
    }
}

/// State that outlives a connection.
pub(super) struct SharedSession<'a> {
    pub(super) broker: &'a Broker,
    pub(super) shared: &'a SharedHub,
    report: &'a (dyn Fn(&str) + Send + Sync),
    title: &'a str,
    /// Whether it was available last; `None` before the first attempt.
    is_there: Option<bool>,
    is_refusal_reported: bool,
    /// Messages in flight, in the order of their replies.
    pub(super) in_flight: VecDeque<Post>,
    /// Difference between the stream's clock and the local one, ms.
    pub(super) skew_ms: i64,
}

/// State of the stream when it was joined.
pub(super) struct JoinedOrder {
    pub(super) epoch: u64,
    pub(super) at: u64,
    /// Messages up to here are no longer stored.
    pub(super) forgotten: u64,
}

impl SharedSession<'_> {
    async fn run(&mut self) -> Result<Infallible, String> {
        match self.shared.config.kind {
            HubSharedKind::Redis => redis::run(self).await,
            HubSharedKind::Nats => nats::run(self).await,
        }
    }

    /// The stream is followed and its stored messages are read: clients and publishers are admitted.
    pub(super) fn arrive(&mut self) {
        self.shared.is_joined.store(true, Ordering::Release);
        if self.is_there != Some(true) {
            self.is_there = Some(true);
            (self.report)(&format!("the hub shares {}", self.title));
        }
    }

    /// Resumes in the stream, or starts anew if that is impossible.
    pub(super) async fn begin(&self, joined: &JoinedOrder) {
        let known = self.shared.epoch.load(Ordering::Acquire);
        let at = self.shared.at();
        if known == joined.epoch && (joined.forgotten..=joined.at).contains(&at) {
            // The last session may have ended in the middle of it.
            return self.broker.report_losses().await;
        }
        let position = Position {
            epoch: joined.epoch,
            offset: joined.forgotten,
        };
        self.begin_anew(position, known != 0).await;
    }

    /// Continues at another offset. If messages were missed, all clients are notified.
    async fn begin_anew(&self, position: Position, is_loss: bool) {
        // The offset first: a shard that already follows the stream must not mistake it for one of an earlier stream.
        self.shared.at.store(position.offset, Ordering::Release);
        self.shared.epoch.store(position.epoch, Ordering::Release);
        if is_loss {
            self.shared.counts.lost.fetch_add(1, Ordering::Relaxed);
            (self.report)(&format!(
                "messages stored in {} were missed; all clients of the hub are notified",
                self.title
            ));
        }
        self.broker.begin_anew(position);
        self.broker.report_losses().await;
    }

    /// Applies one message.
    pub(super) async fn take(&mut self, entry: &OrderEntry<'_>) -> Result<(), String> {
        let epoch = self.shared.epoch.load(Ordering::Acquire);
        if entry.epoch != epoch {
            return Err("the stream was replaced by another".to_owned());
        }
        let before = entry.place.saturating_sub(1);
        if before > self.shared.at() {
            // It was read too late.
            let offset = before;
            self.begin_anew(Position { epoch, offset }, true).await;
        }
        let taken = loop {
            // Its history age counts from its offset's time, whenever this edge reads it.
            let now_ms = self.broker.now_ms();
            let at_ms = entry.at_ms.saturating_add_signed(self.skew_ms).min(now_ms);
            let taken = self
                .broker
                .take(at_ms, entry.channel, entry.data, entry.place);
            if taken != Err(HubRefusal::Behind) {
                break taken;
            }
            tokio::time::sleep(CATCHING_UP).await;
        };
        self.shared.at.store(entry.place, Ordering::Release);
        self.shared.counts.read.fetch_add(1, Ordering::Relaxed);
        if let Err(why) = taken
            && !self.is_refusal_reported
        {
            self.is_refusal_reported = true;
            (self.report)(&format!(
                "a shared message to the channel `{}` was not published: {why}; further ones are not reported",
                entry.channel
            ));
        }
        Ok(())
    }
}
