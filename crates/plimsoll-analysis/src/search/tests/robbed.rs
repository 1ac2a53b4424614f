//! Trials during which the hypervisor gave the CPU to others.

use super::*;

/// A sharp line at 333/s on a machine that loses `share` of its CPU in every trial: it fails from (1 − share)·333 on.
fn robbed(share: f64) -> impl FnMut(&TrialSpec, u32) -> Trial {
    let mut target = sharp(333.0 * (1.0 - share));
    move |spec, second| {
        let mut trial = target(spec, second);
        trial.stolen_share = share;
        trial
    }
}

#[test]
fn the_interval_reaches_from_what_was_carried_to_what_the_cpu_taken_would_have_carried() {
    let (result, _) = run(SearchParameters::standard(objective()), robbed(0.3));
    let line = result.line.unwrap();
    assert!(line.verified <= 333.0 * 0.7, "{line:?}");
    assert!(
        line.low <= 333.0 * 0.7 && line.high >= 333.0 * 0.97,
        "{line:?}"
    );
    assert_eq!(line.broken, None, "the loads told of were never offered");
    let remarks = format!("{:?}", result.remarks);
    assert!(remarks.contains("took up to 30 %"), "{remarks}");
}

#[test]
fn a_calm_machine_is_not_remarked_on() {
    let (result, _) = run(SearchParameters::standard(objective()), sharp(333.0));
    let remarks = format!("{:?}", result.remarks);
    assert!(!remarks.contains("hypervisor"), "{remarks}");
}
