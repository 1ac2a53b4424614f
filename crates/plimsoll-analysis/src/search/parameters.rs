//! How much time a search may take, and how sure it must be.

use std::time::Duration;

use plimsoll_model::objective::Objective;
use plimsoll_model::plan::LoadUnit;

use super::users::Population;

/// Parameters of a search.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each switches one part of the search on its own"
)]
pub struct SearchParameters {
    /// What counts as good.
    pub objective: Objective,
    /// Wall time of the whole search at most.
    pub budget: Duration,
    /// The unit of the load when that is not requests per second, and the requests of one unit.
    pub population: Option<Population>,
    /// Whether objectives of steps, journeys or groups decide too: then a trial's distance from the overall objective
    /// means little.
    pub has_thresholds: bool,
    /// Load of the first bracket trial, in the unit of the search; `None` derives it from the response time of one client.
    pub first_rate: Option<f64>,
    /// Highest load to try, in the unit of the search; `None` for as high as the generator goes.
    pub rate_max: Option<f64>,
    /// Requests in flight at which a trial has failed.
    pub in_flight_cap: u64,
    /// Seconds of ramp before each trial.
    pub ramp_s: u32,
    /// Seconds after the ramp that are not judged.
    pub warmup_s: u32,
    /// Extra seconds of load before the very first trial is judged: the target may have just been started.
    pub first_warmup_s: u32,
    /// Judged seconds of a trial of the refinement.
    pub measure_s: u32,
    /// Judged seconds at most, where the rate or the noise requires longer trials.
    pub measure_s_max: u32,
    /// Judged seconds of a trial of the bracket.
    pub bracket_s: u32,
    /// Whether a failure by more than half of the requests ends the bracket without being repeated.
    pub believes_plain_failures: bool,
    /// A/A trials, and judged seconds of each.
    pub noise: (u32, u32),
    /// Width of the 90 % interval at which the refinement may stop: high/low ≤ 1 + width.
    pub width: f64,
    /// Trials of the refinement at least and at most.
    pub refine: (u32, u32),
    /// Fresh trials at the lower edge, and how many of them must pass.
    pub confirm: (u32, u32),
    /// Judged seconds of an anchor; 0 for none.
    pub anchor_s: u32,
    /// Seconds in which the target must recover after a failure.
    pub recovery_s: u32,
    /// Whether a target that does not recover in that time ends the search (the quick search waits too briefly).
    pub must_recover: bool,
    /// Mean iterations of a user that a trial judges at least.
    pub iterations: f64,
    /// Whether the line is also approached from above.
    pub hysteresis: bool,
    /// Judged seconds of a soak at 0.9 of the verified load; 0 for none.
    pub soak_s: u32,
}

impl SearchParameters {
    /// At most 4 minutes: short trials, a wide interval, no anchors.
    pub fn quick(objective: Objective) -> Self {
        Self {
            budget: Duration::from_secs(230),
            ramp_s: 1,
            warmup_s: 1,
            first_warmup_s: 2,
            measure_s: 8,
            measure_s_max: 20,
            bracket_s: 3,
            believes_plain_failures: true,
            iterations: 1.0,
            noise: (3, 3),
            width: 0.15,
            refine: (5, 30),
            confirm: (3, 2),
            anchor_s: 0,
            recovery_s: 5,
            must_recover: false,
            ..Self::standard(objective)
        }
    }

    /// At most 15 minutes.
    pub fn standard(objective: Objective) -> Self {
        Self {
            objective,
            budget: Duration::from_secs(870),
            population: None,
            has_thresholds: false,
            first_rate: None,
            rate_max: None,
            in_flight_cap: 10_000,
            ramp_s: 3,
            warmup_s: 2,
            first_warmup_s: 5,
            measure_s: 20,
            measure_s_max: 60,
            bracket_s: 10,
            believes_plain_failures: false,
            iterations: 2.0,
            noise: (5, 5),
            width: 0.08,
            refine: (8, 30),
            confirm: (5, 4),
            anchor_s: 15,
            recovery_s: 60,
            must_recover: true,
            hysteresis: false,
            soak_s: 0,
        }
    }

    /// An hour: minute-long trials, a narrow interval, the line approached from above too, and ten minutes below it.
    pub fn thorough(objective: Objective) -> Self {
        Self {
            budget: Duration::from_hours(1),
            first_warmup_s: 30,
            measure_s: 60,
            measure_s_max: 120,
            noise: (5, 10),
            width: 0.04,
            hysteresis: true,
            soak_s: 600,
            ..Self::standard(objective)
        }
    }

    /// What the search counts its load in.
    pub fn unit(&self) -> LoadUnit {
        self.population
            .map_or(LoadUnit::default(), |population| population.unit)
    }

    /// Judged seconds of a full trial at `rate`: up to twice the usual time for thirty requests beyond the quantile,
    /// since with ten the verdict of a queue is mostly chance.
    pub(super) fn full_measure_s(&self, rate: f64, base_s: u32) -> u32 {
        let longer = self.measure_s_at(rate / 2.5, base_s);
        self.measure_s_at(rate, longer.min(2 * base_s))
    }

    /// Judged seconds that give the objective's strictest quantile enough requests at `rate`: ten beyond the
    /// quantile, and a fifth more, since Poisson counts scatter; never below `base_s`.
    pub(super) fn measure_s_at(&self, rate: f64, base_s: u32) -> u32 {
        let tail = self
            .objective
            .strictest()
            .map_or(0.05, |bound| 1.0 - bound.quantile);
        let needed = (12.0 / (tail * rate)).ceil();
        let longest = self.measure_s_max.max(base_s);
        if needed >= f64::from(longest) {
            return longest;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the longest"
        )]
        let needed = needed as u32;
        needed.max(base_s)
    }

    /// The lowest rate whose trials can be judged at all, 1/s.
    pub(super) fn rate_min(&self) -> f64 {
        let tail = self
            .objective
            .strictest()
            .map_or(0.05, |bound| 1.0 - bound.quantile);
        12.0 / (tail * f64::from(self.measure_s_max))
    }
}
