//! The file of an experiment: axes or knobs, what is applied for each level, and what a trial measures.
//!
//! [`read`] collects all errors of a file, each with line and column. Texts may contain `{{ AXIS }}`, the level of the
//! cell; values with a type (numbers, sizes, loads) are checked in every cell. A plan that the file names is read by the
//! caller, as is its own load.

mod apply;
mod axes;
mod checks;
mod commands;
mod constraints;
mod knobs;
mod measure;
mod numbers;
mod prices;
mod reference;
mod scope;
#[cfg(test)]
mod tests;

use std::time::Duration;

use plimsoll_model::experiment::{Experiment, Setup, TOTAL_MAX, TRIALS_MAX, TrialOrder, Tuning};

use crate::document::Shape::{
    Duration as DurationShape, Either, ListOf, MapOf, Number, Of, OneOf, OneOrMore, Size, Text,
};
use crate::document::{
    Diagnostics, DocumentNode, DocumentReader, MapFields, SettingsMap as _, Surroundings, count,
    count64, one_of, required, settings, text, time_or_zero,
};
use crate::price::PRICE;
use crate::units;
use apply::APPLY;
use axes::AXIS;
use checks::{READY, WARM};
use commands::COMMAND_SHAPE;
use knobs::{KNOB, KnobsRead};
use measure::MEASURE;
use scope::ExperimentScope;

pub use reference::{reference, schema};

/// Maximum size of an experiment file, bytes.
pub const EXPERIMENT_LEN_MAX: u64 = 4 << 20;

settings! {
    /// An experiment file: with `axes` for `plimsoll matrix`, with `knobs` for `plimsoll tune`.
    struct ExperimentSettings, EXPERIMENT "experiment" {
        /// Short name for files and headings. Default: the file name.
        name: Option<String> = None, "name": text(
            "1 to 64 letters, digits, `-`, `_` and `.`, not beginning with `.`"
        ).that(is_name, "a valid name");
        /// What is varied: the levels of each axis, by name. Without `zip`, `exclude` and `only_if`, every combination
        /// is a cell; at most 10,000 cells.
        "axes": MapOf(&Either(&[ListOf(&Text), Of(&AXIS)]));
        /// What `plimsoll tune` varies, by name: a list of 2 to 16 levels, of which the first stands today, or a map. At most
        /// 16 knobs. Instead of `axes`, and without `zip`, `exclude`, `only_if`, `trials` and `order`.
        "knobs": MapOf(&Either(&[ListOf(&Text), Of(&KNOB)]));
        /// What must hold between knobs: `workers * rss + buffers <= 0.8 * memory`, with `+ - * / ( )` and `<=`, `<`, `>=`,
        /// `>`, `==` or `!=`. Names are knobs, `quantities`, and `memory` (bytes) and `cpus` of the machine. Numbers may be
        /// sizes or durations. A level that is not a number is compared alone: `cache != off`. Settings that a constraint
        /// excludes are never tried; those that stand today must meet all.
        "constraints": OneOrMore(&Text);
        /// Numbers, sizes or durations that constraints use, by name: `rss: 180MiB`.
        "quantities": MapOf(&Either(&[Number, Size, DurationShape]));
        /// Axes that advance together, as a list of names; or several such lists. They need equally many levels.
        "zip": Either(&[ListOf(&Text), ListOf(&ListOf(&Text))]);
        /// Combinations that are left out: `{ cores: 1, workers: [8, 16] }`, or a list of these.
        "exclude": OneOrMore(&MapOf(&OneOrMore(&Text)));
        /// Axes that are varied under a condition alone: `ttl: { cache: [page, fragments] }`. In other cells, what
        /// mentions the axis is left out.
        "only_if": MapOf(&MapOf(&OneOrMore(&Text)));
        /// Trials of each cell; each is in another block.
        trials: u32 = 3, "trials": count(1..=1000);
        /// Order of the cells in a block; with `listed`, drift of the machine looks like an effect.
        order: TrialOrder = TrialOrder::Random, "order": one_of![
            "random" => TrialOrder::Random,
            "listed" => TrialOrder::Listed,
        ];
        /// Seed of the order. Default: a random seed, which is printed.
        seed: Option<u64> = None, "seed": count64(0..=u64::MAX);
        /// What a trial measures.
        "measure": Of(&MEASURE);
        /// How levels are applied; a list for several services.
        "apply": OneOrMore(&Of(&APPLY));
        /// When the service is ready: a URL, `host:port`, or a map. Default: nothing is checked.
        "ready": Either(&[Text, Of(&READY)]);
        /// Health check after the trial. Default: that of `ready`.
        "health": Either(&[Text, Of(&READY)]);
        /// Load before each trial that is not measured: a duration, or `steady` until the response time is steady.
        /// Default: none.
        "warm": Either(&[DurationShape, OneOf(&["steady"]), Of(&WARM)]);
        /// Command that restores the stores before each trial.
        "reset": COMMAND_SHAPE;
        /// What the service costs; values may contain `{{ AXIS }}`. Default: that of the plan.
        "price": Of(&PRICE);
        /// Longest wait until connections and CPU are at rest before a trial.
        settle: Duration = Duration::from_mins(1), "settle": time_or_zero();
    }
}

fn is_name(name: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.len() <= 64 && !name.starts_with('.') && name.chars().all(is_safe)
}

/// Reads an experiment file; `name` is the default of its name.
///
/// # Errors
/// All errors of the file together.
pub fn read(
    text: &str,
    name: &str,
    surroundings: &dyn Surroundings,
) -> Result<Experiment, Diagnostics> {
    let reader = DocumentReader::new(text, surroundings);
    let empty = (
        "the experiment is empty",
        "axes or knobs, apply, measure and more",
    );
    let experiment = reader.read_root(empty, |root| experiment(&reader, root, name));
    reader.finish(experiment)
}

fn experiment(reader: &DocumentReader<'_>, root: &DocumentNode, name: &str) -> Option<Experiment> {
    let fields = reader.fields(root, &EXPERIMENT)?;
    let settings = ExperimentSettings::read(reader, &fields);
    let knobs = knobs::knobs(reader, &fields);
    let design = match &knobs {
        Some(knobs) => knobs.design(reader),
        None => axes::design(reader, &fields),
    };
    let scope = ExperimentScope::new(reader, design);
    let measured = required(
        reader,
        &fields,
        "measure",
        "{ plan: exam.yaml, limit: standard }",
    );
    let measure = measured.and_then(|node| measure::measure(&scope, node));
    let setups = fields.get("apply");
    let setups = setups.map_or_else(Vec::new, |node| apply::setups(&scope, node));
    let check = |word| {
        let node = fields.get(word)?;
        checks::ready_check(&scope, node)
    };
    let (ready, health) = (check("ready"), check("health"));
    let warm = fields
        .get("warm")
        .and_then(|node| checks::warm(reader, node));
    let reset = fields
        .get("reset")
        .and_then(|node| commands::command_line(&scope, node, RESET_TIME));
    let price = fields
        .get("price")
        .and_then(|node| prices::price(&scope, node));
    if !fields.misspells(&["apply", "measure"]) {
        scope.report_unused(&fields);
    }
    let tuning = knobs.and_then(|knobs| tuning(reader, &fields, knobs, &setups));
    let (design, cells) = scope.into_design();
    let experiment = Experiment {
        name: settings.name.unwrap_or_else(|| name.to_owned()),
        design,
        cells,
        trials: settings.trials,
        order: settings.order,
        seed: settings.seed,
        measure: measure?,
        setups,
        ready,
        health,
        warm,
        reset,
        price,
        settle: settings.settle,
        tuning,
    };
    check_size(reader, &fields, &experiment);
    Some(experiment)
}

/// What is searched. Constraints on knobs with errors are not read: what follows from the errors is not reported.
fn tuning(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    knobs: KnobsRead<'_>,
    setups: &[Setup],
) -> Option<Tuning> {
    if knobs.has_errors {
        return None;
    }
    Some(constraints::tuning(
        reader,
        fields,
        knobs.into_knobs(setups),
    ))
}

/// Default time limit of `reset`.
const RESET_TIME: Duration = Duration::from_mins(5);

/// Reports experiments that would not end. The load of a plan counts as nothing here.
fn check_size(reader: &DocumentReader<'_>, fields: &MapFields<'_>, experiment: &Experiment) {
    let entry = ["trials", "axes"]
        .iter()
        .find_map(|word| fields.entry(word));
    let at = entry.map_or(fields.node.span.start, |(key, _)| key.span.start);
    let trials = experiment.trials_total();
    if trials > TRIALS_MAX {
        let message = format!("the experiment has {trials} trials");
        let valid = format!("at most {TRIALS_MAX}; fewer trials, or fewer levels");
        reader.report_at(at, message, valid, None);
        return;
    }
    let total = experiment.total_time(Duration::ZERO);
    if total > TOTAL_MAX {
        let hours = Duration::from_hours(total.as_secs().div_ceil(3600));
        let message = format!(
            "the {trials} trials take about {}",
            units::duration_text(hours)
        );
        let valid = format!(
            "at most {}; fewer trials or levels, or shorter measurements",
            units::duration_text(TOTAL_MAX)
        );
        reader.report_at(at, message, valid, None);
    }
}
