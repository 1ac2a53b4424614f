//! Work of databases, by the statements that their sessions execute.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::stretch::View;

/// The value of a label and how many sessions had it, on average over all seconds of the stretch; the most first.
pub(crate) fn most<'a>(
    view: &View<'a>,
    metric: &'a str,
    at: &str,
    name: &str,
) -> Vec<(&'a str, f64)> {
    let seconds = view.rows().count().max(1) as f64;
    let series = view.series_of(metric).filter(|series| place(series) == at);
    let series: Vec<&'a str> = series.collect();
    let found = series.into_iter().filter_map(|series| {
        let sum: f64 = view.rows().filter_map(|row| row.get(series)).sum();
        (sum > 0.0).then_some((label(series, name)?, sum / seconds))
    });
    let mut found: Vec<(&'a str, f64)> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// The value of a label that these series have most of, on average, and how much; none where all are zero.
pub(crate) fn most_of<'a>(
    view: &View<'a>,
    series: impl Iterator<Item = &'a str>,
    name: &str,
) -> Option<(&'a str, f64)> {
    series
        .filter_map(|series| Some((label(series, name)?, view.mean(series)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, mean)| *mean > 0.0)
}

/// What was counted of a statement in a stretch, per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementCounts<'a> {
    pub(crate) statement: &'a str,
    pub(crate) calls: f64,
    /// Time of all calls together, s.
    pub(crate) time: f64,
}

impl StatementCounts<'_> {
    /// Time of each call, with its unit.
    pub(crate) fn each(&self) -> String {
        let us = self.time / self.calls.max(f64::MIN_POSITIVE) * 1e6;
        match us {
            ..99.5 => format!("{us:.0} µs"),
            ..10_000.0 => format!("{:.2} ms", us / 1e3),
            _ => format!("{:.0} ms", us / 1e3),
        }
    }
}

fn series_of(metric: &str, at: &str, statement: &str) -> String {
    metric::series(metric, &[("at", at), ("statement", statement)])
}

/// Statements that were counted, with those that took most time first. Empty where the database does not count them.
pub(crate) fn counted<'a>(view: &View<'a>, at: &str) -> Vec<StatementCounts<'a>> {
    let calls = view
        .series_of(metric::STATEMENT_CALLS)
        .filter(|series| place(series) == at);
    let calls: Vec<&'a str> = calls.collect();
    let counted = calls.into_iter().filter_map(|series| {
        let statement = label(series, "statement")?;
        Some(StatementCounts {
            statement,
            calls: view.mean(series)?,
            time: view
                .mean(&series_of(metric::STATEMENT_TIME, at, statement))
                .unwrap_or(0.0),
        })
    });
    let mut counted: Vec<StatementCounts<'a>> = counted.collect();
    counted.sort_by(|a, b| b.time.total_cmp(&a.time));
    counted
}

/// How much of a metric comes from each call of a statement.
pub(crate) fn each(
    view: &View<'_>,
    metric: &str,
    at: &str,
    counted: &StatementCounts<'_>,
) -> Option<f64> {
    let all = view.mean(&series_of(metric, at, counted.statement))?;
    (counted.calls > 0.0).then_some(all / counted.calls)
}

/// The most frequent statement: by counted time, else by the sessions sampled with it.
pub(crate) fn busiest<'a>(view: &View<'a>, running: &'a str, at: &str) -> Option<&'a str> {
    let first = counted(view, at)
        .first()
        .filter(|first| first.time > 0.0)
        .map(|first| first.statement);
    first.or_else(|| {
        most(view, running, at, "statement")
            .first()
            .map(|(statement, _)| *statement)
    })
}

/// What was counted of the statement that took most time, as a clause; empty where nothing was.
pub(crate) fn counted_words(view: &View<'_>, at: &str) -> String {
    let counted = counted(view, at);
    let all: f64 = counted.iter().map(|entry| entry.time).sum();
    let Some(first) = counted.first().filter(|_| all > 0.0) else {
        return String::new();
    };
    let plan = view
        .series_of(metric::STATEMENT_PLAN)
        .find(|series| place(series) == at && label(series, "statement") == Some(first.statement));
    let plan = plan.and_then(|series| label(series, "plan"));
    let plan = plan.map_or(String::new(), |plan| format!("; its plan: {plan}"));
    format!(
        "; {:.0} % of the time of all statements went to `{}`, {:.0} times a second, {} each{plan}",
        first.time / all * 100.0,
        first.statement,
        first.calls,
        first.each()
    )
}

/// The statement from which most of a metric comes, and how much from each call.
pub(crate) fn each_most<'a>(view: &View<'a>, metric: &str, at: &str) -> Option<(&'a str, f64)> {
    let counted = counted(view, at).into_iter();
    let all = counted.filter_map(|entry| {
        let each = each(view, metric, at, &entry)?;
        (each > 0.0).then_some((entry.statement, each, each * entry.calls))
    });
    let most = all.max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some((most.0, most.1))
}
