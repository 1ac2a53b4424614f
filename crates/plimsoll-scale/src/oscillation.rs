//! Thresholds that cannot come to rest.

use std::fmt;

use plimsoll_config::scale::{ScalePolicy, Signal, ThresholdPolicy};

use crate::whole::short;

/// A threshold of CPU or of a sum whose growth brings the signal below the bound at which it shrinks:
/// `above · c / (c + k) ≤ below`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MustOscillate {
    above: f64,
    below: f64,
    /// Replicas that are added.
    add: u32,
    /// The fewest and the most replicas at which that happens.
    from: u32,
    to: u32,
}

impl fmt::Display for MustOscillate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, sum) = (self.from, self.from + self.add);
        let reached = self.above * f64::from(count) / f64::from(sum);
        write!(
            f,
            "it must oscillate: {} × {count}/({count}+{}) = {} ≤ {}, so what was added at {} is removed again",
            short(self.above),
            self.add,
            short(reached),
            short(self.below),
            range(self.from, self.to),
        )
    }
}

fn range(from: u32, to: u32) -> String {
    match (from, to) {
        (1, 1) => "1 replica".to_owned(),
        _ if from == to => format!("{from} replicas"),
        _ => format!("{from} to {to} replicas"),
    }
}

/// The thresholds of a policy that must oscillate somewhere between its bounds.
pub fn must_oscillate(policy: &ScalePolicy) -> Vec<MustOscillate> {
    let thresholds = policy.threshold.iter();
    thresholds
        .filter_map(|threshold| of_threshold(threshold, policy.min, policy.max))
        .collect()
}

fn of_threshold(threshold: &ThresholdPolicy, min: u32, max: u32) -> Option<MustOscillate> {
    // Other means, such as latency, are not divided by the number of replicas.
    let is_shared_out = threshold.signal.is_total() || threshold.signal == Signal::Cpu;
    if !is_shared_out {
        return None;
    }
    let oscillates = |count: u32| {
        let add = threshold.add.min(max - count);
        let sum = f64::from(count) + f64::from(add);
        // A millionth is rounding.
        threshold.above * f64::from(count) / sum <= threshold.below * (1.0 + 1e-6)
    };
    let counts = (min..max).filter(|count| oscillates(*count));
    let (from, to) = counts.fold(None, |range: Option<(u32, u32)>, count| {
        Some((range.map_or(count, |range| range.0), count))
    })?;
    Some(MustOscillate {
        above: threshold.above,
        below: threshold.below,
        add: threshold.add.min(max - from),
        from,
        to,
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_config::scale::ReplicaConfig;

    use super::*;

    fn of(add: u32, below: f64, bounds: (u32, u32)) -> Option<String> {
        of_signal(Signal::Cpu, (add, below), bounds)
    }

    fn of_signal(
        signal: Signal,
        (add, below): (u32, f64),
        (min, max): (u32, u32),
    ) -> Option<String> {
        let policy = ScalePolicy {
            threshold: vec![ThresholdPolicy {
                signal,
                add,
                below,
                ..ThresholdPolicy::default()
            }],
            ..ScalePolicy::without_rule("x", ReplicaConfig::of_line(90.0), (min, max))
        };
        must_oscillate(&policy).first().map(ToString::to_string)
    }

    #[test]
    fn what_replicas_do_not_share_out_is_not_judged() {
        for (signal, is_judged) in [
            (Signal::Cpu, true),
            (Signal::Offered, true),
            (Signal::Latency, false),
            (Signal::Series("depth".to_owned()), false),
        ] {
            let found = of_signal(signal.clone(), (4, 0.35), (2, 20));
            assert_eq!(found.is_some(), is_judged, "{signal}");
        }
    }

    #[test]
    fn the_arithmetic_names_where() {
        assert_eq!(of(1, 0.35, (1, 20)), None);
        assert_eq!(of(2, 0.35, (2, 20)), None);
        let four = of(4, 0.35, (2, 20)).unwrap();
        assert_eq!(
            four,
            "it must oscillate: 0.75 × 2/(2+4) = 0.25 ≤ 0.35, so what was added at 2 to 3 replicas is removed again"
        );
        assert_eq!(of(4, 0.35, (4, 20)), None);
        // The most replicas bound the step: 75 % × 2/3 = 50 %.
        assert_eq!(of(4, 0.35, (2, 3)), None);
        let even = of(1, 0.375, (1, 5)).unwrap();
        assert!(
            even.contains("= 0.375 ≤ 0.375") && even.contains("at 1 replica "),
            "{even}"
        );
    }
}
