//! An edge that runs: its loops, its log, and how it is told to change or to end.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_config::edge::{AccessLog, Edge};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

use crate::clock::{Clock, nanoseconds};
use crate::event_loop::EventLoop;
use crate::figures::Figures;
use crate::listen::{self, Census};
use crate::log::{Lines, Writer};
use crate::pool::chooser::mix;
use crate::settings::Settings;

/// Orders that may wait for a loop.
const ORDERS_MAX: usize = 16;
/// How often a draining loop looks whether everybody has left.
const DRAIN_LOOK: Duration = Duration::from_millis(20);

/// Why an edge did not start, or did not follow a new configuration.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A port in use, or an address that is not here.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The access log cannot be written.
    #[error("cannot write the access log {}", path.display())]
    AccessLog {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A regular expression of a route.
    #[error("a route's regular expression is not valid")]
    Expression(#[from] regex::Error),
    /// The system gave no thread or no event queue.
    #[error("cannot start an event loop")]
    Loop(#[source] io::Error),
}

/// What a loop is told.
enum Order {
    Drain(Duration),
}

/// An edge that runs until it is told to end.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    loops: Vec<JoinHandle<()>>,
    orders: Vec<mpsc::Sender<Order>>,
    writer: Option<JoinHandle<()>>,
}

/// Starts an edge. Whatever can fail has failed or succeeded when this returns. `tell` is given what the user should
/// know while it runs.
///
/// # Errors
/// When an address, a file or a thread is not to be had.
pub fn start(edge: &Edge, tell: impl Fn(&str) + Send + 'static) -> Result<Running, Fault> {
    let clock = Clock::start();
    let count = loops(edge);
    let mut by_loop: Vec<Vec<TcpListener>> = (0..count).map(|_| Vec::new()).collect();
    let mut addresses = Vec::new();
    for listener in &edge.listen {
        let address = listener.address;
        let bound = listen::bind(address, count)
            .map_err(|source| Fault::Listen { address, source })?;
        addresses.extend(bound.first().and_then(|socket| socket.local_addr().ok()));
        for (part, socket) in by_loop.iter_mut().zip(bound) {
            part.push(socket);
        }
    }
    let log = edge.access_log.as_ref().map(open_log).transpose()?;
    let pools = Settings::pools(edge, &[], clock);
    let census = Arc::new(Census::default());
    let mut running = Running {
        addresses,
        loops: Vec::new(),
        orders: Vec::new(),
        writer: None,
    };
    for (number, listeners) in by_loop.into_iter().enumerate() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Fault::Loop)?;
        let (orders, inbox) = mpsc::channel(ORDERS_MAX);
        let parts = Parts {
            clock,
            seed: mix(number as u64 ^ u64::from(std::process::id()) << 32),
            settings: Settings::new(edge, &pools)?,
            figures: Arc::new(Figures::default()),
            log: log.as_ref().map_or_else(Lines::default, |(writer, _)| writer.lines()),
            listeners,
            census: Arc::clone(&census),
            inbox,
        };
        let thread = spawn(format!("edge-{number}"), move || parts.run(&runtime))?;
        running.loops.push(thread);
        running.orders.push(orders);
    }
    if let Some((writer, out)) = log {
        let told = move |error: &io::Error| tell(&format!("the access log is not written: {error}"));
        let thread = spawn("edge-log".to_owned(), move || writer.run(out, told))?;
        running.writer = Some(thread);
    }
    Ok(running)
}

impl Running {
    /// Where clients come in, with ports that the system chose filled in.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes no new connections, lets requests and tunnels end for at most so long, and ends.
    pub fn drain(self, at_most: Duration) {
        for orders in &self.orders {
            // A loop that takes no orders has ended.
            let _ = orders.blocking_send(Order::Drain(at_most));
        }
        for thread in self.loops.into_iter().chain(self.writer) {
            // A thread that died has told so on stderr; the others end all the same.
            let _ = thread.join();
        }
    }
}

fn loops(edge: &Edge) -> usize {
    match edge.cores {
        Some(cores) => cores.max(1) as usize,
        None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Fault> {
    std::thread::Builder::new()
        .name(name)
        .spawn(body)
        .map_err(Fault::Loop)
}

type Out = Box<dyn Write + Send>;

fn open_log(log: &AccessLog) -> Result<(Writer, Out), Fault> {
    let out: Out = match &log.path {
        None => Box::new(io::stdout()),
        Some(path) => {
            let opened = OpenOptions::new().create(true).append(true).open(path);
            let file = opened.map_err(|source| Fault::AccessLog {
                path: path.clone(),
                source,
            })?;
            Box::new(file)
        }
    };
    Ok((Writer::new(log.format), out))
}

/// What a loop is made of.
struct Parts {
    clock: Clock,
    seed: u64,
    settings: Settings,
    figures: Arc<Figures>,
    log: Lines,
    listeners: Vec<TcpListener>,
    census: Arc<Census>,
    inbox: mpsc::Receiver<Order>,
}

impl Parts {
    fn run(self, runtime: &Runtime) {
        let local = LocalSet::new();
        let event_loop =
            EventLoop::new(self.clock, self.seed, self.settings, self.figures, self.log);
        let (listeners, census, inbox) = (self.listeners, self.census, self.inbox);
        local.block_on(runtime, serve(event_loop, listeners, census, inbox));
    }
}

async fn serve(
    event_loop: Rc<EventLoop>,
    listeners: Vec<TcpListener>,
    census: Arc<Census>,
    mut inbox: mpsc::Receiver<Order>,
) {
    tokio::task::spawn_local(Rc::clone(&event_loop).keep_time());
    let mut accepting = JoinSet::new();
    let mut sockets = Vec::new();
    for listener in listeners {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
            continue;
        };
        let listener = Rc::new(listener);
        let (event_loop, census) = (Rc::clone(&event_loop), Arc::clone(&census));
        accepting.spawn_local(listen::accept(Rc::clone(&listener), event_loop, census));
        sockets.push(listener);
    }
    let at_most = match inbox.recv().await {
        Some(Order::Drain(at_most)) => at_most,
        // Whoever could give orders is gone, and with it the reason to go on.
        None => Duration::ZERO,
    };
    accepting.shutdown().await;
    for listener in &sockets {
        listen::accept_waiting(listener, &event_loop, &census);
    }
    drop(sockets);
    drain(&event_loop, at_most).await;
    event_loop.log.borrow_mut().hand_on(&event_loop.figures);
}

async fn drain(event_loop: &EventLoop, at_most: Duration) {
    let until = event_loop.clock.now().saturating_add(nanoseconds(at_most));
    event_loop.drain();
    while event_loop.figures.connections.get() > 0 && event_loop.clock.now() < until {
        tokio::time::sleep(DRAIN_LOOK).await;
    }
}

/// Whether a loop is about to end; its connections close when their answers are given.
#[derive(Debug, Default)]
pub(crate) struct Draining(Cell<bool>);

impl Draining {
    pub(crate) fn is_on(&self) -> bool {
        self.0.get()
    }

    pub(crate) fn turn_on(&self) {
        self.0.set(true);
    }
}
