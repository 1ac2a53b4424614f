//! Caches and heaps that usually suffice: what handbooks advise is for a machine that nothing else uses.
//!
//! Where several services hold memory, each has its part of the machine, of which the advised share is taken: a quarter for
//! PostgreSQL (its manual: of a dedicated server), half for `InnoDB` (MariaDB's handbook: 50 to 75 % of the memory that is
//! available to it), for a heap of Java, for Redis, which needs as much again when it forks, and for memcached. All of
//! them together grow by no more than half of what is free: the rest is for sessions, workers and the page cache.

use std::collections::BTreeMap;

use plimsoll_model::component::ComponentKind;

use super::amount::{Amount, KnobLevels, number};
use super::catalogue::ReadyKnob;
use super::machine::Machine;
use super::{APPLICATIONS, FoundKnob};

/// Share of the free memory by which all sizes may grow together.
const FREE_SHARE: f64 = 0.5;
/// Stores that hold memory.
const STORES: [ComponentKind; 4] = [
    ComponentKind::Postgres,
    ComponentKind::Mysql,
    ComponentKind::Redis,
    ComponentKind::Memcached,
];

/// A knob that is a size of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeKnob {
    /// Its index among those that were found.
    index: usize,
    /// What stands, bytes.
    now: f64,
    /// What usually suffices where nothing else uses the memory that its process may have, bytes.
    alone: f64,
    /// Whether its cgroup has a limit, so that this memory is its own.
    has_limit: bool,
    /// How much a 1 in the configuration means, bytes.
    unit: f64,
}

impl SizeKnob {
    /// The knob of an index, with the value that stands, on a machine of which its process has `own`; `None` where it is no
    /// size, and where it is unlimited or unknown.
    pub(super) fn of(
        index: usize,
        (ready, now): (&ReadyKnob, &str),
        machine: &Machine,
        own: &Machine,
    ) -> Option<Self> {
        let KnobLevels::Number {
            usual: Amount::OfMemory(share),
            unit,
            ..
        } = ready.levels
        else {
            return None;
        };
        let unit = unit as f64;
        let now = number(now, unit).filter(|bytes| *bytes > 0.0)?;
        Some(Self {
            index,
            now,
            alone: share * own.memory as f64,
            has_limit: own.memory < machine.memory,
            unit,
        })
    }

    /// What usually suffices beside the others, bytes.
    fn beside(self, holders: f64, growth: f64) -> f64 {
        let holders = if self.has_limit { 1.0 } else { holders };
        (self.alone / holders).min(self.now + growth)
    }
}

/// Services that hold memory, of so many servers of each technology; an application that is not known is one of them.
pub(super) fn holders(servers: &BTreeMap<ComponentKind, u32>, has_unknown: bool) -> u32 {
    let count = |kinds: &[ComponentKind]| -> u32 {
        let own = kinds.iter().filter_map(|kind| servers.get(kind));
        own.sum()
    };
    let applications = count(&APPLICATIONS).max(u32::from(has_unknown));
    (applications + count(&STORES)).max(1)
}

/// The levels of the sizes that usually suffice where so many services share the memory: the highest that fits, if that
/// is more than what stands; and how much less than that stands, as a power of 2, by index.
pub(super) fn settle(
    knobs: &mut [FoundKnob],
    sizes: &[SizeKnob],
    holders: u32,
    available: u64,
) -> Vec<(usize, f64)> {
    let growth = FREE_SHARE * available as f64 / sizes.len().max(1) as f64;
    let mut tightness = Vec::new();
    for size in sizes {
        let Some(knob) = knobs.get_mut(size.index) else {
            continue;
        };
        let most = size.beside(f64::from(holders), growth);
        let fits = |level: &&String| {
            number(level, size.unit).is_some_and(|bytes| bytes > size.now && bytes <= most)
        };
        knob.usual = knob.levels.iter().rfind(fits).cloned();
        tightness.push((size.index, (most / size.now).log2().clamp(0.0, 6.0)));
    }
    tightness
}
