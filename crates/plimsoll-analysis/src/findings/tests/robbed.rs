//! Steps of a run from which the hypervisor took CPU.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::reading::Readings;
use plimsoll_model::run::Run;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::window::Window;

use crate::diagnosis::rule_id::RuleId;
use crate::findings::find;
use crate::rules::tests::rule_of;
use crate::{summary, whole_run};

/// Three seconds that pass, three in which half of everything fails; HAProxy has no place in the latter.
fn run(steal: f64) -> Run {
    let mut run = summary::tests::run(Duration::from_secs(6));
    let phase = |rate| LoadPhase::constant(rate, Duration::from_secs(3));
    run.header.plan.load = Load::Open {
        phases: vec![phase(10.0), phase(20.0)],
        spacing: Spacing::Even,
    };
    let at = |metric| metric::series(metric, &[("at", "10.0.0.7:1")]);
    for second in 0..6 {
        let failing = second >= 3;
        let mut window = Window::new(second);
        let offered = if failing { 20 } else { 10 };
        (window.offered, window.sent) = (offered, offered);
        for nth in 0..offered {
            if failing && nth % 2 == 0 {
                window.failed.record(2_000_000, 1);
                window.outcomes.add(Outcome::ConnectTimeout);
            } else {
                window.response.record(1000, 1);
                window.outcomes.add(Outcome::Ok);
            }
        }
        run.windows.push(window);
        let values = [
            (whole_run::steal_series(), steal),
            (metric::CPU_BUSY.to_owned(), 0.1),
            (
                at(metric::HAPROXY_CONNECTIONS),
                if failing { 100.0 } else { 5.0 },
            ),
            (at(metric::HAPROXY_CONNECTIONS_LIMIT), 100.0),
        ];
        run.readings.push(&Readings {
            second,
            values: BTreeMap::from(values),
            new_series: BTreeMap::new(),
        });
    }
    run
}

#[test]
fn what_a_part_counted_is_told_though_no_step_counts() {
    let calm = find(&run(0.0));
    let robbed = find(&run(0.3));
    let summaries = |findings: &[plimsoll_model::finding::Finding]| {
        let all = findings.iter();
        all.map(|finding| (rule_of(finding), finding.certainty))
            .collect::<Vec<_>>()
    };
    assert_eq!(summaries(&calm), [(RuleId::H7, Certainty::Suspected)]);
    assert_eq!(summaries(&robbed), [(RuleId::H7, Certainty::Possible)]);
    assert!(!calm[0].sentence.contains("hypervisor"));
    assert!(
        robbed[0]
            .sentence
            .contains("the hypervisor took CPU from this machine"),
        "{}",
        robbed[0].sentence
    );
    assert!(
        whole_run::steps(&run(0.3))
            .iter()
            .all(|step| step.verdict.is_void())
    );
}
