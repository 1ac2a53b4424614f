//! One event loop from its first connection to its last.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_net::clock::{AgeAhead, EdgeClock, nanoseconds};
use plimsoll_net::loop_metrics::LoopMetrics;
use plimsoll_proxy::accept::listen::{self, Census};
use plimsoll_proxy::event_loop::EventLoop;
use plimsoll_proxy::settings::Settings;
use plimsoll_proxy::telemetry::log::LogLines;
use plimsoll_proxy::telemetry::trace::Spans;
use plimsoll_proxy::worker::Worker;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime, Runtime};
use tokio::task::JoinHandle;

use crate::control::IdleHook;
use crate::control::orders::Inbox;

/// How often a draining loop checks whether all connections have ended.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// Dependencies of a loop.
pub(super) struct LoopInputs {
    pub(super) clock: EdgeClock,
    pub(super) age_ahead: AgeAhead,
    pub(super) seed: u64,
    pub(super) settings: Settings,
    pub(super) figures: Arc<LoopMetrics>,
    pub(super) log: LogLines,
    pub(super) spans: Spans,
    pub(super) listeners: Vec<(SocketAddr, TcpListener)>,
    pub(super) census: Arc<Census>,
    pub(super) inbox: Inbox,
}

/// Runtime of a thread that is not an event loop.
pub(super) fn runtime(idle: Option<&IdleHook>) -> io::Result<Runtime> {
    builder(idle).build()
}

/// Runtime of a loop; it stays on the thread that created it. Its run queue is the only one: a set of local tasks
/// within another runtime would add a second queue, with a lock of its own, between the event and its task.
pub(super) fn local_runtime(idle: Option<&IdleHook>) -> io::Result<LocalRuntime> {
    builder(idle).build_local(LocalOptions::default())
}

fn builder(idle: Option<&IdleHook>) -> Builder {
    let mut builder = Builder::new_current_thread();
    builder.enable_all();
    if let Some(idle) = idle.map(Arc::clone) {
        builder.on_thread_park(move || idle());
    }
    builder
}

impl LoopInputs {
    pub(super) fn run(self, runtime: &LocalRuntime) {
        let worker = Worker::new(EventLoop::new(
            (self.clock, self.age_ahead),
            self.seed,
            self.settings,
            self.figures,
            self.log,
            self.spans,
        ));
        let listeners = LoopListeners {
            worker,
            census: self.census,
            open: Vec::new(),
        };
        runtime.block_on(listeners.serve(self.listeners, self.inbox));
    }
}

/// The listeners of a loop.
struct LoopListeners {
    worker: Rc<Worker>,
    census: Arc<Census>,
    open: Vec<LoopListener>,
}

struct LoopListener {
    /// As configured.
    address: SocketAddr,
    listener: Rc<tokio::net::TcpListener>,
    accepting: JoinHandle<()>,
}

impl LoopListeners {
    async fn serve(mut self, listeners: Vec<(SocketAddr, TcpListener)>, inbox: Inbox) {
        let worker = Rc::clone(&self.worker);
        tokio::task::spawn_local(async move { worker.keep_time().await });
        self.open(listeners);
        let at_most = loop {
            let orders = inbox.take().await;
            if let Some(settings) = orders.settings {
                self.worker.follow(*settings);
                self.open(orders.added);
                self.close_others();
            }
            if let Some(pools) = orders.pools {
                self.worker.follow_pools(pools);
            }
            if let Some(at_most) = orders.drain {
                break at_most;
            }
        };
        for listener in std::mem::take(&mut self.open) {
            self.close(&listener);
        }
        // An aborted task holds its socket until it is polled.
        tokio::task::yield_now().await;
        drain(&self.worker, at_most).await;
        let worker = &self.worker;
        worker.log.borrow_mut().flush(&worker.figures);
        worker.spans.borrow_mut().flush(&worker.figures);
    }

    fn open(&mut self, listeners: Vec<(SocketAddr, TcpListener)>) {
        for (address, listener) in listeners {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                continue;
            };
            let listener = Rc::new(listener);
            let (worker, census) = (Rc::clone(&self.worker), Arc::clone(&self.census));
            let accepting = listen::accept(Rc::clone(&listener), address, worker, census);
            self.open.push(LoopListener {
                address,
                listener,
                accepting: tokio::task::spawn_local(accepting),
            });
        }
    }

    /// Closes listeners that were removed from the configuration.
    fn close_others(&mut self) {
        let settings = self.worker.settings();
        let (stay, go): (Vec<LoopListener>, Vec<LoopListener>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|listener| settings.listener(listener.address).is_some());
        self.open = stay;
        for listener in go {
            self.close(&listener);
        }
    }

    fn close(&self, listener: &LoopListener) {
        listener.accepting.abort();
        // Connections in the backlog arrived before shutdown was decided.
        listen::accept_waiting(
            &listener.listener,
            listener.address,
            &self.worker,
            &self.census,
        );
    }
}

async fn drain(event_loop: &EventLoop, at_most: Duration) {
    let until = event_loop.clock.now().saturating_add(nanoseconds(at_most));
    event_loop.drain();
    while event_loop.figures.connections.get() > 0 && event_loop.clock.now() < until {
        tokio::time::sleep(DRAIN_POLL).await;
    }
}
