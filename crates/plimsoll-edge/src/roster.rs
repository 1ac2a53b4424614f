//! Which servers each pool has: those of the configuration and those that the admin address was told of, each name
//! as many as it has addresses. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use plimsoll_config::edge::{self, Server};

/// Most servers that a pool is told of besides those of its configuration.
const ADDED_MAX: usize = 1000;
/// Most addresses of one name that become servers.
pub(crate) const ADDRESSES_MAX: usize = 256;

/// A host and a port whose addresses may change.
pub(crate) type Name = (String, u16);

/// What is known of all servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roster {
    /// As configured.
    pools: Vec<edge::Pool>,
    /// Where names were last found.
    found: BTreeMap<Name, Vec<SocketAddr>>,
    /// What the admin address was told, by pool.
    told: BTreeMap<String, Told>,
}

/// What the admin address was told of one pool.
#[derive(Clone, Debug, Default)]
struct Told {
    added: Vec<Server>,
    /// By a server's name.
    changes: BTreeMap<String, Change>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    weight: Option<u32>,
    removed: bool,
}

/// What is to be done with the servers of a pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    Add(Box<Server>),
    Remove(String),
    /// 0 gives it no new requests.
    Weight(String, u32),
    /// Everything that was told is forgotten.
    Reset,
}

/// Why an order cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("there is no pool `{0}`; there are: {1}")]
    NoPool(String, String),
    #[error("the pool `{0}` has no server `{1}`; it has: {2}")]
    NoServer(String, String, String),
    #[error("the pool `{0}` has a server `{1}` already")]
    IsThere(String, String),
    #[error(
        "`{1}` is the last server of the pool `{0}`; give it the weight 0, or add another first"
    )]
    Last(String, String),
    #[error("the pool `{0}` was told {ADDED_MAX} things about servers; remove some, or reset it")]
    TooMany(String),
}

impl Roster {
    pub(crate) fn new(pools: &[edge::Pool]) -> Self {
        let mut new = Self::default();
        new.follow(pools);
        new
    }

    /// Follows a new configuration. What was told stays in force for pools that are still there: a reload for another
    /// reason must not undo what was done in need.
    pub(crate) fn follow(&mut self, pools: &[edge::Pool]) {
        self.pools = pools.to_vec();
        self.told
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
    pub(crate) fn told(&self) -> usize {
        let count = |told: &Told| told.added.len() + told.changes.len();
        self.told.values().map(count).sum()
    }

    /// All names that are to be looked up again and again.
    pub(crate) fn names(&self) -> BTreeSet<Name> {
        let added = self.told.values().flat_map(|told| &told.added);
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
    pub(crate) fn addresses(&self, name: &Name) -> &[SocketAddr] {
        self.found.get(name).map_or(&[], Vec::as_slice)
    }

    /// Takes note of where a name was found; whether that is somewhere else than before.
    pub(crate) fn found(&mut self, name: &Name, addresses: Vec<SocketAddr>) -> bool {
        if addresses.is_empty() || !self.names().contains(name) {
            return false;
        }
        let before = self.found.insert(name.clone(), addresses);
        before.as_ref() != self.found.get(name)
    }

    /// The pools as they are to be now: each server with what it was told, each name as its addresses.
    pub(crate) fn pools(&self) -> Vec<edge::Pool> {
        self.pools
            .iter()
            .map(|pool| edge::Pool {
                servers: self.servers(pool),
                ..pool.clone()
            })
            .collect()
    }

    fn servers(&self, pool: &edge::Pool) -> Vec<Server> {
        let nothing = Told::default();
        let told = self.told.get(&pool.name).unwrap_or(&nothing);
        let mut servers = Vec::new();
        for entry in pool.servers.iter().chain(&told.added) {
            for mut server in self.expanded(entry) {
                let change = told.changes.get(&server.name);
                let change = change.or_else(|| told.changes.get(&entry.name));
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
    fn expanded(&self, entry: &Server) -> Vec<Server> {
        if !entry.is_named() {
            return vec![entry.clone()];
        }
        let known = self.addresses(&name_of(entry));
        let known = if known.is_empty() {
            &entry.addresses
        } else {
            known
        };
        let one = |address: &SocketAddr| {
            let at = match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            };
            Server {
                name: format!("{}/{at}", entry.name),
                addresses: vec![*address],
                ..entry.clone()
            }
        };
        known.iter().map(one).collect()
    }

    /// Carries out an order about the servers of a pool; what was done, in words.
    pub(crate) fn order(&mut self, pool: &str, order: Order) -> Result<String, Refusal> {
        let Some(configured) = self.pools.iter().find(|one| one.name == pool).cloned() else {
            let names: Vec<&str> = self.pools.iter().map(|pool| pool.name.as_str()).collect();
            return Err(Refusal::NoPool(pool.to_owned(), names.join(", ")));
        };
        let mut after = self.clone();
        let told = after.told.entry(pool.to_owned()).or_default();
        let done = match order {
            Order::Reset => {
                after.told.remove(pool);
                format!("the pool {pool} has the servers of its configuration again")
            }
            Order::Add(server) => {
                let name = server.name.clone();
                let is_removed = told.changes.get(&name).is_some_and(|one| one.removed);
                let is_configured = configured.servers.iter().any(|one| one.name == name);
                if !is_removed && (is_configured || told.added.iter().any(|one| one.name == name)) {
                    return Err(Refusal::IsThere(pool.to_owned(), name));
                }
                if told.added.len() >= ADDED_MAX {
                    return Err(Refusal::TooMany(pool.to_owned()));
                }
                told.changes.remove(&name);
                if !is_configured {
                    if server.is_named() {
                        after
                            .found
                            .insert(name_of(&server), server.addresses.clone());
                    }
                    told.added.push(*server);
                }
                format!("{name} is a server of the pool {pool}")
            }
            Order::Remove(name) => {
                self.must_have(&configured, &name)?;
                let added = told.added.len();
                told.added.retain(|one| one.name != name);
                told.changes.remove(&name);
                if told.added.len() == added {
                    let change = Change {
                        removed: true,
                        weight: None,
                    };
                    told.changes.insert(name.clone(), change);
                }
                format!("{name} is no server of the pool {pool} any more")
            }
            Order::Weight(name, weight) => {
                self.must_have(&configured, &name)?;
                if told.changes.len() >= ADDED_MAX && !told.changes.contains_key(&name) {
                    return Err(Refusal::TooMany(pool.to_owned()));
                }
                let change = told.changes.entry(name.clone()).or_default();
                change.weight = Some(weight);
                if weight == 0 {
                    format!("{name} gets no new requests")
                } else {
                    format!("{name} has the weight {weight}")
                }
            }
        };
        let names = after.names();
        after.found.retain(|name, _| names.contains(name));
        if after.servers(&configured).is_empty() {
            let name = configured.servers.first().map(|one| one.name.clone());
            return Err(Refusal::Last(pool.to_owned(), name.unwrap_or_default()));
        }
        *self = after;
        Ok(done)
    }

    /// A server is named as written, which means all its addresses, or as it is shown, which means one.
    fn must_have(&self, pool: &edge::Pool, name: &str) -> Result<(), Refusal> {
        let servers = self.servers(pool);
        let is_shown = servers.iter().any(|one| one.name == name);
        let is_written = servers
            .iter()
            .any(|one| one.name.split('/').next() == Some(name));
        if is_shown || is_written {
            return Ok(());
        }
        let names: Vec<&str> = servers.iter().map(|one| one.name.as_str()).collect();
        Err(Refusal::NoServer(
            pool.name.clone(),
            name.to_owned(),
            names.join(", "),
        ))
    }

    /// Whether a server, as it is shown, is one that the admin address was told of.
    pub(crate) fn is_added(&self, pool: &str, name: &str) -> bool {
        let entry = name.split('/').next().unwrap_or(name);
        self.told
            .get(pool)
            .is_some_and(|told| told.added.iter().any(|one| one.name == entry))
    }
}

/// What is looked up for a server.
pub(crate) fn name_of(server: &Server) -> Name {
    (server.host.clone(), server.port)
}

#[cfg(test)]
mod tests;
