//! A configuration compiled for use; a reload puts a new one in its place whole.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::{Edge, Limits, Network};

use crate::clock::Clock;
use crate::deadline::TICK_MS;
use crate::pool::Pool;
use crate::route::Routes;

/// What loops look things up in.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) routes: Routes,
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) limits: Limits,
    pub(crate) trusted: Vec<Network>,
    pub(crate) ticks: Ticks,
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
    /// The pools of a configuration, shared by all loops; those of the same name go on from earlier ones.
    pub(crate) fn pools(edge: &Edge, before: &[Arc<Pool>], clock: Clock) -> Vec<Arc<Pool>> {
        let pools = edge.pools.iter().map(|pool| {
            let before = before.iter().find(|one| one.config.name == pool.name);
            Arc::new(Pool::new(pool, before.map(|pool| &**pool), clock))
        });
        pools.collect()
    }

    /// Compiles a configuration for one loop: regular expressions of its own share no memory with another's.
    ///
    /// # Errors
    /// When a regular expression is not valid.
    pub(crate) fn new(edge: &Edge, pools: &[Arc<Pool>]) -> Result<Self, regex::Error> {
        let limits = edge.limits;
        Ok(Self {
            routes: Routes::new(&edge.routes)?,
            pools: pools.to_vec(),
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

/// A duration in ticks, rounded up.
pub(crate) fn ticks(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 2)
        .div_ceil(TICK_MS)
}
