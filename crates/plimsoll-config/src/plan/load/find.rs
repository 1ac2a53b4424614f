//! Reads a load search.

use plimsoll_model::journey::Journey;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Find, Load, LoadUnit};
use plimsoll_model::schedule::Spacing;

use super::phases::users_range;
use super::{Effort, FindPlan, RATE_VALID, arrivals, needs_steps};
use crate::document::Shape::{Range, Rate};
use crate::document::{
    DocumentKey, DocumentNode, DocumentReader, NodeKind, SettingsMap as _, settings, switch,
};
use crate::load::rate_range;
use crate::plan::keywords::OBJECTIVE;
use crate::plan::thresholds;

settings! {
    /// Load search; one of users, sessions, rate.
    struct FindSettings, FIND "find" {
        /// Searches the highest number of users; in a range such as `100..20000`, or `true` for any.
        "users": Range;
        /// Searches the highest arrival rate of users; in a range such as `1/s..300/s`, or `true` for any.
        "sessions": Rate;
        /// Without steps: searches the highest request rate.
        "rate": Rate;
        /// Objective that the load must meet. Default: the objective of the plan.
        objective: Option<Objective> = None, "objective": OBJECTIVE => thresholds::objective;
        /// At most 4 minutes, with a wider confidence interval.
        quick: bool = false, "quick": switch(), unsaid;
        /// Longer trials, a narrower confidence interval, and a soak.
        thorough: bool = false, "thorough": switch(), unsaid;
    }
}

pub(super) fn find(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    journeys: &[Journey],
    spacing: Spacing,
) -> Option<FindPlan> {
    if let NodeKind::Scalar { text, .. } = &node.kind {
        let words = ["users", "sessions", "rate"].map(|word| (word, ()));
        reader.one_of(node, &words)?;
        let key = DocumentKey {
            text: text.clone(),
            span: node.span.clone(),
        };
        needs_steps(reader, &key, text, journeys)?;
        return Some(searched(text, journeys, spacing));
    }
    let fields = reader.fields(node, &FIND)?;
    let settings = FindSettings::read(reader, &fields);
    let effort = match (settings.quick, settings.thorough) {
        (true, true) => {
            let message = "`quick` and `thorough` are mutually exclusive";
            reader.report(node, message, "one of them");
            None
        }
        (true, false) => Some(Effort::Quick),
        (false, true) => Some(Effort::Thorough),
        (false, false) => Some(Effort::Standard),
    };
    let kinds = ["users", "sessions", "rate"];
    let Some((key, value)) = reader.exactly_one(&fields, &kinds) else {
        for (key, value) in fields.among(&kinds) {
            let unit = searched(&key.text, journeys, spacing).find.unit;
            search_range(reader, value, unit);
        }
        return None;
    };
    let mut found = searched(&key.text, journeys, spacing);
    let range = search_range(reader, value, found.find.unit);
    needs_steps(reader, key, &key.text, journeys)?;
    (found.find.from, found.find.to) = range?;
    (found.objective, found.effort) = (settings.objective, effort?);
    Some(found)
}

/// The range of a search, or, for `true`, an open one.
fn search_range(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    unit: LoadUnit,
) -> Option<(Option<f64>, Option<f64>)> {
    if reader.text(node, "true, or a range")? == "true" {
        return Some((None, None));
    }
    let (from, to) = if unit == LoadUnit::Users {
        users_range(reader, node, 1.0)?
    } else {
        let range = reader.value(node, RATE_VALID, rate_range)?;
        (range.from, range.to)
    };
    if from >= to || from <= 0.0 {
        let message = "the range is empty";
        reader.report(node, message, "an ascending range, or true");
        return None;
    }
    Some((Some(from), Some(to)))
}

/// A search without bounds. With steps, a rate is one of users, as in `load: { rate: … }`.
fn searched(word: &str, journeys: &[Journey], spacing: Spacing) -> FindPlan {
    let (unit, load) = match word {
        "users" => {
            let (phases, iterations) = (Vec::new(), None);
            (LoadUnit::Users, Load::Users { phases, iterations })
        }
        _ if journeys.is_empty() => (
            LoadUnit::RequestsPerSecond,
            arrivals(journeys, Vec::new(), spacing),
        ),
        _ => (
            LoadUnit::SessionsPerSecond,
            arrivals(journeys, Vec::new(), spacing),
        ),
    };
    FindPlan {
        find: Find {
            unit,
            from: None,
            to: None,
        },
        load,
        objective: None,
        effort: Effort::default(),
    }
}
