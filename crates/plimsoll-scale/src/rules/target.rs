//! A signal that is kept at a value: the arithmetic of the Horizontal Pod Autoscaler (`replica_calculator.go` and
//! `horizontal.go` of Kubernetes).

use std::collections::VecDeque;

use plimsoll_config::scale::{Saturated, ScalePolicy, TargetPolicy};

use super::past::PastValues;
use crate::readings::ScaleReadings;
use crate::recommendation::Recommendation;
use crate::whole::{down, replicas, seconds, short, up};

/// What a mean over replicas is made of.
#[derive(Clone, Copy, Debug)]
struct MeasuredMean {
    mean: f64,
    /// Ready replicas with a value.
    measured: u32,
    /// Ready replicas without a value.
    missing: u32,
    /// Replicas that are not ready yet.
    unready: u32,
}

/// The state of a target.
#[derive(Clone, Debug)]
pub(crate) struct TargetState {
    past: PastValues,
    level: Option<u32>,
    reason: String,
    /// Why the last decision was refused, if it was; between two decisions nothing else is known.
    refused: Option<String>,
    /// Wishes, each with its second.
    wishes: VecDeque<(u32, u32)>,
    /// Replicas that were added and removed, each with its second.
    added: VecDeque<(u32, u32)>,
    removed: VecDeque<(u32, u32)>,
}

impl TargetState {
    pub(crate) fn new(policy: &TargetPolicy) -> Self {
        Self {
            past: PastValues::new(seconds(policy.window)),
            level: None,
            reason: "nothing was decided yet".to_owned(),
            refused: None,
            wishes: VecDeque::new(),
            added: VecDeque::new(),
            removed: VecDeque::new(),
        }
    }

    pub(crate) fn recommend(
        &mut self,
        (of, policy): (&ScalePolicy, &TargetPolicy),
        readings: &ScaleReadings,
    ) -> Recommendation {
        let signal = format!("{} (target)", policy.signal);
        if let Some(value) = readings.signals.get(&policy.signal) {
            self.past.push(readings.measured_s, value);
        }
        if self.level.is_none() {
            // What stands at the beginning counts as a wish, as it does there.
            self.wishes.push_back((readings.at_s, readings.replicas));
        }
        let level = *self.level.get_or_insert(readings.replicas);
        if !readings.at_s.is_multiple_of(seconds(policy.every).max(1)) {
            return match &self.refused {
                Some(because) => Recommendation::refused(signal, readings, because.clone()),
                None => Recommendation::new(signal, level, self.reason.clone()),
            };
        }
        let mean = match self.mean(policy, of, readings) {
            Ok(mean) => mean,
            Err(because) => {
                self.refused = Some(because.clone());
                return Recommendation::refused(signal, readings, because);
            }
        };
        self.refused = None;
        let now = readings.replicas;
        let wish = wish(policy, readings, mean).clamp(of.min, of.max);
        let stable = self.stabilised(policy, readings, wish);
        let level = self
            .limited(policy, (readings.at_s, now), stable)
            .clamp(of.min, of.max);
        self.changed(readings.at_s, now, level);
        self.reason = format!(
            "{} is {} at a target of {}: {} of {}",
            policy.signal,
            short(if policy.signal.is_total() {
                mean / f64::from(now.max(1))
            } else {
                mean
            }),
            short(policy.value),
            replicas(wish),
            now,
        );
        if level != wish {
            self.reason = format!(
                "{}, held at {level} by stabilisation and rates",
                self.reason
            );
        }
        self.level = Some(level);
        Recommendation::new(signal, level, self.reason.clone())
    }

    /// The mean of the window, or why there is none that can be used.
    fn mean(
        &self,
        policy: &TargetPolicy,
        of: &ScalePolicy,
        readings: &ScaleReadings,
    ) -> Result<f64, String> {
        let in_flight_max = of.replica.in_flight_max() * f64::from(readings.ready);
        let saturation = readings.signals.saturation(&policy.signal, in_flight_max);
        if let (Saturated::Refuse, Some(saturation)) = (policy.saturated, saturation) {
            return Err(format!(
                "{saturation} and shows no longer how much is missing; use offered (served and shed requests)"
            ));
        }
        let is_known = readings.signals.get(&policy.signal).is_some();
        let mean = self.past.mean(seconds(policy.window)).filter(|_| is_known);
        mean.ok_or_else(|| format!("there is no reading of {}", policy.signal))
    }

    /// The lowest wish of the time before growing, the highest of that before shrinking.
    fn stabilised(&mut self, policy: &TargetPolicy, readings: &ScaleReadings, wish: u32) -> u32 {
        let (at, now) = (readings.at_s, readings.replicas);
        let (before_up, before_down) =
            (seconds(policy.stabilise_up), seconds(policy.stabilise_down));
        let keep = before_up.max(before_down);
        while self
            .wishes
            .front()
            .is_some_and(|(first, _)| first + keep <= at)
        {
            self.wishes.pop_front();
        }
        let within = |span: u32| {
            let wishes = self.wishes.iter();
            wishes
                .filter(move |(second, _)| second + span > at)
                .map(|(_, wish)| *wish)
        };
        let lowest = within(before_up).fold(wish, u32::min);
        let highest = within(before_down).fold(wish, u32::max);
        self.wishes.push_back((at, wish));
        now.max(lowest).min(highest)
    }

    /// What the rates of growth and of shrinking allow.
    fn limited(&mut self, policy: &TargetPolicy, (at, now): (u32, u32), wanted: u32) -> u32 {
        let span = seconds(policy.rate_period);
        for events in [&mut self.added, &mut self.removed] {
            while events
                .front()
                .is_some_and(|(second, _)| second + span <= at)
            {
                events.pop_front();
            }
        }
        let sum =
            |events: &VecDeque<(u32, u32)>| events.iter().map(|(_, count)| count).sum::<u32>();
        let began = (now + sum(&self.removed)).saturating_sub(sum(&self.added));
        if wanted > now {
            let by_percent = up(f64::from(began) * (1.0 + f64::from(policy.up_percent) / 100.0));
            let most = by_percent
                .max(began.saturating_add(policy.up_replicas))
                .max(now);
            return wanted.min(most);
        }
        let least = down(f64::from(began) * (1.0 - f64::from(policy.down_percent) / 100.0));
        wanted.max(least.min(now))
    }

    fn changed(&mut self, at: u32, now: u32, level: u32) {
        if level > now {
            self.added.push_back((at, level - now));
        } else if level < now {
            self.removed.push_back((at, now - level));
        }
    }
}

/// The wish of a moment, before stabilisation.
fn wish(policy: &TargetPolicy, readings: &ScaleReadings, mean: f64) -> u32 {
    let now = readings.replicas;
    if policy.signal.is_total() {
        return of_total(policy, now, mean);
    }
    let measured = MeasuredMean {
        mean,
        measured: readings.ready.saturating_sub(readings.unmeasured),
        missing: readings.unmeasured.min(readings.ready),
        unready: now.saturating_sub(readings.ready),
    };
    of_mean(policy, now, measured)
}

fn of_total(policy: &TargetPolicy, now: u32, total: f64) -> u32 {
    let ratio = total / (policy.value * f64::from(now.max(1)));
    if (ratio - 1.0).abs() <= policy.tolerance {
        return now;
    }
    up(total / policy.value - 1e-9).max(1)
}

/// Replicas without a value count as being at the target before shrinking, and as idle before growing; those that are
/// not ready as idle before growing. Where that turns the direction, nothing is changed.
fn of_mean(policy: &TargetPolicy, now: u32, values: MeasuredMean) -> u32 {
    if values.measured == 0 {
        return now;
    }
    let is_near = |ratio: f64| (ratio - 1.0).abs() <= policy.tolerance;
    let count = f64::from(values.measured);
    let ratio = values.mean / policy.value;
    let counts_unready = values.unready > 0 && ratio > 1.0;
    if !counts_unready && values.missing == 0 {
        return if is_near(ratio) {
            now
        } else {
            up(ratio * count - 1e-9).max(1)
        };
    }
    let missing = f64::from(values.missing);
    let of_missing = if ratio < 1.0 {
        missing * policy.value
    } else {
        0.0
    };
    let unready = if counts_unready {
        f64::from(values.unready)
    } else {
        0.0
    };
    let whole = count + missing + unready;
    let rebalanced = (values.mean * count + of_missing) / whole / policy.value;
    let turns = (ratio < 1.0) != (rebalanced < 1.0);
    if is_near(rebalanced) || turns {
        return now;
    }
    let wish = up(rebalanced * whole - 1e-9).max(1);
    let turns = (rebalanced < 1.0 && wish > now) || (rebalanced > 1.0 && wish < now);
    if turns { now } else { wish }
}

#[cfg(test)]
mod tests {
    use plimsoll_config::scale::Signal;

    use super::*;

    fn wish_of(now: u32, mean: f64, missing: u32, unready: u32) -> u32 {
        let policy = TargetPolicy {
            value: 100.0,
            signal: Signal::Series("x".to_owned()),
            ..TargetPolicy::default()
        };
        let readings = ScaleReadings {
            replicas: now,
            ready: now - unready,
            unmeasured: missing,
            ..ScaleReadings::default()
        };
        wish(&policy, &readings, mean)
    }

    #[test]
    fn the_published_vectors_hold() {
        assert_eq!(wish_of(4, 200.0, 0, 0), 8);
        assert_eq!(wish_of(4, 105.0, 0, 0), 4);
        assert_eq!(wish_of(4, 111.0, 0, 0), 5);
        assert_eq!(wish_of(4, 50.0, 0, 0), 2);
        assert_eq!(wish_of(4, 89.0, 0, 0), 4, "0.89 of 4 is rounded up");
    }

    #[test]
    fn missing_and_starting_replicas_slow_it_down() {
        // Three at 150 and one that starts: (450 + 0) / 4 = 112.5, of 4: 4.5.
        assert_eq!(wish_of(4, 150.0, 0, 1), 5);
        // Three at 130: 97.5 on average turns the direction.
        assert_eq!(wish_of(4, 130.0, 0, 1), 4);
        // Shrinking: one of four without a value counts as being at the target: (3 × 50 + 100) / 4 = 62.5.
        assert_eq!(wish_of(4, 50.0, 1, 0), 3);
        // Growing: it counts as idle: 3 × 200 / 4 = 150.
        assert_eq!(wish_of(4, 200.0, 1, 0), 6);
        // Those that start do not keep it from shrinking.
        assert_eq!(wish_of(4, 50.0, 0, 2), 1);
        assert_eq!(wish_of(2, 500.0, 0, 2), 2, "nothing is known");
    }
}
