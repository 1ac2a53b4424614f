//! What a decision is made of, what forbids it, and what it never does.

use std::time::Duration;

use plimsoll_config::scale::{
    ConcurrencyPolicy, ReplicaConfig, ScalePolicy, Signal, TargetPolicy, WorldConfig,
};
use plimsoll_scale::{
    Decision, ReplaySecond, ScaleReadings, ScaleState, ScaleTrace, SharedTier, SignalValues,
    decide, preset, replay,
};
use proptest::prelude::*;

use crate::noise::noisy;

fn by_line() -> ScalePolicy {
    ScalePolicy::of_line("line", ReplicaConfig::of_line(80.0), (2, 40))
}

/// The decision after equal readings in each of so many seconds.
fn decided(policy: &ScalePolicy, readings: &ScaleReadings, seconds: u32) -> Decision {
    let mut state = ScaleState::new(policy);
    let mut last = None;
    for at_s in 1..=seconds {
        let readings = ScaleReadings {
            at_s,
            measured_s: at_s,
            ..readings.clone()
        };
        last = Some(decide(policy, &mut state, &readings));
    }
    last.unwrap()
}

fn readings(replicas: u32, offered: f64) -> ScaleReadings {
    let served = offered.min(80.0 * f64::from(replicas));
    ScaleReadings {
        replicas,
        ready: replicas,
        signals: SignalValues {
            offered: Some(offered),
            served: Some(served),
            shed: Some(offered - served),
            queue: Some(0.0),
            in_flight: Some(served * 0.1),
            latency: Some(0.1),
            cpu: Some(served / (80.0 * f64::from(replicas))),
            ..SignalValues::default()
        },
        ..ScaleReadings::default()
    }
}

#[test]
fn the_line_wants_what_the_rate_needs() {
    for (offered, expected) in [
        (100.0, 2),
        (150.0, 3),
        (240.0, 4),
        (600.0, 10),
        (99_999.0, 40),
    ] {
        let decision = decided(&by_line(), &readings(2, offered), 90);
        // Trouble adds more where requests are refused although all replicas are ready.
        let is_right = (expected..=40).contains(&decision.wanted);
        assert!(is_right, "{offered}: {decision:?}");
        let calm = decided(&by_line(), &readings(expected, offered.min(3000.0)), 5);
        assert_eq!(calm.wanted, expected, "{offered}: {calm:?}");
        assert!(calm.reason.contains("% of 80/s a replica"), "{calm:?}");
        assert_eq!(calm.signal, "offered (line)");
    }
}

#[test]
fn a_shared_limit_refuses_growth_and_is_named() {
    for name in [
        "PostgreSQL `max_connections` (P1)",
        "PostgreSQL CPU (P2)",
        "row lock (P3)",
        "internal lock of PostgreSQL (P4)",
        "pgbouncer pool size (P11)",
        "MySQL `max_connections` (Q1)",
        "MySQL CPU (Q2)",
        "InnoDB row locks (Q6)",
        "Redis single thread (K1)",
        "dependency's rate limit (J10)",
    ] {
        let shared = Some(SharedTier {
            name: name.to_owned(),
        });
        let loaded = ScaleReadings {
            shared: shared.clone(),
            ..readings(3, 600.0)
        };
        let decision = decided(&by_line(), &loaded, 30);
        assert!(
            decision.wanted > 3 && decision.applied() == 3,
            "{decision:?}"
        );
        let refusal = decision.refused_by.unwrap();
        assert!(refusal.contains(name), "{refusal}");
        // Shrinking, and coming back to the minimum, is not refused.
        let calm = ScaleReadings {
            shared,
            ..readings(1, 50.0)
        };
        assert_eq!(decided(&by_line(), &calm, 30).applied(), 2);
    }
}

#[test]
fn a_planted_limit_ends_growth_in_a_replay() {
    let policy = ScalePolicy {
        world: WorldConfig {
            shared: Some("pool of the database".to_owned()),
            shared_line: Some(300.0),
            ..WorldConfig::default()
        },
        ..by_line()
    };
    let rates = (0..600).map(|second| if second < 60 { 100.0 } else { 900.0 });
    let result = replay(
        &policy,
        &ScaleTrace::of_rates(rates.collect()).unwrap(),
        None,
    )
    .unwrap();
    let mut refusals = result
        .decisions
        .iter()
        .filter_map(|decision| decision.refused_by.as_deref());
    assert!(refusals.any(|refusal| refusal.contains("pool of the database")));
    let free = ScalePolicy {
        world: WorldConfig::default(),
        ..policy
    };
    assert!(
        result.judgement.held_max <= 15,
        "{}",
        result.judgement.held_max
    );
    let rates = (0..600).map(|second| if second < 60 { 100.0 } else { 900.0 });
    let free = replay(&free, &ScaleTrace::of_rates(rates.collect()).unwrap(), None).unwrap();
    assert_eq!(free.judgement.held_max, 15);
}

#[test]
fn a_signal_that_saturates_is_refused_with_the_reason() {
    let by_cpu = ScalePolicy {
        line: None,
        target: vec![TargetPolicy::default()],
        ..by_line()
    };
    let decision = decided(&by_cpu, &readings(3, 900.0), 30);
    assert_eq!(decision.applied(), 3);
    let refusal = decision.refused_by.unwrap();
    assert!(
        refusal.contains("cpu is at 100 %") && refusal.contains("use offered"),
        "{refusal}"
    );
    // Beside another policy, that one decides.
    let both = ScalePolicy {
        target: vec![TargetPolicy::default()],
        ..by_line()
    };
    let decision = decided(&both, &readings(3, 900.0), 30);
    assert!(
        decision.applied() >= 15 && decision.refused_by.is_none(),
        "{decision:?}"
    );
    // As Kubernetes does it, on request.
    let hpa = preset("hpa", &by_line()).unwrap();
    assert!(decided(&hpa, &readings(3, 900.0), 30).applied() > 3);
}

#[test]
fn nothing_is_removed_while_a_reading_is_missing() {
    let mut lost = readings(10, 100.0);
    lost.signals.offered = None;
    let decision = decided(&by_line(), &lost, 900);
    assert_eq!(decision.applied(), 10);
    assert!(
        decision
            .refused_by
            .unwrap()
            .contains("no reading of offered")
    );
    let both = ScalePolicy {
        target: vec![TargetPolicy {
            signal: Signal::Series("depth".to_owned()),
            value: 10.0,
            ..TargetPolicy::default()
        }],
        ..by_line()
    };
    // Also between two decisions of the target.
    for seconds in [900, 907] {
        let decision = decided(&both, &readings(10, 100.0), seconds);
        assert_eq!(decision.wanted, 10);
        assert!(
            decision.reason.contains("no reading of series depth"),
            "{seconds}: {decision:?}"
        );
    }
    // It grows all the same.
    assert!(decided(&both, &readings(10, 2000.0), 60).wanted > 10);
}

#[test]
fn the_policy_that_wants_the_most_decides() {
    let both = ScalePolicy {
        concurrency: Some(ConcurrencyPolicy::default()),
        ..by_line()
    };
    // 76 in flight of 8 each, of which 70 % are aimed at: 14; the line wants 10.
    let mut busy = readings(10, 600.0);
    busy.signals.in_flight = Some(76.0);
    let decision = decided(&both, &busy, 90);
    assert_eq!(
        (decision.wanted, decision.signal.as_str()),
        (14, "in_flight (concurrency)")
    );
}

#[test]
fn a_paid_replica_is_kept_until_its_period_ends() {
    let policy = ScalePolicy {
        replica: ReplicaConfig {
            paid: Some(Duration::from_hours(1)),
            ..ReplicaConfig::of_line(80.0)
        },
        ..by_line()
    };
    let calm = |ages_s: Vec<u32>| ScaleReadings {
        ages_s,
        ..readings(4, 60.0)
    };
    let kept = decided(&policy, &calm(vec![600; 4]), 400);
    assert_eq!(kept.applied(), 4);
    assert!(kept.refused_by.unwrap().contains("paid for"));
    let decision = decided(&policy, &calm(vec![3500, 600, 600, 600]), 400);
    assert_eq!((decision.applied(), decision.refused_by), (3, None));
    // An imitated scaler removes at once.
    let hpa = preset("hpa", &policy).unwrap();
    assert!(decided(&hpa, &calm(vec![600; 4]), 420).applied() < 4);
}

#[test]
fn trouble_that_is_older_than_the_replicas_adds_none() {
    const LATE_S: u32 = 30;
    let mut state = ScaleState::new(&by_line());
    let mut refused = readings(3, 100.0);
    refused.signals.shed = Some(5.0);
    let decisions = (1..=60).map(|at_s: u32| {
        let readings = ScaleReadings {
            at_s,
            measured_s: at_s.saturating_sub(LATE_S),
            ..refused.clone()
        };
        decide(&by_line(), &mut state, &readings)
    });
    let decisions: Vec<Decision> = decisions.collect();
    let first = decisions.iter().find(|decision| decision.wanted > 3);
    let first = first.expect("what goes on is trouble");
    // All have been ready for 10 s at the moment that is known, and five seconds in a row are trouble.
    assert_eq!(first.at_s, LATE_S + 10 + 5, "{first:?}");
}

#[test]
fn a_maximum_hides_no_shortage() {
    let policy = ScalePolicy {
        max: 3,
        ..by_line()
    };
    let trace = ScaleTrace::of_rates(vec![750.0; 120]).unwrap();
    let judged = replay(&policy, &trace, None).unwrap().judgement;
    assert_eq!((judged.demand_max, judged.held_max), (10, 3));
    assert!(!judged.shortages.is_empty());
}

#[test]
fn steady_noise_changes_little() {
    let trace = noisy(3600, 9, |_| 600.0);
    let result = replay(&by_line(), &trace, None).unwrap();
    // Two in ten minutes.
    assert!(
        result.judgement.changes <= 12,
        "{}",
        result.judgement.changes
    );
    assert!(result.judgement.bad.unwrap() < 1.0);
}

proptest! {
    #[test]
    fn a_decision_is_within_its_bounds_and_repeatable(
        rates in prop::collection::vec(0.0..5000.0_f64, 30..200),
        names in 0_usize..6,
        (min, more) in (1_u32..10, 0_u32..30),
    ) {
        let like = ScalePolicy::of_line("line", ReplicaConfig::of_line(80.0), (min, min + more));
        let policy = preset(plimsoll_scale::PRESETS[names], &like).unwrap();
        let trace = ScaleTrace::of_rates(rates).unwrap();
        for policy in [&policy, &like] {
            let result = replay(policy, &trace, None).unwrap();
            for second in &result.seconds {
                prop_assert!((min..=min + more).contains(&second.held));
                prop_assert!(second.ready <= second.held);
            }
            let sum = |of: fn(&ReplaySecond) -> f64| result.seconds.iter().map(of).sum::<f64>();
            let offered = sum(|second| second.offered);
            let left = offered - sum(|second| second.served) - sum(|second| second.bad);
            let waiting = result.seconds.last().map_or(0.0, |second| second.queue);
            prop_assert!(
                (left - waiting).abs() <= 1e-6 * offered.max(1.0),
                "{left}, and {waiting} wait"
            );
            prop_assert_eq!(&result, &replay(policy, &trace, None).unwrap());
        }
    }
}
