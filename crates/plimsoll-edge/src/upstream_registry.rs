//! Servers of each pool: those of the configuration and changes made at the admin address, each name resolved to all
//! its addresses. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use plimsoll_config::edge::{self, ServerConfig};

/// Maximum number of changes of a pool at the admin address.
const ADDED_MAX: usize = 1000;
/// Maximum number of addresses of one name that become servers.
pub(crate) const ADDRESSES_MAX: usize = 256;

/// A host and a port whose addresses may change.
pub(crate) type HostPort = (String, u16);

/// State of all servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpstreamRegistry {
    /// As configured.
    pools: Vec<edge::PoolConfig>,
    /// Last resolved addresses of names.
    found: BTreeMap<HostPort, Vec<SocketAddr>>,
    /// Changes made at the admin address, by pool.
    overrides: BTreeMap<String, PoolOverrides>,
}

/// Changes of one pool.
#[derive(Clone, Debug, Default)]
struct PoolOverrides {
    added: Vec<ServerConfig>,
    /// By server name.
    changes: BTreeMap<String, ServerOverride>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ServerOverride {
    weight: Option<u32>,
    removed: bool,
}

/// A change of the servers of a pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerOrder {
    Add(Box<ServerConfig>),
    Remove(String),
    /// Weight 0 receives no new requests.
    Weight(String, u32),
    /// Discards all changes.
    Reset,
}

/// Why a change was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServerOrderError {
    #[error("no pool `{0}`; valid: {1}")]
    NoPool(String, String),
    #[error("the pool `{0}` has no server `{1}`; valid: {2}")]
    NoServer(String, String, String),
    #[error("the pool `{0}` has a server `{1}` already")]
    IsThere(String, String),
    #[error(
        "`{1}` is the last server of the pool `{0}`; give it the weight 0, or add another first"
    )]
    Last(String, String),
    #[error(
        "the pool `{0}` has {ADDED_MAX} server changes, the maximum; remove some, or reset the pool"
    )]
    TooMany(String),
}

impl UpstreamRegistry {
    pub(crate) fn new(pools: &[edge::PoolConfig]) -> Self {
        let mut new = Self::default();
        new.follow(pools);
        new
    }

    /// Applies a new configuration. Changes stay in force for pools that still exist: a reload for another reason must
    /// not undo emergency measures.
    pub(crate) fn follow(&mut self, pools: &[edge::PoolConfig]) {
        self.pools = pools.to_vec();
        self.overrides
            .retain(|name, _| pools.iter().any(|pool| pool.name == *name));
        for server in pools.iter().flat_map(|pool| &pool.servers) {
            if server.is_named() {
                // The configuration reader has just resolved it.
                self.found.insert(name_of(server), server.addresses.clone());
            }
        }
        let names = self.names();
        self.found.retain(|name, _| names.contains(name));
    }

    /// Number of changes in force.
    pub(crate) fn override_count(&self) -> usize {
        let count = |overrides: &PoolOverrides| overrides.added.len() + overrides.changes.len();
        self.overrides.values().map(count).sum()
    }

    /// All names that are re-resolved periodically.
    pub(crate) fn names(&self) -> BTreeSet<HostPort> {
        let added = self
            .overrides
            .values()
            .flat_map(|overrides| &overrides.added);
        let all = self
            .pools
            .iter()
            .flat_map(|pool| &pool.servers)
            .chain(added);
        all.filter(|server| server.is_named())
            .map(name_of)
            .collect()
    }

    /// Last resolved addresses of a name.
    pub(crate) fn addresses(&self, name: &HostPort) -> &[SocketAddr] {
        self.found.get(name).map_or(&[], Vec::as_slice)
    }

    /// Records the addresses of a name; whether they changed.
    pub(crate) fn found(&mut self, name: &HostPort, addresses: Vec<SocketAddr>) -> bool {
        if addresses.is_empty() || !self.names().contains(name) {
            return false;
        }
        let before = self.found.insert(name.clone(), addresses);
        before.as_ref() != self.found.get(name)
    }

    /// The effective pools: each server with its changes, each name as its addresses.
    pub(crate) fn pools(&self) -> Vec<edge::PoolConfig> {
        self.pools
            .iter()
            .map(|pool| edge::PoolConfig {
                servers: self.servers(pool),
                ..pool.clone()
            })
            .collect()
    }

    fn servers(&self, pool: &edge::PoolConfig) -> Vec<ServerConfig> {
        let nothing = PoolOverrides::default();
        let overrides = self.overrides.get(&pool.name).unwrap_or(&nothing);
        let mut servers = Vec::new();
        for entry in pool.servers.iter().chain(&overrides.added) {
            for mut server in self.expanded(entry) {
                let change = overrides.changes.get(&server.name);
                let change = change.or_else(|| overrides.changes.get(&entry.name));
                let change = change.copied().unwrap_or_default();
                server.weight = change.weight.unwrap_or(server.weight);
                if !change.removed {
                    servers.push(server);
                }
            }
        }
        servers
    }

    /// A server for each address of a name: each has its own limit, health and share.
    fn expanded(&self, entry: &ServerConfig) -> Vec<ServerConfig> {
        if !entry.is_named() {
            return vec![entry.clone()];
        }
        let known = self.addresses(&name_of(entry));
        let known = if known.is_empty() {
            &entry.addresses
        } else {
            known
        };
        let at_address = |address: &SocketAddr| {
            let at = match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            };
            ServerConfig {
                name: format!("{}/{at}", entry.name),
                addresses: vec![*address],
                ..entry.clone()
            }
        };
        known.iter().map(at_address).collect()
    }

    /// Applies a change to the servers of a pool; returns a description.
    pub(crate) fn order(
        &mut self,
        pool: &str,
        order: ServerOrder,
    ) -> Result<String, ServerOrderError> {
        let Some(configured) = self
            .pools
            .iter()
            .find(|candidate| candidate.name == pool)
            .cloned()
        else {
            let names: Vec<&str> = self.pools.iter().map(|pool| pool.name.as_str()).collect();
            return Err(ServerOrderError::NoPool(pool.to_owned(), names.join(", ")));
        };
        let mut after = self.clone();
        let overrides = after.overrides.entry(pool.to_owned()).or_default();
        let done = match order {
            ServerOrder::Reset => {
                after.overrides.remove(pool);
                format!("the pool {pool} is reset to the servers of its configuration")
            }
            ServerOrder::Add(server) => after.add(&configured, *server)?,
            ServerOrder::Remove(name) => {
                self.must_have(&configured, &name)?;
                let added = overrides.added.len();
                overrides.added.retain(|server| server.name != name);
                overrides.changes.remove(&name);
                if overrides.added.len() == added {
                    let change = ServerOverride {
                        removed: true,
                        weight: None,
                    };
                    overrides.changes.insert(name.clone(), change);
                }
                format!("{name} was removed from the pool {pool}")
            }
            ServerOrder::Weight(name, weight) => {
                self.must_have(&configured, &name)?;
                if overrides.changes.len() >= ADDED_MAX && !overrides.changes.contains_key(&name) {
                    return Err(ServerOrderError::TooMany(pool.to_owned()));
                }
                let change = overrides.changes.entry(name.clone()).or_default();
                change.weight = Some(weight);
                if weight == 0 {
                    format!("{name} receives no new requests")
                } else {
                    format!("{name} has the weight {weight}")
                }
            }
        };
        let names = after.names();
        after.found.retain(|name, _| names.contains(name));
        if after.servers(&configured).is_empty() {
            let name = configured.servers.first().map(|server| server.name.clone());
            return Err(ServerOrderError::Last(
                pool.to_owned(),
                name.unwrap_or_default(),
            ));
        }
        *self = after;
        Ok(done)
    }

    /// Adds a server to a pool, or restores a removed one.
    fn add(
        &mut self,
        pool: &edge::PoolConfig,
        server: edge::ServerConfig,
    ) -> Result<String, ServerOrderError> {
        let overrides = self.overrides.entry(pool.name.clone()).or_default();
        let name = server.name.clone();
        let is_name = |candidate: &edge::ServerConfig| candidate.name == name;
        let is_removed = overrides
            .changes
            .get(&name)
            .is_some_and(|change| change.removed);
        let is_configured = pool.servers.iter().any(is_name);
        if !is_removed && (is_configured || overrides.added.iter().any(is_name)) {
            return Err(ServerOrderError::IsThere(pool.name.clone(), name));
        }
        if overrides.added.len() >= ADDED_MAX {
            return Err(ServerOrderError::TooMany(pool.name.clone()));
        }
        overrides.changes.remove(&name);
        let done = format!("{name} was added to the pool {}", pool.name);
        if !is_configured {
            if server.is_named() {
                self.found
                    .insert(name_of(&server), server.addresses.clone());
            }
            overrides.added.push(server);
        }
        Ok(done)
    }

    /// A server is addressed by its configured name, which means all its addresses, or by its displayed name, which
    /// means one.
    fn must_have(&self, pool: &edge::PoolConfig, name: &str) -> Result<(), ServerOrderError> {
        let servers = self.servers(pool);
        let is_shown = servers.iter().any(|server| server.name == name);
        let is_written = servers
            .iter()
            .any(|server| server.name.split('/').next() == Some(name));
        if is_shown || is_written {
            return Ok(());
        }
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        Err(ServerOrderError::NoServer(
            pool.name.clone(),
            name.to_owned(),
            names.join(", "),
        ))
    }

    /// Whether a displayed server was added at the admin address.
    pub(crate) fn is_added(&self, pool: &str, name: &str) -> bool {
        let entry = name.split('/').next().unwrap_or(name);
        self.overrides
            .get(pool)
            .is_some_and(|overrides| overrides.added.iter().any(|server| server.name == entry))
    }
}

/// The name to resolve for a server.
pub(crate) fn name_of(server: &ServerConfig) -> HostPort {
    (server.host.clone(), server.port)
}

#[cfg(test)]
mod tests;
