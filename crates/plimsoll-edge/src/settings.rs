//! A configuration compiled for use; a reload puts a new one in its place whole.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::{self, Edge, Limits, Network};

use crate::clock::{self, Clock};
use crate::deadline::TICK_MS;
use crate::pool::Pool;
use crate::route::Routes;
use crate::tls::challenges::Challenges;
use crate::tls::{self, ByName, Obtained, TlsFault};
use tokio_rustls::TlsAcceptor;

/// What loops look things up in.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) routes: Arc<Routes>,
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) limits: Limits,
    pub(crate) trusted: Vec<Network>,
    pub(crate) ticks: Ticks,
    doors: Vec<Arc<DoorSettings>>,
}

/// How clients of one listener are met.
pub(crate) struct DoorSettings {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) certificates: Option<Arc<ByName>>,
    /// Trusted peers begin with a PROXY header.
    pub(crate) proxy_protocol: bool,
}

impl std::fmt::Debug for DoorSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DoorSettings")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// What all loops share of a configuration.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) doors: Vec<Arc<DoorSettings>>,
}

/// What a configuration goes on from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before<'a> {
    pub(crate) pools: &'a [Arc<Pool>],
    pub(crate) doors: &'a [Arc<DoorSettings>],
    pub(crate) challenges: Option<&'a Arc<Challenges>>,
}

impl Shared {
    /// Builds it; `servers` are the configuration's pools with the servers that they have now.
    pub(crate) fn new(
        edge: &Edge,
        servers: &[edge::Pool],
        before: Before<'_>,
        clock: Clock,
    ) -> Result<Self, TlsFault> {
        let now = clock::wall();
        let obtained = Obtained {
            acme: edge.acme.as_ref(),
            challenges: before.challenges.filter(|_| edge.acme.is_some()),
        };
        let doors = edge.listen.iter().map(|listener| {
            let mut doors = before.doors.iter();
            let before = doors.find(|door| door.address == listener.address);
            let before = before.and_then(|door| door.certificates.as_deref());
            let ending = tls::ending(listener, before, obtained, now)?;
            Ok(Arc::new(DoorSettings {
                address: listener.address,
                tls: ending.as_ref().map(|ending| ending.acceptor.clone()),
                certificates: ending.map(|ending| ending.certificates),
                proxy_protocol: listener.proxy_protocol,
            }))
        });
        let doors = doors.collect::<Result<_, TlsFault>>()?;
        Ok(Self {
            pools: pools(servers, before.pools, clock)?,
            doors,
        })
    }
}

/// Builds pools; those of the same name go on from earlier ones.
pub(crate) fn pools(
    configs: &[edge::Pool],
    before: &[Arc<Pool>],
    clock: Clock,
) -> Result<Vec<Arc<Pool>>, TlsFault> {
    let pools = configs.iter().map(|config| {
        let before = before.iter().find(|one| one.config.name == config.name);
        Pool::new(config, before.map(|pool| &**pool), clock).map(Arc::new)
    });
    pools.collect()
}

/// Time-outs in ticks of the deadlines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) head: u64,
    pub(crate) body: u64,
    pub(crate) idle: u64,
    pub(crate) write: u64,
}

impl Settings {
    /// Compiles a configuration for one loop: regular expressions of its own share no memory with another's.
    ///
    /// # Errors
    /// When a regular expression is not valid.
    pub(crate) fn new(edge: &Edge, shared: &Shared) -> Result<Self, regex::Error> {
        let limits = edge.limits;
        Ok(Self {
            routes: Arc::new(Routes::new(&edge.routes)?),
            pools: shared.pools.clone(),
            doors: shared.doors.clone(),
            limits,
            trusted: edge.trusted.clone(),
            ticks: Ticks {
                head: ticks(limits.head_timeout),
                body: ticks(limits.body_timeout),
                idle: ticks(limits.idle_timeout),
                write: ticks(limits.write_timeout),
            },
        })
    }
}

impl Settings {
    /// The same with other servers.
    pub(crate) fn with_pools(&self, pools: Vec<Arc<Pool>>) -> Self {
        Self {
            routes: Arc::clone(&self.routes),
            pools,
            limits: self.limits,
            trusted: self.trusted.clone(),
            ticks: self.ticks,
            doors: self.doors.clone(),
        }
    }

    /// How clients of a listener are met; `None` when the configuration no longer has it.
    pub(crate) fn listener(&self, address: SocketAddr) -> Option<&Arc<DoorSettings>> {
        self.doors.iter().find(|door| door.address == address)
    }
}

/// A duration in ticks, rounded up.
pub(crate) fn ticks(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 2)
        .div_ceil(TICK_MS)
}
