//! All active subscriptions of an edge, within limits.

use std::sync::Arc;

use slab::Slab;

use super::ActiveSubscriber;

/// Limits of the list.
#[derive(Clone, Copy, Debug)]
pub struct ActiveLimits {
    /// Most subscriptions.
    pub subscriptions_max: usize,
    /// Most bytes that they take.
    pub bytes_max: usize,
}

/// The place of a reader in the list.
#[derive(Debug, PartialEq, Eq)]
pub struct ActiveKey(usize);

/// The active subscriptions, by reader.
#[derive(Debug, Default)]
pub struct ActiveSubscriptions {
    subscribers: Slab<Arc<ActiveSubscriber>>,
    count: usize,
    bytes: usize,
}

impl ActiveSubscriptions {
    /// Adds a reader; `None` if there is no room for its subscriptions.
    pub fn enter(
        &mut self,
        limits: ActiveLimits,
        subscriber: &Arc<ActiveSubscriber>,
    ) -> Option<ActiveKey> {
        let count = self.count + subscriber.count();
        let bytes = self.bytes + subscriber.size();
        if count > limits.subscriptions_max || bytes > limits.bytes_max {
            return None;
        }
        (self.count, self.bytes) = (count, bytes);
        Some(ActiveKey(self.subscribers.insert(Arc::clone(subscriber))))
    }

    /// Removes a reader.
    pub fn leave(&mut self, key: &ActiveKey) {
        if let Some(subscriber) = self.subscribers.try_remove(key.0) {
            self.count -= subscriber.count();
            self.bytes -= subscriber.size();
        }
    }

    /// Number of subscriptions, and the bytes that they take.
    pub fn size(&self) -> (usize, usize) {
        (self.count, self.bytes)
    }

    /// All readers.
    pub fn all(&self) -> Vec<Arc<ActiveSubscriber>> {
        let subscribers = self.subscribers.iter();
        subscribers
            .map(|(_, subscriber)| Arc::clone(subscriber))
            .collect()
    }
}
