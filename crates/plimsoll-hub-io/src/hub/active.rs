//! Active subscriptions of Mercure readers: their events, and the list on request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_hub::sse;
use plimsoll_hub::subscriptions::{
    ActiveKey, ActiveLimits, ActiveSubscriber, ActiveSubscriptions, PATH, Selection, response,
};
use plimsoll_net::lock::lock;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::ActiveHub;
use super::broker::Broker;
use crate::access::token::Grant;

/// Most bytes that active subscriptions take.
const BYTES_MAX: usize = 64 << 20;

/// The list of an edge, and its events.
#[derive(Debug, Default)]
pub(super) struct ActiveList {
    subscriptions: Mutex<ActiveSubscriptions>,
    /// Events that were not published.
    lost: AtomicU64,
}

impl ActiveList {
    /// Number of subscriptions, the bytes that they take, and the events that were lost.
    pub(super) fn figures(&self) -> (u64, u64, u64) {
        let (count, bytes) = lock(&self.subscriptions).size();
        (
            count as u64,
            bytes as u64,
            self.lost.load(Ordering::Relaxed),
        )
    }
}

/// The limit of active subscriptions is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyActive;

/// A reader in the list, until this is dropped.
#[derive(Debug)]
pub struct ActiveReader {
    broker: Arc<Broker>,
    subscriber: Arc<ActiveSubscriber>,
    key: ActiveKey,
    is_announced: bool,
}

impl ActiveReader {
    /// Publishes that its subscriptions begin.
    pub(crate) fn announce(&mut self) {
        self.is_announced = true;
        self.publish(true);
    }

    fn publish(&self, is_active: bool) {
        for event in self.subscriber.events(is_active) {
            if self.broker.announce(&event).is_err() {
                let lost = &self.broker.active.lost;
                lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for ActiveReader {
    fn drop(&mut self) {
        lock(&self.broker.active.subscriptions).leave(&self.key);
        if self.is_announced {
            self.publish(false);
        }
    }
}

impl ActiveHub {
    /// Adds a Mercure reader to the list, if there is one.
    ///
    /// # Errors
    /// When the list is full.
    pub fn list_reader(
        &self,
        topics: &[String],
        grant: Option<&Grant>,
    ) -> Result<Option<ActiveReader>, TooManyActive> {
        if !self.config.subscription_events {
            return Ok(None);
        }
        let limits = ActiveLimits {
            subscriptions_max: self.config.active_subscriptions_max as usize,
            bytes_max: BYTES_MAX,
        };
        let payload = grant.and_then(Grant::payload);
        let subscriber = ActiveSubscriber::new(new_id(), topics.to_vec(), payload);
        let subscriber = Arc::new(subscriber);
        let mut all = lock(&self.broker.active.subscriptions);
        let key = all.enter(limits, &subscriber).ok_or(TooManyActive)?;
        drop(all);
        Ok(Some(ActiveReader {
            broker: Arc::clone(&self.broker),
            subscriber,
            key,
            is_announced: false,
        }))
    }

    /// The path of a request for active subscriptions, without its query.
    #[inline]
    pub fn subscriptions_path<'b>(&self, target: &'b str) -> Option<&'b str> {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let rest = path.strip_prefix(PATH)?;
        let is_meant = rest.is_empty() || rest.starts_with('/');
        (self.config.mercure && self.config.subscription_events && is_meant).then_some(path)
    }

    /// The document at a path of active subscriptions; `None` if there is none.
    pub fn list(&self, path: &str) -> Option<String> {
        let selection = Selection::read(path)?;
        // The id first: an event after it may repeat what the list has, but none is left out.
        let last_event_id = match self.broker.last_position() {
            Some(position) if position.offset > 0 => {
                sse::update_id((position.epoch, position.offset))
            }
            _ => sse::EARLIEST.to_owned(),
        };
        let all = lock(&self.broker.active.subscriptions).all();
        response(&all, &selection, (path, &last_event_id))
    }
}

/// A random UUID (RFC 9562, version 4), as an IRI.
fn new_id() -> String {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the system gives random bytes, as for TLS");
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &hex[group]);
    format!("urn:uuid:{}", groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_uuids() {
        let (id, other) = (new_id(), new_id());
        assert_ne!(id, other);
        let uuid = id.strip_prefix("urn:uuid:").unwrap();
        let lens: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lens, [8, 4, 4, 4, 12]);
        assert_eq!(&uuid[14..15], "4");
        assert!("89ab".contains(&uuid[19..20]), "{uuid}");
    }
}
