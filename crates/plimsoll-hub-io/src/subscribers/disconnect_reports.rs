//! Reports disconnected clients to the application: never ahead of requests that clients wait for, a few at once, and
//! bounded.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

use super::local_hub::LocalHub;
use crate::access::hooks::{ClientIdentity, HookKind, HookRequest};

/// Maximum number of unreported disconnects of a loop; further ones are counted but not reported.
const LEFT_MAX: usize = 8192;
/// Concurrent reports of a loop: requests that clients wait for keep most of the application's time.
const AT_ONCE: usize = 4;

/// A disconnected client.
#[derive(Debug)]
pub(super) struct DisconnectedClient {
    pub(super) person: ClientIdentity,
    pub(super) user: Option<Rc<str>>,
    /// Unique name of the client, if it ever sent anything.
    pub(super) client: Option<String>,
}

/// Disconnects of a loop.
#[derive(Debug, Default)]
pub(super) struct DisconnectQueue {
    left: RefCell<VecDeque<DisconnectedClient>>,
    ready: Notify,
}

impl DisconnectQueue {
    /// Queues a disconnect; whether there was room.
    pub(super) fn push(&self, left: DisconnectedClient) -> bool {
        let mut line = self.left.borrow_mut();
        if line.len() >= LEFT_MAX {
            return false;
        }
        line.push_back(left);
        drop(line);
        self.ready.notify_one();
        true
    }

    /// No further disconnects.
    pub(super) fn close(&self) {
        self.ready.notify_waiters();
    }
}

/// Reports disconnects until the local hub is gone.
pub(super) fn begin(local_hub: &Rc<LocalHub>, disconnects: &Rc<DisconnectQueue>) {
    for _ in 0..AT_ONCE {
        tokio::task::spawn_local(report_disconnects(
            Rc::downgrade(local_hub),
            Rc::clone(disconnects),
        ));
    }
}

async fn report_disconnects(local_hub: Weak<LocalHub>, disconnects: Rc<DisconnectQueue>) {
    loop {
        let left = disconnects.left.borrow_mut().pop_front();
        let Some((hooks, links)) = local_hub
            .upgrade()
            .map(|local_hub| local_hub.hooks_and_links())
        else {
            return;
        };
        match (left, hooks) {
            (None, _) => disconnects.ready.notified().await,
            // The hook was removed from the configuration.
            (Some(_), None) => {}
            (Some(left), Some(hooks)) => {
                let asked = HookRequest {
                    address: &left.person.address,
                    user: left.user.as_deref(),
                    client: left.client.as_deref(),
                    ..HookRequest::default()
                };
                // Reported once, without a retry: a late report is of no use.
                hooks
                    .query(&links, HookKind::Disconnect, &left.person.passed, &asked)
                    .await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_to_be_told_of_is_bounded() {
        let disconnects = DisconnectQueue::default();
        let left = || DisconnectedClient {
            person: ClientIdentity {
                address: "::1".into(),
                passed: [].into(),
            },
            user: None,
            client: None,
        };
        assert!((0..LEFT_MAX).all(|_| disconnects.push(left())));
        assert!(!disconnects.push(left()));
    }
}
