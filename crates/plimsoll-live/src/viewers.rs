//! Browsers that receive the changes: each has a short queue, and who does not empty it is disconnected.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use plimsoll_model::lock::lock;
use tokio::sync::{Notify, mpsc};

/// Changes that may wait for a viewer: half a minute.
const QUEUE_LEN: usize = 32;
/// Viewers at the same time.
pub(crate) const VIEWERS_MAX: usize = 64;

#[derive(Debug)]
struct Viewer {
    queue: mpsc::Sender<Bytes>,
    /// Ends its connection, also one that is stuck in a write.
    hang_up: Arc<Notify>,
}

/// All viewers of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Viewers(Arc<Mutex<Vec<Viewer>>>);

impl Viewers {
    /// Adds one, which first receives `first`; `None` if there are too many.
    pub(crate) fn add(&self, first: Bytes, hang_up: Arc<Notify>) -> Option<mpsc::Receiver<Bytes>> {
        let (queue, receiver) = mpsc::channel(QUEUE_LEN);
        let mut viewers = lock(&self.0);
        viewers.retain(|viewer| !viewer.queue.is_closed());
        if viewers.len() >= VIEWERS_MAX || queue.try_send(first).is_err() {
            return None;
        }
        viewers.push(Viewer { queue, hang_up });
        Some(receiver)
    }

    /// Hands a message to all; who has left, or does not read, is no viewer any more.
    pub(crate) fn send(&self, message: &Bytes) {
        lock(&self.0).retain(|viewer| match viewer.queue.try_send(message.clone()) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                viewer.hang_up.notify_one();
                false
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        });
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        let mut viewers = lock(&self.0);
        viewers.retain(|viewer| !viewer.queue.is_closed());
        viewers.len()
    }

    /// Lets go of all: their queues end once they are empty. Returns the ends that become closed then.
    pub(crate) fn close(&self) -> Vec<mpsc::Sender<Bytes>> {
        let viewers = std::mem::take(&mut *lock(&self.0));
        viewers.into_iter().map(|viewer| viewer.queue).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_read_is_disconnected_and_the_others_stay() {
        let viewers = Viewers::default();
        let hang_ups = [Arc::new(Notify::new()), Arc::new(Notify::new())];
        let mut reading = viewers
            .add(Bytes::from_static(b"all"), Arc::clone(&hang_ups[0]))
            .unwrap();
        let _stuck = viewers
            .add(Bytes::from_static(b"all"), Arc::clone(&hang_ups[1]))
            .unwrap();
        for index in 0..2 * QUEUE_LEN {
            viewers.send(&Bytes::from(index.to_string()));
            while reading.try_recv().is_ok() {}
        }
        assert_eq!(viewers.count(), 1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(hang_ups[1].notified());
        drop(reading);
        assert_eq!(viewers.count(), 0);
    }

    #[test]
    fn there_is_an_end_to_viewers() {
        let viewers = Viewers::default();
        let add = || viewers.add(Bytes::new(), Arc::new(Notify::new()));
        let all: Vec<_> = (0..VIEWERS_MAX).map(|_| add().unwrap()).collect();
        assert!(add().is_none());
        drop(all);
        assert!(add().is_some());
    }
}
