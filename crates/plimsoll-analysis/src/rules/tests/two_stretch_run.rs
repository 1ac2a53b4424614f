//! Runs of two stretches, second by second: the highest load that passed, and the lowest that failed.

use std::collections::BTreeMap;

use plimsoll_model::finding::Finding;
use plimsoll_model::journey::StepInfo;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::window::Window;

use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::stretch::Stretch3;
use crate::diagnosis::{Context, Stretches};
use crate::findings::score;
use crate::machines::tables;
use crate::rules::checks;
use crate::rules::tests::rules_and_causes;

pub(crate) const SECONDS: u32 = 24;

/// P and F of a run: windows and readings, second by second from 0 in each.
#[derive(Default)]
pub(crate) struct TwoStretchRun {
    windows: Vec<Window>,
    readings: SeriesTable,
}

impl TwoStretchRun {
    /// 100 requests a second, served in 20 ms each, in P; `failing` gives the difference in F.
    pub(crate) fn new(
        failing: impl Fn(u32, &mut Window),
        values: impl Fn(bool, u32) -> Vec<(String, f64)>,
    ) -> Self {
        let mut run = Self::default();
        for (is_failing, start) in [(false, 0), (true, 100)] {
            for nth in 0..SECONDS {
                let mut window = Window::new(start + nth);
                if is_failing {
                    failing(nth, &mut window);
                } else {
                    answered(&mut window, 100, 100, 20);
                }
                run.windows.push(window);
                run.readings.push(&Readings {
                    second: start + nth,
                    values: values(is_failing, nth).into_iter().collect(),
                    new_series: BTreeMap::new(),
                });
            }
        }
        run
    }

    pub(crate) fn find(&self) -> Vec<Finding> {
        let stretches = Stretches {
            base: Vec::new(),
            passing: Some((0, SECONDS)),
            failing: Some((100, 100 + SECONDS)),
        };
        let context = Context {
            target: "127.0.0.1:80".to_owned(),
            bound_us: Some(500_000),
            open: false,
            robbed: false,
        };
        let steps = ["GET /", "POST /report"].map(|label| StepInfo {
            label: label.to_owned(),
            journey: 0,
            groups: Vec::new(),
            once: false,
        });
        let machines = tables(&self.readings);
        let all = Stretch3::on_each(&machines, &self.windows, &stretches, &context);
        let all: Vec<Stretch3<'_>> = all.into_iter().map(|over| over.naming(&steps)).collect();
        score::findings(checks(), &all)
    }
}

/// So many requests were due and so many were answered well, after so many ms.
pub(crate) fn answered(window: &mut Window, due: u64, good: u64, ms: u64) {
    window.offered = due;
    window.sent = due;
    window.outcomes.add_many(Outcome::Ok, good);
    window.response.record(ms * 1000, good);
    window.service.record(ms * 1000, good);
}

pub(crate) fn nothing(_: bool, _: u32) -> Vec<(String, f64)> {
    Vec::new()
}

#[track_caller]
pub(crate) fn expect_of_run(run: &TwoStretchRun, rule: RuleId, expected: &[&str]) -> Finding {
    let found = run.find();
    assert_eq!(rules_and_causes(&found), [(rule, None)], "{found:#?}");
    for expected in expected {
        let text = format!(
            "{} {} {}",
            found[0].limit, found[0].sentence, found[0].remedy
        );
        assert!(text.contains(expected), "`{expected}` is not in {text}");
    }
    assert!(!found[0].evidence.is_empty());
    found[0].clone()
}
