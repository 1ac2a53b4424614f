//! The three rows of the newspaper: average CPU above 75 % for two minutes adds k instances, below 35 % removes one (two
//! with k = 4); a start takes 40 s, the cooldown a minute. From 2 to 6 instances it took 15, 7 and 4 minutes with k = 1, 2
//! and 4, and k = 4 went on to 10 after 8 minutes.

use plimsoll_config::scale::{ReplicaConfig, ScalePolicy, WorldConfig};
use plimsoll_scale::{Replay, ScaleTrace, must_oscillate, preset, replay};

/// The load line of an instance, req/s.
const LINE: f64 = 90.0;
/// The stress test begins half a minute into a period of the metric, as one that is begun by hand does on average.
const BEGINS_S: u32 = 30;
/// Its ramp, s.
const RAMP_S: u32 = 30;
/// What six instances carry at 90 % of their CPU.
const LOAD: f64 = 5.4 * LINE;

fn trace() -> ScaleTrace {
    let before = 0.6 * LINE;
    let rate = |second: u32| {
        let ramp = second.saturating_sub(BEGINS_S).min(RAMP_S);
        before + (LOAD - before) * f64::from(ramp) / f64::from(RAMP_S)
    };
    ScaleTrace::of_rates((0..1800).map(rate).collect()).unwrap()
}

/// The world of the study: CPU of the minute that has just ended, two instances at first.
fn policy(name: &str) -> ScalePolicy {
    let world = WorldConfig {
        initial: Some(2),
        lag: std::time::Duration::ZERO,
        ..WorldConfig::default()
    };
    let like = ScalePolicy {
        world,
        ..ScalePolicy::of_line("line", ReplicaConfig::of_line(LINE), (2, 20))
    };
    preset(name, &like).unwrap_or(like)
}

fn replayed(name: &str) -> Replay {
    replay(&policy(name), &trace(), None).unwrap()
}

/// Minutes from the beginning of the stress test until so many instances answer.
fn minutes_until(replay: &Replay, ready: u32) -> f64 {
    let second = replay
        .seconds
        .iter()
        .position(|second| second.ready >= ready);
    (second.unwrap() as f64 - f64::from(BEGINS_S)) / 60.0
}

#[test]
fn six_instances_take_fifteen_seven_and_four_minutes() {
    for (name, expected) in [("study-1", 15.0), ("study-2", 7.0), ("study-4", 4.0)] {
        let minutes = minutes_until(&replayed(name), 6);
        assert!(
            (minutes - expected).abs() <= 1.0,
            "{name}: {minutes} min, not {expected}"
        );
    }
}

#[test]
fn four_at_once_go_too_far() {
    let four = replayed("study-4");
    let minutes = minutes_until(&four, 10);
    assert!(
        (minutes - 8.0).abs() <= 1.0,
        "{minutes} min until 10 instances"
    );
    assert_eq!(four.judgement.demand_max, 6);
    assert!(four.judgement.held_max >= 10);
    let sentence = four.judgement.oscillation_sentence();
    assert!(sentence.contains("where 6 were needed"), "{sentence}");
    // It is known before anything is started.
    let warning = must_oscillate(&policy("study-4"))[0].to_string();
    assert!(
        warning.contains("0.75 × 2/(2+4) = 0.25 ≤ 0.35"),
        "{warning}"
    );
    assert!(must_oscillate(&policy("study-1")).is_empty());
}

#[test]
fn the_line_is_there_in_a_minute_and_goes_little_too_far() {
    let ours = replayed("line");
    let minutes = minutes_until(&ours, 6);
    assert!(minutes < 2.0, "{minutes} min");
    // 486 req/s at 75 % of 90 each are eight; the ramp could have gone on.
    assert!(ours.judgement.held_max <= 11, "{}", ours.judgement.held_max);
    let bad = |replay: &Replay| replay.judgement.bad.unwrap();
    for name in ["study-1", "study-2", "study-4"] {
        assert!(bad(&ours) < bad(&replayed(name)) / 2.0, "{name}");
    }
}
