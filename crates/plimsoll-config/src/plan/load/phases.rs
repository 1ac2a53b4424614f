//! Reads loads that change over time.

use plimsoll_model::journey::{Journey, UserPhase};
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::{LoadPhase, Spacing};

use super::{RATE_VALID, USERS_COUNT_MAX, arrivals, lasting, needs_steps};
use crate::document::Shape::{Duration, Either, MapOf, Number, Range, Rate};
use crate::document::{DocumentKey, DocumentNode, DocumentReader, KeywordTable, word};
use crate::load::{PHASES_MAX, RateRange, rate_range};

const USERS_MAX: f64 = USERS_COUNT_MAX as f64;

/// The phases, each with the weights of its journeys; empty for their own weights.
pub(super) type Mixed = (LoadPhase, Vec<f64>);

/// One phase of a load.
pub(crate) static PHASE: KeywordTable = KeywordTable {
    name: "phase",
    meaning: "One phase of a load; one of users, rate, sessions, spike.",
    words: &[
        word!(
            "users",
            Range,
            "Users: `100`, `0..100`, or `..100` from the end of the previous phase."
        ),
        word!("rate", Rate, "Arrival rate: `100/s`, `0/s..100/s`."),
        word!("sessions", Rate, "As `rate`."),
        word!(
            "spike",
            Either(&[Range, Rate]),
            "Step change to this number of users, or to this rate (`500/s`)."
        ),
        word!("for", Duration, "Duration of the phase."),
        word!(
            "mix",
            MapOf(&Number),
            "Weights of the journeys in this phase; journeys not listed get no users."
        ),
    ],
};

const USERS_VALID: &str = "a number such as 100, or a range such as 0..100";

/// One phase as read.
enum Stretch {
    Users(UserPhase),
    Arrivals(Mixed),
}

pub(super) fn phases(
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
pub(super) fn users_range(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    level: f64,
) -> Option<(f64, f64)> {
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
