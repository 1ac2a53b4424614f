//! Six traces: the line has the fewest bad answers, at no more replica-hours than whichever of HPA and KPA has fewer bad
//! answers. All three are in the same world, and the two aim at 70 % of a load line.

use plimsoll_config::scale::{
    ReplicaConfig, ScalePolicy, ScheduleMoment, ScheduledLoad, WorldConfig,
};
use plimsoll_scale::{Replay, ScaleTrace, preset, replay};

use crate::noise::{noisy, with_noise};

const LINE: f64 = 80.0;
/// Bad answers by which two policies are equal: rounding.
const EQUAL: f64 = 1.0;

fn policy() -> ScalePolicy {
    ScalePolicy {
        world: WorldConfig::default(),
        ..ScalePolicy::of_line("line", ReplicaConfig::of_line(LINE), (2, 60))
    }
}

fn outcome(replay: &Replay) -> (f64, f64) {
    (
        replay.judgement.bad.unwrap(),
        replay.judgement.replica_hours,
    )
}

#[track_caller]
fn ours_is_best(name: &str, ours: &ScalePolicy, trace: &ScaleTrace) {
    let of = |policy: &ScalePolicy| outcome(&replay(policy, trace, None).unwrap());
    let (bad, hours) = of(ours);
    let [hpa, kpa] = ["hpa", "kpa"].map(|name| of(&preset(name, ours).unwrap()));
    let figures = format!(
        "{name}: ours {bad:.0} bad, {hours:.2} h; HPA {:.0}, {:.2}; KPA {:.0}, {:.2}",
        hpa.0, hpa.1, kpa.0, kpa.1
    );
    assert!(bad <= hpa.0.min(kpa.0) + EQUAL, "{figures}");
    let better = if (hpa.0 - kpa.0).abs() <= EQUAL {
        // Equal in what users had: either of them.
        hpa.1.max(kpa.1)
    } else if hpa.0 < kpa.0 {
        hpa.1
    } else {
        kpa.1
    };
    assert!(hours <= better * 1.000_001, "{figures}");
}

#[test]
fn a_step() {
    for (factor, seed) in [(2.0, 1), (5.0, 2)] {
        let rate = |second: f64| {
            if second < 600.0 {
                150.0
            } else {
                150.0 * factor
            }
        };
        ours_is_best(
            &format!("step x{factor}"),
            &policy(),
            &noisy(3600, seed, rate),
        );
    }
}

#[test]
fn a_ramp() {
    let rate = |second: f64| 150.0 + 1350.0 * ((second - 600.0) / 300.0).clamp(0.0, 1.0);
    ours_is_best("ramp", &policy(), &noisy(3600, 3, rate));
}

#[test]
fn a_spike() {
    let rate = |second: f64| {
        if (600.0..720.0).contains(&second) {
            750.0
        } else {
            150.0
        }
    };
    ours_is_best("spike", &policy(), &noisy(3600, 4, rate));
}

#[test]
fn a_day() {
    let rate = |second: f64| {
        let hours = second / 3600.0;
        1200.0 - 800.0 * (std::f64::consts::TAU * (hours - 3.0) / 24.0).cos()
    };
    ours_is_best("day", &policy(), &noisy(86_400, 5, rate));
}

#[test]
fn a_recorded_hour() {
    // Minutes of a record, with the noise of independent arrivals within them.
    let recorded = ScaleTrace::parse(include_str!("traces/recorded.csv")).unwrap();
    assert_eq!(recorded.len_s(), 71 * 60);
    ours_is_best("recorded", &policy(), &with_noise(recorded.rates(), 7));
}

#[test]
fn a_known_date() {
    let exam = ScheduledLoad {
        at: ScheduleMoment::Daily(1800),
        rate: Some(950.0),
        replicas: None,
        lasting: std::time::Duration::from_mins(3),
        margin: std::time::Duration::from_secs(20),
        written: "00:30".to_owned(),
    };
    let ours = ScalePolicy {
        schedule: vec![exam],
        ..policy()
    };
    let rate = |second: f64| {
        if (1800.0..1980.0).contains(&second) {
            950.0
        } else {
            150.0
        }
    };
    let trace = noisy(3600, 6, rate);
    ours_is_best("known date", &ours, &trace);
    let bad = replay(&ours, &trace, None).unwrap().judgement.bad.unwrap();
    assert!(bad < EQUAL, "{bad}: it was known");
}
