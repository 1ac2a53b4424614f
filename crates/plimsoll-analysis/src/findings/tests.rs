//! Each rule over synthetic series: what triggers it, its text, and what does not trigger it.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::window::Window;

use super::{Context, RuleId, Stretches, find_in};
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

pub(crate) fn of(metric: &str, process: &str) -> String {
    series(metric, &[("process", process)])
}

fn listener(metric: &str) -> String {
    series(
        metric,
        &[("listener", "127.0.0.1:8080"), ("process", metric::TARGET)],
    )
}

pub(crate) fn cgroup(metric: &str) -> String {
    series(metric, &[("cgroup", "/shop"), ("process", metric::TARGET)])
}

fn ports(metric: &str, destination: &str, process: &str) -> String {
    series(
        metric,
        &[("destination", destination), ("process", process)],
    )
}

pub(crate) fn cpu_stall() -> String {
    series(metric::PRESSURE, &[("resource", "cpu"), ("stall", "some")])
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

    pub(crate) fn without(mut self, name: &str) -> Self {
        for stretch in &mut self.stretches {
            stretch.retain(|pair| pair.0 != name);
        }
        self
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

    fn find_over(&self, stretches: &Stretches) -> Vec<Finding> {
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

#[test]
fn a_healthy_run_is_silent() {
    assert_eq!(SyntheticRun::healthy().find(), []);
}

#[test]
fn g1_a_generator_that_is_late() {
    let run = SyntheticRun::healthy().failing_windows(|window| window.lag.record(30_000, 100));
    let expected = "sent requests 30.0 ms late (p99; valid: up to 5.0 ms)";
    check(&run, RuleId::G1, Certainty::Explicit, 1.0, expected);
}

#[test]
fn g1_a_generator_without_cpu_that_does_not_send_what_is_due() {
    let starved = SyntheticRun::healthy().failing_windows(|window| {
        window.sent = 900;
        window.generator.loop_cpu_us_max = 980_000;
    });
    check(
        &starved,
        RuleId::G1,
        Certainty::Explicit,
        1.0,
        "event loop at 98 % of a core",
    );
    // A closed loop sends when it can: it is never late.
    let closed = SyntheticRun {
        open: false,
        ..starved
    };
    assert_eq!(closed.find(), []);
    // CPU is left: unsent requests wait for the target.
    let waiting = SyntheticRun::healthy().failing_windows(|window| window.sent = 900);
    assert_eq!(waiting.find(), []);
}

#[test]
fn g2_a_generator_without_ports() {
    let used = ports(metric::PORTS_USED, "127.0.0.1:8080", metric::GENERATOR);
    let full = SyntheticRun::healthy().set(&used, [500.0, 9000.0, 27_900.0]);
    check(
        &full,
        RuleId::G2,
        Certainty::Explicit,
        1.0,
        "27900 of 28232 ports were in use",
    );
    let refused =
        SyntheticRun::healthy().failing_windows(|window| window.generator.ports_exhausted = 40);
    check(
        &refused,
        RuleId::G2,
        Certainty::Explicit,
        1.0,
        "40 connections a second failed",
    );
}

#[test]
fn g3_a_generator_without_descriptors() {
    let limit = of(metric::PROCESS_FILES_LIMIT, metric::GENERATOR);
    let run = SyntheticRun::healthy()
        .set(&limit, [256.0; 3])
        .failing_windows(|window| window.generator.descriptors_exhausted = 7);
    let expected = "7 connections a second failed; its limit is 256";
    check(&run, RuleId::G3, Certainty::Explicit, 1.0, expected);
}

#[test]
fn n1_an_accept_queue_that_overflows() {
    let run = SyntheticRun::healthy()
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 132.0])
        .set(&listener(metric::LISTEN_QUEUE), [0.0, 3.0, 17.0]);
    let expected =
        "the accept queue of 127.0.0.1:8080 overflowed 132 times a second; its backlog is 16";
    check(&run, RuleId::N1, Certainty::Explicit, 1.0, expected);
}

#[test]
fn n1_names_the_queue_that_is_full_when_it_is_not_the_targets() {
    let other = |metric| {
        series(
            metric,
            &[("listener", "127.0.0.1:9000"), ("process", "other")],
        )
    };
    let run = SyntheticRun::healthy()
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 0.25])
        .set(&other(metric::LISTEN_QUEUE), [0.0, 3.0, 6.0])
        .set(&other(metric::LISTEN_BACKLOG), [5.0; 3]);
    let expected = "127.0.0.1:9000 overflowed 15 times a minute; its backlog is 5";
    check(&run, RuleId::N1, Certainty::Explicit, 1.0, expected);
}

#[test]
fn n12_no_ports_left_towards_an_upstream() {
    let used = ports(metric::PORTS_USED, "10.0.0.7:5432", "other");
    let waiting = ports(metric::PORTS_TIME_WAIT, "10.0.0.7:5432", "other");
    let run = SyntheticRun::healthy()
        .set(&used, [90.0, 12_000.0, 28_000.0])
        .set(&waiting, [0.0, 11_000.0, 27_500.0]);
    let expected =
        "28000 of 28232 local ports were in use towards 10.0.0.7:5432, 27500 of them in TIME_WAIT";
    check(&run, RuleId::N12, Certainty::Explicit, 1.0, expected);
}

#[test]
fn m2_a_process_killed_for_want_of_memory() {
    // The machine's counter counts the kill of the cgroup too: one kill, one finding.
    let run = SyntheticRun::healthy()
        .set(&cgroup(metric::CGROUP_OOM_KILLS), [0.0, 0.0, 0.1])
        .set(metric::OOM_KILLS, [0.0, 0.0, 0.1]);
    let expected = "the OOM killer killed 1 processes of cgroup /shop; its limit is 64 MiB";
    check(&run, RuleId::M2, Certainty::Explicit, 1.0, expected);
    let machine = SyntheticRun::healthy().set(metric::OOM_KILLS, [0.0, 0.0, 0.3]);
    check(
        &machine,
        RuleId::M2,
        Certainty::Explicit,
        1.0,
        "3 processes of this machine",
    );
}

#[test]
fn f1_a_target_without_descriptors() {
    let named = [
        ("process", metric::TARGET),
        ("pid", "42"),
        ("comm", "nginx"),
    ];
    let run = SyntheticRun::healthy()
        .set(
            &of(metric::PROCESS_FILES, metric::TARGET),
            [90.0, 700.0, 1010.0],
        )
        .set(
            &series(metric::PROCESS_FILES, &named),
            [90.0, 700.0, 1010.0],
        );
    let expected = "process nginx (42) held 1010 of at most 1024 file descriptors";
    check(&run, RuleId::F1, Certainty::Explicit, 1.0, expected);
    let machine = SyntheticRun::healthy().set(metric::FILES_OPEN, [1e3, 1e5, 9.5e5]);
    check(
        &machine,
        RuleId::F1,
        Certainty::Explicit,
        1.0,
        "this machine held 950000",
    );
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

#[test]
fn every_rule_explains_others_that_are_built() {
    for (rule, check) in checks() {
        let explained = check.explains.iter().copied().flatten().copied();
        let others = explained.filter(|&id| definition(id).is_built() && id != rule.id());
        let count: usize = check.explains.iter().map(|group| group.len()).sum();
        assert_eq!(others.count(), count, "{}", rule.id());
    }
}
