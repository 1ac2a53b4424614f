//! What of a route all loops share, and a reload keeps: buckets, learnt pages, the line of those who wait, counts.

use std::sync::Arc;

use plimsoll_config::edge::{self, Action, Match, PathMatch};

use crate::access::Gate;
use crate::bucket::Buckets;
use crate::fault::Fault;
use crate::figures::Counter;
use crate::hash::hash;
use crate::own::Page;
use crate::shell::Shells;
use crate::waiting::WaitingRoom;

/// A counter on a cache line of its own, so that loops do not wait for each other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart(pub(crate) Counter);

/// One route's.
#[derive(Debug)]
pub(crate) struct RouteShared {
    config: edge::Route,
    /// The fallback's file.
    pub(crate) page: Option<Arc<Page>>,
    pub(crate) buckets: Option<Arc<Buckets>>,
    pub(crate) shells: Option<Arc<Shells>>,
    pub(crate) room: Option<Arc<WaitingRoom>>,
    pub(crate) gate: Option<Gate>,
    /// Requests so far, of each loop.
    pub(crate) counts: Arc<[Apart]>,
    /// Those that a copy answered, and those that went on though the cache was asked, of each loop.
    pub(crate) hits: Arc<[Apart]>,
    pub(crate) misses: Arc<[Apart]>,
}

impl RouteShared {
    /// Goes on from an earlier route for the same requests, as far as it says the same.
    ///
    /// # Errors
    /// When a database is none, or there are no random bytes.
    pub(crate) fn new(
        config: &edge::Route,
        earlier: &[Arc<Self>],
        loops: usize,
    ) -> Result<Self, Fault> {
        let before = earlier
            .iter()
            .find(|one| one.config.matches == config.matches);
        let kept = before.map(|before| &**before);
        let buckets = match kept {
            Some(before) if before.config.rate == config.rate => before.buckets.clone(),
            _ => config.rate.map(|rate| Arc::new(Buckets::new(rate))),
        };
        let shells = match kept {
            Some(before) if before.config.shell == config.shell => before.shells.clone(),
            _ => config
                .shell
                .clone()
                .map(|shell| Arc::new(Shells::new(shell))),
        };
        let room = match kept {
            Some(before) if before.config.waiting == config.waiting => before.room.clone(),
            _ => room(config)?,
        };
        let counts = |counts: fn(&Self) -> &Arc<[Apart]>| match kept.map(counts) {
            Some(before) if before.len() == loops => Arc::clone(before),
            _ => (0..loops).map(|_| Apart::default()).collect(),
        };
        Ok(Self {
            hits: counts(|before| &before.hits),
            misses: counts(|before| &before.misses),
            page: page(config),
            buckets,
            shells,
            room,
            gate: config.access.as_ref().map(Gate::new).transpose()?,
            counts: counts(|before| &before.counts),
            config: config.clone(),
        })
    }

    /// Compresses the pages that were learnt since it was last asked to.
    pub(crate) fn pack_learnt(&self) {
        if let (Some(shells), Some(compress)) = (&self.shells, &self.config.compress) {
            shells.pack(compress);
        }
    }

    /// The pool it goes to.
    pub(crate) fn pool(&self) -> Option<usize> {
        match self.config.action {
            Action::Pool(pool) => Some(pool),
            Action::Redirect { .. } => None,
        }
    }

    /// Requests so far.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|one| one.0.get()).sum()
    }

    /// Those that a copy answered, and those that went on.
    pub(crate) fn cached(&self) -> (u64, u64) {
        let sum = |counts: &[Apart]| counts.iter().map(|one| one.0.get()).sum();
        (sum(&self.hits), sum(&self.misses))
    }

    /// How people call it: what it matches.
    pub(crate) fn name(&self) -> String {
        name(&self.config.matches)
    }
}

/// The fallback of its file, in all codings.
fn page(config: &edge::Route) -> Option<Arc<Page>> {
    let fallback = config.fallback.as_ref()?;
    let page = Page::new(&fallback.media_type, fallback.content.clone());
    let page = match &config.compress {
        Some(compress) => page.packed(compress),
        None => page,
    };
    Some(Arc::new(page))
}

fn room(config: &edge::Route) -> Result<Option<Arc<WaitingRoom>>, Fault> {
    let Some(waiting) = &config.waiting else {
        return Ok(None);
    };
    let id = hash(name(&config.matches).as_bytes());
    let room = WaitingRoom::new(waiting, id).map_err(|_| Fault::NoRandom)?;
    Ok(Some(Arc::new(room)))
}

fn name(matches: &Match) -> String {
    let mut name = matches.hosts.join(",");
    match path(matches) {
        Some(path) => name.push_str(&path),
        None => name.push_str("/*"),
    }
    if !matches.methods.is_empty() {
        name = format!("{} {name}", matches.methods.join(","));
    }
    name
}

/// The path that is matched, as it is written; `None` is any.
pub(crate) fn path(matches: &Match) -> Option<String> {
    match &matches.path {
        PathMatch::Any => None,
        PathMatch::Exact(path) => Some(path.clone()),
        PathMatch::Prefix(path) => Some(format!("{path}*")),
        PathMatch::Regex(expression) => Some(format!("~{expression}")),
    }
}
