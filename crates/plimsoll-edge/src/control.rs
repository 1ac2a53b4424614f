//! Changes to a running edge: a new configuration, and servers that are added, removed or re-resolved.
//!
//! Everything that can fail is done before anything is changed, and changes are serialized. The admin address and the
//! background tasks each get a handle with what they need; none of them gets `Control`.

mod acme;
mod admin;
mod background_tasks;
mod cache;
mod certificates;
mod disk;
mod error;
mod hooks;
pub(crate) mod orders;
mod servers;
pub(crate) mod sockets;
mod tasks;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_config::edge::{EdgeConfig, ListenerConfig};
use plimsoll_hub_io::hub::reads_need_hook;
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_proxy::lookup::disk::DiskCache;
use plimsoll_proxy::settings::{self, Before, ListenerSettings, Settings, SharedSettings, loops};
use plimsoll_proxy::tls;
use plimsoll_proxy::tls::challenges::Challenges;
use tokio::sync::Notify;

use crate::overview::OverviewSource;
use crate::upstream_registry::UpstreamRegistry;
pub(crate) use acme::AcmeState;
pub(crate) use admin::AdminState;
pub(crate) use background_tasks::BackgroundTasks;
use cache::CacheCommands;
use certificates::CertificateFiles;
pub(crate) use disk::DiskTakeover;
pub use error::EdgeError;
pub use hooks::{EdgePhase, Hooks, IdleHook};
use orders::{Added, Sender, Senders};
pub(crate) use servers::ServerNames;
use servers::{UpstreamServers, take_over};
pub use sockets::Handed;
use sockets::bind;
use tasks::HubChanges;
pub(crate) use tasks::TaskState;

/// State that changes need, in components that the handles share.
pub(crate) struct Control {
    loops: Arc<Senders>,
    watch: Arc<OverviewSource>,
    background_tasks: Arc<BackgroundTasks>,
    hooks: Hooks,
    state: Arc<Mutex<Followed>>,
    certificates: CertificateFiles,
    acme: AcmeState,
    servers: Arc<UpstreamServers>,
    cache: CacheCommands,
    /// The directory of the disk cache may have changed.
    disk_changed: Notify,
    hub_changes: Arc<HubChanges>,
}

/// The configuration in effect.
pub(crate) struct Followed {
    /// Listeners as configured, and their bound addresses.
    listening: Vec<(ListenerConfig, SocketAddr)>,
    listeners: Vec<Arc<ListenerSettings>>,
    registry: UpstreamRegistry,
    edge: EdgeConfig,
}

impl Followed {
    /// `listening` are the listeners as configured, with their bound addresses.
    pub(crate) fn new(
        listening: Vec<(ListenerConfig, SocketAddr)>,
        listeners: Vec<Arc<ListenerSettings>>,
        registry: UpstreamRegistry,
        edge: EdgeConfig,
    ) -> Self {
        Self {
            listening,
            listeners,
            registry,
            edge,
        }
    }
}

impl Control {
    pub(crate) fn new(
        watch: OverviewSource,
        background_tasks: BackgroundTasks,
        hooks: Hooks,
        orders: Vec<Sender>,
        followed: Followed,
        challenges: Arc<Challenges>,
    ) -> Self {
        let report = &hooks.report;
        let state = Arc::new(Mutex::new(followed));
        let certificates = CertificateFiles::new(Arc::clone(&state), Arc::clone(report));
        let acme = AcmeState::new(
            Arc::clone(&state),
            certificates.clone(),
            challenges,
            Arc::clone(report),
        );
        let loops = Arc::new(Senders::new(orders));
        let watch = Arc::new(watch);
        let servers = Arc::new(UpstreamServers::new(
            Arc::clone(&state),
            Arc::clone(&watch),
            Arc::clone(&loops),
            Arc::clone(report),
        ));
        let cache = CacheCommands::new(Arc::clone(&watch), Arc::clone(report));
        Self {
            loops,
            watch,
            background_tasks: Arc::new(background_tasks),
            hooks,
            state,
            certificates,
            acme,
            servers,
            cache,
            disk_changed: Notify::new(),
            hub_changes: Arc::default(),
        }
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let state = lock(&self.state);
        state.listening.iter().map(|(_, bound)| *bound).collect()
    }

    /// Reloads the configuration and applies it.
    pub(crate) fn reload(&self) -> Result<String, String> {
        (self.hooks.phase)(EdgePhase::Reloading);
        let done = self.read_and_follow();
        (self.hooks.phase)(EdgePhase::Ready);
        done
    }

    fn read_and_follow(&self) -> Result<String, String> {
        let edge = (self.hooks.read_again)()?;
        let overrides = self.follow(&edge).map_err(|error| explain(&error))?;
        self.warn(&edge);
        let mut done = "the new configuration is in use".to_owned();
        if overrides > 0 {
            done.push_str("; server changes made at the admin address stay in force");
        }
        (self.hooks.report)(&done);
        Ok(done)
    }

    /// Begins with the first configuration, which the event loops use already.
    pub(crate) fn begin(&self, edge: &EdgeConfig) {
        self.warn(edge);
        self.disk_changed.notify_one();
    }

    /// Warns about settings that are valid, but dangerous or probably unintended.
    fn warn(&self, edge: &EdgeConfig) {
        for pool in edge.pools.iter().filter(|pool| pool.tls.insecure) {
            (self.hooks.report)(&tls::insecure(&pool.name));
        }
        let hub = edge.hub.as_ref();
        if let Some(hub) = hub.filter(|hub| hub.tokens.is_none() && !reads_need_hook(hub)) {
            let message = format!(
                "the hub at {} allows everybody to read every channel",
                hub.path
            );
            (self.hooks.report)(&message);
        }
        for listener in &lock(&self.state).listeners {
            if let Some(certificates) = &listener.certificates {
                for message in tls::uncovered(edge, &listener.address.to_string(), certificates) {
                    (self.hooks.report)(&message);
                }
            }
        }
    }

    /// For the admin address.
    pub(crate) fn admin(self: &Arc<Self>) -> AdminState {
        AdminState::new(Arc::clone(self))
    }

    /// For the background tasks.
    pub(crate) fn tasks(self: &Arc<Self>) -> TaskState {
        TaskState::new(self)
    }

    /// Receives notices for the user.
    pub(crate) fn notices(&self) -> &NoticeSink {
        &self.hooks.report
    }

    /// Reports that the edge takes requests.
    pub(crate) fn ready(&self) {
        (self.hooks.phase)(EdgePhase::Ready);
    }

    /// Reports that the edge stops, and has all event loops end; their connections have this long.
    pub(crate) fn drain(&self, at_most: Duration) {
        (self.hooks.phase)(EdgePhase::Stopping);
        self.loops.drain(at_most);
    }

    fn follow(&self, edge: &EdgeConfig) -> Result<usize, EdgeError> {
        if loops(edge) != self.loops.count() {
            return Err(EdgeError::Loops(self.loops.count()));
        }
        self.follow_in(&mut lock(&self.state), edge)
    }

    fn follow_in(&self, state: &mut Followed, edge: &EdgeConfig) -> Result<usize, EdgeError> {
        let mut kept = Vec::new();
        let mut added: Vec<Added> = (0..self.loops.count()).map(|_| Vec::new()).collect();
        for listener in &edge.listen {
            let before = state
                .listening
                .iter()
                .find(|(known, _)| known.address == listener.address);
            if let Some((_, bound)) = before {
                kept.push((listener.clone(), *bound));
                continue;
            }
            let (sockets, bound) = bind(listener.address, self.loops.count())?;
            kept.push((listener.clone(), bound));
            for (loop_sockets, socket) in added.iter_mut().zip(sockets) {
                loop_sockets.push((listener.address, socket));
            }
        }
        let mut registry = state.registry.clone();
        registry.follow(&edge.pools);
        let mut in_use = lock(&self.watch.pools);
        let mut routes = lock(&self.watch.routes);
        let mut cache = lock(&self.watch.cache);
        let mut hub = lock(&self.watch.hub);
        let before = Before {
            pools: &in_use,
            routes: &routes,
            listeners: &state.listeners,
            challenges: Some(self.acme.challenges()),
            hub: hub.as_ref(),
        };
        let mut shared = SharedSettings::new(
            edge,
            &registry.pools(),
            before,
            self.loops.count(),
            self.watch.clock,
        )?;
        shared.cache = settings::cache(edge, cache.as_ref(), &self.hooks.report)?;
        self.order_to_follow(edge, &shared, added)?;
        in_use.clone_from(&shared.pools);
        drop(in_use);
        *routes = shared.routes;
        drop(routes);
        *cache = shared.cache;
        drop(cache);
        if let Some(hub) = &shared.hub {
            hub.rule();
        }
        *hub = shared.hub;
        drop(hub);
        self.background_tasks.follow(edge);
        take_over(&shared.pools);
        let overrides = registry.override_count();
        state.listening = kept;
        state.listeners = shared.listeners;
        state.registry = registry;
        state.edge.clone_from(edge);
        self.servers.notify();
        self.acme.notify();
        self.disk_changed.notify_one();
        self.hub_changes.notify();
        Ok(overrides)
    }

    /// Sends all event loops their settings, and the sockets that are new to them.
    fn order_to_follow(
        &self,
        edge: &EdgeConfig,
        shared: &SharedSettings,
        added: Vec<Added>,
    ) -> Result<(), EdgeError> {
        let settings: Vec<Settings> = (0..self.loops.count())
            .map(|number| Settings::new(edge, shared, number))
            .collect::<Result<_, _>>()?;
        self.loops.follow(settings, added)
    }

    /// Closes the disk tier of the cache, when no task is left that might purge.
    pub(crate) fn close_disk(&self) {
        if let Some(disk) = self.disk() {
            disk.close();
        }
    }

    /// The disk tier of the cache.
    fn disk(&self) -> Option<Arc<DiskCache>> {
        lock(&self.watch.cache).as_ref()?.disk.clone()
    }
}

/// An error and its causes in one line.
fn explain(error: &EdgeError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
