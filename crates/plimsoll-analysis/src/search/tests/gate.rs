//! The gate of CI.

use plimsoll_model::plan::LoadUnit;

use super::*;
use crate::search::gate::{CiGate, GateStep};
use crate::search::users::Population;

/// Runs a gate on a target with this line.
fn gate(rate: f64, mut answer: impl FnMut(&TrialSpec, u32) -> Trial) -> GateStep {
    let mut gate = CiGate::new(rate, SearchParameters::standard(objective()));
    let mut second = 0;
    for _ in 0..200 {
        match gate.next_step() {
            GateStep::Trial(spec) => {
                let trial = answer(&spec, second);
                second += spec.offered_s() + 1;
                gate.record(&trial, Duration::from_secs(u64::from(second)));
            }
            step => return step,
        }
    }
    panic!("the gate does not end");
}

#[test]
fn the_gate_accepts_after_six_and_rejects_after_two() {
    let GateStep::Done(result) = gate(300.0, sharp(333.0)) else {
        panic!("void");
    };
    assert_eq!(
        (result.accepted, result.trials, result.passes),
        (Some(true), 6, 6)
    );
    let GateStep::Done(result) = gate(350.0, sharp(333.0)) else {
        panic!("void");
    };
    assert_eq!(
        (result.accepted, result.trials, result.passes),
        (Some(false), 2, 0)
    );
}

#[test]
fn the_gate_stays_undecided_and_says_void() {
    let mut count = 0;
    let step = gate(300.0, |spec, second| {
        count += u32::from(spec.kind == TrialKind::Gate);
        let fails = spec.kind == TrialKind::Gate && count % 4 == 0;
        trial(
            *spec,
            second,
            if fails { fail() } else { TrialVerdict::Pass },
        )
    });
    let GateStep::Done(result) = step else {
        panic!("{step:?}");
    };
    assert_eq!((result.accepted, result.trials), (None, 12));
    let steal = VoidReason::Steal { seconds_share: 0.5 };
    let step = gate(300.0, |spec, second| {
        let stolen = spec.kind == TrialKind::Gate;
        trial(
            *spec,
            second,
            if stolen {
                void(steal.clone())
            } else {
                TrialVerdict::Pass
            },
        )
    });
    assert_eq!(step, GateStep::Void(steal));
}

#[test]
fn users_who_do_not_think_ask_for_no_impossible_generator() {
    let parameters = SearchParameters {
        population: Some(Population {
            unit: LoadUnit::Users,
            requests: 1.0,
            think_s: 0.0,
            pace: 10.0,
        }),
        ..SearchParameters::standard(objective())
    };
    let mut gate = CiGate::new(2.0, parameters);
    let GateStep::Trial(spec) = gate.next_step() else {
        panic!("it begins with a trial");
    };
    assert_eq!((spec.kind, spec.rate), (TrialKind::SelfTest, 4000.0));
}
