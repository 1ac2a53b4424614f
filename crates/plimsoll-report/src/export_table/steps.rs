//! One row for each journey, step and group.

use plimsoll_analysis::summary::Summary;
use plimsoll_analysis::summary::breakdown::ScopeMetrics;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;

use super::{ColumnValues, ExportTable};

/// Journey, label, what the row is, and its numbers.
type StepTableRow<'a> = (&'a str, &'a str, &'static str, &'a ScopeMetrics);

pub(super) fn steps(run: &Run) -> ExportTable {
    let breakdown = Summary::of(run).breakdown;
    let mut rows: Vec<StepTableRow<'_>> = Vec::new();
    if let Some(breakdown) = &breakdown {
        let journeys = breakdown.journeys.iter();
        rows.extend(journeys.map(|row| (row.name.as_str(), "", "journey", &row.metrics)));
        rows.extend(breakdown.steps.iter().map(|row| {
            let what = if row.once { "once" } else { "step" };
            (row.journey.as_str(), row.label.as_str(), what, &row.metrics)
        }));
        let groups = breakdown.groups.iter();
        rows.extend(groups.map(|row| {
            (
                row.journey.as_str(),
                row.name.as_str(),
                "group",
                &row.metrics,
            )
        }));
    }
    let mut table = ExportTable::default();
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
    table.push("response_us_p75", ColumnValues::Counts(p75.collect()));
    table.numbers("error_share", rows.iter().map(|row| row.3.error_share()));
    table.numbers("throughput", rows.iter().map(|row| row.3.throughput));
    table.counts("bytes", rows.iter().map(|row| row.3.bytes));
    table
}
