//! Reads objectives, thresholds by scope, and abort conditions.

use std::ops::RangeInclusive;
use std::time::Duration;

use plimsoll_model::journey::{Abort, Journey, Scope, StepInfo, Threshold};
use plimsoll_model::objective::Objective;

use crate::document::Shape::Text;
use crate::document::{
    DocumentKey, DocumentNode, DocumentReader, NodeKind, SettingsMap as _, settings, time,
};
use crate::problem::nearest;
use crate::{Problem, objective as objectives};

const VALID: &str = "an objective such as `p95 < 800ms, errors < 1%`";
const SCOPES_VALID: &str = "everything, journey NAME, step LABEL or group NAME";
/// Shortest and longest window of an abort condition.
const OVER: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

settings! {
    /// Condition that ends a run early.
    struct AbortSettings, ABORT "abort" {
        /// The condition: `errors > 50%`, `p95 > 5s`.
        "when": Text;
        /// How long the condition must hold.
        over: Duration = Duration::from_secs(10), "over": time();
    }
}

/// One objective, or a list that is merged into one.
pub(crate) fn objective(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Objective> {
    merged_objective(reader, node, objectives::objective)
}

fn merged_objective(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    read: fn(&str) -> Result<Objective, Problem>,
) -> Option<Objective> {
    let mut whole = Objective {
        latency: Vec::new(),
        errors_max: None,
        ..Objective::default()
    };
    let mut is_whole = true;
    for item in reader.one_or_more(node) {
        match reader.value(item, VALID, read) {
            Some(item_objective) => {
                whole.latency.extend(item_objective.latency);
                if whole.errors_max.is_some() && item_objective.errors_max.is_some() {
                    reader.report(item, "duplicate bound on errors", "one bound on errors");
                    is_whole = false;
                }
                if whole.mean_us_max.is_some() && item_objective.mean_us_max.is_some() {
                    reader.report(
                        item,
                        "duplicate bound on the average",
                        "one bound on the average",
                    );
                    is_whole = false;
                }
                if whole.reach_min.is_some() && item_objective.reach_min.is_some() {
                    reader.report(item, "duplicate bound on reach", "one bound on reach");
                    is_whole = false;
                }
                whole.broadcast.extend(item_objective.broadcast);
                whole.reach_min = whole.reach_min.or(item_objective.reach_min);
                whole.errors_max = whole.errors_max.or(item_objective.errors_max);
                whole.mean_us_max = whole.mean_us_max.or(item_objective.mean_us_max);
            }
            None => is_whole = false,
        }
    }
    if is_whole && whole.is_empty() {
        reader.report(node, "the value is empty", VALID);
        return None;
    }
    is_whole.then_some(whole)
}

/// Thresholds by scope; a text or a list applies to everything.
pub(crate) fn thresholds(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    journeys: &[Journey],
    steps: &[StepInfo],
) -> Vec<Threshold> {
    if matches!(node.kind, NodeKind::Scalar { .. } | NodeKind::List(_)) {
        let objective = merged_objective(reader, node, objectives::threshold);
        return objective
            .map(|objective| Threshold {
                scope: Scope::Everything,
                objective,
            })
            .into_iter()
            .collect();
    }
    let mut thresholds = Vec::new();
    for (key, value) in reader.entries(node, SCOPES_VALID).unwrap_or_default() {
        let scope = scope(reader, key, journeys, steps);
        let objective = merged_objective(reader, value, objectives::threshold);
        if let (Some(scope), Some(objective)) = (&scope, &objective)
            && *scope != Scope::Everything
            && objective.has_broadcast_bounds()
        {
            let message = "broadcasts are counted for the whole run, not by scope";
            reader.report(
                value,
                message,
                "bounds on broadcasts and reach under `everything`",
            );
        }
        if let (Some(scope), Some(objective)) = (scope, objective) {
            thresholds.push(Threshold { scope, objective });
        }
    }
    thresholds
}

fn scope(
    reader: &DocumentReader<'_>,
    key: &DocumentKey,
    journeys: &[Journey],
    steps: &[StepInfo],
) -> Option<Scope> {
    let written = key.text.trim();
    if written == "everything" {
        return Some(Scope::Everything);
    }
    let Some((word, name)) = written.split_once(' ') else {
        let message = format!("unknown scope `{written}`");
        let near = nearest(written, &["everything", "journey", "step", "group"]);
        reader.report_at(key.span.start, message, SCOPES_VALID, near);
        return None;
    };
    let name = name.trim();
    let names: Vec<&str> = match word {
        "journey" => journeys
            .iter()
            .map(|journey| journey.name.as_str())
            .collect(),
        "step" => steps.iter().map(|step| step.label.as_str()).collect(),
        "group" => steps
            .iter()
            .flat_map(|step| step.groups.iter().map(String::as_str))
            .collect(),
        _ => {
            let message = format!("unknown scope `{word}`");
            let near = nearest(word, &["everything", "journey", "step", "group"]);
            reader.report_at(key.span.start, message, SCOPES_VALID, near);
            return None;
        }
    };
    // Steps of an external script are only known at run time.
    if word == "step" && journeys.iter().any(|journey| journey.process.is_some()) {
        return Some(Scope::Step(name.to_owned()));
    }
    let Some(place) = names.iter().position(|have| *have == name) else {
        let mut known = names;
        known.sort_unstable();
        known.dedup();
        reader.unknown(&key.span, word, name, &known);
        return None;
    };
    Some(match word {
        "journey" => Scope::Journey(super::scope::index(place)),
        "step" => Scope::Step(name.to_owned()),
        _ => Scope::Group(name.to_owned()),
    })
}

/// Abort conditions.
pub(crate) fn aborts(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<Abort> {
    let mut aborts = Vec::new();
    for item in reader.one_or_more(node) {
        let Some(fields) = reader.fields(item, &ABORT) else {
            continue;
        };
        let Some(when) = fields.get("when") else {
            reader.report(
                item,
                "`when` is missing",
                "{ when: 'errors > 50%', over: 10s }",
            );
            continue;
        };
        let objective = reader.value(when, "a condition such as errors > 50%", opposite);
        let over = AbortSettings::read(reader, &fields).over;
        if !OVER.contains(&over) {
            reader.report(item, "the window is out of range", "1s to 1h");
            continue;
        }
        if objective
            .as_ref()
            .is_some_and(Objective::has_broadcast_bounds)
        {
            let message = "reach is only known at the end of the run";
            reader.report(
                when,
                message,
                "errors > 50% or p95 > 5s; bounds on broadcasts in `thresholds`",
            );
            continue;
        }
        if let Some(objective) = objective {
            aborts.push(Abort { objective, over });
        }
    }
    aborts
}

/// The objective that is the negation of a condition: `errors > 50%`.
fn opposite(text: &str) -> Result<Objective, Problem> {
    const VALID: &str = "a comparison with `>`, such as errors > 50% or p95 > 5s";
    let Some(at) = text.find(['<', '>']) else {
        return Err(Problem::new(text, 0..text.len(), "`>` is missing", VALID));
    };
    if text[at..].starts_with('<') {
        let message = "the condition would end a run that meets its objective";
        return Err(Problem::new(text, at..at + 1, message, VALID));
    }
    objectives::threshold(&text.replace('>', "<")).map_err(|problem| problem.within(text, 0))
}
