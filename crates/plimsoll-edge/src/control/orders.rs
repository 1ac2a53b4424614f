//! What a loop is told, until it has taken it up.
//!
//! A later order takes the place of an earlier one of its kind: however often somebody reloads while a loop is busy, one
//! configuration waits for it, nobody who gives orders waits, and all loops get what one gets.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use super::EdgeError;
use crate::lock::lock;
use crate::pool::UpstreamPool;
use crate::settings::Settings;

/// Sockets that a loop did not have, with the address of the configuration that each is for.
pub(crate) type Added = Vec<(SocketAddr, TcpListener)>;

/// What a loop is to do, in this order.
#[derive(Default)]
pub(crate) struct Orders {
    /// A new configuration. Listeners it no longer has are closed.
    pub(crate) settings: Option<Box<Settings>>,
    pub(crate) added: Added,
    /// Other servers.
    pub(crate) pools: Option<Vec<Arc<UpstreamPool>>>,
    /// It is to end, and its connections have so long.
    pub(crate) drain: Option<Duration>,
}

impl Orders {
    fn is_empty(&self) -> bool {
        self.settings.is_none() && self.pools.is_none() && self.drain.is_none()
    }

    fn follow(&mut self, settings: Box<Settings>, added: Added) {
        // Those that were meant for a configuration that nobody will use.
        self.added
            .retain(|(address, _)| settings.listener(*address).is_some());
        self.added.extend(added);
        self.settings = Some(settings);
        // They are in the configuration.
        self.pools = None;
    }
}

#[derive(Default)]
struct SharedOrders {
    orders: Mutex<Orders>,
    given: Notify,
    is_over: AtomicBool,
}

/// The end of whoever gives orders to a loop. When it is dropped, the loop ends.
pub(crate) struct Sender(Arc<SharedOrders>);

/// The end of the loop.
pub(crate) struct Inbox(Arc<SharedOrders>);

/// Both ends.
pub(crate) fn orders() -> (Sender, Inbox) {
    let shared = Arc::<SharedOrders>::default();
    (Sender(Arc::clone(&shared)), Inbox(shared))
}

impl Sender {
    /// Whether the loop still takes orders.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn check(&self) -> Result<(), EdgeError> {
        if self.0.is_over.load(Ordering::Acquire) {
            return Err(EdgeError::LoopGone);
        }
        Ok(())
    }

    pub(crate) fn follow(&self, settings: Box<Settings>, added: Added) {
        self.give(|orders| orders.follow(settings, added));
    }

    pub(crate) fn use_pools(&self, pools: Vec<Arc<UpstreamPool>>) {
        self.give(|orders| orders.pools = Some(pools));
    }

    pub(crate) fn drain(&self, at_most: Duration) {
        self.give(|orders| orders.drain = Some(at_most));
    }

    fn give(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut lock(&self.0.orders));
        self.0.given.notify_one();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Whoever could give orders is gone, and with it the reason to go on.
        self.give(|orders| {
            orders.drain.get_or_insert(Duration::ZERO);
        });
    }
}

impl Inbox {
    /// Waits for orders; all that wait are taken.
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
