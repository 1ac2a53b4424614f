//! Requests in flight below their limit: the arithmetic of Knative's autoscaler (`autoscaler.go`).

use std::collections::VecDeque;

use plimsoll_config::scale::{ConcurrencyPolicy, ScalePolicy};

use super::past::PastValues;
use crate::readings::ScaleReadings;
use crate::recommendation::Recommendation;
use crate::whole::{down, replicas, seconds, short, up};

const SIGNAL: &str = "in_flight (concurrency)";

/// The state of the policy.
#[derive(Clone, Debug)]
pub(crate) struct ConcurrencyState {
    past: PastValues,
    level: Option<u32>,
    reason: String,
    /// The last second in which the panic window wanted too much.
    panic_s: Option<u32>,
    /// The most that was wanted since then.
    panic_max: u32,
    /// Wishes within `delay`, each with its second.
    wishes: VecDeque<(u32, u32)>,
}

impl ConcurrencyState {
    pub(crate) fn new(policy: &ConcurrencyPolicy) -> Self {
        Self {
            past: PastValues::new(seconds(policy.window)),
            level: None,
            reason: "nothing was decided yet".to_owned(),
            panic_s: None,
            panic_max: 0,
            wishes: VecDeque::new(),
        }
    }

    pub(crate) fn recommend(
        &mut self,
        (of, policy): (&ScalePolicy, &ConcurrencyPolicy),
        readings: &ScaleReadings,
    ) -> Recommendation {
        let Some(in_flight) = readings.signals.in_flight else {
            let because = "there is no reading of in_flight".to_owned();
            return Recommendation::refused(SIGNAL.to_owned(), readings, because);
        };
        self.past.push(readings.measured_s, in_flight);
        if self.level.is_none() && readings.ready > 1 {
            // Without a past it keeps what stands until it knows enough.
            (self.panic_s, self.panic_max) = (Some(readings.at_s), readings.ready);
        }
        let level = *self.level.get_or_insert(readings.replicas);
        if readings.at_s.is_multiple_of(seconds(policy.every).max(1)) {
            let limit = policy.limit.unwrap_or_else(|| of.replica.in_flight_max());
            let wish = self.wish(policy, readings, limit * policy.share);
            let level = self
                .delayed(policy, readings.at_s, wish)
                .clamp(of.min, of.max);
            self.level = Some(level);
            return Recommendation::new(SIGNAL.to_owned(), level, self.reason.clone());
        }
        Recommendation::new(SIGNAL.to_owned(), level, self.reason.clone())
    }

    fn wish(&mut self, policy: &ConcurrencyPolicy, readings: &ScaleReadings, target: f64) -> u32 {
        let window = seconds(policy.window);
        let panic_window = up((f64::from(window) * policy.panic_window).round()).max(1);
        let stable = self.past.mean(window).unwrap_or(0.0);
        let recent = self.past.mean(panic_window).unwrap_or(0.0);
        let ready = f64::from(readings.ready.max(1));
        let most = up(f64::from(policy.up_rate) * ready);
        let least = down(ready / f64::from(policy.down_rate));
        let panic_level = up(recent / target - 1e-9);
        let is_panic = f64::from(panic_level) / ready >= f64::from(policy.panic_percent) / 100.0;
        let wish = up(stable / target - 1e-9).max(least).min(most);
        self.note_panic(readings.at_s, is_panic, window);
        let mut reason = format!(
            "{} in flight over {window} s, {} over {panic_window} s, {} of a replica are aimed at",
            short(stable),
            short(recent),
            short(target)
        );
        let wish = if self.panic_s.is_some() {
            let recent = panic_level.max(least).min(most);
            self.panic_max = self.panic_max.max(wish).max(recent);
            reason = format!("{reason}; panic: only growth until {window} s without");
            self.panic_max
        } else {
            wish
        };
        self.reason = format!("{reason}: {}", replicas(wish));
        wish
    }

    /// Panic begins with a window that wants too much, and ends when the long window has passed since the last one.
    fn note_panic(&mut self, at: u32, is_panic: bool, window: u32) {
        if is_panic {
            self.panic_s = Some(at);
        } else if self.panic_s.is_some_and(|last| last + window < at) {
            (self.panic_s, self.panic_max) = (None, 0);
        }
    }

    /// The highest wish of the delay.
    fn delayed(&mut self, policy: &ConcurrencyPolicy, at: u32, wish: u32) -> u32 {
        let delay = seconds(policy.delay);
        if delay == 0 {
            return wish;
        }
        self.wishes.push_back((at, wish));
        while self
            .wishes
            .front()
            .is_some_and(|(first, _)| first + delay <= at)
        {
            self.wishes.pop_front();
        }
        self.wishes
            .iter()
            .map(|(_, wish)| *wish)
            .max()
            .unwrap_or(wish)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_config::scale::ReplicaConfig;

    use super::*;

    /// What is wanted after so many seconds with so many requests in flight each.
    fn after(state: &mut ConcurrencyState, from: u32, in_flight: &[f64], ready: u32) -> u32 {
        let policy = ConcurrencyPolicy {
            limit: Some(10.0),
            share: 1.0,
            every: std::time::Duration::from_secs(1),
            ..ConcurrencyPolicy::default()
        };
        let of = ScalePolicy::without_rule("kpa", ReplicaConfig::of_line(1.0), (1, 1000));
        let mut wanted = 0;
        for (at_s, &in_flight) in (from..).zip(in_flight) {
            let mut readings = ScaleReadings {
                at_s,
                measured_s: at_s,
                replicas: ready,
                ready,
                ..ScaleReadings::default()
            };
            readings.signals.in_flight = Some(in_flight);
            wanted = state.recommend((&of, &policy), &readings).wanted;
        }
        wanted
    }

    #[test]
    fn twice_the_ready_replicas_are_a_panic() {
        let mut state = ConcurrencyState::new(&ConcurrencyPolicy::default());
        assert_eq!(after(&mut state, 1, &[50.0; 120], 5), 5);
        // 6 s at 100: the panic window needs 10 of 5.
        assert_eq!(after(&mut state, 121, &[100.0; 6], 5), 10);
        assert_eq!(state.panic_s, Some(126));
        // It never shrinks in a panic, and a minute later it does.
        assert_eq!(after(&mut state, 127, &[10.0; 60], 10), 10);
        assert!(state.panic_s.is_some());
        assert_eq!(
            after(&mut state, 187, &[10.0; 2], 10),
            5,
            "half of the ready ones at once"
        );
        assert!(state.panic_s.is_none());
    }
}
