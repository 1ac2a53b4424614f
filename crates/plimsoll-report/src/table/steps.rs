//! One row for each journey, step and group.

use plimsoll_analysis::summary::Summary;
use plimsoll_analysis::summary::breakdown::PartSummary;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;

use super::{Table, Values};

/// Journey, label, what the row is, and its numbers.
type Row<'a> = (&'a str, &'a str, &'static str, &'a PartSummary);

/// One row for each journey, step and group, in the order of the plan; without journeys none.
pub(crate) fn steps(run: &Run) -> Table {
    let breakdown = Summary::of(run).breakdown;
    let mut rows: Vec<Row<'_>> = Vec::new();
    if let Some(parts) = &breakdown {
        let journeys = parts.journeys.iter();
        rows.extend(journeys.map(|row| (row.name.as_str(), "", "journey", &row.part)));
        rows.extend(parts.steps.iter().map(|row| {
            let what = if row.once { "once" } else { "step" };
            (row.journey.as_str(), row.label.as_str(), what, &row.part)
        }));
        let groups = parts.groups.iter();
        rows.extend(
            groups.map(|row| (row.journey.as_str(), row.name.as_str(), "group", &row.part)),
        );
    }
    let mut table = Table::default();
    table.texts("journey", rows.iter().map(|row| row.0.to_owned()));
    table.texts("label", rows.iter().map(|row| row.1.to_owned()));
    table.texts("kind", rows.iter().map(|row| row.2.to_owned()));
    table.counts("samples", rows.iter().map(|row| row.3.samples));
    for outcome in Outcome::ALL {
        let counts = rows.iter().map(|row| row.3.outcomes.get(outcome));
        table.counts(outcome.name(), counts);
    }
    let times: Vec<Option<Percentiles>> = rows.iter().map(|row| row.3.response_us).collect();
    table.percentiles("response_us", &times);
    let p75 = times.iter().map(|times| times.map(|times| times.p75));
    table.push("response_us_p75", Values::Counts(p75.collect()));
    table.numbers("error_share", rows.iter().map(|row| row.3.error_share()));
    table.numbers("throughput", rows.iter().map(|row| row.3.throughput));
    table.counts("bytes", rows.iter().map(|row| row.3.bytes));
    table
}
