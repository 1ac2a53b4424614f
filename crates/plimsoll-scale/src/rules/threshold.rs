//! Steps when a signal crosses a bound.

use plimsoll_config::scale::{Signal, Statistic, ThresholdPolicy};

use crate::readings::ScaleReadings;
use crate::recommendation::Recommendation;
use crate::whole::{replicas, seconds, short, time};

/// The state of a threshold.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThresholdState {
    /// What it wants until it wants something else.
    level: Option<u32>,
    /// Number of the period that is going on.
    period: u32,
    values: PeriodValues,
    /// Periods in a row beyond each bound.
    above: u32,
    below: u32,
    /// Periods that begin before this second do not count.
    cool_s: u32,
}

/// Values of a period.
#[derive(Clone, Copy, Debug, Default)]
struct PeriodValues {
    sum: f64,
    count: u32,
    high: f64,
    low: f64,
}

impl PeriodValues {
    fn add(&mut self, value: f64) {
        self.sum += value;
        (self.high, self.low) = match self.count {
            0 => (value, value),
            _ => (self.high.max(value), self.low.min(value)),
        };
        self.count += 1;
    }

    fn statistic(self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.sum / f64::from(self.count.max(1)),
            Statistic::Max => self.high,
            Statistic::Min => self.low,
        }
    }
}

impl ThresholdState {
    pub(crate) fn recommend(
        &mut self,
        policy: &ThresholdPolicy,
        readings: &ScaleReadings,
    ) -> Recommendation {
        let signal = format!("{} (threshold)", policy.signal);
        let period_s = seconds(policy.period).max(1);
        if readings.ready < readings.replicas {
            self.cool_s = readings.at_s + seconds(policy.cooldown);
        }
        let level = *self.level.get_or_insert(readings.replicas);
        let Some(value) = value(&policy.signal, readings) else {
            let because = format!("there is no reading of {}", policy.signal);
            return Recommendation::refused(signal, readings, because);
        };
        let Some(second) = readings.measured_s.checked_sub(1) else {
            return stays(signal, level);
        };
        if second / period_s != self.period {
            self.period = second / period_s;
            self.values = PeriodValues::default();
        }
        self.values.add(value);
        if !readings.measured_s.is_multiple_of(period_s) {
            return stays(signal, level);
        }
        let statistic = self.values.statistic(policy.statistic);
        let counts = self.values.count == period_s && self.period * period_s >= self.cool_s;
        self.above = next(self.above, counts && statistic > policy.above);
        self.below = next(self.below, counts && statistic < policy.below);
        self.step(policy, readings, (signal, statistic))
    }

    fn step(
        &mut self,
        policy: &ThresholdPolicy,
        readings: &ScaleReadings,
        (signal, statistic): (String, f64),
    ) -> Recommendation {
        let now = readings.replicas;
        let (level, bound, sign) = if self.above >= policy.periods {
            (now.saturating_add(policy.add), policy.above, "above")
        } else if self.below >= policy.periods {
            (
                now.saturating_sub(policy.remove).max(1),
                policy.below,
                "below",
            )
        } else {
            return stays(signal, self.level.unwrap_or(now));
        };
        (self.above, self.below) = (0, 0);
        self.level = Some(level);
        self.cool_s = readings.at_s + seconds(policy.cooldown);
        let reason = format!(
            "{} was {sign} {} for {} of {} (now {})",
            policy.signal,
            short(bound),
            periods(policy.periods),
            time(seconds(policy.period)),
            short(statistic)
        );
        Recommendation::new(signal, level, reason)
    }
}

fn next(count: u32, is_beyond: bool) -> u32 {
    if is_beyond {
        count.saturating_add(1)
    } else {
        0
    }
}

fn periods(count: u32) -> String {
    if count == 1 {
        "a period".to_owned()
    } else {
        format!("{count} periods")
    }
}

fn stays(signal: String, level: u32) -> Recommendation {
    let reason = format!("no bound was crossed for long enough: {}", replicas(level));
    Recommendation::new(signal, level, reason)
}

/// The value of a replica: a part of a sum, or a mean; CPU over all replicas, of which those that start are idle.
fn value(signal: &Signal, readings: &ScaleReadings) -> Option<f64> {
    let value = readings.signals.get(signal)?;
    let all = f64::from(readings.replicas.max(1));
    Some(match signal {
        Signal::Cpu => value * f64::from(readings.ready) / all,
        signal if signal.is_total() => value / all,
        _ => value,
    })
}
