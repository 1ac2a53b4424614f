//! Reads loads.

mod find;

use std::time::Duration;

use plimsoll_model::journey::{Journey, UserPhase};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Find, Load};
use plimsoll_model::schedule::{LoadPhase, Spacing};

use find::find;

use super::keywords::{LOAD, PHASE};
use crate::document::{DocumentKey, DocumentNode, DocumentReader, MapFields, NodeKind};
use crate::load::{PHASES_MAX, RateRange, rate_range};
use crate::units;

/// Default maximum duration of a load with `iterations`.
const HOLD_OF_ITERATIONS: Duration = Duration::from_hours(1);
const USERS_COUNT_MAX: u32 = 10_000_000;
const USERS_MAX: f64 = USERS_COUNT_MAX as f64;
const CONNECTIONS_MAX: u32 = 1_000_000;
const KINDS: [&str; 7] = [
    "users",
    "rate",
    "sessions",
    "connections",
    "phases",
    "replay",
    "find",
];

/// The load of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadPlan {
    /// A fixed load.
    Fixed(Load),
    /// A search for the highest load that meets an objective.
    Find(FindPlan),
}

/// A load search.
#[derive(Clone, Debug, PartialEq)]
pub struct FindPlan {
    /// Unit and range.
    pub find: Find,
    /// Arrivals of users or requests; their number is what is searched.
    pub load: Load,
    /// The objective; `None` for that of the plan.
    pub objective: Option<Objective>,
    /// Time budget.
    pub effort: Effort,
}

/// Time budget of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// At most 4 minutes.
    Quick,
    /// At most 15 minutes.
    #[default]
    Standard,
    /// An hour at most.
    Thorough,
}

/// Reads `load:`. Without journeys, arrivals are requests.
pub(crate) fn load(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    journeys: &[Journey],
) -> Option<LoadPlan> {
    if matches!(node.kind, NodeKind::List(_)) {
        return phases(reader, node, journeys, Spacing::default()).map(LoadPlan::Fixed);
    }
    let fields = reader.fields(node, &LOAD)?;
    check_values(reader, &fields);
    let Some((key, value)) = reader.exactly_one(&fields, &KINDS) else {
        // If the kind is ambiguous, the values of each are checked nevertheless.
        for (key, value) in fields.among(&KINDS) {
            check_kind(reader, &key.text, value, journeys);
        }
        return None;
    };
    let spacing = spacing(reader, &fields)?;
    let kind = key.text.as_str();
    let allowed: &[&str] = match kind {
        "users" => &["within", "connect", "hold", "for", "iterations"],
        "rate" | "sessions" => &["for", "spacing"],
        "connections" => &["for", "think"],
        _ => &["spacing"],
    };
    reader.only(&fields, kind, allowed, &LOAD);
    needs_steps(reader, key, kind, journeys)?;
    let load_reader = LoadReader {
        reader,
        fields,
        journeys,
        spacing,
    };
    let fixed = match kind {
        "users" => load_reader.users(value),
        "connections" => load_reader.connections(value),
        "phases" => phases(reader, value, journeys, spacing),
        "find" => return find(reader, value, journeys, spacing).map(LoadPlan::Find),
        _ => load_reader.arrivals(value),
    };
    fixed.map(LoadPlan::Fixed)
}

fn spacing(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Option<Spacing> {
    match fields.get("spacing") {
        Some(node) => reader.one_of(
            node,
            &[("poisson", Spacing::Poisson), ("even", Spacing::Even)],
        ),
        None => Some(Spacing::default()),
    }
}

/// Reports errors of common keys, whatever the kind of load: one error hides none of the others.
fn check_values(reader: &DocumentReader<'_>, fields: &MapFields<'_>) {
    for (key, node) in fields.among(&[
        "within",
        "think",
        "hold",
        "for",
        "iterations",
        "spacing",
        "connect",
    ]) {
        match key.text.as_str() {
            "within" | "think" => {
                reader.duration(node);
            }
            "hold" | "for" => {
                reader.duration_above_zero(node);
            }
            "iterations" => {
                reader.count(node, 1..=u64::MAX);
            }
            "connect" => {
                reader.value(node, "a rate such as 120/s", units::rate_above_zero);
            }
            _ => {
                spacing(reader, fields);
            }
        }
    }
}

/// Reports errors of one of several conflicting loads.
fn check_kind(reader: &DocumentReader<'_>, kind: &str, node: &DocumentNode, journeys: &[Journey]) {
    match kind {
        "users" => {
            reader.count32(node, 1..=USERS_COUNT_MAX);
        }
        "connections" => {
            reader.count32(node, 1..=CONNECTIONS_MAX);
        }
        "rate" | "sessions" => {
            reader.value(node, RATE_VALID, rate_range);
        }
        "phases" => {
            phases(reader, node, journeys, Spacing::default());
        }
        "find" => {
            find(reader, node, journeys, Spacing::default());
        }
        _ => {}
    }
}

/// Reports loads that do not fit the plan: users and sessions need steps; connections exclude them.
fn needs_steps(
    reader: &DocumentReader<'_>,
    key: &DocumentKey,
    kind: &str,
    journeys: &[Journey],
) -> Option<()> {
    let (message, valid) = match (kind, journeys.is_empty()) {
        ("users" | "sessions", true) => (
            format!("`{kind}` need steps, but the plan has none"),
            "`rate` or `connections`, or a plan with journeys",
        ),
        ("connections", false) => (
            "a plan with journeys needs a load of users".to_owned(),
            "users, rate, sessions, phases or find",
        ),
        _ => return Some(()),
    };
    reader.report_at(key.span.start, message, valid, None);
    None
}

/// The phases, each with the weights of its journeys; empty for their own weights.
type Mixed = (LoadPhase, Vec<f64>);

fn arrivals(journeys: &[Journey], phases: Vec<Mixed>, spacing: Spacing) -> Load {
    let (phases, mut mixes): (Vec<_>, Vec<_>) = phases.into_iter().unzip();
    if journeys.is_empty() {
        return Load::Open { phases, spacing };
    }
    if mixes.iter().all(Vec::is_empty) {
        mixes.clear();
    }
    Load::Sessions {
        phases,
        spacing,
        mixes,
    }
}

struct LoadReader<'d, 'a, 'n> {
    reader: &'d DocumentReader<'a>,
    fields: MapFields<'n>,
    journeys: &'d [Journey],
    spacing: Spacing,
}

impl LoadReader<'_, '_, '_> {
    fn lasting(&self, word: &str) -> Option<Duration> {
        lasting(self.reader, &self.fields, word)
    }

    fn users(&self, node: &DocumentNode) -> Option<Load> {
        let reader = self.reader;
        let users = reader.count32(node, 1..=USERS_COUNT_MAX).map(f64::from);
        let within = match (self.fields.get("within"), self.fields.entry("connect")) {
            (Some(_), Some((key, _))) => {
                let message = "`within` and `connect` are mutually exclusive";
                let valid = "`within` (ramp-up time) or `connect` (users started per second)";
                reader.report_at(key.span.start, message, valid, None);
                return None;
            }
            (Some(node), None) => reader.duration(node)?,
            (None, Some((_, node))) => {
                let rate = reader.value(node, "a rate such as 120/s", units::rate_above_zero)?;
                let seconds = users? / rate;
                Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            }
            (None, None) => Duration::ZERO,
        };
        let iterations = match self.fields.get("iterations") {
            Some(node) => Some(reader.count(node, 1..=u64::MAX)?),
            None => None,
        };
        let is_bounded = iterations.is_some()
            || self
                .journeys
                .iter()
                .all(|journey| journey.iterations.is_some());
        let hold = match (self.fields.get("hold"), self.fields.entry("for")) {
            (Some(_), Some((key, _))) => {
                let message = "`hold` and `for` are mutually exclusive";
                let valid = "`hold` (after the ramp-up) or `for` (total duration)";
                reader.report_at(key.span.start, message, valid, None);
                return None;
            }
            (Some(node), None) => reader.duration_above_zero(node)?,
            (None, Some((_, node))) => {
                let whole = reader.duration_above_zero(node)?;
                if whole < within {
                    reader.report(
                        node,
                        "the load ends before all users have started",
                        "longer than `within`",
                    );
                    return None;
                }
                whole.saturating_sub(within)
            }
            (None, None) if is_bounded => HOLD_OF_ITERATIONS,
            (None, None) => self.lasting("hold")?,
        };
        let users = users?;
        let phase = |from, lasting| UserPhase {
            from,
            to: users,
            lasting,
            mix: Vec::new(),
        };
        let phases = [phase(0.0, within), phase(users, hold)];
        let phases = phases.into_iter().filter(|phase| !phase.lasting.is_zero());
        Some(Load::Users {
            phases: phases.collect(),
            iterations,
        })
    }

    fn connections(&self, node: &DocumentNode) -> Option<Load> {
        let connections = self.reader.count32(node, 1..=CONNECTIONS_MAX);
        let think = match self.fields.get("think") {
            Some(node) => self.reader.duration(node)?,
            None => Duration::ZERO,
        };
        let lasting = self.lasting("for");
        Some(Load::Closed {
            connections: connections?,
            think,
            lasting: lasting?,
        })
    }

    fn arrivals(&self, node: &DocumentNode) -> Option<Load> {
        let range = self.reader.value(node, RATE_VALID, rate_range);
        let lasting = self.lasting("for");
        let RateRange { from, to } = range?;
        Some(arrivals(
            self.journeys,
            vec![(LoadPhase::ramp(from, to, lasting?), Vec::new())],
            self.spacing,
        ))
    }
}

/// A required duration.
fn lasting(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> Option<Duration> {
    let Some(node) = fields.get(word) else {
        let valid = format!("{word}: a duration such as 5m");
        reader.report(fields.node, "the duration is missing", valid);
        return None;
    };
    reader.duration_above_zero(node)
}

const RATE_VALID: &str = "a rate such as 300/s, or a range such as 50/s..300/s";
const USERS_VALID: &str = "a number such as 100, or a range such as 0..100";

/// One phase as read.
enum Stretch {
    Users(UserPhase),
    Arrivals(Mixed),
}

fn phases(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    journeys: &[Journey],
    spacing: Spacing,
) -> Option<Load> {
    let items = reader.list(node, "phases, such as { users: 100, for: 1m }");
    if items.is_empty() || items.len() > PHASES_MAX {
        reader.report(
            node,
            format!("the load has {} phases", items.len()),
            "1 to 10,000 phases",
        );
        return None;
    }
    let mut users = Vec::new();
    let mut rates = Vec::new();
    let (mut is_whole, mut is_mixed) = (true, false);
    let mut level = 0.0;
    for item in items {
        match phase(reader, item, journeys, level) {
            Some(Stretch::Users(phase)) => {
                level = phase.to;
                users.push(phase);
            }
            Some(Stretch::Arrivals(phase)) => {
                level = phase.0.to;
                rates.push(phase);
            }
            None => is_whole = false,
        }
        if !users.is_empty() && !rates.is_empty() && !is_mixed {
            let message = "phases of users and of arrivals are mixed";
            let valid = "phases of users, or phases of rate and sessions";
            reader.report(item, message, valid);
            is_mixed = true;
        }
    }
    match (is_whole && !is_mixed, users.is_empty()) {
        (false, _) => None,
        (true, true) => Some(arrivals(journeys, rates, spacing)),
        (true, false) => Some(Load::Users {
            phases: users,
            iterations: None,
        }),
    }
}

fn phase(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    journeys: &[Journey],
    level: f64,
) -> Option<Stretch> {
    let fields = reader.fields(node, &PHASE)?;
    let lasting = lasting(reader, &fields, "for");
    let mix = match fields.entry("mix") {
        Some((key, _)) if journeys.is_empty() => {
            let message = "`mix` needs journeys";
            reader.report_at(key.span.start, message, "a plan with journeys", None);
            None
        }
        Some((_, node)) => mix(reader, node, journeys),
        None => Some(Vec::new()),
    };
    let kinds = ["users", "rate", "sessions", "spike"];
    let Some((key, value)) = reader.exactly_one(&fields, &kinds) else {
        for (key, value) in fields.among(&kinds) {
            level_of(reader, key, value, level);
        }
        return None;
    };
    let level = level_of(reader, key, value, level);
    let is_users = match level {
        Some(Level::Users(..)) => true,
        Some(Level::Rate(_)) => false,
        None => key.text == "users",
    };
    let kind = if is_users { "users" } else { &key.text };
    needs_steps(reader, key, kind, journeys)?;
    let (mix, lasting) = (mix?, lasting?);
    Some(match level? {
        Level::Users(from, to) => Stretch::Users(UserPhase {
            from,
            to,
            lasting,
            mix,
        }),
        Level::Rate(range) => {
            Stretch::Arrivals((LoadPhase::ramp(range.from, range.to, lasting), mix))
        }
    })
}

/// The level of a phase.
enum Level {
    Users(f64, f64),
    Rate(RateRange),
}

/// Reads the level of a phase that follows another.
fn level_of(
    reader: &DocumentReader<'_>,
    key: &DocumentKey,
    value: &DocumentNode,
    before: f64,
) -> Option<Level> {
    let is_users = match key.text.as_str() {
        "users" => true,
        "spike" => !reader.scalar(value, "5000, or 500/s")?.contains('/'),
        _ => false,
    };
    if is_users {
        return users_range(reader, value, before).map(|(from, to)| Level::Users(from, to));
    }
    let text = reader.text(value, RATE_VALID)?;
    // A pause is a phase without arrivals.
    let range = match text.trim() {
        "0" | "0/s" => RateRange { from: 0.0, to: 0.0 },
        _ => reader.value(value, RATE_VALID, rate_range)?,
    };
    Some(Level::Rate(range))
}

/// `100`, `0..100`, `..100` from the previous level.
fn users_range(reader: &DocumentReader<'_>, node: &DocumentNode, level: f64) -> Option<(f64, f64)> {
    let text = reader.text(node, USERS_VALID)?;
    let read = |bound: &str| {
        let count: Option<u32> = bound.trim().replace('_', "").parse().ok();
        count.map(f64::from).filter(|count| *count <= USERS_MAX)
    };
    let range = match text.split_once("..") {
        None => read(&text).map(|users| (users, users)),
        Some(("", to)) => read(to).map(|to| (level, to)),
        Some((from, to)) => read(from).zip(read(to)),
    };
    if range.is_none() {
        let message = format!("`{text}` is not a number of users");
        reader.report(node, message, format!("{USERS_VALID}; at most 10,000,000"));
    }
    range
}

/// Weights by index of the journeys; those that are not named get 0.
fn mix(reader: &DocumentReader<'_>, node: &DocumentNode, journeys: &[Journey]) -> Option<Vec<f64>> {
    let names: Vec<&str> = journeys
        .iter()
        .map(|journey| journey.name.as_str())
        .collect();
    let mut weights = vec![0.0; journeys.len()];
    let mut is_whole = true;
    for (key, value) in reader.entries(node, "journeys and weights")? {
        let weight = reader.number(value);
        is_whole &= weight.is_some();
        if let Some(place) = names.iter().position(|name| *name == key.text) {
            weights[place] = weight.unwrap_or_default();
        } else {
            reader.unknown(&key.span, "journey", &key.text, &names);
            is_whole = false;
        }
    }
    if is_whole && weights.iter().sum::<f64>() <= 0.0 {
        reader.report(
            node,
            "all journeys of the mix have weight 0",
            "at least one weight above 0",
        );
        return None;
    }
    is_whole.then_some(weights)
}
