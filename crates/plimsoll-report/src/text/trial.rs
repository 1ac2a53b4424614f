//! One line for each finished trial, printed during a search.

use plimsoll_model::trial::{Trial, TrialKind};

use crate::answer;
use crate::number::{load, micros, percent, rate};

/// A trial in a line, such as `refine    412/s    pass  p50 12 ms  p95 88 ms  0 % failed`.
pub fn trial_line(trial: &Trial) -> String {
    let at = match trial.spec.kind {
        TrialKind::Single => format!("alone, {}", rate(trial.throughput)),
        _ => load(trial.spec.rate, trial.spec.unit),
    };
    let failed = if trial.requests == 0 {
        0.0
    } else {
        trial.errors as f64 / trial.requests as f64
    };
    let good = trial.requests > trial.errors;
    let time = |us: u64| if good { micros(us) } else { "–".to_owned() };
    let mut line = format!(
        "{:<10} {:>14}  {:<4}  p50 {:>8}  p95 {:>8}  p99 {:>8}  {} failed",
        trial.spec.kind.name(),
        at,
        trial.verdict.name(),
        time(trial.response_us.p50),
        time(trial.response_us.p95),
        time(trial.response_us.p99),
        percent(failed),
    );
    if let Some(reason) = answer::trial_reason(&trial.verdict) {
        line.push_str("  ");
        line.push_str(&reason);
    }
    line
}
