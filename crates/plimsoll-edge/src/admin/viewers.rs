//! Browsers that watch the page: each receives the whole hour at once, then a document a second.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use plimsoll_net::clock;
use plimsoll_net::lock::lock;
use plimsoll_page::events::EventBody;
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;

use crate::control::AdminState;
use crate::status::{Moment, Recorder};

/// Documents that may wait for a viewer: half a minute.
const QUEUE_LEN: usize = 32;
/// Viewers at the same time; there must be connections left for commands.
const VIEWERS_MAX: usize = 32;
/// Interval of snapshots.
const INTERVAL: Duration = Duration::from_secs(1);

/// The recorded hour, and who watches it.
#[derive(Debug, Default)]
pub(super) struct Viewers {
    recorder: Mutex<Recorder>,
    viewers: Mutex<Vec<Viewer>>,
}

#[derive(Debug)]
struct Viewer {
    queue: mpsc::Sender<Bytes>,
    /// Ends its connection, also one that is stuck in a write.
    hang_up: Arc<Notify>,
}

impl Viewer {
    /// Hands it a document; who does not read is let go, connects again, and then has everything.
    fn send(&self, message: &Bytes) -> bool {
        let is_sent = self.queue.try_send(message.clone()).is_ok();
        if !is_sent {
            self.hang_up.notify_one();
        }
        is_sent
    }
}

impl Viewers {
    /// Takes a snapshot each second, and hands it to all viewers.
    pub(super) async fn keep_sampling(self: Arc<Self>, state: AdminState) {
        let mut interval = tokio::time::interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            interval.tick().await;
            self.sample(&state);
        }
    }

    fn sample(&self, state: &AdminState) {
        let moment = Moment {
            at: state.clock().now(),
            wall: clock::wall(),
        };
        let mut recorder = lock(&self.recorder);
        recorder.observe(moment, state.sample(), &state.surroundings());
        if recorder.wants_channels() && !lock(&self.viewers).is_empty() {
            let hub = state.hub();
            recorder.observe_channels(moment, hub.map(|hub| hub.largest()).unwrap_or_default());
        }
        let mut viewers = lock(&self.viewers);
        viewers.retain(|viewer| !viewer.queue.is_closed());
        if viewers.is_empty() {
            return;
        }
        let message = event(&recorder.change());
        drop(recorder);
        viewers.retain(|viewer| viewer.send(&message));
    }

    /// How the edge stands, as JSON; `None` within the first second.
    pub(super) fn status(&self) -> Option<String> {
        lock(&self.recorder).status()
    }

    /// A stream that begins with the whole hour; `None` if there are too many viewers.
    pub(super) fn watch(&self, hang_up: Arc<Notify>) -> Option<EventBody> {
        let (queue, receiver) = mpsc::channel(QUEUE_LEN);
        // Before the next snapshot, so that none is missing in between.
        let recorder = lock(&self.recorder);
        let mut viewers = lock(&self.viewers);
        viewers.retain(|viewer| !viewer.queue.is_closed());
        if viewers.len() >= VIEWERS_MAX || queue.try_send(event(&recorder.full())).is_err() {
            return None;
        }
        viewers.push(Viewer { queue, hang_up });
        Some(EventBody(receiver))
    }
}

/// A server-sent event.
fn event(document: &str) -> Bytes {
    Bytes::from(format!("data: {document}\n\n"))
}
