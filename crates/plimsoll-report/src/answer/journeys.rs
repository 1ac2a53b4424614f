//! Thresholds and users as text.

use std::fmt::Write as _;

use plimsoll_analysis::summary::breakdown::{Breakdown, Measured};
use plimsoll_analysis::summary::processes::ProcessSummary;
use plimsoll_analysis::summary::users::Little;

use super::websockets::percent_exactly;
use crate::number::{count, micros, micros_of, percent, rate, short};
use crate::report::Report;

/// Largest deviation of requests in flight from X·R that is not reported.
const LITTLE_OFF: f64 = 0.1;

/// One bound of a threshold as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// `step POST /login: p95 < 800ms`.
    pub(crate) name: String,
    /// The measured value.
    pub(crate) measured: String,
    /// Whether it holds; `None` without data.
    pub(crate) met: Option<bool>,
}

/// Every bound of every threshold.
pub(crate) fn bounds(report: &Report<'_>) -> Vec<Bound> {
    let thresholds = report.summary.breakdown.iter();
    let thresholds = thresholds.flat_map(|breakdown| &breakdown.thresholds);
    let bounds = thresholds.flat_map(|threshold| {
        let bound = threshold.bounds().into_iter();
        bound.map(|bound| Bound {
            name: format!("{}: {}", threshold.scope, bound.bound),
            measured: match (bound.met, bound.measured) {
                (None, Measured::Reach(_)) => "no broadcast was expected".to_owned(),
                (None, _) => "no request ended".to_owned(),
                (_, Measured::TimeUs(us)) => {
                    us.map_or_else(|| "the quantile falls on a failure".to_owned(), micros)
                }
                (_, Measured::MeanUs(us)) => {
                    us.map_or_else(|| "no answer was good".to_owned(), micros_of)
                }
                (_, Measured::Share(share)) => percent(share.unwrap_or(0.0)),
                (_, Measured::Reach(share)) => percent_exactly(share.unwrap_or(0.0)),
            },
            met: bound.met,
        })
    });
    bounds.collect()
}

/// How many thresholds were met, and which were missed; `None` without thresholds.
pub(crate) fn thresholds(report: &Report<'_>) -> Option<String> {
    let bounds = bounds(report);
    if bounds.is_empty() {
        return None;
    }
    let met = bounds.iter().filter(|bound| bound.met == Some(true));
    let mut texts = vec![format!("{} of {} met", met.count(), bounds.len())];
    let others = bounds.iter().filter(|bound| bound.met != Some(true));
    texts.extend(others.map(|bound| {
        let what = if bound.met.is_none() {
            "undecided"
        } else {
            "missed"
        };
        format!("{what}: {} ({})", bound.name, bound.measured)
    }));
    Some(texts.join("; "))
}

/// Number of users, and their requests by Little's law; `None` without users.
pub(crate) fn users(report: &Report<'_>) -> Option<String> {
    let users = report.users()?;
    let mut texts = vec![format!("{} at most", count(users.max))];
    if !report.is_search() {
        texts.push(format!("{} on average", short(users.mean)));
        texts.push(format!("{} iterations", count(users.iterations)));
    }
    if users.lost > 0 {
        let breakdown = report.summary.breakdown.as_ref();
        let how = match breakdown.map_or(0, Breakdown::users_given_up) {
            0 => String::new(),
            gave_up => format!(" ({} gave up)", count(gave_up)),
        };
        texts.push(format!("{} lost{how}", count(users.lost)));
    }
    let law = users.little.map(|little| {
        let text = format!("; {}", little_text(&little));
        text + &little
            .ratio
            .filter(|ratio| (ratio - 1.0).abs() > LITTLE_OFF)
            .map_or_else(String::new, |ratio| {
                format!(" – but {} times as many were in flight", short(ratio))
            })
    });
    Some(texts.join(", ") + &law.unwrap_or_default())
}

/// Where users gave up waiting, a fragment for each step: `8 at GET /slow after 3.1 s (p50), 9.2 s (p99)`.
pub(crate) fn given_up(report: &Report<'_>) -> Vec<String> {
    let Some(breakdown) = &report.summary.breakdown else {
        return Vec::new();
    };
    let has_several = breakdown.journeys.len() > 1;
    let rows = breakdown.given_up.iter().map(|row| {
        let of = if has_several {
            format!(" of {}", row.journey)
        } else {
            String::new()
        };
        format!(
            "{} at {}{of} after {} (p50), {} (p99)",
            count(row.users),
            row.label,
            micros(row.waited_us.p50),
            micros(row.waited_us.p99)
        )
    });
    rows.collect()
}

/// Cost of each journey's external script, a sentence each.
pub(crate) fn processes(report: &Report<'_>) -> Vec<String> {
    let breakdown = report.summary.breakdown.iter();
    let processes = breakdown.flat_map(|breakdown| &breakdown.processes);
    processes.map(process_text).collect()
}

fn process_text(process: &ProcessSummary) -> String {
    let mut text = format!("{} ({})", process.command, process.journey);
    match (process.cpu_us_per_step, process.wait_us) {
        (Some(cpu), Some(wait)) => {
            let _ = write!(
                text,
                ": {} steps, {} µs CPU each, users waited {} (p50), {} (p99)",
                count(process.steps),
                short(cpu),
                micros(wait.p50),
                micros(wait.p99)
            );
        }
        _ => text.push_str(": no step"),
    }
    if process.errors > 0 {
        let _ = write!(text, "; {} faults", count(process.errors));
    }
    text
}

/// Users and requests, by Little's law in both directions.
fn little_text(little: &Little) -> String {
    let users = little.users.round();
    let at_hundred = little.users_of(100.0).round();
    let noun = |users: f64| if users > 1.0 { "users" } else { "user" };
    format!(
        "{} {} ≈ {} and {} ≈ {} {} (Little: response {}, think {} per request)",
        short(users),
        noun(users),
        rate(little.throughput),
        rate(100.0),
        short(at_hundred),
        noun(at_hundred),
        micros_of(little.response_us),
        micros_of(little.think_us),
    )
}

/// The steps of `once` that kept every user out; `None` without any.
pub(super) fn nobody_got_in(report: &Report<'_>) -> Option<String> {
    let breakdown = report.summary.breakdown.as_ref()?;
    let lost = breakdown.users.filter(|users| users.lost > 0)?.lost;
    let steps = breakdown.steps.iter();
    let failed = steps.filter(|step| step.once && step.metrics.outcomes.failed() > 0);
    let failed: Vec<String> = failed
        .map(|step| {
            let ended = step.metrics.outcomes.iter();
            let ended = ended.filter(|&(outcome, number)| !outcome.is_ok() && number > 0);
            let ended: Vec<String> = ended
                .map(|(outcome, number)| format!("{} {}", count(number), outcome.name()))
                .collect();
            format!("{}: {}", step.label, ended.join(", "))
        })
        .collect();
    let lost = format!(
        "no user reached the measured loop; {} were lost",
        count(lost)
    );
    Some(if failed.is_empty() {
        lost
    } else {
        format!("{lost} ({})", failed.join("; "))
    })
}
