//! Changes of a world, each a line: `web replicas +2`, `cdn off`, `db moved to us-east`.

use super::clients::{RETRIES_MAX, USERS_MAX, WorldDemand};
use super::distances::MissingDistance;
use super::tiers::{REPLICAS_MAX, SERVERS_MAX, Tier};
use super::{World, is_name};
use crate::problem::split_trimmed;
use crate::{Problem, units};

/// Highest factor of a load.
const FACTOR_MAX: f64 = 1_000.0;

const VALID: &str = "TIER replicas +2, TIER servers 8, TIER off, cache busted, client retries x3, client retries 2, load x2, \
     TIER async, query async, or TIER moved to REGION";
const WORDS: [&str; 9] = [
    "replicas", "servers", "off", "cache", "busted", "client", "retries", "async", "moved",
];
const NUMBER_VALID: &str = "a whole number such as 4, or a change such as +2 or -1";

/// A change of a world, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    text: String,
    change: WorldChange,
}

#[derive(Clone, Debug, PartialEq)]
enum WorldChange {
    /// Copies of a tier.
    Replicas { tier: usize, to: u32 },
    /// Servers of each copy of a tier.
    Servers { tier: usize, to: u32 },
    /// Caches without hits.
    CachesOff(Vec<usize>),
    /// So many times the load.
    Load(f64),
    /// Repetitions of a request that failed.
    Retries(u32),
    /// Calls to these tiers let go of the caller's server.
    Async(Vec<usize>),
    /// A tier in another region.
    Moved { tier: usize, region: String },
}

impl WhatIf {
    /// Reads a change of this world.
    ///
    /// # Errors
    /// When it is no change, names no tier of the world, or would change nothing.
    pub fn read(text: &str, world: &World) -> Result<Self, Problem> {
        let change = ChangeReader::new(text, world).change()?;
        Ok(Self {
            text: text.to_owned(),
            change,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The world with the change.
    ///
    /// # Errors
    /// When a tier would have no distance.
    pub fn applied(&self, world: &World) -> Result<World, MissingDistance> {
        let mut world = world.clone();
        match &self.change {
            WorldChange::Replicas { tier, to } => world.tiers[*tier].replicas = *to,
            WorldChange::Servers { tier, to } => world.tiers[*tier].servers = *to,
            WorldChange::CachesOff(tiers) => {
                for tier in tiers {
                    world.tiers[*tier].cache = None;
                }
            }
            WorldChange::Load(factor) => match &mut world.load.demand {
                WorldDemand::Rate(rate) => *rate *= factor,
                WorldDemand::Users { count, .. } => *count = times(*count, *factor),
            },
            WorldChange::Retries(retries) => world.load.retries = *retries,
            WorldChange::Async(tiers) => {
                let calls = world.tiers.iter_mut().flat_map(|tier| &mut tier.calls);
                for call in calls.filter(|call| call.to.iter().any(|to| tiers.contains(to))) {
                    call.blocking = false;
                }
            }
            WorldChange::Moved { tier, region } => {
                world.tiers[*tier].region = Some(region.clone());
                let name = world.tiers[*tier].name.clone();
                world.distances.forget(&name);
                reach(&world)?;
            }
        }
        Ok(world)
    }

    /// What it changes, with the numbers before and after.
    pub fn describe(&self, before: &World) -> String {
        let name = |tier: usize| before.tiers[tier].name.as_str();
        let names = |tiers: &[usize]| {
            let names: Vec<&str> = tiers.iter().map(|tier| name(*tier)).collect();
            names.join(", ")
        };
        match &self.change {
            WorldChange::Replicas { tier, to } => {
                format!(
                    "{}: replicas {} → {to}",
                    name(*tier),
                    before.tiers[*tier].replicas
                )
            }
            WorldChange::Servers { tier, to } => {
                format!(
                    "{}: servers {} → {to}",
                    name(*tier),
                    before.tiers[*tier].servers
                )
            }
            WorldChange::CachesOff(tiers) => format!("no cache hits in {}", names(tiers)),
            WorldChange::Load(factor) => format!("{factor} times the load"),
            WorldChange::Retries(retries) => {
                format!("retries {} → {retries}", before.load.retries)
            }
            WorldChange::Async(tiers) => format!("calls to {} keep no server", names(tiers)),
            WorldChange::Moved { tier, region } => {
                let from = before.tiers[*tier].region.as_deref();
                format!(
                    "{}: {} → {region}",
                    name(*tier),
                    from.unwrap_or("beside its callers")
                )
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of users within its maximum"
)]
fn times(count: u32, factor: f64) -> u32 {
    (f64::from(count) * factor)
        .round()
        .clamp(1.0, f64::from(USERS_MAX)) as u32
}

/// Whether every call has a distance.
fn reach(world: &World) -> Result<(), MissingDistance> {
    for tier in &world.tiers {
        for to in tier.calls.iter().flat_map(|call| &call.to) {
            world.distances.of_call(tier, &world.tiers[*to])?;
        }
    }
    for group in &world.load.groups {
        let to = &world.tiers[group.to];
        world.distances.of_clients(group.region.as_deref(), to)?;
    }
    Ok(())
}

/// Reads a change of a world.
struct ChangeReader<'t> {
    text: &'t str,
    world: &'t World,
    /// Words of the text, each with the byte at which it begins.
    words: Vec<(usize, &'t str)>,
}

impl<'t> ChangeReader<'t> {
    fn new(text: &'t str, world: &'t World) -> Self {
        let words = split_trimmed(text, ' ').filter(|(_, word)| !word.is_empty());
        Self {
            text,
            world,
            words: words.collect(),
        }
    }

    fn change(&self) -> Result<WorldChange, Problem> {
        let words: Vec<&str> = self.words.iter().map(|(_, word)| *word).collect();
        let has_tier = |name: &str| self.world.tier(name).is_some();
        match words.as_slice() {
            ["cache" | "caches", "busted" | "off"] if !has_tier(words[0]) => self.all_caches_off(),
            ["client" | "clients", "retries", _] => self.retries(2),
            ["load", _] if !has_tier("load") => self.factor(1).map(WorldChange::Load),
            ["query" | "queries", "async"] if !has_tier(words[0]) => {
                let all = (0..self.world.tiers.len()).collect();
                self.unblocked(all, 0)
            }
            ["replicas" | "servers", _] => self.number_of(self.entry()?, 0),
            [_, "replicas" | "servers", _] => self.number_of(self.tier_at(0)?, 1),
            [_, "off" | "busted"] => self.cache_off(),
            [_, "async"] => self.unblocked(vec![self.tier_at(0)?], 0),
            [_, "moved", "to", _] => self.moved(),
            [] => Err(self.problem_at(0, "the value is empty", VALID)),
            _ => Err(self.unknown()),
        }
    }

    /// An error of a word; behind the last, at the end.
    fn problem_at(
        &self,
        index: usize,
        message: impl Into<String>,
        valid: impl Into<String>,
    ) -> Problem {
        let span = match self.words.get(index) {
            Some((at, word)) => *at..at + word.len(),
            None => self.text.len()..self.text.len(),
        };
        Problem::new(self.text, span, message, valid)
    }

    /// The first word that is neither one of the grammar nor a tier.
    fn unknown(&self) -> Problem {
        let grammar = ["load", "query", "to", "servers"];
        let is_known = |word: &str| {
            WORDS.contains(&word) || grammar.contains(&word) || self.world.tier(word).is_some()
        };
        let first = self.words.iter().position(|(_, word)| !is_known(word));
        let names: Vec<&str> = self.names().chain(WORDS).chain(grammar).collect();
        self.problem_at(first.unwrap_or(0), "not a change of a world", VALID)
            .with_nearest(&names)
    }

    fn names(&self) -> impl Iterator<Item = &'t str> {
        self.world.tiers.iter().map(|tier| tier.name.as_str())
    }

    fn tier_at(&self, index: usize) -> Result<usize, Problem> {
        let (_, name) = self.words[index];
        if let Some(tier) = self.world.tier(name).or_else(|| self.stand_in(name)) {
            return Ok(tier);
        }
        let names: Vec<&str> = self.names().collect();
        let valid = format!("a tier of the world: {}", names.join(", "));
        let problem = self.problem_at(index, format!("unknown tier `{name}`"), valid);
        Err(problem.with_nearest(&names))
    }

    /// The only tier that a general word can mean: `cdn` that with a cache, `store` that which calls no other.
    fn stand_in(&self, name: &str) -> Option<usize> {
        let is_meant = |tier: &Tier| match name {
            "cdn" => tier.cache.is_some(),
            "store" => tier.calls.is_empty(),
            _ => false,
        };
        let tiers = self.world.tiers.iter().enumerate();
        let mut meant = tiers
            .filter(|(_, tier)| is_meant(tier))
            .map(|(index, _)| index);
        meant.next().filter(|_| meant.next().is_none())
    }

    /// The only tier that clients send to.
    fn entry(&self) -> Result<usize, Problem> {
        let groups = &self.world.load.groups;
        let first = groups.first().map_or(0, |group| group.to);
        if groups.iter().all(|group| group.to == first) {
            return Ok(first);
        }
        let valid = "a tier first, such as web replicas +2";
        Err(self.problem_at(0, "clients send to several tiers", valid))
    }

    /// Copies or servers of a tier; `index` is the word that names which.
    fn number_of(&self, tier: usize, index: usize) -> Result<WorldChange, Problem> {
        let is_replicas = self.words[index].1 == "replicas";
        let (before, max) = if is_replicas {
            (self.world.tiers[tier].replicas, REPLICAS_MAX)
        } else {
            (self.world.tiers[tier].servers, SERVERS_MAX)
        };
        let (_, word) = self.words[index + 1];
        let number = word.trim_start_matches(['+', '-']).parse::<u32>().ok();
        let to = match word.as_bytes().first() {
            Some(b'+') => number.and_then(|number| before.checked_add(number)),
            Some(b'-') => number.and_then(|number| before.checked_sub(number)),
            _ => number,
        };
        let wrong =
            |message: String, valid: String| Err(self.problem_at(index + 1, message, valid));
        match to {
            None => wrong(format!("`{word}` is not a number"), NUMBER_VALID.to_owned()),
            Some(to) if !(1..=max).contains(&to) => wrong(
                format!("{to} is out of range"),
                format!("1 to {max} in all"),
            ),
            Some(to) if to == before => wrong(
                format!("there are {before} already"),
                NUMBER_VALID.to_owned(),
            ),
            Some(to) if is_replicas => Ok(WorldChange::Replicas { tier, to }),
            Some(to) => Ok(WorldChange::Servers { tier, to }),
        }
    }

    fn all_caches_off(&self) -> Result<WorldChange, Problem> {
        let tiers: Vec<usize> = self.cached().collect();
        if tiers.is_empty() {
            let valid = "cache: 90% in a tier of the world";
            return Err(self.problem_at(0, "the world has no cache", valid));
        }
        Ok(WorldChange::CachesOff(tiers))
    }

    fn cached(&self) -> impl Iterator<Item = usize> {
        let tiers = self.world.tiers.iter().enumerate();
        tiers
            .filter(|(_, tier)| tier.cache.is_some())
            .map(|(index, _)| index)
    }

    fn cache_off(&self) -> Result<WorldChange, Problem> {
        let tier = self.tier_at(0)?;
        if self.world.tiers[tier].cache.is_some() {
            return Ok(WorldChange::CachesOff(vec![tier]));
        }
        let cached = self
            .cached()
            .map(|index| self.world.tiers[index].name.as_str());
        let cached: Vec<&str> = cached.collect();
        let valid = if cached.is_empty() {
            "cache: 90% in a tier of the world".to_owned()
        } else {
            format!("a tier with a cache: {}", cached.join(", "))
        };
        let message = format!("`{}` has no cache", self.world.tiers[tier].name);
        Err(self.problem_at(0, message, valid))
    }

    /// `x3` is a broken client that sends each request three times; `3` repeats what failed, up to three times.
    fn retries(&self, index: usize) -> Result<WorldChange, Problem> {
        let (_, word) = self.words[index];
        if word.starts_with(['x', '×']) {
            return self.factor(index).map(WorldChange::Load);
        }
        let retries = word
            .parse::<u32>()
            .ok()
            .filter(|retries| *retries <= RETRIES_MAX);
        let retries = retries.ok_or_else(|| {
            let valid = format!(
                "0 to {RETRIES_MAX} for what failed, or a factor such as x3 for clients that send every request three times"
            );
            self.problem_at(index, format!("`{word}` is not a number of retries"), valid)
        })?;
        Ok(WorldChange::Retries(retries))
    }

    fn factor(&self, index: usize) -> Result<f64, Problem> {
        let (_, word) = self.words[index];
        let number = word
            .strip_prefix(['x', '×'])
            .and_then(|number| number.parse::<f64>().ok());
        let factor = number.filter(|factor| *factor > 0.0 && *factor <= FACTOR_MAX);
        let factor = factor.ok_or_else(|| {
            let valid = "a factor such as x3, up to x1000";
            self.problem_at(index, format!("`{word}` is not a factor"), valid)
        })?;
        match &self.world.load.demand {
            WorldDemand::Rate(rate) if rate * factor > units::RATE_MAX => {
                let message = format!("the load would be {:.0}/s", rate * factor);
                Err(self.problem_at(index, message, "at most 10000000/s in all"))
            }
            WorldDemand::Users { count, .. }
                if f64::from(*count) * factor > f64::from(USERS_MAX) =>
            {
                let message = format!("the load would be {:.0} users", f64::from(*count) * factor);
                let valid = format!("at most {USERS_MAX} users in all");
                Err(self.problem_at(index, message, valid))
            }
            _ => Ok(factor),
        }
    }

    /// Those of the tiers that are called by a blocking call.
    fn unblocked(&self, tiers: Vec<usize>, index: usize) -> Result<WorldChange, Problem> {
        let blocks = |tier: &usize| {
            let mut calls = self.world.tiers.iter().flat_map(|caller| &caller.calls);
            calls.any(|call| call.blocking && call.to.contains(tier))
        };
        let tiers: Vec<usize> = tiers.into_iter().filter(blocks).collect();
        if !tiers.is_empty() {
            return Ok(WorldChange::Async(tiers));
        }
        let valid = "a tier that others call with `blocking: true`";
        Err(self.problem_at(index, "no call blocks there", valid))
    }

    fn moved(&self) -> Result<WorldChange, Problem> {
        let tier = self.tier_at(0)?;
        let (_, region) = self.words[3];
        let known = || {
            self.world
                .distances
                .table()
                .regions()
                .collect::<Vec<&str>>()
        };
        if !is_name(region) || !self.world.distances.has_region(region) {
            let valid = format!(
                "a region of a link, or of the table: {}",
                known().join(", ")
            );
            let problem = self.problem_at(3, format!("unknown region `{region}`"), valid);
            return Err(problem.with_nearest(&known()));
        }
        let tiers = self.world.tiers.iter().enumerate();
        let mut others = tiers.filter(|(index, _)| *index != tier);
        let is_somewhere = others.any(|(_, other)| other.region.is_some())
            || self
                .world
                .load
                .groups
                .iter()
                .any(|group| group.region.is_some());
        if !is_somewhere {
            let message = "nothing else has a region, so nothing becomes nearer or farther";
            return Err(self.problem_at(3, message, "region: … in the other tiers of the world"));
        }
        let change = WorldChange::Moved {
            tier,
            region: region.to_owned(),
        };
        // Refused here, so that the place is known.
        let trial = WhatIf {
            text: String::new(),
            change: change.clone(),
        };
        match trial.applied(self.world) {
            Ok(_) => Ok(change),
            Err(missing) => Err(self.problem_at(3, missing.to_string(), missing.remedy())),
        }
    }
}
