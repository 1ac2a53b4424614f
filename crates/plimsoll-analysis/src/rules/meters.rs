//! Gauges of the application at the limits that the plan gives them.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::component::place;
use crate::diagnosis::gauges::{Gauge, population};
use crate::diagnosis::measure::{subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{R1, S12};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_PROGRAMS;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    S12,
    "a gauge of the application at its limit (`gauges`)",
    &[Check {
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(at_limit),
        words: at_limit_words,
        remedy: "find what keeps it full, or raise the limit in the application",
        explains: &[BEFORE_PROGRAMS],
    }],
)
.tried_on_series()
.follows_like(&[R1])];

/// The series of a gauge, by that of its limit.
fn level_of(limit: &str) -> String {
    format!("{}{}", metric::FIGURES_LEVEL, subject_of(limit))
}

/// Share of the seconds in which a gauge was at its limit or above it.
fn share_at_limit(view: &View<'_>, limit: &str) -> Option<f64> {
    let level = level_of(limit);
    view.share_of_seconds(|row| Some(row.get(&level)? >= row.get(limit)?))
}

/// S12: a gauge has reached the limit that the plan gives it.
fn at_limit(view: &View<'_>) -> Vec<Sign> {
    let limits = view.series_of(metric::FIGURES_LIMIT);
    let signs =
        limits.filter_map(|limit| sustained(subject_of(limit), share_at_limit(view, limit)));
    signs.collect()
}

/// A gauge by its name and its own labels, as the plan may name it.
fn name_of(label_set: &str) -> String {
    let name = label(label_set, "name").unwrap_or("?");
    match label(label_set, "of") {
        Some(own) => format!("{name} ({own})"),
        None => name.to_owned(),
    }
}

/// A number without digits that say nothing.
fn plain(value: f64) -> String {
    let digits = if value.abs() >= 100.0 { 0 } else { 2 };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn at_limit_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (level, limit) = (
        case.series(metric::FIGURES_LEVEL),
        case.series(metric::FIGURES_LIMIT),
    );
    let name = name_of(case.label_set);
    let most = view.max(&limit).unwrap_or(0.0);
    let share = share_at_limit(view, &limit).unwrap_or(0.0);
    let mut sentence = format!(
        "{name} was at its limit of {} in {:.0} % of the seconds",
        plain(most),
        share * 100.0
    );
    let line = bounded(case.line(&level, &name), Some(most));
    if let Some(before) = line.passing.or(line.base) {
        append_clause(
            &mut sentence,
            format_args!(", on average {} below the line", plain(before)),
        );
    }
    Words::new(
        format!("{name} of the application ({})", place(case.label_set)),
        sentence,
    )
    .with(line)
    .advising(format!(
        "find what keeps {name} full: what the work behind it waits for, or the CPUs; where these have room, raise the limit \
         in the application (now {}), and `limit` in the plan with it",
        plain(most)
    ))
}

/// Gauges of the application that have a limit.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let limits = readings.names_of(metric::FIGURES_LIMIT);
    limits
        .map(|limit| {
            let name = format!("{} of the application", name_of(subject_of(limit)));
            population(&level_of(limit), limit.to_owned(), &[S12], &name)
        })
        .collect()
}
