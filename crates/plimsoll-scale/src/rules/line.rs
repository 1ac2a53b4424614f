//! From the measured load line of a replica.

use std::collections::VecDeque;

use plimsoll_config::scale::{LinePolicy, ScalePolicy};

use super::forecast;
use super::past::PastValues;
use crate::capacity::ReplicaLaw;
use crate::readings::ScaleReadings;
use crate::recommendation::Recommendation;
use crate::whole::{replicas, seconds, short, time, up};

const SIGNAL: &str = "offered (line)";
/// Length of the mean, s: long enough against noise, short enough for a ramp.
const MEAN_S: u32 = 20;
/// Time that is remembered, s: the busiest seconds of it count, and a jump is measured by it.
const MINUTE_S: u32 = 60;
/// Length of the busiest seconds.
const PEAK: usize = 10;
/// Length of the mean from which a rise goes on, s.
const RECENT_S: u32 = 5;
/// Beyond the start time a rise is followed so far, s; farther where signals are later than that.
const BEYOND_START_S: u32 = 5;
/// Window of a panic, s; demand of so many times the capacity in it is one; then nothing is removed for so long, s.
const PANIC_WINDOW_S: u32 = 6;
const PANIC_TIMES: f64 = 2.0;
const PANIC_S: u32 = 60;
/// Seconds in a row with refused or late requests that show that the rates were wrong, and how long all replicas must
/// have been ready for that.
const TROUBLE_S: u32 = 5;
const SETTLED_S: u32 = 10;
/// By how much trouble raises the number.
const TROUBLE_GROWTH: f64 = 1.2;
/// An excess of this share is held for `hold`.
const HELD_SHARE: f64 = 0.1;
/// The shortest time for which an excess is held, s.
const HOLD_MIN_S: u32 = 30;

/// The state of the policy.
#[derive(Clone, Debug)]
pub(crate) struct LineState {
    past: PastValues,
    level: Option<u32>,
    reason: String,
    /// What the rates wanted, each with its second.
    wishes: VecDeque<(u32, u32)>,
    removed_s: u32,
    panic_until_s: u32,
    /// Seconds in a row with refused or late requests.
    trouble: u32,
    /// Seconds since all replicas are ready.
    settled: u32,
}

/// A number of replicas, and why.
struct Wish {
    replicas: u32,
    reason: String,
}

impl LineState {
    pub(crate) fn new() -> Self {
        Self {
            past: PastValues::new(MINUTE_S),
            level: None,
            reason: "nothing was decided yet".to_owned(),
            wishes: VecDeque::new(),
            removed_s: 0,
            panic_until_s: 0,
            trouble: 0,
            settled: 0,
        }
    }

    pub(crate) fn recommend(
        &mut self,
        (of, policy): (&ScalePolicy, &LinePolicy),
        readings: &ScaleReadings,
    ) -> Recommendation {
        let signal = SIGNAL.to_owned();
        let Some(offered) = readings.signals.offered.filter(|rate| rate.is_finite()) else {
            let because = "there is no reading of offered".to_owned();
            return Recommendation::refused(signal, readings, because);
        };
        self.past.push(readings.measured_s, offered);
        self.observe_trouble(policy, readings);
        let level = *self.level.get_or_insert(readings.replicas);
        if !readings.at_s.is_multiple_of(seconds(policy.every).max(1)) {
            return Recommendation::new(signal, level, self.reason.clone());
        }
        let wish = self.wish((of, policy), readings);
        let level = if wish.replicas >= level {
            self.reason = wish.reason;
            wish.replicas
        } else {
            self.lowered((of, policy), readings, (level, &wish))
        };
        self.remember(policy, readings.at_s, wish.replicas);
        self.level = Some(level);
        Recommendation::new(signal, level, self.reason.clone())
    }

    fn observe_trouble(&mut self, policy: &LinePolicy, readings: &ScaleReadings) {
        let are_all_ready = readings.ready >= readings.replicas;
        self.settled = if are_all_ready {
            self.settled.saturating_add(1)
        } else {
            0
        };
        let signals = &readings.signals;
        let is_late = policy
            .objective
            .zip(signals.latency)
            .is_some_and(|(objective, latency)| latency > objective.as_secs_f64());
        let is_shed = signals.shed.is_some_and(|shed| shed > 0.0);
        // Late signals are still about the time before all were ready.
        let is_settled = self.settled > SETTLED_S.saturating_add(late_s(readings));
        let is_in_trouble = (is_late || is_shed) && is_settled;
        self.trouble = if is_in_trouble { self.trouble + 1 } else { 0 };
    }

    /// The most that the rates, their rise, a jump, a panic or trouble want.
    fn wish(
        &mut self,
        (of, policy): (&ScalePolicy, &LinePolicy),
        readings: &ScaleReadings,
    ) -> Wish {
        let law = ReplicaLaw::of(&of.replica);
        let need = |rate: f64, utilisation: f64, what: String| Wish {
            replicas: law.replicas_for(rate, utilisation, of.max),
            reason: format!(
                "{what} of {}/s at {} % of {}/s a replica",
                short(rate),
                short(utilisation * 100.0),
                short(of.replica.line)
            ),
        };
        let u = policy.utilisation;
        let past = &self.past;
        let mut wishes = vec![
            need(past.mean(MEAN_S).unwrap_or(0.0), u, "a mean".to_owned()),
            need(
                past.mean_max(PEAK).unwrap_or(0.0),
                policy.peak_utilisation,
                "a busiest 10 s".to_owned(),
            ),
        ];
        let beyond_s = BEYOND_START_S.max(late_s(readings));
        let by_start = || seconds(of.replica.start).saturating_add(beyond_s);
        let ahead = policy.horizon.map_or_else(by_start, seconds);
        let growth = forecast::growth(past, ahead);
        if growth > 0.0 {
            let recent = past.mean(RECENT_S).unwrap_or(0.0);
            let rate = recent + growth.min(recent);
            wishes.push(need(rate, u, format!("a forecast for {}", time(ahead))));
        }
        let jump = forecast::jump(past).filter(|rate| *rate > law.capacity(readings.replicas));
        if let Some(rate) = jump {
            wishes.push(need(rate, u, "a jump to a rate".to_owned()));
        }
        let recent = past.mean(PANIC_WINDOW_S).unwrap_or(0.0);
        if recent >= PANIC_TIMES * law.capacity(readings.ready.max(1)) {
            wishes.push(need(recent, u, "panic: a demand".to_owned()));
            self.panic_until_s = readings.at_s + PANIC_S;
        }
        if self.trouble >= TROUBLE_S {
            self.trouble = 0;
            wishes.push(trouble(readings.replicas));
        }
        let most = wishes.into_iter().reduce(|most, wish| {
            if wish.replicas > most.replicas {
                wish
            } else {
                most
            }
        });
        let mut wish = most.expect("the mean is always there");
        wish.replicas = wish.replicas.clamp(of.min, of.max);
        wish
    }

    /// An excess is held the shorter the larger it is, and then removed in steps.
    fn lowered(
        &mut self,
        (of, policy): (&ScalePolicy, &LinePolicy),
        readings: &ScaleReadings,
        (level, wish): (u32, &Wish),
    ) -> u32 {
        let at = readings.at_s;
        let lower = self.lower_level(
            policy,
            (at, seconds(of.replica.start)),
            (level, wish.replicas),
        );
        let Some(lower) = lower else {
            self.reason = format!(
                "{}: {} suffice, {level} are held for a while",
                wish.reason, wish.replicas
            );
            return level;
        };
        let waits = at < self.removed_s.saturating_add(seconds(policy.remove_every));
        if waits || at < self.panic_until_s || readings.ready < readings.replicas {
            self.reason = format!(
                "{}: {} suffice, the next removal waits",
                wish.reason,
                replicas(lower)
            );
            return level;
        }
        self.removed_s = at;
        let step = (level * policy.remove_percent / 100).max(1);
        let next = lower.max(level.saturating_sub(step));
        self.reason = format!(
            "{}: {} suffice, removed step by step",
            wish.reason,
            replicas(lower)
        );
        next
    }

    /// The most that was wanted for long enough; `None` where that is no less than what stands.
    fn lower_level(
        &self,
        policy: &LinePolicy,
        (at, start): (u32, u32),
        (level, wish): (u32, u32),
    ) -> Option<u32> {
        let hold = seconds(policy.hold);
        let shortest = start.max(HOLD_MIN_S).min(hold);
        let mut most = wish;
        for &(second, wish) in self.wishes.iter().rev() {
            most = most.max(wish);
            if most >= level {
                return None;
            }
            let excess = f64::from(level - most) / f64::from(level);
            let kept_s = up(f64::from(hold) * HELD_SHARE / excess).clamp(shortest, hold);
            if at.saturating_sub(second) >= kept_s {
                return Some(most);
            }
        }
        None
    }

    fn remember(&mut self, policy: &LinePolicy, at: u32, wish: u32) {
        self.wishes.push_back((at, wish));
        let keep = seconds(policy.hold).max(HOLD_MIN_S) + 1;
        while self
            .wishes
            .front()
            .is_some_and(|(first, _)| first + keep < at)
        {
            self.wishes.pop_front();
        }
    }
}

/// How old the signals are, s.
fn late_s(readings: &ScaleReadings) -> u32 {
    readings.at_s.saturating_sub(readings.measured_s)
}

fn trouble(now: u32) -> Wish {
    let more = up(f64::from(now) * TROUBLE_GROWTH - 1e-9).max(now.saturating_add(1));
    Wish {
        replicas: more,
        reason:
            "requests are refused or late although all replicas are ready: a fifth more than a rate"
                .to_owned(),
    }
}
