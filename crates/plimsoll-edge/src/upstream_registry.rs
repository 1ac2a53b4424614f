//! Which servers each pool has: those of the configuration and those that the admin address was told of, each name
//! as many as it has addresses. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use plimsoll_config::edge::{self, ServerConfig};

/// Most servers that a pool is told of besides those of its configuration.
const ADDED_MAX: usize = 1000;
/// Most addresses of one name that become servers.
pub(crate) const ADDRESSES_MAX: usize = 256;

/// A host and a port whose addresses may change.
pub(crate) type HostPort = (String, u16);

/// What is known of all servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpstreamRegistry {
    /// As configured.
    pools: Vec<edge::PoolConfig>,
    /// Where names were last found.
    found: BTreeMap<HostPort, Vec<SocketAddr>>,
    /// What the admin address was told, by pool.
    overrides: BTreeMap<String, PoolOverrides>,
}

/// What the admin address was told of one pool.
#[derive(Clone, Debug, Default)]
struct PoolOverrides {
    added: Vec<ServerConfig>,
    /// By a server's name.
    changes: BTreeMap<String, ServerOverride>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ServerOverride {
    weight: Option<u32>,
    removed: bool,
}

/// What is to be done with the servers of a pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerOrder {
    Add(Box<ServerConfig>),
    Remove(String),
    /// 0 gives it no new requests.
    Weight(String, u32),
    /// Everything that was told is forgotten.
    Reset,
}

/// Why an order cannot be carried out.
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

    /// Follows a new configuration. What was told stays in force for pools that are still there: a reload for another
    /// reason must not undo what was done in need.
    pub(crate) fn follow(&mut self, pools: &[edge::PoolConfig]) {
        self.pools = pools.to_vec();
        self.overrides
            .retain(|name, _| pools.iter().any(|pool| pool.name == *name));
        for server in pools.iter().flat_map(|pool| &pool.servers) {
            if server.is_named() {
                // Whoever read the configuration has looked it up just now.
                self.found.insert(name_of(server), server.addresses.clone());
            }
        }
        let names = self.names();
        self.found.retain(|name, _| names.contains(name));
    }

    /// How much of what was told is in force.
    pub(crate) fn override_count(&self) -> usize {
        let count = |overrides: &PoolOverrides| overrides.added.len() + overrides.changes.len();
        self.overrides.values().map(count).sum()
    }

    /// All names that are to be looked up again and again.
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

    /// Where a name was last found.
    pub(crate) fn addresses(&self, name: &HostPort) -> &[SocketAddr] {
        self.found.get(name).map_or(&[], Vec::as_slice)
    }

    /// Takes note of where a name was found; whether that is somewhere else than before.
    pub(crate) fn found(&mut self, name: &HostPort, addresses: Vec<SocketAddr>) -> bool {
        if addresses.is_empty() || !self.names().contains(name) {
            return false;
        }
        let before = self.found.insert(name.clone(), addresses);
        before.as_ref() != self.found.get(name)
    }

    /// The pools as they are to be now: each server with what it was told, each name as its addresses.
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

    /// A server for each address of a name: each has its own limit, its own health and its own share.
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

    /// Carries out an order about the servers of a pool; what was done, in words.
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

    /// Adds a server to a pool, or takes back that it was removed.
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

    /// A server is named as written, which means all its addresses, or as it is shown, which means one.
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

    /// Whether a server, as it is shown, is one that the admin address was told of.
    pub(crate) fn is_added(&self, pool: &str, name: &str) -> bool {
        let entry = name.split('/').next().unwrap_or(name);
        self.overrides
            .get(pool)
            .is_some_and(|overrides| overrides.added.iter().any(|server| server.name == entry))
    }
}

/// What is looked up for a server.
pub(crate) fn name_of(server: &ServerConfig) -> HostPort {
    (server.host.clone(), server.port)
}

#[cfg(test)]
mod tests;
