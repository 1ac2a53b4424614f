//! The thread of a destination: a bounded queue in front of it, a bounded backlog while the destination does not accept.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};

use plimsoll_model::lock::lock;

use super::Report;
use crate::clock::Deadline;
use crate::record::Record;
use crate::send_error::SendError;
use crate::target::Target;

/// Records between the run and the thread: half a minute.
const QUEUE_LEN: usize = 64;
/// Records that wait for a destination that does not accept: a minute and a half; older ones are dropped.
const BACKLOG_MAX: usize = 180;
/// Most records of one request.
const BATCH_MAX: usize = 60;

enum Order {
    Send(Arc<Record>),
    /// Send what is there, then answer.
    Flush,
}

/// State that both sides know.
#[derive(Debug, Default)]
struct Progress {
    handed_over: AtomicU64,
    sent: AtomicU64,
    error: Mutex<Option<String>>,
}

/// The run's side.
#[derive(Debug)]
pub(super) struct Worker {
    destination: String,
    orders: Mutex<Option<SyncSender<Order>>>,
    /// An answer to each flush; the sender is gone at the end.
    answers: Mutex<Receiver<()>>,
    progress: Arc<Progress>,
}

impl Worker {
    /// Starts the thread. `error` is why the target cannot be used, if so.
    pub(super) fn start(
        destination: String,
        target: Box<dyn Target>,
        error: Option<String>,
    ) -> std::io::Result<Self> {
        let progress = Arc::new(Progress {
            error: Mutex::new(error),
            ..Progress::default()
        });
        let (orders, receiver) = sync_channel(QUEUE_LEN);
        let (answer, answers) = sync_channel(2);
        let mut sending = Sending {
            target,
            backlog: VecDeque::new(),
            progress: Arc::clone(&progress),
        };
        std::thread::Builder::new()
            .name("export".to_owned())
            .spawn(move || sending.run(&receiver, &answer))?;
        Ok(Self {
            destination,
            orders: Mutex::new(Some(orders)),
            answers: Mutex::new(answers),
            progress,
        })
    }

    /// Hands a record over; dropped when the queue is full.
    pub(super) fn hand_over(&self, record: &Arc<Record>) {
        let orders = lock(&self.orders);
        let Some(orders) = &*orders else { return };
        self.progress.handed_over.fetch_add(1, Ordering::Relaxed);
        match orders.try_send(Order::Send(Arc::clone(record))) {
            // The report counts what was not sent as dropped; a thread that panicked has printed why.
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    pub(super) fn ask_to_flush(&self) {
        if let Some(orders) = &*lock(&self.orders) {
            // A full queue is not flushed in time anyway.
            let _ = orders.try_send(Order::Flush);
        }
    }

    /// Waits for the answer to a flush.
    pub(super) fn wait_for_flush(&self, deadline: Deadline) {
        let answers = lock(&self.answers);
        let _ = answers.recv_timeout(deadline.left());
    }

    /// No more records follow.
    pub(super) fn end(&self) {
        *lock(&self.orders) = None;
    }

    /// Waits until the thread has ended.
    pub(super) fn wait_for_end(&self, deadline: Deadline) {
        let answers = lock(&self.answers);
        while answers.recv_timeout(deadline.left()).is_ok() {}
    }

    pub(super) fn report(&self) -> Report {
        let sent = self.progress.sent.load(Ordering::Relaxed);
        let handed_over = self.progress.handed_over.load(Ordering::Relaxed);
        Report {
            destination: self.destination.clone(),
            sent,
            dropped: handed_over.saturating_sub(sent),
            error: lock(&self.progress.error).clone(),
        }
    }
}

/// The thread's side.
struct Sending {
    target: Box<dyn Target>,
    backlog: VecDeque<Arc<Record>>,
    progress: Arc<Progress>,
}

impl Sending {
    fn run(&mut self, orders: &Receiver<Order>, answers: &SyncSender<()>) {
        while let Ok(first) = orders.recv() {
            let mut flushes = 0;
            for order in std::iter::once(first).chain(orders.try_iter().take(QUEUE_LEN)) {
                match order {
                    Order::Send(record) => self.backlog.push_back(record),
                    Order::Flush => flushes += 1,
                }
            }
            self.send();
            for _ in 0..flushes {
                // Who waited may have lost patience.
                let _ = answers.try_send(());
            }
        }
        self.send();
        if let Err(error) = self.target.close() {
            self.note(error);
        }
    }

    /// Sends the backlog, until it is empty or the destination does not accept.
    fn send(&mut self) {
        while !self.backlog.is_empty() {
            let len = self.backlog.len().min(BATCH_MAX);
            let batch: Vec<Arc<Record>> = self.backlog.iter().take(len).cloned().collect();
            match self.target.send(&batch) {
                Ok(()) => {
                    self.progress.sent.fetch_add(len as u64, Ordering::Relaxed);
                    self.backlog.drain(..len);
                }
                Err(error) if error.may_repeat => {
                    self.note(error);
                    let excess = self.backlog.len().saturating_sub(BACKLOG_MAX);
                    self.backlog.drain(..excess);
                    return;
                }
                Err(error) => {
                    self.note(error);
                    self.backlog.drain(..len);
                }
            }
        }
    }

    fn note(&self, error: SendError) {
        *lock(&self.progress.error) = Some(error.message);
    }
}
