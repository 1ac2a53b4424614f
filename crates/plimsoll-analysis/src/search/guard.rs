//! Beside the search: does the target recover after a failure, and does it stay the same?

use plimsoll_model::load_line::{NoLine, Remark};
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};

use super::state::SearchState;
use crate::stats::trend::{mann_kendall, theil_sen};

/// Failures to recover, one after the other, that end the search.
const LOST_MAX: u32 = 2;
/// Significance of a drift.
const DRIFT_P: f64 = 0.05;
/// Total change that is a drift, as a share.
const DRIFT_CHANGE: f64 = 0.05;
/// Exponent on the likelihood of all earlier trials at every anchor once the target drifts.
const DRIFT_POWER: f64 = 0.8;

/// What the guard watches.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Rate of the failure that is being recovered from, 1/s.
    overload: Option<f64>,
    lost: u32,
    recovered_from: Option<f64>,
    medians: Vec<f64>,
    cpu_per_request: Vec<f64>,
    drifted: bool,
}

impl Guard {
    /// What must follow a failed trial: low load until the target is well again.
    pub(super) fn after_failure(
        &mut self,
        known: &SearchState,
        trial: &Trial,
    ) -> Option<TrialSpec> {
        self.overload = Some(trial.spec.rate);
        recovery(known)
    }

    /// Takes a recovery in: another one to follow, nothing, or the end of the search.
    pub(super) fn recovered(
        &mut self,
        known: &mut SearchState,
        trial: &Trial,
    ) -> Result<Option<TrialSpec>, NoLine> {
        let Some(rate) = self.overload else {
            return Ok(None);
        };
        if trial.verdict.is_pass() {
            let seconds = trial.measured.0.saturating_sub(trial.start_second);
            known.remarks.push(Remark::Recovery {
                rate,
                seconds: Some(seconds),
            });
            self.lost = 0;
            self.recovered_from = Some(self.recovered_from.map_or(rate, |best| best.max(rate)));
            self.overload = None;
            return Ok(None);
        }
        if !known.parameters.must_recover {
            self.overload = None;
            return Ok(None);
        }
        known.remarks.push(Remark::Recovery {
            rate,
            seconds: None,
        });
        self.lost += 1;
        if self.lost >= LOST_MAX {
            return Err(NoLine::DoesNotRecover {
                recovered_from: self.recovered_from.or_else(|| known.highest_passed()),
            });
        }
        Ok(recovery(known))
    }

    /// Records an anchor: a drift is reported once, and invalidates earlier measurements.
    pub(super) fn anchored(&mut self, known: &mut SearchState, trial: &Trial) {
        if trial.requests == 0 || trial.spec.rate <= 0.0 {
            return;
        }
        known.anchor = Some((trial.spec.rate, trial.in_flight_mean));
        // Anchors move with the line's median, so they are compared per request.
        self.medians.push(trial.response_us.p50 as f64);
        if let Some(&(rate, busy)) = known.utilisation.last()
            && (rate / trial.spec.rate - 1.0).abs() < 0.01
        {
            self.cpu_per_request.push(busy / rate);
        }
        let series = [
            ("the median response time of the anchors", &self.medians),
            (
                "the CPU time per request at the anchors",
                &self.cpu_per_request,
            ),
        ];
        for (what, values) in series {
            if let Some(change) = drift(values) {
                let what = what.to_owned();
                known.remarks.retain(
                    |remark| !matches!(remark, Remark::Drift { what: remarked, .. } if *remarked == what),
                );
                known.remarks.push(Remark::Drift { what, change });
                self.drifted = true;
            }
        }
        if self.drifted
            && let Some(posterior) = &mut known.posterior
        {
            posterior.discount(DRIFT_POWER);
        }
    }
}

/// Low load until the target is well again.
fn recovery(known: &SearchState) -> Option<TrialSpec> {
    let rate = known.anchor_rate()?;
    let mut spec = known.spec(TrialKind::Recovery, rate, known.parameters.recovery_s);
    (spec.ramp_s, spec.warmup_s, spec.stop_early) = (0, 0, true);
    Some(spec)
}

/// Total relative change of a series that goes one way beyond chance.
fn drift(values: &[f64]) -> Option<f64> {
    let line = theil_sen(values)?;
    let start = line.intercept;
    let change = line.slope * (values.len() - 1) as f64 / start;
    (mann_kendall(values).p < DRIFT_P && change.abs() > DRIFT_CHANGE).then_some(change)
}
