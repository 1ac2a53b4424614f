//! Commands to an event loop, until it has taken them.
//!
//! A later command replaces an earlier one of its kind. However often the configuration is reloaded while a loop is
//! busy, one configuration waits for it, the sender never blocks, and all loops reach the same state.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_net::lock::lock;
use plimsoll_proxy::balance::UpstreamPool;
use plimsoll_proxy::settings::Settings;
use tokio::sync::Notify;

use super::EdgeError;

/// Sockets that are new to a loop, with the configured address of each.
pub(crate) type Added = Vec<(SocketAddr, TcpListener)>;

/// Pending commands of a loop, in the order of execution.
#[derive(Default)]
pub(crate) struct Orders {
    /// A new configuration. Listeners that it no longer has are closed.
    pub(crate) settings: Option<Box<Settings>>,
    pub(crate) added: Added,
    /// New servers.
    pub(crate) pools: Option<Vec<Arc<UpstreamPool>>>,
    /// The loop is to end; its connections have this long.
    pub(crate) drain: Option<Duration>,
}

impl Orders {
    fn is_empty(&self) -> bool {
        self.settings.is_none() && self.pools.is_none() && self.drain.is_none()
    }

    fn follow(&mut self, settings: Box<Settings>, added: Added) {
        // Sockets for a configuration that was replaced before it was applied.
        self.added
            .retain(|(address, _)| settings.listener(*address).is_some());
        self.added.extend(added);
        self.settings = Some(settings);
        // The new configuration includes the servers.
        self.pools = None;
    }
}

#[derive(Default)]
struct SharedOrders {
    orders: Mutex<Orders>,
    given: Notify,
    is_over: AtomicBool,
}

/// The sending end. When it is dropped, the loop ends.
pub(crate) struct Sender(Arc<SharedOrders>);

/// The receiving end.
pub(crate) struct Inbox(Arc<SharedOrders>);

/// Both ends.
pub(crate) fn orders() -> (Sender, Inbox) {
    let shared = Arc::<SharedOrders>::default();
    (Sender(Arc::clone(&shared)), Inbox(shared))
}

impl Sender {
    /// Whether the loop still takes commands.
    ///
    /// # Errors
    /// When the loop has ended.
    fn check(&self) -> Result<(), EdgeError> {
        if self.0.is_over.load(Ordering::Acquire) {
            return Err(EdgeError::LoopGone);
        }
        Ok(())
    }

    fn follow(&self, settings: Box<Settings>, added: Added) {
        self.give(|orders| orders.follow(settings, added));
    }

    fn use_pools(&self, pools: Vec<Arc<UpstreamPool>>) {
        self.give(|orders| orders.pools = Some(pools));
    }

    fn drain(&self, at_most: Duration) {
        self.give(|orders| orders.drain = Some(at_most));
    }

    fn give(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut lock(&self.0.orders));
        self.0.given.notify_one();
    }
}

/// The sending ends of all loops. A command reaches all of them, or none when one has ended.
pub(super) struct Senders(Vec<Sender>);

impl Senders {
    pub(super) fn new(senders: Vec<Sender>) -> Self {
        Self(senders)
    }

    /// Number of loops.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Sends each loop its settings, and the sockets that are new to it.
    ///
    /// # Errors
    /// When a loop has ended.
    pub(super) fn follow(
        &self,
        settings: Vec<Settings>,
        added: Vec<Added>,
    ) -> Result<(), EdgeError> {
        self.0.iter().try_for_each(Sender::check)?;
        for ((sender, settings), added) in self.0.iter().zip(settings).zip(added) {
            sender.follow(Box::new(settings), added);
        }
        Ok(())
    }

    /// Sends all loops new servers.
    ///
    /// # Errors
    /// When a loop has ended.
    pub(super) fn use_pools(&self, pools: &[Arc<UpstreamPool>]) -> Result<(), EdgeError> {
        self.0.iter().try_for_each(Sender::check)?;
        for sender in &self.0 {
            sender.use_pools(pools.to_vec());
        }
        Ok(())
    }

    /// Has all loops end; their connections have this long.
    pub(super) fn drain(&self, at_most: Duration) {
        for sender in &self.0 {
            sender.drain(at_most);
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Without a sender there is no reason to continue.
        self.give(|orders| {
            orders.drain.get_or_insert(Duration::ZERO);
        });
    }
}

impl Inbox {
    /// Waits for commands; takes all that are pending.
    pub(crate) async fn take(&self) -> Orders {
        loop {
            let orders = std::mem::take(&mut *lock(&self.0.orders));
            if !orders.is_empty() {
                return orders;
            }
            self.0.given.notified().await;
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
    }
}
