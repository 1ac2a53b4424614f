//! What single trials say about the line.

use plimsoll_model::load_line::Remark;
use plimsoll_model::trial::Trial;

use super::posterior::Observation;

/// Share of the likelihood that a short trial keeps.
const SHORT_POWER: f64 = 0.5;
/// Share of the likelihood that the ratio of bad requests keeps: its gamma law is a model of a queue, and an interval
/// must not be narrower than the model justifies.
const GRADED_POWER: f64 = 0.8;

/// A valid verdict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    pub(super) rate: f64,
    pub(super) failed: bool,
    pub(super) measure_s: u32,
    pub(super) in_flight_mean: f64,
    /// Bad requests that the objective allowed, and those that were over them.
    allowed: f64,
    ratio: Option<f64>,
    /// Whether chance can hardly explain the failure.
    plain: bool,
    /// Whether the trial had the CPU that it needed, so that `rate` was offered.
    pub(super) calm: bool,
}

impl Evidence {
    /// Of a valid trial, with the bad requests that the objective allowed in it.
    pub(super) fn of(trial: &Trial, allowed: f64, ratio: Option<f64>) -> Self {
        Self {
            rate: decided_rate(trial),
            failed: trial.verdict.is_fail(),
            measure_s: trial.spec.measure_s,
            in_flight_mean: trial.in_flight_mean,
            allowed,
            ratio,
            plain: is_calm(trial) && is_plain(trial),
            calm: is_calm(trial),
        }
    }

    /// For the posterior; a full trial judges so many seconds.
    pub(super) fn observation(self, full_s: u32) -> Observation {
        let short = self.measure_s < full_s;
        let full = if self.ratio.is_some() {
            GRADED_POWER
        } else {
            1.0
        };
        Observation {
            rate: self.rate,
            failed: self.failed,
            plain: self.plain,
            allowed: self.allowed,
            ratio: self.ratio,
            power: full * if short { SHORT_POWER } else { 1.0 },
        }
    }
}

/// Valid trials during which the hypervisor gave the CPU to others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Theft {
    trials: u32,
    share_max: f64,
}

impl Theft {
    pub(super) fn observe(&mut self, trial: &Trial) {
        self.trials += u32::from(!is_calm(trial));
        self.share_max = self.share_max.max(trial.stolen_share);
    }

    pub(super) fn remark(self) -> Option<Remark> {
        (self.trials > 0).then(|| Remark::Note {
            text: format!(
                "the hypervisor took up to {:.0} % of the CPU demanded in {} of the trials: trials that passed did so \
                 in spite of it; trials that failed show only that the line lies below what the service would carry \
                 with all of its CPU; a dedicated machine gives a narrower interval",
                100.0 * self.share_max,
                self.trials
            ),
        })
    }
}

/// The load that a verdict stands for. A trial that failed while the hypervisor took a share of the CPU shows only
/// that the line lies below the load that the full CPU would have carried.
fn decided_rate(trial: &Trial) -> f64 {
    if trial.verdict.is_fail() {
        trial.spec.rate / (1.0 - trial.stolen_share)
    } else {
        trial.spec.rate
    }
}

pub(super) fn is_calm(trial: &Trial) -> bool {
    trial.stolen_share <= 0.0
}

/// Whether chance can hardly explain a failure: even the median broke the objective.
pub(super) fn is_plain(trial: &Trial) -> bool {
    trial.verdict.is_fail() && 2 * trial.bad > trial.requests
}
