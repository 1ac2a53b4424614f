//! Journeys of a plan, or the one journey that the plan itself describes.

use std::collections::BTreeSet;

use plimsoll_model::distribution::DurationDistribution;
use plimsoll_model::journey::{Journey, TextTemplate};

use super::keywords::{HEADERS, PROCESS_SHAPE};
use super::process::process;
use super::scope::{PlanScope, VisibleSlots, index};
use super::steps::{Walk, can_take_time, names_set};
use crate::distribution::{THINK, duration_distribution};
use crate::document::Shape::{Either, Number, Of, Steps, Text};
use crate::document::{
    DocumentKey, DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count,
    count_as, settings, switch,
};

/// Connections per user and origin of a journey with pages, as browsers have them.
const CONNECTIONS_WITH_PAGES: u32 = 6;
/// Keys of a journey that may also stand at the top level of a plan.
const OWN_WORDS: [&str; 9] = [
    "once",
    "steps",
    "iterations",
    "cookies",
    "cache",
    "forgets",
    "gives_up",
    "connections",
    "process",
];
/// Maximum notes reported per plan.
const NOTES_MAX: usize = 20;
/// Names reserved by templates.
const TAKEN: [&str; 2] = ["user", "iteration"];

settings! {
    /// One journey: a kind of virtual user.
    struct JourneySettings, JOURNEY "journey" {
        /// Share of the users, relative to the weights of the other journeys. Default: 1.
        weight: f64 = 1.0, "weight": Number => weight;
        /// Steps that a user takes once, at the start, with separate statistics. A user whose `once` fails leaves.
        "once": Steps;
        /// Steps that a user repeats.
        "steps": Steps;
        /// Iterations per user. Default: until the load ends.
        iterations: Option<u64> = None, "iterations": count_as::<u64>(1..=u32::MAX);
        /// Whether each user keeps cookies.
        cookies: bool = true, "cookies": switch();
        /// Whether each user has a cache like a browser.
        cache: bool = false, "cache": switch();
        /// Whether each user forgets its cookies and its cache after each iteration, like another visitor.
        forgets: bool = false, "forgets": switch();
        /// How long a user waits for a step before it gives up and leaves for good: `5s`, `1s..15s` or a distribution, from
        /// which each user draws once, when it arrives. Users who gave up count as lost, and others take their places.
        /// Default: users wait until the time-out.
        gives_up: Option<DurationDistribution> = None, "gives_up": Either(&[Text, Of(&THINK)]) => gives_up;
        /// Headers of every request of this journey.
        "headers": HEADERS;
        /// Connections per user and origin. Default: 6 for journeys with pages, else 1.
        connections: Option<u32> = None, "connections": count(1..=6);
        /// External script that drives the users instead of steps: executable and arguments, or a map with options.
        "process": PROCESS_SHAPE;
    }
}

/// Whether a name can be used in a template; reports it if not.
pub(crate) fn check_name(reader: &DocumentReader<'_>, key: &DocumentKey) -> bool {
    let name = key.text.as_str();
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let is_name =
        name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(inside);
    if !is_name {
        let message = format!("`{name}` cannot be used in a template");
        reader.report_at(
            key.span.start,
            message,
            "letters, digits, `_` and `-`, a letter first",
            None,
        );
    } else if TAKEN.contains(&name) {
        let message = format!("`{name}` is reserved for the number of the {name}");
        reader.report_at(key.span.start, message, "another name", None);
        return false;
    }
    is_name
}

/// Reads all journeys of a plan; none for a plan of a URL alone.
pub(crate) fn journeys(
    scope: &mut PlanScope<'_>,
    plan: &MapFields<'_>,
    name: &str,
) -> Vec<Journey> {
    let own = plan.among(&OWN_WORDS);
    let Some((key, node)) = plan.entry("journeys") else {
        if own.is_empty() {
            return Vec::new();
        }
        return vec![journey(scope, plan, name, 0, plan.get("headers"))];
    };
    for (own, _) in own {
        let message = format!("`{}` belongs in one of the journeys", own.text);
        scope.reader.report_at(
            own.span.start,
            message,
            "journeys: { NAME: { steps: [...] } }",
            None,
        );
    }
    let entries = scope
        .reader
        .entries(node, "journeys by name")
        .unwrap_or_default();
    if entries.is_empty() {
        scope.reader.report_at(
            key.span.start,
            "the plan has no journey",
            "at least one journey",
            None,
        );
    }
    let mut journeys = Vec::new();
    for (place, (key, node)) in entries.iter().enumerate() {
        // An invalid journey keeps its place, so that the others keep their index.
        journeys.push(match scope.reader.fields(node, &JOURNEY) {
            Some(fields) => journey(scope, &fields, &key.text, index(place), plan.get("headers")),
            None => Journey {
                name: key.text.clone(),
                ..Journey::default()
            },
        });
    }
    journeys
}

fn journey(
    scope: &mut PlanScope<'_>,
    fields: &MapFields<'_>,
    name: &str,
    place: u32,
    plan_headers: Option<&DocumentNode>,
) -> Journey {
    let reader = scope.reader;
    let known = known_slots(scope, fields);
    let any_order = VisibleSlots {
        known: known.clone(),
        set: None,
    };
    let own_headers = fields
        .get("headers")
        .filter(|own| !plan_headers.is_some_and(|plan| std::ptr::eq(*own, plan)));
    let headers = headers(scope, plan_headers, own_headers, &any_order);
    let mut walk = Walk {
        scope,
        journey: place,
        once: true,
        groups: Vec::new(),
        reach: VisibleSlots {
            known,
            set: Some(BTreeSet::new()),
        },
        has_page: false,
    };
    let once = fields
        .get("once")
        .map(|node| walk.steps(node))
        .unwrap_or_default();
    walk.once = false;
    let steps = fields
        .get("steps")
        .map(|node| walk.steps(node))
        .unwrap_or_default();
    let has_page = walk.has_page;
    note_unused(scope, fields);
    let connections_default = if has_page { CONNECTIONS_WITH_PAGES } else { 1 };
    let process = fields
        .get("process")
        .and_then(|node| process(scope, fields, node));
    let settings = JourneySettings::read(reader, fields);
    let mut iterations = settings.iterations;
    check_steps(reader, fields, &steps);
    if steps.is_empty() && fields.get("process").is_none() {
        // `once` runs a single time and may take no time.
        iterations = Some(1);
    }
    Journey {
        name: name.to_owned(),
        weight: settings.weight,
        once,
        steps,
        iterations,
        cookies: settings.cookies,
        cache: settings.cache,
        forgets: settings.forgets,
        gives_up: settings.gives_up,
        headers,
        connections: settings.connections.unwrap_or(connections_default),
        process,
    }
}

/// Slots of everything that the journey captures or sets, to distinguish a name used too early from an unknown one.
fn known_slots(scope: &mut PlanScope<'_>, fields: &MapFields<'_>) -> BTreeSet<u32> {
    let mut names = Vec::new();
    for word in ["once", "steps"] {
        if let Some(node) = fields.get(word) {
            names_set(node, &mut names);
        }
    }
    let mut known = BTreeSet::new();
    for key in names {
        if !check_name(scope.reader, key) {
            continue;
        }
        if scope.feeds.iter().any(|feed| feed.name == key.text) {
            let message = format!("`{}` is already the name of a data set", key.text);
            scope
                .reader
                .report_at(key.span.start, message, "another name", None);
            continue;
        }
        known.insert(scope.slot(&key.text));
    }
    known
}

/// Notes values that are captured but never used: each costs a search in every response, and may be meant as `expect`.
fn note_unused(scope: &mut PlanScope<'_>, fields: &MapFields<'_>) {
    let mut names = Vec::new();
    for word in ["once", "steps"] {
        if let Some(node) = fields.get(word) {
            names_set(node, &mut names);
        }
    }
    for key in names {
        let name = &key.text;
        if scope.notes.len() < NOTES_MAX && !scope.uses(name) {
            let note = format!(
                "`{name}` is captured but never used; `expect` is shorter if only its presence matters"
            );
            scope.notes.push((key.span.start, note));
        }
    }
}

/// The headers of the plan and the journey; those of the journey override equal names.
fn headers(
    scope: &mut PlanScope<'_>,
    plan: Option<&DocumentNode>,
    own: Option<&DocumentNode>,
    reach: &VisibleSlots,
) -> Vec<(String, TextTemplate)> {
    let mut headers = plan
        .map(|node| scope.headers(node, reach))
        .unwrap_or_default();
    for (name, value) in own
        .map(|node| scope.headers(node, reach))
        .unwrap_or_default()
    {
        headers.retain(|(have, _)| !have.eq_ignore_ascii_case(&name));
        headers.push((name, value));
    }
    headers
}

fn weight(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<f64> {
    let weight = reader.number(node)?;
    if weight <= 0.0 {
        reader.report(
            node,
            "with this weight, the journey gets no users",
            "above 0; otherwise remove the journey",
        );
        return None;
    }
    Some(weight)
}

/// How long users wait before they give up.
fn gives_up(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<DurationDistribution> {
    let patience = duration_distribution(reader, node)?;
    let is_never_above_zero = match patience {
        DurationDistribution::Fixed(longest) | DurationDistribution::Uniform(_, longest) => {
            longest.is_zero()
        }
        // Their means and medians are above 0.
        DurationDistribution::Exponential(_)
        | DurationDistribution::Normal(..)
        | DurationDistribution::LogNormal(..) => false,
    };
    if is_never_above_zero {
        let valid = "above 0, such as 5s, 1s..15s or { exponential: 5s }";
        reader.report(node, "users would not wait for any response", valid);
        return None;
    }
    Some(patience)
}

fn check_steps(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    steps: &[plimsoll_model::journey::Step],
) {
    if fields.get("process").is_some() {
        return;
    }
    match fields.entry("steps") {
        None if fields.get("once").is_none() => {
            reader.report(
                fields.node,
                "the journey has no steps",
                "`steps`, `once` or `process`",
            );
        }
        Some((key, node)) if is_empty(node) => {
            let message = "the list of steps is empty";
            reader.report_at(key.span.start, message, "at least one step", None);
        }
        // Invalid steps are already reported.
        Some((key, _)) if !steps.is_empty() && !can_take_time(steps) => {
            let message = "the steps take no time: users would loop without a pause";
            reader.report_at(
                key.span.start,
                message,
                "at least one request or pause",
                None,
            );
        }
        _ => {}
    }
}

fn is_empty(node: &DocumentNode) -> bool {
    node.is_null() || matches!(&node.kind, NodeKind::List(items) if items.is_empty())
}
