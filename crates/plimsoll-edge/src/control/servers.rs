//! Servers of the pools while the edge runs: commands about them, and new addresses of their names.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_proxy::balance::UpstreamPool;
use plimsoll_proxy::settings::pools;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::orders::Senders;
use super::{EdgeError, Followed, explain};
use crate::overview::OverviewSource;
use crate::upstream_registry::{HostPort, ServerOrder, UpstreamRegistry};

/// The servers of the configuration in effect, and the event loops that use them.
pub(super) struct UpstreamServers {
    state: Arc<Mutex<Followed>>,
    watch: Arc<OverviewSource>,
    loops: Arc<Senders>,
    renamed: Notify,
    report: NoticeSink,
}

/// The DNS names of servers, for the task that resolves them.
#[derive(Clone)]
pub(crate) struct ServerNames {
    servers: Arc<UpstreamServers>,
}

impl UpstreamServers {
    pub(super) fn new(
        state: Arc<Mutex<Followed>>,
        watch: Arc<OverviewSource>,
        loops: Arc<Senders>,
        report: NoticeSink,
    ) -> Self {
        Self {
            state,
            watch,
            loops,
            renamed: Notify::new(),
            report,
        }
    }

    /// The set of server names may have changed.
    pub(super) fn notify(&self) {
        self.renamed.notify_one();
    }

    /// The configured name servers.
    pub(super) fn resolvers(&self) -> Vec<SocketAddr> {
        lock(&self.state).edge.resolvers.clone()
    }

    /// Applies a command about the servers of a pool.
    pub(super) fn order(&self, pool: &str, order: ServerOrder) -> Result<String, String> {
        let mut state = lock(&self.state);
        let mut registry = state.registry.clone();
        let done = registry.order(pool, order).map_err(|why| why.to_string())?;
        self.use_servers(&mut state, registry)
            .map_err(|error| explain(&error))?;
        drop(state);
        (self.report)(&done);
        Ok(done)
    }

    /// Sends all event loops the servers of a changed upstream registry.
    fn use_servers(
        &self,
        state: &mut Followed,
        registry: UpstreamRegistry,
    ) -> Result<(), EdgeError> {
        let mut in_use = lock(&self.watch.pools);
        let changed = pools(&registry.pools(), &in_use, self.watch.clock)?;
        self.loops.use_pools(&changed)?;
        in_use.clone_from(&changed);
        drop(in_use);
        take_over(&changed);
        state.registry = registry;
        self.notify();
        Ok(())
    }

    /// All servers, as JSON.
    pub(super) fn view(&self) -> Value {
        let state = lock(&self.state);
        let now = self.watch.clock.now();
        let in_use = lock(&self.watch.pools).clone();
        let pools = in_use.iter().map(|pool| {
            let name = &pool.config.name;
            let servers = pool.servers.iter().zip(&pool.config.servers);
            let servers = servers.map(|(server, config)| {
                json!({
                    "name": server.name,
                    "addresses": server.addresses,
                    "tls": config.tls,
                    "weight": config.weight,
                    "zone": config.zone,
                    "in": server.is_in(now),
                    "in_flight": server.in_flight(),
                    "limit": server.limit(),
                    "from": if state.registry.is_added(name, &server.name) { "admin" } else { "configuration" },
                })
            });
            json!({ "name": name, "servers": servers.collect::<Vec<_>>() })
        });
        json!({ "format_version": "1.0", "pools": pools.collect::<Vec<_>>() })
    }

    /// Applies newly resolved addresses of a name.
    fn moved(&self, name: &HostPort, addresses: &[SocketAddr]) {
        let show = |addresses: &[SocketAddr]| {
            let all: Vec<String> = addresses
                .iter()
                .map(|address| address.ip().to_string())
                .collect();
            all.join(", ")
        };
        let mut state = lock(&self.state);
        if state.registry.addresses(name) == addresses {
            return;
        }
        let before = show(state.registry.addresses(name));
        let mut registry = state.registry.clone();
        if !registry.found(name, addresses.to_vec()) {
            return;
        }
        let after = show(registry.addresses(name));
        let message = match self.use_servers(&mut state, registry) {
            Ok(()) => format!("the name {} has moved from {before} to {after}", name.0),
            Err(error) => format!(
                "the name {} has moved to {after}, but the change cannot be applied: {}",
                name.0,
                explain(&error)
            ),
        };
        drop(state);
        (self.report)(&message);
    }
}

impl ServerNames {
    pub(super) fn new(servers: Arc<UpstreamServers>) -> Self {
        Self { servers }
    }

    /// All names.
    pub(crate) fn all(&self) -> Vec<HostPort> {
        let state = lock(&self.servers.state);
        state.registry.names().into_iter().collect()
    }

    /// Waits until the set of names may have changed.
    pub(crate) async fn changed(&self) {
        self.servers.renamed.notified().await;
    }

    /// The configured name servers.
    pub(crate) fn resolvers(&self) -> Vec<SocketAddr> {
        self.servers.resolvers()
    }

    /// Whether the servers of a name are reached by IPv6.
    pub(crate) fn family(&self, name: &HostPort) -> Option<bool> {
        let state = lock(&self.servers.state);
        state
            .registry
            .addresses(name)
            .first()
            .map(SocketAddr::is_ipv6)
    }

    /// Applies newly resolved addresses of a name.
    pub(crate) fn moved(&self, name: &HostPort, addresses: &[SocketAddr]) {
        self.servers.moved(name, addresses);
    }

    /// Reports to the user.
    pub(crate) fn report(&self, text: &str) {
        (self.servers.report)(text);
    }
}

/// The pools replace earlier ones of their names.
pub(super) fn take_over(pools: &[Arc<UpstreamPool>]) {
    for pool in pools {
        pool.take_over();
    }
}
