//! Phase 2: Bayesian refinement.

use std::time::Duration;

use plimsoll_model::load_line::{NoLine, Remark};
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};

use super::confirm::Confirm;
use super::state::{SearchState, cost, interval};
use super::{PhaseAction, SearchPhase};

/// Quantiles of the posterior at which trials are made, in turn.
const QUANTILES: [f64; 3] = [0.5, 0.3, 0.7];
/// How far beyond the lowest rate that failed, above all that passed, trials are made.
const BEYOND_FAILED_MAX: f64 = 1.05;
/// Every so many trials an anchor.
const ANCHOR_EVERY: u32 = 4;
/// Trials after which their length is checked.
const LENGTHEN_FROM: u32 = 3;
/// An interval wider than this is no line.
const WIDTH_MAX: f64 = 1.0;
/// Independent clusters of bad requests that a trial at the line should be able to hold.
const CLUSTERS_MIN: f64 = 1.0;
/// Longer trials that must still fit into the budget, beside those that confirm.
const LONGER_TRIALS_MIN: u32 = 5;

/// The refinement.
#[derive(Debug)]
pub(super) struct Refine {
    trials: u32,
    anchored_at: u32,
    lengthened: bool,
}

impl Refine {
    pub(super) fn new(known: &mut SearchState, passed: f64, failed: f64) -> Self {
        let base_s = known.parameters.measure_s * if known.noisy.is_some() { 2 } else { 1 };
        known.measure_s = known.full_measure_s((passed * failed).sqrt(), base_s);
        known.open_posterior(passed, failed);
        Self {
            trials: 0,
            anchored_at: 0,
            lengthened: false,
        }
    }

    pub(super) fn next(&mut self, known: &mut SearchState) -> PhaseAction {
        self.lengthen(known);
        let (low, median, high) = interval(known);
        let narrow = high / low <= 1.0 + known.width();
        if narrow && self.trials >= known.parameters.refine.0 && is_enclosed(known, low, high) {
            return PhaseAction::Enter(SearchPhase::Confirm(Confirm::new(known)));
        }
        if let Some(anchor) = self.anchor(known) {
            return PhaseAction::Trial(anchor);
        }
        let quantile = QUANTILES[self.trials as usize % QUANTILES.len()];
        let rate = known
            .posterior
            .as_ref()
            .map_or(median, |posterior| posterior.quantile(quantile));
        // Far beyond a rate that failed, with no pass above it, every trial fails and adds no information.
        let most = known
            .reachable()
            .min(0.97 * known.void_from)
            .min(BEYOND_FAILED_MAX * known.failed_above_passes());
        let spec = known.spec(TrialKind::Refine, rate.min(most), known.measure_s);
        // A failing trial costs its recovery too; fresh trials at the lower edge come last and must fit.
        let needed = cost(&spec) + confirm_cost(known, &spec);
        let left = known.budget().saturating_sub(known.elapsed);
        // Without an interval worth confirming, the time kept for that is better spent on it.
        let needed = if high / low > 1.0 + WIDTH_MAX {
            cost(&spec)
        } else {
            needed
        };
        if self.trials < known.parameters.refine.1 && needed <= left {
            return PhaseAction::Trial(spec);
        }
        let because = if self.trials >= known.parameters.refine.1 {
            format!("{} trials did not suffice", self.trials)
        } else {
            "the time ran out".to_owned()
        };
        Self::stop_wide(known, because)
    }

    /// A busy queue has a longer memory than a short trial: the trial starts with it empty, and misses the later
    /// overload. Where bad requests come in clusters so large that a trial holds hardly one, and time is left, trials
    /// get twice the time, once, and a warm-up of a quarter of it; the evidence of the short ones counts less.
    fn lengthen(&mut self, known: &mut SearchState) {
        if self.lengthened || self.trials < LENGTHEN_FROM {
            return;
        }
        let (low, _, high) = interval(known);
        let Some(posterior) = &known.posterior else {
            return;
        };
        let allowed = known.allowed(posterior.quantile(0.5), known.measure_s);
        if allowed / posterior.clustering() >= CLUSTERS_MIN {
            return;
        }
        self.lengthened = true;
        let mut longer = known.spec(TrialKind::Refine, high, 2 * known.measure_s);
        longer.warmup_s = longer.warmup_s.max(longer.measure_s / 4);
        let needed = cost(&longer) * (LONGER_TRIALS_MIN + known.parameters.confirm.0);
        if known.elapsed + needed > known.budget() {
            return;
        }
        (known.measure_s, known.warmup_s) = (longer.measure_s, longer.warmup_s);
        known.open_posterior(low, high);
    }

    /// The interval is wider than requested: still a line when it is enclosed and not absurd, with a remark.
    fn stop_wide(known: &mut SearchState, because: String) -> PhaseAction {
        let (low, median, high) = interval(known);
        let failed = known.evidence.iter().any(|evidence| evidence.failed);
        if !failed || high / low > 1.0 + WIDTH_MAX {
            return PhaseAction::End(NoLine::GaveUp {
                low,
                median,
                high,
                because,
            });
        }
        let text = format!(
            "the interval is {:.0} % wide instead of the requested {:.0} %: {because}",
            100.0 * (high / low - 1.0),
            100.0 * known.width()
        );
        known.remarks.push(Remark::Note { text });
        PhaseAction::Enter(SearchPhase::Confirm(Confirm::new(known)))
    }

    fn anchor(&mut self, known: &SearchState) -> Option<TrialSpec> {
        let due = self.trials.is_multiple_of(ANCHOR_EVERY) && self.trials > self.anchored_at;
        if known.parameters.anchor_s == 0 || !due {
            return None;
        }
        self.anchored_at = self.trials;
        let rate = known.anchor_rate()?;
        let measure_s = known.at_least_s(known.parameters.anchor_s, rate);
        let mut spec = known.spec(TrialKind::Anchor, rate, measure_s);
        (spec.ramp_s, spec.warmup_s) = (0, 1);
        Some(spec)
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        self.trials += u32::from(trial.spec.kind == TrialKind::Refine);
    }

    pub(super) fn trials(&self) -> u32 {
        self.trials
    }
}

/// Time to keep back: a round of fresh trials, with one that fails and its recovery, and the soak.
fn confirm_cost(known: &SearchState, spec: &TrialSpec) -> Duration {
    let recovery_and_soak = known.parameters.ramp_s + 7 + known.parameters.soak_s;
    cost(spec) * known.parameters.confirm.0 + Duration::from_secs(u64::from(recovery_and_soak))
}

/// At least two failures in [L, 1.1 U] and two passes in [0.95 L, U].
fn is_enclosed(known: &SearchState, low: f64, high: f64) -> bool {
    let count = |failed: bool, from: f64, to: f64| {
        let inside = known
            .evidence
            .iter()
            .filter(|evidence| evidence.failed == failed && (from..=to).contains(&evidence.rate));
        inside.count()
    };
    count(true, low, 1.1 * high) >= 2 && count(false, 0.95 * low, high) >= 2
}
