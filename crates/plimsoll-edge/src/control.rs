//! Changes to a running edge: a new configuration, and servers that are added, removed or re-resolved.
//!
//! Everything that can fail is done before anything is changed, and changes are serialized.

mod acme;
mod admin;
mod background_tasks;
mod cache;
mod certificates;
mod error;
mod hooks;
pub(crate) mod orders;
mod servers;
pub(crate) mod sockets;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_config::edge::{EdgeConfig, ListenerConfig};
use plimsoll_hub_io::hub::reads_need_hook;
use plimsoll_net::lock::lock;
use plimsoll_proxy::lookup::disk::{self, DiskCache};
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
pub use error::EdgeError;
pub use hooks::{EdgePhase, Hooks};
use orders::{Added, Sender, Senders};
pub(crate) use servers::ServerNames;
use servers::{UpstreamServers, take_over};
pub use sockets::Handed;
use sockets::bind;

/// State that changes need.
pub(crate) struct Control {
    loops: Arc<Senders>,
    pub(crate) watch: Arc<OverviewSource>,
    pub(crate) background_tasks: BackgroundTasks,
    pub(crate) hooks: Hooks,
    state: Arc<Mutex<Followed>>,
    certificates: CertificateFiles,
    acme: AcmeState,
    servers: Arc<UpstreamServers>,
    cache: CacheCommands,
    /// The directory of the disk cache may have changed.
    pub(crate) disk_changed: Notify,
    /// The hub may have been added or removed.
    pub(crate) hub_changed: Notify,
    /// The Redis source may have changed.
    pub(crate) redis_changed: Notify,
    /// Other message sources may have changed.
    pub(crate) sources_changed: Notify,
    /// The shared backend may have changed.
    pub(crate) shared_changed: Notify,
}

/// The configuration in effect.
pub(crate) struct Followed {
    /// Listeners as configured, and their bound addresses.
    pub(crate) listening: Vec<(ListenerConfig, SocketAddr)>,
    pub(crate) listeners: Vec<Arc<ListenerSettings>>,
    pub(crate) registry: UpstreamRegistry,
    pub(crate) edge: EdgeConfig,
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
            background_tasks,
            hooks,
            state,
            certificates,
            acme,
            servers,
            cache,
            disk_changed: Notify::new(),
            hub_changed: Notify::new(),
            redis_changed: Notify::new(),
            sources_changed: Notify::new(),
            shared_changed: Notify::new(),
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

    /// Warns about settings that are valid, but dangerous or probably unintended.
    pub(crate) fn warn(&self, edge: &EdgeConfig) {
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

    /// For the background task that reloads certificate files.
    pub(crate) fn certificates(&self) -> &CertificateFiles {
        &self.certificates
    }

    /// For the admin address.
    pub(crate) fn admin(self: &Arc<Self>) -> AdminState {
        AdminState::new(Arc::clone(self))
    }

    /// For the background task that resolves names.
    pub(crate) fn server_names(&self) -> ServerNames {
        ServerNames::new(Arc::clone(&self.servers))
    }

    /// Has all event loops end; their connections have this long.
    pub(crate) fn drain(&self, at_most: Duration) {
        self.loops.drain(at_most);
    }

    /// For the background task that obtains certificates.
    pub(crate) fn acme(&self) -> AcmeState {
        self.acme.clone()
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
        self.hub_changed.notify_one();
        self.redis_changed.notify_one();
        self.sources_changed.notify_one();
        self.shared_changed.notify_one();
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

    /// The directory that another edge uses, and how long that edge may take to end if it has the same drain time.
    pub(crate) fn awaited_disk(&self) -> Option<(PathBuf, Duration)> {
        let state = lock(&self.state);
        let cache = lock(&self.watch.cache);
        let awaits = &cache.as_ref()?.awaits_disk;
        let edge = awaits.load(Ordering::Relaxed).then_some(&state.edge)?;
        Some((edge.cache_disk.as_ref()?.path.clone(), edge.drain))
    }

    /// The directory is free: applies the current configuration once more, with it. Uses the configuration read last; a
    /// file edited since then waits for a reload.
    pub(crate) fn take_disk_over(&self) {
        let mut state = lock(&self.state);
        let edge = state.edge.clone();
        let done = self.follow_in(&mut state, &edge);
        drop(state);
        let disk = self.disk();
        let message = match (done, edge.cache_disk, disk) {
            (Err(error), Some(config), _) => disk::disk_unavailable(&config.path, &explain(&error)),
            (Ok(_), Some(config), Some(_)) => format!(
                "disk cache on in {}: no other edge uses the directory any more",
                config.path.display()
            ),
            // The reason was already reported.
            _ => return,
        };
        (self.hooks.report)(&message);
    }

    /// The disk tier of the cache.
    pub(crate) fn disk(&self) -> Option<Arc<DiskCache>> {
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
