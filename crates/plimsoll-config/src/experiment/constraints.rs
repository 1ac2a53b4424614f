//! Reads constraints on knobs, and the quantities that they use.

mod parse;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::experiment::{Knob, Tuning};
use plimsoll_model::price::HeldResources;

use super::axes::check_name;
use super::numbers::{Dimension, number};
use crate::Problem;
use crate::document::{DocumentNode, DocumentReader, MapFields};
use parse::{ConstraintNames, ParsedConstraint, parse};

/// Constraints of a file at most, and quantities.
const ITEMS_MAX: usize = 100;
/// The memory of the machine is rounded down to this, bytes: with another kernel it differs by a few pages, and an
/// experiment is not another one then.
const MEMORY_STEP: u64 = 64 << 20;

const QUANTITIES_VALID: &str = "quantities such as rss: 180MiB";

/// Numbers by name.
type Quantities = BTreeMap<String, (f64, Dimension)>;

/// Reads `constraints` and `quantities`.
pub(super) fn tuning(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    knobs: Vec<Knob>,
) -> Tuning {
    let quantities = quantities(reader, fields, &knobs);
    let names = ConstraintNames {
        dimensions: knobs.iter().map(dimension).collect(),
        knobs: &knobs,
        quantities: &quantities,
        machine: machine(reader),
    };
    let mut used = BTreeSet::new();
    let mut constraints = Vec::new();
    let nodes = fields
        .get("constraints")
        .map_or(&[][..], |node| reader.one_or_more(node));
    if let Some(node) = nodes.get(ITEMS_MAX) {
        let message = format!("there are {} constraints", nodes.len());
        reader.report(node, message, format!("at most {ITEMS_MAX}"));
    }
    for node in nodes.iter().take(ITEMS_MAX) {
        let valid = "a constraint such as workers * rss + buffers <= 0.8 * memory";
        if let Some(parsed) = reader.value(node, valid, |text| parse(text, &names)) {
            check_default(reader, node, &knobs, &parsed);
            used.extend(parsed.used);
            constraints.push(parsed.constraint);
        }
    }
    let numbers = used.into_iter().filter_map(|name| {
        let (number, _) = names.number(&name)?;
        Some((name, number))
    });
    let quantities = numbers.collect();
    Tuning {
        knobs,
        constraints,
        quantities,
    }
}

fn quantities(reader: &DocumentReader<'_>, fields: &MapFields<'_>, knobs: &[Knob]) -> Quantities {
    const VALID: &str = "a number, a size such as 180MiB or a duration such as 30s";
    let mut quantities = Quantities::new();
    let Some(node) = fields.get("quantities") else {
        return quantities;
    };
    let entries = reader.entries(node, QUANTITIES_VALID).unwrap_or_default();
    if entries.len() > ITEMS_MAX {
        let message = format!("there are {} quantities", entries.len());
        reader.report(node, message, format!("at most {ITEMS_MAX}"));
    }
    for (key, value) in entries.iter().take(ITEMS_MAX) {
        check_name(reader, key, "a quantity");
        if knobs.iter().any(|knob| knob.name == key.text) {
            let message = format!("`{}` is a knob as well", key.text);
            reader.report_at(key.span.start, message, "a name of its own", None);
        }
        let read = reader.value(value, VALID, |text| {
            let problem = || Problem::new(text, 0..text.len(), "not a number", VALID);
            number(text).ok_or_else(problem)
        });
        // An invalid one is kept, so that its uses are not unknown.
        let read = read.unwrap_or((1.0, Dimension::PLAIN));
        quantities.insert(key.text.clone(), read);
    }
    quantities
}

/// The CPUs and the memory of the machine, as far as they are known.
fn machine(reader: &DocumentReader<'_>) -> Option<HeldResources> {
    let machine = reader.machine()?;
    let memory = match machine.memory {
        small @ 0..MEMORY_STEP => small,
        memory => memory - memory % MEMORY_STEP,
    };
    Some(HeldResources { memory, ..machine })
}

/// What the levels of a knob count.
fn dimension(knob: &Knob) -> Dimension {
    let numbers = knob.levels.iter().filter_map(|level| number(level));
    numbers.fold(Dimension::PLAIN, |sum, (_, of_level)| sum.of_sum(of_level))
}

/// Reports a constraint that today's settings do not meet: the search would have nothing to compare with.
fn check_default(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    knobs: &[Knob],
    parsed: &ParsedConstraint,
) {
    let levels: Vec<usize> = knobs.iter().map(|knob| knob.default).collect();
    let constraint = &parsed.constraint;
    if constraint.holds(knobs, &levels) {
        return;
    }
    let members = constraint.knobs();
    let settings = members.iter().filter_map(|knob| {
        let knob = knobs.get(*knob)?;
        let level = knob.levels.get(knob.default)?;
        Some(format!("{}={level}", knob.name))
    });
    let settings: Vec<String> = settings.collect();
    let sides = constraint.sides(knobs, &levels).map(|(left, right)| {
        let [left, right] = [left, right].map(|side| parsed.dimension.text(side));
        format!(": {left} against {right}")
    });
    let message = format!(
        "the constraint `{}` excludes the default {}{}",
        constraint.text(),
        settings.join(" "),
        sides.unwrap_or_default()
    );
    let valid = "a constraint that today's settings meet, or another `default`";
    reader.report(node, message, valid);
}
