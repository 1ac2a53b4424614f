//! Findings over synthetic series: their scores, and what follows from what.

mod machines;
mod robbed;

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric;

use crate::diagnosis::Stretches;
use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{SECONDS, SyntheticRun, listener, of, rule_of, rules_and_causes};

#[test]
fn a_healthy_run_is_silent() {
    assert_eq!(SyntheticRun::healthy().find(), []);
}

#[test]
fn onset_weighs_what_was_there_before() {
    let overflows = |values| SyntheticRun::healthy().set(metric::LISTEN_OVERFLOWS, values);
    for (values, score) in [
        ([0.0, 0.0, 9.0], 1.0),
        ([0.0, 4.0, 9.0], 0.7),
        ([4.0, 4.0, 9.0], 0.7),
        ([0.0, 8.0, 9.0], 0.5),
        ([9.0, 9.0, 9.0], 0.2),
    ] {
        let findings = overflows(values).find();
        assert!(
            (findings[0].score - score).abs() < 1e-9,
            "{values:?}: {findings:#?}"
        );
    }
    assert_eq!(
        overflows([9.0, 9.0, 9.0]).find()[0].certainty,
        Certainty::Possible
    );
}

#[test]
fn without_a_passing_load_the_base_stands_for_it() {
    let run = SyntheticRun::healthy().set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 9.0]);
    let mut stretches = Stretches {
        base: vec![(0, SECONDS)],
        passing: None,
        failing: Some((200, 200 + SECONDS)),
    };
    assert!((run.find_over(&stretches)[0].score - 1.0).abs() < 1e-9);
    stretches.base.clear();
    assert!((run.find_over(&stretches)[0].score - 0.7).abs() < 1e-9);
    stretches.failing = None;
    assert_eq!(run.find_over(&stretches), []);
}

#[test]
fn a_full_queue_before_a_busy_thread_is_its_consequence() {
    let run = SyntheticRun::healthy()
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 50.0])
        .set(&listener(metric::LISTEN_QUEUE), [0.0, 3.0, 17.0])
        .set(
            &of(metric::THREAD_BUSIEST, metric::TARGET),
            [0.2, 0.9, 0.99],
        );
    let findings = run.find();
    let order = rules_and_causes(&findings);
    assert_eq!(order, [(RuleId::C3, None), (RuleId::N1, Some(RuleId::C3))]);
}

#[test]
fn of_a_target_elsewhere_only_the_generator_is_judged() {
    let run = SyntheticRun::healthy()
        .set(metric::TARGET_IS_LOCAL, [0.0; 3])
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 50.0])
        .failing_windows(|window| window.generator.descriptors_exhausted = 1);
    let findings = run.find();
    assert_eq!(findings.len(), 1);
    assert_eq!(rule_of(&findings[0]), RuleId::G3);
}
