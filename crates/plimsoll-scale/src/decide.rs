//! The decision: what the policies want, and what forbids it.

use plimsoll_config::scale::ScalePolicy;

use crate::decision::Decision;
use crate::paid;
use crate::readings::ScaleReadings;
use crate::recommendation::Recommendation;
use crate::rules::{ConcurrencyState, LineState, TargetState, ThresholdState, scheduled};
use crate::whole::{replicas, seconds, time};

/// What a policy remembers from second to second; bounded by its windows.
#[derive(Clone, Debug)]
pub struct ScaleState {
    threshold: Vec<ThresholdState>,
    target: Vec<TargetState>,
    concurrency: Option<ConcurrencyState>,
    line: Option<LineState>,
}

impl ScaleState {
    /// Nothing is remembered yet.
    pub fn new(policy: &ScalePolicy) -> Self {
        Self {
            threshold: vec![ThresholdState::default(); policy.threshold.len()],
            target: policy.target.iter().map(TargetState::new).collect(),
            concurrency: policy.concurrency.as_ref().map(ConcurrencyState::new),
            line: policy.line.as_ref().map(|_| LineState::new()),
        }
    }
}

/// Decides how many replicas there shall be, once for each second of readings. It changes `state` alone; equal states and
/// readings give equal decisions.
///
/// Of several policies, the one that wants the most decides. A policy whose signal cannot be used has no part in it, and
/// then nothing is removed.
pub fn decide(policy: &ScalePolicy, state: &mut ScaleState, readings: &ScaleReadings) -> Decision {
    let mut used: Option<Recommendation> = None;
    let mut refusals: Vec<(String, String)> = Vec::new();
    for mut wanted in recommendations(policy, state, readings) {
        match wanted.refused_by.take() {
            Some(because) => refusals.push((wanted.signal, because)),
            None if used.as_ref().is_none_or(|used| wanted.wanted > used.wanted) => {
                used = Some(wanted);
            }
            None => {}
        }
    }
    let decision = match used {
        Some(used) => decided(policy, readings, used, &refusals),
        None => nothing_usable(policy, readings, &refusals),
    };
    forbidden(policy, readings, decision)
}

fn recommendations(
    policy: &ScalePolicy,
    state: &mut ScaleState,
    readings: &ScaleReadings,
) -> Vec<Recommendation> {
    let mut wanted = Vec::new();
    if let (Some(line), Some(state)) = (&policy.line, &mut state.line) {
        wanted.push(state.recommend((policy, line), readings));
    }
    let dates = policy.schedule.iter();
    wanted.extend(dates.map(|load| scheduled(policy, load, readings)));
    for (target, state) in policy.target.iter().zip(&mut state.target) {
        wanted.push(state.recommend((policy, target), readings));
    }
    if let (Some(concurrency), Some(state)) = (&policy.concurrency, &mut state.concurrency) {
        wanted.push(state.recommend((policy, concurrency), readings));
    }
    for (threshold, state) in policy.threshold.iter().zip(&mut state.threshold) {
        wanted.push(state.recommend(threshold, readings));
    }
    wanted
}

fn decided(
    policy: &ScalePolicy,
    readings: &ScaleReadings,
    used: Recommendation,
    refusals: &[(String, String)],
) -> Decision {
    let now = readings.replicas;
    let within = used.wanted.clamp(policy.min, policy.max);
    let mut reason = used.reason;
    if within != used.wanted {
        reason = format!(
            "{reason}: {} wanted, {} allowed (min {}, max {})",
            used.wanted, within, policy.min, policy.max
        );
    }
    let mut wanted = within;
    if let Some((signal, because)) = refusals.first()
        && wanted < now
        && now <= policy.max
    {
        wanted = now;
        reason = format!("{reason}; nothing is removed without {signal}: {because}");
    }
    Decision {
        at_s: readings.at_s,
        signal: used.signal,
        wanted,
        now,
        reason,
        refused_by: None,
    }
}

/// Every policy is without its signal, or there is none: what stands is kept, within its bounds.
fn nothing_usable(
    policy: &ScalePolicy,
    readings: &ScaleReadings,
    refusals: &[(String, String)],
) -> Decision {
    let now = readings.replicas;
    let signals: Vec<&str> = refusals.iter().map(|(signal, _)| signal.as_str()).collect();
    let signal = signals.join(", ");
    let because: Vec<String> = refusals
        .iter()
        .map(|(_, because)| because.clone())
        .collect();
    let wanted = now.clamp(policy.min, policy.max);
    let is_kept = wanted == now;
    Decision {
        at_s: readings.at_s,
        signal,
        wanted,
        now,
        reason: "no signal can be used, and the number stays".to_owned(),
        refused_by: (is_kept && !because.is_empty()).then(|| because.join("; ")),
    }
}

/// What forbids a decision: a limit that all replicas share, or the period that is paid.
fn forbidden(policy: &ScalePolicy, readings: &ScaleReadings, mut decision: Decision) -> Decision {
    if decision.refused_by.is_some() || policy.imitates {
        return decision;
    }
    let is_below_min = readings.replicas < policy.min;
    if let Some(shared) = &readings.shared
        && decision.wanted > decision.now
        && !is_below_min
    {
        decision.refused_by = Some(format!(
            "{} is shared by all replicas: more of them do not carry more",
            shared.name
        ));
        return decision;
    }
    let Some(paid) = policy.replica.paid else {
        return decision;
    };
    let excess = decision.now.saturating_sub(decision.wanted);
    if excess == 0 || decision.now > policy.max {
        return decision;
    }
    let paid_s = seconds(paid);
    let removable = paid::removable(&readings.ages_s, paid_s).min(excess);
    if removable == 0 {
        let wait = paid::next_s(&readings.ages_s, paid_s).unwrap_or(0);
        decision.refused_by = Some(format!(
            "every replica is paid for {} more at least before it may go",
            time(wait)
        ));
    } else if removable < excess {
        decision.wanted = decision.now - removable;
        decision.reason = format!(
            "{}; {} at the end of the paid period",
            decision.reason,
            replicas(removable)
        );
    }
    decision
}
