//! Reads loads.

pub(super) mod find;
pub(super) mod phases;

use std::time::Duration;

use plimsoll_model::journey::{Journey, UserPhase};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Find, Load};
use plimsoll_model::schedule::{LoadPhase, Spacing};

use find::find;

use super::transport::CONNECTIONS;
use crate::document::Shape::{ListOf, Of, OneOf, Rate, Text};
use crate::document::{
    Count, DocumentKey, DocumentNode, DocumentReader, MapFields, NodeKind, SettingKind as _,
    SettingsMap as _, count, count64, one_of, rate_above_zero, settings, time, time_or_zero,
};
use crate::load::{RateRange, rate_range};
use find::FIND;
pub(crate) use phases::PHASE;
use phases::{Mixed, phases};

/// Default maximum duration of a load with `iterations`.
const HOLD_OF_ITERATIONS: Duration = Duration::from_hours(1);
const USERS_COUNT_MAX: u32 = 10_000_000;
const USERS: Count<u32> = count(1..=USERS_COUNT_MAX);
const CLOSED: Count<u32> = count(CONNECTIONS);
const KINDS: [&str; 7] = [
    "users",
    "rate",
    "sessions",
    "connections",
    "phases",
    "replay",
    "find",
];

settings! {
    /// The load; one of users, rate, sessions, connections, phases, replay, find.
    struct LoadSettings, LOAD "load" {
        /// Concurrent users, each of which repeats its journey until the load ends.
        "users": USERS.shape();
        /// Ramp-up time, over which users start one after another. Default: all at once.
        within: Option<Duration> = None, "within": time_or_zero();
        /// With `users`, instead of `within`: users started per second, `120/s`.
        connect: Option<f64> = None, "connect": rate_above_zero("a rate such as 120/s");
        /// How long the load lasts once all users have started.
        hold: Option<Duration> = None, "hold": time();
        /// Total iterations of all users, after which the load ends. `hold` then defaults to 1h.
        iterations: Option<u64> = None, "iterations": count64(1..=u64::MAX);
        /// Arrival rate, `300/s`, or a ramp from one rate to another, `50/s..300/s`: of users where there are steps,
        /// else of requests.
        "rate": Rate;
        /// Arrival rate of users that go through their journey once and leave.
        "sessions": Rate;
        /// Without steps: connections, each of which sends its next request when the response is complete (closed
        /// loop).
        "connections": CLOSED.shape();
        /// With `connections`: pause between a response and the next request.
        think: Option<Duration> = None, "think": time_or_zero();
        /// Duration of the load.
        lasting: Option<Duration> = None, "for": time();
        /// Distribution of arrivals. Default: `poisson`.
        spacing: Option<Spacing> = None, "spacing": one_of!["poisson" => Spacing::Poisson, "even" => Spacing::Even];
        /// Phases of a load that changes over time.
        "phases": ListOf(&Of(&PHASE));
        /// File of recorded requests that are replayed in order, with their gaps: CSV with the columns `at` (seconds)
        /// and `path`.
        "replay": Text;
        /// With `replay`: speed relative to the recording, `3x`. Default: `1x`.
        "speed": Text;
        /// With `replay`: section of the file. Default: `all`.
        "window": OneOf(&["all", "busiest hour"]);
        /// Search for the highest load that meets the objective.
        "find": Of(&FIND);
    }
}

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
    // The values of all keys are read, whatever the kind of load: one error hides none of the others.
    let settings = LoadSettings::read(reader, &fields);
    let Some((key, value)) = reader.exactly_one(&fields, &KINDS) else {
        // If the kind is ambiguous, the values of each are checked nevertheless.
        for (key, value) in fields.among(&KINDS) {
            check_kind(reader, &key.text, value, journeys);
        }
        return None;
    };
    let spacing = match fields.get("spacing") {
        Some(_) => settings.spacing?,
        None => Spacing::default(),
    };
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
        settings,
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

/// Reports errors of one of several conflicting loads.
fn check_kind(reader: &DocumentReader<'_>, kind: &str, node: &DocumentNode, journeys: &[Journey]) {
    match kind {
        "users" => {
            USERS.read(reader, node);
        }
        "connections" => {
            CLOSED.read(reader, node);
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
    settings: LoadSettings,
    journeys: &'d [Journey],
    spacing: Spacing,
}

impl LoadReader<'_, '_, '_> {
    fn lasting(&self, word: &str) -> Option<Duration> {
        lasting(self.reader, &self.fields, word)
    }

    fn users(&self, node: &DocumentNode) -> Option<Load> {
        let reader = self.reader;
        let users = USERS.read(reader, node).map(f64::from);
        let within = match (self.fields.get("within"), self.fields.entry("connect")) {
            (Some(_), Some((key, _))) => {
                let message = "`within` and `connect` are mutually exclusive";
                let valid = "`within` (ramp-up time) or `connect` (users started per second)";
                reader.report_at(key.span.start, message, valid, None);
                return None;
            }
            (Some(_), None) => self.settings.within?,
            (None, Some(_)) => {
                let seconds = users? / self.settings.connect?;
                Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            }
            (None, None) => Duration::ZERO,
        };
        let iterations = self.settings.iterations;
        if self.fields.get("iterations").is_some() {
            iterations?;
        }
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
            (Some(_), None) => self.settings.hold?,
            (None, Some((_, node))) => {
                let whole = self.settings.lasting?;
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
        let connections = CLOSED.read(self.reader, node);
        let think = match self.fields.get("think") {
            Some(_) => self.settings.think?,
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
