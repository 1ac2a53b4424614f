//! The answer of a search: the highest load that meets the objective, as an interval with evidence.
//!
//! Loads are in the unit that the plan searches for ([`crate::plan::Find::unit`]): requests per second by default.

use serde::{Deserialize, Serialize};

use crate::plan::LoadUnit;

/// Highest load that meets the objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadLine {
    /// Unit of the loads.
    #[serde(default, skip_serializing_if = "LoadUnit::is_requests")]
    pub unit: LoadUnit,
    /// Half of the trials at this load would break the objective, in `unit`.
    pub median: f64,
    /// Lower end of the 90 % credible interval, in `unit`.
    pub low: f64,
    /// Upper end of the 90 % credible interval, in `unit`.
    pub high: f64,
    /// Load at which fresh trials confirmed the line, in `unit`.
    pub verified: f64,
    /// Fresh trials at the verified rate.
    pub confirmed_trials: u32,
    /// Of these, passed.
    pub confirmed_passes: u32,
    /// With 95 % confidence a trial at the verified rate passes with at least this probability
    /// (one-sided Clopper–Pearson).
    pub pass_probability_low: f64,
    /// Lowest rate at which trials failed, and how many of how many: (rate, failed, trials).
    pub broken: Option<(f64, u32, u32)>,
    /// Judged seconds of one trial.
    pub trial_s: u32,
}

/// Estimate of a line that was not confirmed, in the unit of the search: a 90 % credible interval and its median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Lower end.
    pub low: f64,
    /// Half of the trials at this load would break the objective.
    pub median: f64,
    /// Upper end.
    pub high: f64,
}

/// Why a search has no load line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum NoLine {
    /// The objective is missed even at the lowest rate: even one user at a time is too slow.
    MissedAtOnce {
        /// Response time at the objective's quantile of one client alone, µs; `None` when requests failed.
        alone_us: Option<u64>,
        /// Share of requests that failed, 0 to 1.
        errors: f64,
    },
    /// No rate the generator can offer breaks the objective.
    NotReached {
        /// Highest rate that passed, 1/s.
        highest_passed: f64,
    },
    /// Trials or time ran out before the interval was narrow enough.
    GaveUp {
        /// Lower end of the interval so far, 1/s.
        low: f64,
        /// Median so far, 1/s.
        median: f64,
        /// Upper end of the interval so far, 1/s.
        high: f64,
        /// Why the search ended.
        because: String,
    },
    /// The lower edge could not be confirmed.
    NotConfirmed {
        /// Rate at which too few trials passed, 1/s.
        rate: f64,
        /// Passed trials.
        passes: u32,
        /// Trials.
        trials: u32,
        /// Estimate from the trials before it; logs of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimate: Option<Estimate>,
    },
    /// The target did not recover after an overload.
    DoesNotRecover {
        /// Highest rate from which it did recover, 1/s, if any.
        recovered_from: Option<f64>,
    },
    /// Too many trials were void.
    Void {
        /// The most frequent reason.
        reason: crate::verdict::VoidReason,
        /// Void trials.
        void_trials: u32,
    },
    /// Nothing ever connected.
    Unreachable,
    /// Stopped by the user before the line was confirmed.
    Interrupted {
        /// Estimate from the trials so far, once some passed and some failed; logs of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimate: Option<Estimate>,
        /// Highest load that passed, in the unit of the search; logs of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        highest_passed: Option<f64>,
    },
}

impl NoLine {
    /// Estimate of the line; `None` where no trial failed, so that nothing bounds the line from above, and for
    /// endings that give no information about it.
    pub fn estimate(&self) -> Option<Estimate> {
        match *self {
            Self::NotConfirmed { estimate, .. } | Self::Interrupted { estimate, .. } => estimate,
            Self::GaveUp {
                low, median, high, ..
            } => (high < f64::MAX).then_some(Estimate { low, median, high }),
            _ => None,
        }
    }
}

/// Observations of a search besides the line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Remark {
    /// Equal trials differ much: trials are longer and the interval wider.
    NoisyMachine {
        /// Robust coefficient of variation of the median response time, 0 to 1.
        variation: f64,
    },
    /// The target changed while it was measured.
    Drift {
        /// What changed: a sentence fragment such as `p50 of the anchors`.
        what: String,
        /// Total relative change, 0.05 for +5 %.
        change: f64,
    },
    /// Something grows with every request.
    Leak {
        /// What grows.
        what: String,
        /// Growth per thousand requests, in the series' unit.
        per_thousand_requests: f64,
        /// Seconds until the limit at the verified rate, when a limit is known.
        seconds_to_limit: Option<f64>,
    },
    /// Time the target needed after an overload.
    Recovery {
        /// Rate of the overload, 1/s.
        rate: f64,
        /// Seconds until five good seconds began; `None` when it did not recover in time.
        seconds: Option<u32>,
    },
    /// The verdict at the line depends on whether the load came from below or from above.
    Hysteresis {
        /// The rate, 1/s.
        rate: f64,
        /// Passed when approached from below.
        from_below: bool,
        /// Passed when approached from above.
        from_above: bool,
    },
    /// Generator and target share this machine.
    SharedMachine {
        /// Share of the machine's CPU that the generator took at the line, 0 to 1.
        generator_share: f64,
    },
    /// A remark for the reader, one sentence.
    Note {
        /// The sentence.
        text: String,
    },
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The line, or why there is none.
    pub line: Result<LoadLine, NoLine>,
    /// Observations besides it.
    pub remarks: Vec<Remark>,
}

/// Result of a CI gate: is the line at least this high?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// The requested rate, 1/s.
    pub rate: f64,
    /// `Some(true)` accepted, `Some(false)` rejected, `None` undecided.
    pub accepted: Option<bool>,
    /// Valid trials.
    pub trials: u32,
    /// Of these, passed.
    pub passes: u32,
    /// Sum of the log likelihood ratios.
    pub log_likelihood_ratio: f64,
}
