//! Before and after, side by side: the cells that the terminal and the HTML show.

use crate::answer;
use crate::number::{load, micros, percent, rate, short};
use crate::printable::printable;
use crate::report::Report;

/// A heading and one row a run, each with its label first.
pub(crate) fn rows(reports: &[(&str, Report<'_>)]) -> Vec<Vec<String>> {
    if reports.iter().any(|(_, report)| report.is_search()) {
        search_rows(reports)
    } else {
        run_rows(reports)
    }
}

fn search_rows(reports: &[(&str, Report<'_>)]) -> Vec<Vec<String>> {
    let mut rows = vec![row([
        "",
        "load line",
        "90 % interval",
        "verified",
        "set by",
    ])];
    for (label, report) in reports {
        rows.push(match report.load_line() {
            Some(line) => row([
                &printable(label),
                &load(line.median, line.unit),
                &format!("{} to {}", short(line.low), short(line.high)),
                &short(line.verified),
                &set_by(report),
            ]),
            None => row_without_line(label, report),
        });
    }
    rows
}

/// The limit that sets the line.
pub(crate) fn set_by(report: &Report<'_>) -> String {
    let limit = report.set_by().map(|finding| printable(&finding.limit));
    limit.unwrap_or_else(|| "not known".to_owned())
}

/// The estimate without a line, and the reason for its absence.
fn row_without_line(label: &str, report: &Report<'_>) -> Vec<String> {
    let (label, why) = (printable(label), answer::reason(report).unwrap_or_default());
    match report.estimate() {
        Some(known) => row([
            &label,
            &format!("about {}", load(known.median, report.unit())),
            &format!("{} to {}", short(known.low), short(known.high)),
            "not confirmed",
            &why,
        ]),
        None => row([&label, "none", "", "", &why]),
    }
}

fn run_rows(reports: &[(&str, Report<'_>)]) -> Vec<Vec<String>> {
    let mut rows = vec![row([
        "",
        "offered",
        "completed",
        "p50",
        "p95",
        "p99",
        "failed",
    ])];
    for (label, report) in reports {
        let summary = &report.summary;
        let time = |pick: fn(&plimsoll_model::trial::Percentiles) -> u64| {
            summary
                .response_us
                .as_ref()
                .map_or_else(|| "–".to_owned(), |times| micros(pick(times)))
        };
        rows.push(row([
            &printable(label),
            &rate(summary.offered),
            &rate(summary.completed),
            &time(|times| times.p50),
            &time(|times| times.p95),
            &time(|times| times.p99),
            &percent(summary.error_share()),
        ]));
    }
    rows
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// The last load line compared with the first, and whether their intervals overlap.
pub(crate) fn gain(reports: &[(&str, Report<'_>)]) -> Option<String> {
    let [(before_label, before), .., (after_label, after)] = reports else {
        return None;
    };
    let (before, after) = (before.load_line()?, after.load_line()?);
    if before.unit != after.unit {
        return None;
    }
    let ratio = after.median / before.median;
    let direction = if ratio >= 1.0 { "more" } else { "less" };
    let apart = after.low > before.high || after.high < before.low;
    let trust = if apart {
        "the intervals do not overlap"
    } else {
        "the intervals overlap, so it may be noise"
    };
    Some(format!(
        "{after_label} carries {} {direction} than {before_label} ({} instead of {}); {trust}.",
        percent((ratio - 1.0).abs()),
        load(after.median, after.unit),
        load(before.median, before.unit),
    ))
}
