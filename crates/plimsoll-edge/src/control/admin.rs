//! What the admin address shows and commands.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_hub_io::hub::ActiveHub;
use plimsoll_net::clock::EdgeClock;
use plimsoll_net::lock::lock;
use serde_json::Value;

use super::Control;
use crate::overview::{HubLimits, Overview, Surroundings};
use crate::upstream_registry::ServerOrder;

/// The running edge as the admin address may see and change it.
#[derive(Clone)]
pub(crate) struct AdminState {
    control: Arc<Control>,
}

impl AdminState {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Self { control }
    }

    /// Takes a snapshot of the metrics.
    pub(crate) fn overview(&self) -> Overview {
        self.control.watch.collect()
    }

    /// Takes a snapshot of what the page of the edge shows each second.
    pub(crate) fn sample(&self) -> Overview {
        self.control.watch.sample()
    }

    /// Time since the edge was started.
    pub(crate) fn clock(&self) -> EdgeClock {
        self.control.watch.clock
    }

    /// What the configuration in effect says about limits and certificates.
    pub(crate) fn surroundings(&self) -> Surroundings {
        let state = lock(&self.control.state);
        let mut surroundings = Surroundings {
            connections_max: state.edge.limits.connections_max.into(),
            has_disk: state.edge.cache_disk.is_some(),
            certificates: Vec::new(),
            hub: None,
        };
        let listeners = state.listeners.clone();
        drop(state);
        for listener in &listeners {
            let certificates = listener.certificates.as_ref();
            let expiries = certificates.map(|certificates| certificates.expiries());
            for (file, until) in expiries.into_iter().flatten() {
                let entry = (file.display().to_string(), until);
                if !surroundings.certificates.contains(&entry) {
                    surroundings.certificates.push(entry);
                }
            }
        }
        surroundings.hub = self.hub().map(|hub| HubLimits {
            channels: hub.config.channels_max.into(),
            history_bytes: hub.config.history_bytes_max,
        });
        surroundings
    }

    /// Reloads the configuration and applies it.
    pub(crate) fn reload(&self) -> Result<String, String> {
        self.control.reload()
    }

    /// All servers, as JSON.
    pub(crate) fn servers(&self) -> Value {
        self.control.servers.view()
    }

    /// The configured name servers.
    pub(crate) fn resolvers(&self) -> Vec<SocketAddr> {
        self.control.servers.resolvers()
    }

    /// Applies a command about the servers of a pool.
    pub(crate) fn order(&self, pool: &str, order: ServerOrder) -> Result<String, String> {
        self.control.servers.order(pool, order)
    }

    /// Contents and counters of the cache, as JSON.
    pub(crate) fn held(&self) -> Result<Value, String> {
        self.control.cache.held()
    }

    /// Purges stored responses.
    pub(crate) fn purge(&self, body: &[u8]) -> Result<String, String> {
        self.control.cache.purge(body)
    }

    /// The cache's decisions about a URL, as JSON.
    pub(crate) fn why(&self, body: &[u8]) -> Result<Value, String> {
        self.control.cache.why(body)
    }

    /// The hub.
    pub(crate) fn hub(&self) -> Option<Arc<ActiveHub>> {
        lock(&self.control.watch.hub).clone()
    }
}
