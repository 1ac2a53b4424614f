//! Response times with a period.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::S6;
use crate::diagnosis::stretch::View;
use crate::stats::trend::autocorrelation;

/// Length of a stretch in which a period can be found, and the least number of periods in it.
const RHYTHM_SECONDS_MIN: usize = 20;
const RHYTHM_TIMES: usize = 3;
/// How much a rhythm's seconds are alike, and by how much the slow ones differ from the quick ones.
const RHYTHM_ALIKE: f64 = 0.5;
const RHYTHM_SWING: f64 = 2.0;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    S6,
    "something with a period: cron, collection, checkpoint",
    &[Check {
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(periodic),
        words: periodic_words,
        remedy: "find what runs with that period (cron, garbage collection, checkpoints, \
                 flushes of logs) and spread it, or do it at a quieter time",
        explains: &[],
    }],
)
.with_role(Role::Addition)
.of_the_load()];

/// The mean response time of each second, s; `None` when most seconds have no answer. After a stalled second, its
/// requests are answered in the next second with answers, which gives their response time.
fn response_times(view: &View<'_>) -> Option<Vec<f64>> {
    let windows = view.windows().iter();
    let means: Vec<Option<f64>> = windows
        .map(|window| Some(window.response.mean()? / 1e6))
        .collect();
    let silent = means.iter().filter(|second| second.is_none()).count();
    if 2 * silent > means.len() {
        return None;
    }
    let mut later = means.iter().rev().find_map(|second| *second)?;
    let mut times: Vec<f64> = means
        .iter()
        .rev()
        .map(|second| {
            later = second.unwrap_or(later);
            later
        })
        .collect();
    times.reverse();
    Some(times)
}

/// The rhythm of a series: seconds from one peak to the next, how alike they are, and how high the peaks are. A series
/// that only wanders is alike at small distances too, so that the opposite must hold half-way.
fn rhythm(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < RHYTHM_SECONDS_MIN {
        return None;
    }
    let farthest = values.len() / RHYTHM_TIMES;
    let alike = |lag: usize| autocorrelation(values, lag);
    let candidates = (4..=farthest).filter(|&lag| alike(lag / 2) < 0.0);
    let best = candidates.max_by(|&a, &b| alike(a).total_cmp(&alike(b)))?;
    let alike = alike(best);
    // Up to half of the seconds may be slow, in long stalls.
    let quick = crate::stats::order::quantile(values, 1.0 / 3.0)?;
    let top = crate::stats::order::quantile(values, 0.95)?;
    (alike >= RHYTHM_ALIKE && top >= RHYTHM_SWING * quick).then_some((best, alike))
}

/// S6.
fn periodic(view: &View<'_>) -> Vec<Sign> {
    let Some(times) = response_times(view) else {
        return Vec::new();
    };
    let Some((_, alike)) = rhythm(&times) else {
        return vec![Sign::lone(0.0, false)];
    };
    vec![Sign::lone(alike, true)]
}

/// The series most correlated with response times: the candidate for the period.
fn companion<'a>(view: &View<'a>, times: &[f64]) -> Option<&'a str> {
    const CANDIDATES: [&str; 9] = [
        metric::DISK_UTILIZATION,
        metric::DISK_FLUSH_TIME,
        metric::POSTGRES_CHECKPOINTS_TIMED,
        metric::POSTGRES_WAL,
        metric::REDIS_FORK,
        metric::NODE_DELAY,
        metric::PROCESSES_CREATED,
        metric::CPU_BUSY,
        metric::PRESSURE,
    ];
    /// Correlation from which two series go together.
    const TOGETHER: f64 = 0.7;
    let all = CANDIDATES
        .into_iter()
        .flat_map(|metric| view.series_of(metric));
    let together = all.filter_map(|series| {
        let values: Vec<f64> = view
            .points(series)
            .into_iter()
            .map(|point| point.1)
            .collect();
        (values.len() == times.len()).then_some((series, correlation(&values, times)))
    });
    let best = together.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (best.1 >= TOGETHER).then_some(best.0)
}

/// Pearson's r; 0 where one of both is constant.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let pairs = || a.iter().zip(b).map(|(a, b)| (a - mean_a, b - mean_b));
    let shared: f64 = pairs().map(|(a, b)| a * b).sum();
    let squares = pairs().fold((0.0, 0.0), |sum, (a, b)| (sum.0 + a * a, sum.1 + b * b));
    let whole = (squares.0 * squares.1).sqrt();
    if whole > 0.0 { shared / whole } else { 0.0 }
}

fn periodic_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let times = response_times(view).unwrap_or_default();
    let (period, _) = rhythm(&times).unwrap_or_default();
    let quick = crate::stats::order::quantile(&times, 1.0 / 3.0).unwrap_or(0.0);
    let top = crate::stats::order::quantile(&times, 0.95).unwrap_or(0.0);
    let mut sentence = format!(
        "response times rose every {period} s, from {:.0} ms to {:.0} ms: something runs with that period",
        quick * 1e3,
        top * 1e3
    );
    let companion = companion(view, &times);
    if let Some(series) = companion {
        append_clause(&mut sentence, format_args!("; {series} rises with them"));
    }
    let words = Words::new(format!("something that runs every {period} s"), sentence);
    let words = words.with(
        case.over
            .evidence(("response", "mean response time", "s"), |view| {
                let times = response_times(view)?;
                Some(times.iter().sum::<f64>() / times.len().max(1) as f64)
            }),
    );
    match companion {
        Some(series) => words.with(case.line(series, "series that rises with them")),
        None => words,
    }
}
