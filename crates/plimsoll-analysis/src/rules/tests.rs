//! What tests of rules share: runs with room, which are then disturbed.

pub(crate) mod two_stretch_run;

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::machine::on_machine;
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::window::Window;

use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::{Context, Stretches};
use crate::findings::find_in;
use crate::rules::{checks, definition};

/// Seconds of each stretch; B, P and F begin at 0, 100 and 200.
pub(crate) const SECONDS: u32 = 10;

pub(crate) type SeriesValues = Vec<(String, f64)>;

/// A run in which nothing is at its limit, to be disturbed.
pub(crate) struct SyntheticRun {
    stretches: [SeriesValues; 3],
    pub(crate) windows: Vec<Window>,
    open: bool,
}

/// A series of the generator's machine as the agent of another machine names it.
pub(crate) fn by_agent(series: &str, machine: &str) -> String {
    let own = format!("process={}", metric::GENERATOR);
    let of_agent = format!("process={}", metric::AGENT);
    on_machine(&series.replace(&own, &of_agent), machine)
}

impl SyntheticRun {
    pub(crate) fn healthy() -> Self {
        let rest: SeriesValues = vec![
            (metric::TARGET_IS_LOCAL.to_owned(), 1.0),
            (metric::LISTEN_OVERFLOWS.to_owned(), 0.0),
            (listener(metric::LISTEN_QUEUE), 2.0),
            (listener(metric::LISTEN_BACKLOG), 16.0),
            (metric::CPU_BUSY.to_owned(), 0.5),
            (metric::CPU_COUNT.to_owned(), 4.0),
            (metric::RUN_QUEUE.to_owned(), 2.0),
            (cpu_stall(), 0.05),
            (of(metric::PROCESS_CPU, metric::TARGET), 0.4),
            (of(metric::PROCESS_CPU, metric::GENERATOR), 0.05),
            (of(metric::THREAD_BUSIEST, metric::TARGET), 0.6),
            (of(metric::PROCESS_FILES, metric::TARGET), 100.0),
            (of(metric::PROCESS_FILES_LIMIT, metric::TARGET), 1024.0),
            (metric::FILES_OPEN.to_owned(), 1000.0),
            (metric::FILES_LIMIT.to_owned(), 1e6),
            (cgroup(metric::CGROUP_CPU_PERIODS), 10.0),
            (cgroup(metric::CGROUP_CPU_THROTTLED), 0.0),
            (cgroup(metric::CGROUP_CPU_QUOTA), 2.0),
            (cgroup(metric::CGROUP_OOM_KILLS), 0.0),
            (cgroup(metric::CGROUP_MEMORY_LIMIT), 64.0 * 1_048_576.0),
            (metric::OOM_KILLS.to_owned(), 0.0),
            (metric::PORTS_LIMIT.to_owned(), 28_232.0),
            (
                ports(metric::PORTS_USED, "127.0.0.1:8080", metric::GENERATOR),
                500.0,
            ),
            (ports(metric::PORTS_USED, "10.0.0.7:5432", "other"), 90.0),
        ];
        let mut windows = Vec::new();
        for second in [0, 100, 200]
            .into_iter()
            .flat_map(|from| from..from + SECONDS)
        {
            let mut window = Window::new(second);
            window.offered = 1000;
            window.sent = 1000;
            window.lag.record(100, 1000);
            window.generator.loop_cpu_us = 200_000;
            window.generator.loop_cpu_us_max = 200_000;
            windows.push(window);
        }
        Self {
            stretches: [rest.clone(), rest.clone(), rest],
            windows,
            open: true,
        }
    }

    /// Sets a series in B, P and F.
    pub(crate) fn set(mut self, name: &str, values: [f64; 3]) -> Self {
        for (stretch, value) in self.stretches.iter_mut().zip(values) {
            stretch.retain(|pair| pair.0 != name);
            stretch.push((name.to_owned(), value));
        }
        self
    }

    /// With the series of another run as those that an agent reads on a machine, where it is what Plimsoll itself is.
    pub(crate) fn beside(mut self, machine: &str, other: &Self) -> Self {
        for (own, theirs) in self.stretches.iter_mut().zip(&other.stretches) {
            let theirs = theirs.iter();
            own.extend(theirs.map(|(name, value)| (by_agent(name, machine), *value)));
        }
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        for stretch in &mut self.stretches {
            stretch.retain(|pair| pair.0 != name);
        }
        self
    }

    /// The same with a closed load, whose arrivals wait for answers.
    pub(crate) fn closed(self) -> Self {
        Self {
            open: false,
            ..self
        }
    }

    /// Changes the windows of F.
    pub(crate) fn failing_windows(mut self, change: fn(&mut Window)) -> Self {
        let failing = self
            .windows
            .iter_mut()
            .filter(|window| window.second >= 200);
        failing.for_each(change);
        self
    }

    pub(crate) fn find(&self) -> Vec<Finding> {
        self.find_over(&Stretches {
            base: vec![(0, SECONDS)],
            passing: Some((100, 100 + SECONDS)),
            failing: Some((200, 200 + SECONDS)),
        })
    }

    pub(crate) fn find_over(&self, stretches: &Stretches) -> Vec<Finding> {
        let mut table = SeriesTable::default();
        for (from, values) in [0, 100, 200].into_iter().zip(&self.stretches) {
            for second in from..from + SECONDS {
                table.push(&Readings {
                    second,
                    values: values.iter().cloned().collect(),
                    new_series: BTreeMap::new(),
                });
            }
        }
        let context = Context {
            target: "127.0.0.1:8080".to_owned(),
            bound_us: Some(100_000),
            open: self.open,
            robbed: false,
        };
        find_in(&table, &self.windows, stretches, &context)
    }
}

pub(crate) fn of(metric: &str, process: &str) -> String {
    series(metric, &[("process", process)])
}

pub(crate) fn listener(metric: &str) -> String {
    series(
        metric,
        &[("listener", "127.0.0.1:8080"), ("process", metric::TARGET)],
    )
}

pub(crate) fn cgroup(metric: &str) -> String {
    series(metric, &[("cgroup", "/shop"), ("process", metric::TARGET)])
}

pub(crate) fn ports(metric: &str, destination: &str, process: &str) -> String {
    series(
        metric,
        &[("destination", destination), ("process", process)],
    )
}

pub(crate) fn cpu_stall() -> String {
    series(metric::PRESSURE, &[("resource", "cpu"), ("stall", "some")])
}

/// The rule of a finding.
#[track_caller]
pub(crate) fn rule_of(finding: &Finding) -> RuleId {
    RuleId::of(finding).unwrap()
}

/// The rules of findings.
#[track_caller]
pub(crate) fn rules_of(findings: &[Finding]) -> Vec<RuleId> {
    findings.iter().map(rule_of).collect()
}

/// The rules of findings, each with the rule that it follows from.
#[track_caller]
pub(crate) fn rules_and_causes(findings: &[Finding]) -> Vec<(RuleId, Option<RuleId>)> {
    let cause = |finding: &Finding| {
        let cause = finding.consequence_of.as_ref();
        cause.map(|cause| cause.parse().unwrap())
    };
    findings
        .iter()
        .map(|finding| (rule_of(finding), cause(finding)))
        .collect()
}

/// The only finding must be of this rule, with this certainty, score and text.
#[track_caller]
pub(crate) fn check(
    run: &SyntheticRun,
    rule: RuleId,
    certainty: Certainty,
    score: f64,
    expected: &str,
) {
    let findings = run.find();
    assert_eq!(rules_of(&findings), [rule], "{findings:#?}");
    let finding = &findings[0];
    assert_eq!(finding.certainty, certainty, "{finding:#?}");
    assert!((finding.score - score).abs() < 1e-9, "{finding:#?}");
    assert!(finding.sentence.contains(expected), "{}", finding.sentence);
    assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty());
    for line in &finding.evidence {
        assert!(
            line.failing.is_some(),
            "{line:?} tells nothing of the failure"
        );
    }
}

pub(crate) const AT: &str = "10.0.0.7:1";

pub(crate) fn at(metric: &str) -> String {
    series(metric, &[("at", AT)])
}

pub(crate) fn setting(name: &str, file: &str) -> String {
    let labels = [("at", AT), ("setting", name), ("file", file)];
    series(
        metric::SETTING,
        &labels[..if file.is_empty() { 2 } else { 3 }],
    )
}

/// The same where these values are those of the passing load.
pub(crate) fn found_in(healthy: &[(String, f64)], failing: &[(String, f64)]) -> Vec<Finding> {
    found_over(healthy, |_| failing.to_vec())
}

/// The only finding, with fragments of its limit, its sentence and its remedy.
#[track_caller]
pub(crate) fn only(found: Vec<Finding>, rule: RuleId, expected: [&str; 3]) -> Finding {
    assert_eq!(rules_of(&found), [rule], "{found:#?}");
    first(found, expected)
}

/// The same of the only finding that follows from no other; those that follow from it may stand behind it.
#[track_caller]
pub(crate) fn only_cause(found: Vec<Finding>, rule: RuleId, expected: [&str; 3]) -> Finding {
    let causes = found.iter().filter(|found| found.consequence_of.is_none());
    let rules: Vec<RuleId> = causes.map(rule_of).collect();
    assert_eq!(rules, [rule], "{found:#?}");
    first(found, expected)
}

/// The first finding, with these fragments.
#[track_caller]
fn first(found: Vec<Finding>, expected: [&str; 3]) -> Finding {
    let finding = found.into_iter().next().unwrap();
    let texts = [&finding.limit, &finding.sentence, &finding.remedy];
    for (text, expected) in texts.into_iter().zip(expected) {
        assert!(text.contains(expected), "`{expected}` is not in `{text}`");
    }
    finding
}

/// The same where these series were not read while it failed.
pub(crate) fn found_over_gaps(
    healthy: &[(String, f64)],
    failing: &[(String, f64)],
    gaps: &[String],
) -> Vec<Finding> {
    found_over(healthy, |_| {
        let gaps = gaps.iter().map(|series| (series.clone(), f64::NAN));
        failing.iter().cloned().chain(gaps).collect()
    })
}

/// The same with a failing stretch that differs from second to second.
pub(crate) fn found_over(
    healthy: &[(String, f64)],
    failing: impl Fn(u32) -> Vec<(String, f64)>,
) -> Vec<Finding> {
    let mut table = SeriesTable::default();
    for (start, is_failing) in [(100, false), (200, true)] {
        for nth in 0..SECONDS {
            let mut values: BTreeMap<String, f64> = healthy.iter().cloned().collect();
            if is_failing {
                values.extend(failing(nth));
            }
            table.push(&Readings {
                second: start + nth,
                values,
                new_series: BTreeMap::new(),
            });
        }
    }
    let stretches = Stretches {
        base: Vec::new(),
        passing: Some((100, 100 + SECONDS)),
        failing: Some((200, 200 + SECONDS)),
    };
    let context = Context {
        target: "10.0.0.7:80".to_owned(),
        bound_us: None,
        open: true,
        robbed: false,
    };
    find_in(&table, &[], &stretches, &context)
}

#[test]
fn every_rule_explains_others_that_are_built() {
    for (rule, check) in checks() {
        let explained = check.explains.iter().copied().flatten().copied();
        let others = explained.filter(|&id| definition(id).is_built() && id != rule.id());
        let count: usize = check.explains.iter().map(|group| group.len()).sum();
        assert_eq!(others.count(), count, "{}", rule.id());
    }
}
