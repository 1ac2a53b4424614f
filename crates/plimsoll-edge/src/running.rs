//! A running edge: its loops, its log, and the handle that reloads and stops it.

mod event_loops;
mod logs;
mod plain;
mod user;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_config::edge::{Admin, EdgeConfig, ListenerConfig};
use plimsoll_net::clock::EdgeClock;
use plimsoll_net::loop_metrics::LoopMetrics;
use plimsoll_proxy::accept::listen::Census;
use plimsoll_proxy::hash::mix;
use plimsoll_proxy::lookup;
use plimsoll_proxy::settings::{self, Before, Settings, SharedSettings, loops};
use plimsoll_proxy::telemetry::log::{LogLines, LogWriter, Reopener};
use plimsoll_proxy::telemetry::trace::{RequestSpan, Spans};
use plimsoll_proxy::tls::challenges::Challenges;
use tokio::sync::{mpsc, oneshot};

use crate::acme;
use crate::admin;
use crate::background_tasks;
use crate::control::orders::{self, Added, Sender};
use crate::control::sockets::{self, InheritedSockets};
use crate::control::{BackgroundTasks, Control, EdgeError, Followed, Handed, Hooks, IdleHook};
use crate::metrics::{self, ExpositionFormat};
use crate::overview::{ExportCounts, OverviewSource};
use crate::upstream_registry::UpstreamRegistry;
use event_loops::LoopInputs;
use logs::{Out, open_log, write_log};

/// An edge that runs until it is stopped.
pub struct EdgeHandle {
    control: Arc<Control>,
    admin: Option<AdminHandle>,
    background_tasks: (JoinHandle<()>, oneshot::Sender<()>),
    loops: Vec<JoinHandle<()>>,
    writer: Option<JoinHandle<()>>,
    reopener: Option<Reopener>,
}

struct AdminHandle {
    address: SocketAddr,
    thread: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

/// Starts an edge. All errors of starting are reported before this returns.
///
/// # Errors
/// When an address, a file or a thread is unavailable.
pub fn start(edge: &EdgeConfig, hooks: Hooks) -> Result<EdgeHandle, EdgeError> {
    start_with(edge, hooks, Vec::new())
}

/// Starts an edge with sockets that the parent process has already bound.
///
/// # Errors
/// When an address, a file or a thread is unavailable, or a socket matches no listener.
pub fn start_with(
    edge: &EdgeConfig,
    hooks: Hooks,
    handed: Vec<Handed>,
) -> Result<EdgeHandle, EdgeError> {
    let hooks = plain::only_plain(hooks);
    let clock = hooks.clock.map_or_else(EdgeClock::start, EdgeClock::from);
    let count = loops(edge);
    let mut handed = InheritedSockets::new(handed)?;
    let (by_loop, listening) = listen(edge, &mut handed, count)?;
    let admin = edge
        .admin
        .as_ref()
        .map(|admin| sockets::of_admin(admin, &mut handed, &hooks));
    let admin = admin.transpose()?.flatten();
    handed.must_be_taken()?;
    let log = edge.access_log.as_ref().map(open_log).transpose()?;
    let registry = UpstreamRegistry::new(&edge.pools);
    let challenges = Arc::new(Challenges::default());
    let shared = share(edge, &registry, &challenges, clock, &hooks)?;
    let (spans, spans_taken) = mpsc::channel(background_tasks::BATCHES_MAX);
    let Started {
        threads,
        orders,
        figures,
    } = start_loops(
        edge,
        &shared,
        (clock, &hooks),
        by_loop,
        log.as_ref(),
        &spans,
    )?;
    drop(spans);
    let watch = OverviewSource {
        clock,
        loops: figures,
        pools: Mutex::new(shared.pools.clone()),
        routes: Mutex::new(shared.routes),
        cache: Mutex::new(shared.cache),
        hub: Mutex::new(shared.hub),
        rate_alerts: Mutex::default(),
        exports: ExportCounts::default(),
    };
    let followed = Followed::new(listening, shared.listeners, registry, edge.clone());
    let tasks = BackgroundTasks::new(edge);
    let idle = hooks.idle.clone();
    let control = Control::new(watch, tasks, hooks, orders, followed, challenges);
    control.begin(edge);
    let control = Arc::new(control);
    let reopener = log.as_ref().map(|(writer, _)| writer.reopener());
    let writer = log
        .map(|(writer, out)| write_log(writer, out, edge.access_log.clone(), control.notices()))
        .transpose()?;
    let admin = match (admin, &edge.admin) {
        (Some(listener), Some(config)) => Some(open_admin(listener, config, &control)?),
        _ => None,
    };
    let background_tasks = spawn_background_tasks(&control, spans_taken, idle.as_ref())?;
    control.ready();
    Ok(EdgeHandle {
        control,
        admin,
        background_tasks,
        loops: threads,
        writer,
        reopener,
    })
}

/// State that all loops share. Privileges are dropped in between: certificates may be root's, cached responses on disk
/// are not.
fn share(
    edge: &EdgeConfig,
    registry: &UpstreamRegistry,
    challenges: &Arc<Challenges>,
    clock: EdgeClock,
    hooks: &Hooks,
) -> Result<SharedSettings, EdgeError> {
    let before = Before {
        challenges: Some(challenges),
        ..Before::default()
    };
    let mut shared = SharedSettings::new(edge, &registry.pools(), before, loops(edge), clock)?;
    give_up_rights(edge)?;
    shared.cache = settings::cache(edge, None, &hooks.report)?;
    Ok(shared)
}

/// Sockets by loop.
type ByLoop = Vec<Added>;

/// Binds the listeners, or takes inherited sockets; also returns the bound address of each listener.
fn listen(
    edge: &EdgeConfig,
    handed: &mut InheritedSockets,
    loops: usize,
) -> Result<(ByLoop, Vec<(ListenerConfig, SocketAddr)>), EdgeError> {
    let mut by_loop: ByLoop = (0..loops).map(|_| Vec::new()).collect();
    let mut listening = Vec::new();
    for listener in &edge.listen {
        let (bound, address) = handed.take_or_bind(listener.address, loops)?;
        listening.push((listener.clone(), address));
        for (loop_sockets, socket) in by_loop.iter_mut().zip(bound) {
            loop_sockets.push((listener.address, socket));
        }
    }
    Ok((by_loop, listening))
}

/// Becomes the configured user. Sockets and files that needed privileges are open by now; the folder of obtained
/// certificates becomes that user's.
fn give_up_rights(edge: &EdgeConfig) -> Result<(), EdgeError> {
    let user = edge.user.as_deref().map(user::find).transpose()?;
    let owner = user.as_ref().map(|user| (user.uid, user.gid));
    if let Some(acme) = &edge.acme {
        acme::prepare(acme, owner).map_err(|source| EdgeError::State {
            path: acme.state.clone(),
            source,
        })?;
    }
    if let Some(disk) = &edge.cache_disk {
        // An error here occurs again when the file is opened, and is reported then.
        let _ = lookup::disk::prepare(&disk.path, owner);
    }
    user.as_ref().map_or(Ok(()), user::become_user)
}

/// Running loops.
struct Started {
    threads: Vec<JoinHandle<()>>,
    orders: Vec<Sender>,
    figures: Vec<Arc<LoopMetrics>>,
}

fn start_loops(
    edge: &EdgeConfig,
    shared: &SharedSettings,
    (clock, hooks): (EdgeClock, &Hooks),
    by_loop: ByLoop,
    log: Option<&(LogWriter, Out)>,
    spans: &mpsc::Sender<Vec<RequestSpan>>,
) -> Result<Started, EdgeError> {
    let census = Arc::new(Census::default());
    let mut started = Started {
        threads: Vec::new(),
        orders: Vec::new(),
        figures: Vec::new(),
    };
    for (number, listeners) in by_loop.into_iter().enumerate() {
        let (sender, inbox) = orders::orders();
        let figures: Arc<LoopMetrics> = Arc::default();
        let inputs = LoopInputs {
            clock,
            age_ahead: hooks.age_ahead.clone(),
            seed: seed(number)?,
            settings: Settings::new(edge, shared, number)?,
            figures: Arc::clone(&figures),
            log: log.map_or_else(LogLines::default, |(writer, _)| writer.lines()),
            spans: Spans::new(spans.clone()),
            listeners,
            census: Arc::clone(&census),
            inbox,
        };
        let (begun, has_begun) = std::sync::mpsc::sync_channel(1);
        let idle = hooks.idle.clone();
        let body = move || match event_loops::local_runtime(idle.as_ref()) {
            Ok(runtime) => {
                let _ = begun.send(Ok(()));
                inputs.run(&runtime);
            }
            Err(error) => {
                let _ = begun.send(Err(error));
            }
        };
        let thread = spawn(format!("edge-{number}"), body)?;
        started.threads.push(thread);
        let begun = has_begun.recv().map_err(io::Error::other).flatten();
        begun.map_err(EdgeError::Loop)?;
        started.orders.push(sender);
        started.figures.push(figures);
    }
    Ok(started)
}

impl EdgeHandle {
    /// Bound addresses of the listeners, with ports that the system assigned.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.control.addresses()
    }

    /// Bound admin address.
    pub fn admin(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|admin| admin.address)
    }

    /// Reads the metrics as Prometheus text, as the admin address shows them, from any thread; `None` after the end of the edge.
    pub fn metrics_reader(&self) -> impl Fn() -> Option<String> + Send + Sync + 'static + use<> {
        // Whoever reads does not keep the edge alive: it ends when its last owner does.
        let control = Arc::downgrade(&self.control);
        move || {
            let overview = control.upgrade()?.admin().overview();
            Some(metrics::render(&overview, ExpositionFormat::Prometheus))
        }
    }

    /// Reloads the configuration without losing a request; on an error the old one stays.
    ///
    /// # Errors
    /// Why it failed: a message.
    pub fn reload(&self) -> Result<String, String> {
        self.control.reload()
    }

    /// Reopens the access log after rotation.
    pub fn reopen_log(&self) {
        if let Some(reopener) = &self.reopener {
            reopener.reopen();
        }
    }

    /// Graceful shutdown: stops accepting, lets requests and tunnels end within a time limit, and ends.
    pub fn drain(self, at_most: Duration) {
        self.control.drain(at_most);
        // The writer ends with its last sender.
        drop(self.reopener);
        for thread in self.loops.into_iter().chain(self.writer) {
            // A panicked thread has reported that on stderr; the others are joined all the same.
            let _ = thread.join();
        }
        let (thread, end) = self.background_tasks;
        let _ = end.send(());
        let _ = thread.join();
        if let Some(admin) = self.admin {
            let _ = admin.end.send(());
            let _ = admin.thread.join();
        }
        // After the last task that might purge.
        self.control.close_disk();
    }
}

fn open_admin(
    listener: TcpListener,
    config: &Admin,
    control: &Arc<Control>,
) -> Result<AdminHandle, EdgeError> {
    let address = listener.local_addr().map_err(EdgeError::Loop)?;
    let runtime = event_loops::runtime(None).map_err(EdgeError::Loop)?;
    let (end, ended) = oneshot::channel();
    let handler = admin::AdminContext::new(control.admin(), config.token.clone(), address);
    let body = move || admin::serve(&runtime, listener, handler, ended);
    let thread = spawn("edge-admin".to_owned(), body)?;
    Ok(AdminHandle {
        address,
        thread,
        end,
    })
}

fn spawn_background_tasks(
    control: &Arc<Control>,
    spans: mpsc::Receiver<Vec<RequestSpan>>,
    idle: Option<&IdleHook>,
) -> Result<(JoinHandle<()>, oneshot::Sender<()>), EdgeError> {
    let runtime = event_loops::runtime(idle).map_err(EdgeError::Loop)?;
    let (end, ended) = oneshot::channel();
    let state = control.tasks();
    let body = move || background_tasks::run(&runtime, &state, spans, ended);
    Ok((spawn("edge-errands".to_owned(), body)?, end))
}

/// Random seed of a loop; it must be unpredictable and differ after a restart.
fn seed(number: usize) -> Result<u64, EdgeError> {
    let random = ring::rand::SystemRandom::new();
    let bytes = ring::rand::generate::<[u8; 8]>(&random).map_err(|_| EdgeError::NoRandom)?;
    Ok(mix(u64::from_le_bytes(bytes.expose()) ^ number as u64))
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, EdgeError> {
    std::thread::Builder::new()
        .name(name)
        .spawn(body)
        .map_err(EdgeError::Loop)
}
