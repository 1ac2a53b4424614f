//! Remarks of a finished search beside the line: leaks, the generator's share of the machine, the line in users.

mod required;

use std::time::Duration;

use plimsoll_model::load_line::{LoadLine, Remark, SearchResult};
use plimsoll_model::metric;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Trial, TrialKind};

use crate::search::users;
use crate::verdict::leak::leak;

pub use required::{Margin, RequiredAnswer, required};

/// Share of the machine's CPU below which the generator is not worth a word.
const GENERATOR_SHARE_MIN: f64 = 0.02;

/// Remarks that follow from the whole run.
pub fn remarks(run: &Run, search: &SearchResult) -> Vec<Remark> {
    let mut remarks = leaks(run, search);
    remarks.extend(shared_machine(run));
    remarks.extend(in_requests(run, search));
    remarks
}

/// Series of the target that must not grow with every request: (what, metric, metric of its limit).
const GROWING: [(&str, &str, Option<&str>); 3] = [
    ("memory of the target", metric::PROCESS_MEMORY, None),
    (
        "file descriptors of the target",
        metric::PROCESS_FILES,
        Some(metric::PROCESS_FILES_LIMIT),
    ),
    ("threads of the target", metric::PROCESS_THREADS, None),
];

fn leaks(run: &Run, search: &SearchResult) -> Vec<Remark> {
    let rate = match &search.line {
        Ok(line) => line.verified * requests_per_unit(run, line).unwrap_or(1.0),
        Err(_) => return Vec::new(),
    };
    let anchors: Vec<&Trial> = run
        .trials
        .iter()
        .filter(|trial| trial.spec.kind == TrialKind::Anchor)
        .collect();
    let labels = [("process", metric::TARGET)];
    GROWING
        .iter()
        .filter_map(|(what, metric, limit)| {
            let points: Vec<(f64, f64)> = anchors
                .iter()
                .filter_map(|anchor| {
                    Some((
                        requests_until(run, anchor),
                        level(run, anchor, &metric::series(metric, &labels))?,
                    ))
                })
                .collect();
            let limit = limit
                .and_then(|limit| level(run, anchors.last()?, &metric::series(limit, &labels)));
            leak(what, &points, limit, rate)
        })
        .collect()
}

/// The valid trial that passed and was made nearest to the line.
fn nearest_pass<'a>(run: &'a Run, line: &LoadLine) -> Option<&'a Trial> {
    let distance = |trial: &Trial| (trial.spec.rate - line.median).abs();
    run.trials
        .iter()
        .filter(|trial| trial.spec.kind.counts_for_line() && trial.verdict.is_pass())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Requests per second that one unit of the load made near the line; 1 when the line is in requests per second.
fn requests_per_unit(run: &Run, line: &LoadLine) -> Option<f64> {
    if line.unit == LoadUnit::RequestsPerSecond {
        return Some(1.0);
    }
    let nearest = nearest_pass(run, line).filter(|trial| trial.spec.rate > 0.0)?;
    Some(nearest.throughput / nearest.spec.rate)
}

/// A line in users as requests per second, by Little's law.
fn in_requests(run: &Run, search: &SearchResult) -> Option<Remark> {
    let line = search.line.as_ref().ok()?;
    if line.unit != LoadUnit::Users {
        return None;
    }
    let per_user = requests_per_unit(run, line).filter(|rate| *rate > 0.0)?;
    let response_s = nearest_pass(run, line)?.response_us.mean / 1e6;
    let text = format!(
        "the line in requests per second: {:.0} users make {:.1}, 100 requests per second are {:.0} users (Little's \
         law N = X·(R + Z) with a mean response time R of {response_s:.3} s and {:.1} s for the rest, Z, mostly think \
         time)",
        line.median,
        line.median * per_user,
        100.0 / per_user,
        (1.0 / per_user - response_s).max(0.0),
    );
    Some(Remark::Note { text })
}

/// Requests that had ended when a trial's judged seconds were over.
fn requests_until(run: &Run, trial: &Trial) -> f64 {
    let until = run.windows_between(0, trial.measured.1);
    until.iter().map(|window| window.completed() as f64).sum()
}

/// Mean of a series over a trial's judged seconds.
fn level(run: &Run, trial: &Trial, series: &str) -> Option<f64> {
    mean(
        &run.readings
            .between(series, trial.measured.0, trial.measured.1),
    )
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// When generator and target share a machine: the share of its CPU that the generator took at the highest load that
/// passed.
fn shared_machine(run: &Run) -> Option<Remark> {
    let is_local = run
        .readings
        .names_of(metric::PROCESS_CPU)
        .any(|name| plimsoll_model::reading::label(name, "process") == Some(metric::TARGET));
    let highest = run
        .trials
        .iter()
        .filter(|trial| trial.spec.kind.counts_for_line() && trial.verdict.is_pass())
        .max_by(|a, b| a.spec.rate.total_cmp(&b.spec.rate))?;
    let labels = [("process", metric::GENERATOR)];
    let generator_share = level(run, highest, &metric::series(metric::PROCESS_CPU, &labels))?;
    (is_local && generator_share >= GENERATOR_SHARE_MIN)
        .then_some(Remark::SharedMachine { generator_share })
}

/// Whether the line carries a number of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// The number lies at or below the interval.
    Yes,
    /// The number lies above the interval.
    No,
    /// The number lies within the interval: not known.
    WithinInterval,
}

/// The line in users with think time, by Little's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsersLine {
    /// Pause between an answer and the next request, s.
    think_s: f64,
    /// Mean response time at the line, s.
    response_s: f64,
    low: f64,
    median: f64,
    high: f64,
}

/// The line of `search` in users who think for so long; `None` without a line, and for one that is in
/// users already.
pub fn in_users(run: &Run, search: &SearchResult, think: Duration) -> Option<UsersLine> {
    let line: &LoadLine = search.line.as_ref().ok()?;
    if line.unit != LoadUnit::RequestsPerSecond {
        return None;
    }
    let nearest = nearest_pass(run, line)?;
    let (think_s, response_s) = (think.as_secs_f64(), nearest.response_us.mean / 1e6);
    let users = |rate| users::users(rate, response_s, think_s);
    Some(UsersLine {
        think_s,
        response_s,
        low: users(line.low),
        median: users(line.median),
        high: users(line.high),
    })
}

impl UsersLine {
    /// Whether so many users are carried.
    pub fn carries(&self, wanted: u32) -> Carries {
        let wanted = f64::from(wanted);
        if wanted <= self.low {
            Carries::Yes
        } else if wanted > self.high {
            Carries::No
        } else {
            Carries::WithinInterval
        }
    }

    /// The line both ways, for the report.
    pub fn remark(&self, wanted: Option<u32>) -> Remark {
        let mut text = format!(
            "the line in users with a think time of {:.1} s: {:.0}, 90 % interval {:.0} \
             to {:.0} (Little's law N = λ·(R + Z) with a mean response time R of {:.3} s)",
            self.think_s, self.median, self.low, self.high, self.response_s
        );
        if let Some(wanted) = wanted
            && let Some(rate) = users::rate(f64::from(wanted), self.response_s, self.think_s)
        {
            let answer = match self.carries(wanted) {
                Carries::Yes => "the service carries them",
                Carries::No => "the service does not carry them",
                Carries::WithinInterval => {
                    "whether the service carries them lies within the interval"
                }
            };
            let more = format!("; {wanted} users make {rate:.1} requests per second: {answer}");
            text.push_str(&more);
        }
        Remark::Note { text }
    }
}
