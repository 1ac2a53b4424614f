//! What is searched for.

use plimsoll_model::journey::Journey;
use plimsoll_model::plan::{Find, Load, LoadUnit};
use plimsoll_model::schedule::Spacing;

use super::{Effort, FindPlan, RATE_VALID, arrivals, needs_steps, users_range};
use crate::load::rate_range;
use crate::plan::desk::Desk;
use crate::plan::judgement;
use crate::plan::tree::{Key, Kind, Node};
use crate::plan::words::FIND;

pub(super) fn find(
    desk: &Desk<'_>,
    node: &Node,
    journeys: &[Journey],
    spacing: Spacing,
) -> Option<FindPlan> {
    if let Kind::Scalar { text, .. } = &node.kind {
        let words = ["users", "sessions", "rate"].map(|word| (word, ()));
        desk.one_of(node, &words)?;
        let key = Key {
            text: text.clone(),
            span: node.span.clone(),
        };
        needs_steps(desk, &key, text, journeys)?;
        return Some(searched(text, journeys, spacing));
    }
    let fields = desk.fields(node, &FIND)?;
    let objective = match fields.get("objective") {
        Some(node) => judgement::objective(desk, node).map(Some),
        None => Some(None),
    };
    let switch = |word: &str| fields.get(word).and_then(|node| desk.switch(node)) == Some(true);
    let effort = match (switch("quick"), switch("thorough")) {
        (true, true) => {
            let fault = "`quick` and `thorough` cannot stand together";
            desk.fault(node, fault, "one of them");
            None
        }
        (true, false) => Some(Effort::Quick),
        (false, true) => Some(Effort::Thorough),
        (false, false) => Some(Effort::Standard),
    };
    let kinds = ["users", "sessions", "rate"];
    let Some((key, value)) = desk.exactly_one(&fields, &kinds) else {
        for (key, value) in fields.among(&kinds) {
            let unit = searched(&key.text, journeys, spacing).find.unit;
            search_range(desk, value, unit);
        }
        return None;
    };
    let mut found = searched(&key.text, journeys, spacing);
    let range = search_range(desk, value, found.find.unit);
    needs_steps(desk, key, &key.text, journeys)?;
    (found.find.from, found.find.to) = range?;
    (found.objective, found.effort) = (objective?, effort?);
    Some(found)
}

/// Where to search: within bounds, or, behind `true`, anywhere.
fn search_range(
    desk: &Desk<'_>,
    node: &Node,
    unit: LoadUnit,
) -> Option<(Option<f64>, Option<f64>)> {
    if desk.text(node, "true, or a range")? == "true" {
        return Some((None, None));
    }
    let (from, to) = if unit == LoadUnit::Users {
        users_range(desk, node, 1.0)?
    } else {
        let range = desk.value(node, RATE_VALID, rate_range)?;
        (range.from, range.to)
    };
    if from >= to || from <= 0.0 {
        let fault = "this leaves nothing to search";
        desk.fault(node, fault, "an ascending range, or true");
        return None;
    }
    Some((Some(from), Some(to)))
}

/// A search within no bounds. With steps, a rate is one of users, as in `load: { rate: … }`.
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
