//! The threads that render, and the bounded queue in front of them.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::SiteError;
use crate::pages::{RenderedPage, render};
use crate::store::Store;

/// Requests that may wait per worker: a longer wait would exceed the patience of users.
const QUEUE_LEN_PER_WORKER: usize = 256;

/// One page to render, and the receiver of the result.
struct RenderJob {
    path: String,
    reply: oneshot::Sender<RenderResult>,
}

/// The result for a page.
pub(crate) type RenderResult = rusqlite::Result<RenderedPage>;

/// The handle to the workers; they end when its last clone is dropped.
#[derive(Clone)]
pub(crate) struct RenderQueue {
    sender: SyncSender<RenderJob>,
}

impl RenderQueue {
    /// Queues a page; `None` if the queue is full.
    pub(crate) fn put(&self, path: String) -> Option<oneshot::Receiver<RenderResult>> {
        let (reply, answer) = oneshot::channel();
        match self.sender.try_send(RenderJob { path, reply }) {
            Ok(()) => Some(answer),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => None,
        }
    }
}

/// The other end of the queue, which the workers share.
pub(crate) struct QueueEnd(Arc<Mutex<Receiver<RenderJob>>>);

/// The queue of this many workers.
pub(crate) fn queue(count: usize) -> (RenderQueue, QueueEnd) {
    let (sender, receiver) = sync_channel(QUEUE_LEN_PER_WORKER * count);
    (
        RenderQueue { sender },
        QueueEnd(Arc::new(Mutex::new(receiver))),
    )
}

/// Starts the workers, each with its own connection.
pub(crate) fn start(
    queue: &QueueEnd,
    path: &Path,
    count: usize,
    nodes: u32,
) -> Result<Vec<JoinHandle<()>>, SiteError> {
    let mut threads = Vec::with_capacity(count);
    for number in 0..count {
        let store = Store::open(path).map_err(|source| SiteError::Store {
            path: path.to_owned(),
            source,
        })?;
        let thread = spawn(number, store, Arc::clone(&queue.0), nodes)
            .map_err(|source| SiteError::Threads { source })?;
        threads.push(thread);
    }
    Ok(threads)
}

fn spawn(
    number: usize,
    store: Store,
    queue: Arc<Mutex<Receiver<RenderJob>>>,
    nodes: u32,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(format!("render-{number}"))
        .spawn(move || {
            loop {
                // Held while waiting: the others wait for the lock instead of the queue.
                let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(job) = job else { return };
                // The receiver is gone.
                if job.reply.is_closed() {
                    continue;
                }
                // The client may disconnect during rendering.
                let _ = job.reply.send(render(&store, &job.path, nodes));
            }
        })
}
