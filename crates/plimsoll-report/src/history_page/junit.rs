//! A history as `JUnit`: a case for the newest run of each command and name.

use super::{GateAnswer, HistoryObject};
use crate::junit::{CaseOutcome, TestCase, TestSuite};

/// The whole file.
pub fn render(object: &HistoryObject) -> String {
    let mut cases: Vec<TestCase> = object
        .gate
        .series
        .iter()
        .map(|gate| {
            let series = &object.series[gate.series];
            TestCase {
                name: format!("{} of {} became no worse", series.command, series.name),
                ended: ended(gate.verdict, &gate.sentence),
            }
        })
        .collect();
    if cases.is_empty() {
        let sentence = object.gate.sentence.clone();
        cases.push(TestCase {
            name: "something was compared".to_owned(),
            ended: CaseOutcome::Error(sentence),
        });
    }
    cases.extend(object.damaged.iter().map(|damaged| TestCase {
        name: format!("line {} of the history can be read", damaged.line),
        ended: CaseOutcome::Error(damaged.what.clone()),
    }));
    let newest = object.points.last().map(|point| point.at.clone());
    TestSuite {
        name: "plimsoll history".to_owned(),
        class: "plimsoll.history".to_owned(),
        started: newest.unwrap_or_default(),
        seconds: 0,
        cases,
        output: object.gate.sentence.clone(),
    }
    .render()
}

fn ended(answer: GateAnswer, sentence: &str) -> CaseOutcome {
    match answer {
        GateAnswer::Passed => CaseOutcome::Passed,
        GateAnswer::Regressed => CaseOutcome::Failed(sentence.to_owned()),
        GateAnswer::Undecided | GateAnswer::Void => CaseOutcome::Error(sentence.to_owned()),
    }
}
