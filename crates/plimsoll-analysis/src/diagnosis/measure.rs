//! Evaluates symptoms over one stretch.

pub(crate) use plimsoll_model::labels::label_set as subject_of;
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::rule::{Sign, Symptom};
use crate::diagnosis::stretch::{SecondValues, Stretch3, View};

/// `S{p}`: a condition that holds in this share of the seconds is sustained.
pub(crate) const SUSTAINED: f64 = 0.20;

pub(crate) fn of_target(metric: &str) -> String {
    of_target_with(metric, &[])
}

/// The same with further labels.
pub(crate) fn of_target_with(metric: &str, labels: &[(&str, &str)]) -> String {
    let all = [&[("process", metric::TARGET)][..], labels].concat();
    metric::series(metric, &all)
}

pub(crate) fn of_generator(metric: &str) -> String {
    metric::series(metric, &[("process", metric::GENERATOR)])
}

/// The series of Plimsoll itself on the machine: of the generator, or of the agent.
pub(crate) fn of_own_process(view: &View<'_>, metric: &str) -> String {
    metric::series(metric, &[("process", view.own_process())])
}

/// CPU in use that is not Plimsoll's own: on a shared machine the generator must not hide that the target leaves
/// CPUs idle.
pub(crate) fn cpu_of_others(view: &View<'_>, row: SecondValues<'_>) -> Option<f64> {
    let own = row.get(&of_own_process(view, metric::PROCESS_CPU));
    Some((row.get(metric::CPU_BUSY)? - own.unwrap_or(0.0)).max(0.0))
}

/// A symptom over a stretch, one sign per measured subject.
pub(crate) fn signs(symptom: &Symptom, view: &View<'_>) -> Vec<Sign> {
    match *symptom {
        Symptom::Increase { metric } => view
            .series_of(metric)
            .filter_map(|series| increase(view, series))
            .collect(),
        Symptom::Ratio { part, whole, above } => view
            .series_of(part)
            .filter_map(|series| {
                let label_set = subject_of(series);
                let whole = view.mean(&format!("{whole}{label_set}"))?;
                // No increase of the whole means none of the portion.
                let ratio = view.mean(series)? / if whole > 0.0 { whole } else { 1.0 };
                Some(Sign {
                    label_set: label_set.to_owned(),
                    magnitude: ratio,
                    present: ratio > above,
                })
            })
            .collect(),
        Symptom::Fill {
            level,
            limit,
            with: (name, value),
            above,
        } => view
            .series_of(level)
            .filter(|series| label(series, name) == Some(value))
            .filter_map(|series| fill(view, series, limit, above))
            .collect(),
        Symptom::Signs(evaluate) => evaluate(view),
        // It evaluates all stretches at once.
        Symptom::Change(_) => Vec::new(),
    }
}

/// The sign of a counter that increases; `None` when it is unknown.
pub(crate) fn increase(view: &View<'_>, series: &str) -> Option<Sign> {
    let per_second = view.mean(series)?;
    Some(Sign {
        label_set: subject_of(series).to_owned(),
        magnitude: per_second,
        present: per_second > 0.0,
    })
}

/// What was so before the failure: at low load, or else at the highest that passed; `None` where neither was measured.
pub(crate) fn before(
    over: &Stretch3<'_>,
    measure: impl Fn(&View<'_>) -> Option<f64>,
) -> Option<f64> {
    measure(&over.base).or_else(|| measure(&over.passing))
}

/// The highest share of its limit that a level reached.
fn fill(view: &View<'_>, level: &str, limit: &str, above: f64) -> Option<Sign> {
    let label_set = subject_of(level);
    let own_limit = format!("{limit}{label_set}");
    let share = view
        .rows()
        .filter_map(|row| {
            let limit = row.get(&own_limit).or_else(|| row.get(limit))?;
            (limit > 0.0).then_some(row.get(level)? / limit)
        })
        .reduce(f64::max)?;
    Some(Sign {
        label_set: label_set.to_owned(),
        magnitude: share,
        present: share > above,
    })
}

/// The sign of a condition that must hold in a fifth of the seconds; `None` when it is unknown.
pub(crate) fn sustained(label_set: &str, share: Option<f64>) -> Option<Sign> {
    share.map(|share| Sign {
        label_set: label_set.to_owned(),
        magnitude: share,
        present: share >= SUSTAINED,
    })
}

/// Bytes in MiB.
pub(crate) fn mebibytes(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// The same as text.
pub(crate) fn format_mebibytes(bytes: f64) -> String {
    let mebibytes = mebibytes(bytes);
    if mebibytes >= 10.0 {
        format!("{mebibytes:.0} MiB")
    } else {
        format!("{mebibytes:.1} MiB")
    }
}
