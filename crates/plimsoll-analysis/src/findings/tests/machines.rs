//! Limits on machines that agents watch: named on the right one, and never twice.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::machine::on_machine;
use plimsoll_model::metric::{self, series};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::Readings;
use plimsoll_model::window::Window;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use crate::diagnosis::rule_id::RuleId;
use crate::findings::{not_known, placed};
use crate::rules::tests::{
    SyntheticRun, by_agent, cgroup, cpu_stall, listener, of, ports, rule_of,
};
use crate::summary;

/// The generator's machine, with the target on another one.
fn generator() -> SyntheticRun {
    SyntheticRun::healthy().set(metric::TARGET_IS_LOCAL, [0.0; 3])
}

/// A machine behind the target, of which no process is known.
fn behind() -> SyntheticRun {
    [metric::TARGET, metric::GENERATOR]
        .iter()
        .fold(generator(), |run, process| {
            run.without(&of(metric::PROCESS_CPU, process))
        })
}

fn busy(run: SyntheticRun) -> SyntheticRun {
    run.set(metric::CPU_BUSY, [0.3, 0.9, 0.99])
        .set(&cpu_stall(), [0.01, 0.1, 0.6])
}

/// The same by the target's own work.
fn busy_target(run: SyntheticRun) -> SyntheticRun {
    busy(run).set(&of(metric::PROCESS_CPU, metric::TARGET), [0.2, 0.8, 0.9])
}

fn overflowing(run: SyntheticRun) -> SyntheticRun {
    run.set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 50.0])
}

/// Rule and machine of each finding, and of the finding that it follows from.
fn places(findings: &[Finding]) -> Vec<String> {
    let texts = findings.iter().map(|finding| {
        let machine = finding.machine.as_deref().unwrap_or("here");
        let own = format!("{} {machine}", rule_of(finding));
        let behind = finding.consequence_of_machine.as_deref().unwrap_or("here");
        match &finding.consequence_of {
            Some(cause) => format!("{own} < {cause} {behind}"),
            None => own,
        }
    });
    texts.collect()
}

#[test]
fn machines_with_room_are_silent() {
    let run = generator()
        .beside("web1", &SyntheticRun::healthy())
        .beside("db1", &behind());
    assert_eq!(run.find(), []);
}

#[test]
fn a_full_cpu_behind_an_idle_generator() {
    let run = generator()
        .beside("web1", &SyntheticRun::healthy())
        .beside("db1", &busy(behind()));
    let found = run.find();
    assert_eq!(places(&found), ["C1 db1"], "{found:#?}");
    let finding = &found[0];
    assert_eq!(finding.limit, "CPU of db1");
    assert_eq!(finding.certainty, Certainty::Suspected);
    assert_eq!(
        finding.sentence,
        "on db1, the CPUs were 99 % busy and tasks waited for them 60 % of the time"
    );
    let series: Vec<&str> = finding
        .evidence
        .iter()
        .map(|line| line.series.as_str())
        .collect();
    assert_eq!(series[0], "plimsoll.cpu.busy{host.name=db1}");
    assert!(series.iter().all(|series| series.contains("host.name=db1")));
}

#[test]
fn a_full_accept_queue_behind_lost_connections() {
    let lost = generator()
        .set(metric::SYN_RETRANSMITS, [0.0, 0.0, 40.0])
        .set(metric::TCP_ACTIVE_OPENS, [10.0, 100.0, 200.0]);
    // Without an agent nobody knows who drops them.
    let found = lost.find();
    assert_eq!(places(&found), ["N5 here"], "{found:#?}");
    let doubt = "which this machine cannot observe";
    assert!(found[0].sentence.contains(doubt), "{found:#?}");

    let run = lost.beside("web1", &overflowing(SyntheticRun::healthy()));
    let found = run.find();
    assert_eq!(places(&found), ["N1 web1", "N5 here < N1 web1"]);
    assert_eq!(found[0].limit, "accept backlog of 127.0.0.1:8080 on web1");
    let expected = "on web1, the accept queue of 127.0.0.1:8080 overflowed 50 times a second";
    assert!(found[0].sentence.starts_with(expected), "{found:#?}");
    assert!(!found[1].sentence.contains(doubt), "{found:#?}");
}

#[test]
fn what_waits_in_front_follows_from_what_is_behind_and_not_the_reverse() {
    let (web, db) = (SyntheticRun::healthy, behind);
    let run = generator()
        .beside("web1", &overflowing(web()))
        .beside("db1", &busy(db()));
    assert_eq!(places(&run.find()), ["C1 db1", "N1 web1 < C1 db1"]);
    let run = generator()
        .beside("web1", &busy_target(web()))
        .beside("db1", &overflowing(db()));
    assert_eq!(places(&run.find()), ["N1 db1", "C1 web1"]);
    // Of two machines side by side none stands behind the other.
    let run = generator()
        .beside("app1", &busy(behind()))
        .beside("app2", &overflowing(behind()));
    assert_eq!(places(&run.find()), ["N1 app2", "C1 app1"]);
    // One of them holds a database, the other serves its sessions.
    let program = |name| {
        series(
            metric::PROCESS_CPU,
            &[("process", "behind"), ("comm", name)],
        )
    };
    let postgres = busy(behind()).set(&program("postgres"), [0.1, 0.4, 0.4]);
    let puma = overflowing(behind()).set(&program("puma"), [0.1, 0.2, 0.2]);
    let run = generator().beside("app1", &puma).beside("db1", &postgres);
    assert_eq!(places(&run.find()), ["C1 db1", "N1 app1 < C1 db1"]);
}

#[test]
fn the_same_limit_on_two_machines_is_named_twice() {
    let web = || overflowing(SyntheticRun::healthy());
    let run = generator().beside("web1", &web()).beside("web2", &web());
    assert_eq!(places(&run.find()), ["N1 web1", "N1 web2"]);
    // Each with its own cause.
    let full = || busy_target(web());
    let run = generator().beside("web1", &full()).beside("web2", &web());
    assert_eq!(
        places(&run.find()),
        ["N1 web2", "C1 web1", "N1 web1 < C1 web1"]
    );
}

#[test]
fn a_component_whose_machine_is_not_known_explains_what_waits_for_it() {
    let labels = [("at", "10.0.0.7:9100"), ("name", "workers_busy")];
    let run = generator()
        .set(&series(metric::FIGURES_LEVEL, &labels), [1.0, 5.0, 8.0])
        .set(&series(metric::FIGURES_LIMIT, &labels), [8.0; 3])
        .beside("web1", &overflowing(SyntheticRun::healthy()));
    assert_eq!(places(&run.find()), ["S12 here", "N1 web1 < S12 here"]);
}

#[test]
fn what_is_about_the_load_is_evaluated_once() {
    let run = generator()
        .beside("web1", &SyntheticRun::healthy())
        .failing_windows(|window| window.generator.descriptors_exhausted = 1);
    assert_eq!(places(&run.find()), ["G3 here"]);
}

/// Limits of a machine, each with the levels of B, P and F.
fn planted() -> Vec<(String, [f64; 3])> {
    vec![
        (metric::CPU_BUSY.to_owned(), [0.3, 0.9, 0.99]),
        (cpu_stall(), [0.01, 0.1, 0.6]),
        (of(metric::THREAD_BUSIEST, metric::TARGET), [0.2, 0.9, 0.99]),
        (metric::LISTEN_OVERFLOWS.to_owned(), [0.0, 0.0, 50.0]),
        (listener(metric::LISTEN_QUEUE), [0.0, 3.0, 17.0]),
        (metric::SYN_QUEUE_DROPS.to_owned(), [0.0, 0.0, 9.0]),
        (cgroup(metric::CGROUP_CPU_THROTTLED), [0.0, 0.0, 8.0]),
        (cgroup(metric::CGROUP_OOM_KILLS), [0.0, 0.0, 0.2]),
        (metric::OOM_KILLS.to_owned(), [0.0, 0.0, 0.2]),
        (
            of(metric::PROCESS_FILES, metric::TARGET),
            [50.0, 500.0, 1020.0],
        ),
        (metric::FILES_OPEN.to_owned(), [1e3, 1e4, 999e3]),
        (
            ports(metric::PORTS_USED, "10.0.0.7:5432", "other"),
            [90.0, 9e3, 28e3],
        ),
        (metric::SOFTNET_DROPPED.to_owned(), [0.0, 0.0, 40.0]),
    ]
}

proptest! {
    /// What is read by an agent is judged as if it had been read on the generator's own machine.
    #[test]
    fn findings_are_the_same_through_an_agent(chosen in proptest::collection::vec(proptest::bool::ANY, 13)) {
        let disturbed = planted()
            .into_iter()
            .zip(&chosen)
            .filter(|(_, is_chosen)| **is_chosen)
            .fold(SyntheticRun::healthy(), |run, ((name, values), _)| run.set(&name, values));
        let remote = generator().beside("web1", &disturbed).find();
        let local: Vec<Finding> = disturbed.find().into_iter().map(moved).collect();
        prop_assert_eq!(&remote, &local);
        for finding in &remote {
            let texts = [&finding.limit, &finding.sentence];
            prop_assert!(texts.iter().all(|text| text.contains("web1")), "{:#?}", finding);
            prop_assert!(!finding.limit.contains("the machine"), "{:#?}", finding);
        }
    }
}

/// A finding of the own machine, as it is on the machine of an agent.
fn moved(mut finding: Finding) -> Finding {
    const MACHINE: &str = "web1";
    let machine = || Some(MACHINE.to_owned());
    finding.machine = machine();
    finding.consequence_of_machine = finding.consequence_of.as_ref().and_then(|_| machine());
    finding.limit = placed::limit(&finding.limit, MACHINE);
    // What Plimsoll itself is there.
    let own = |text: &str| text.replace(metric::GENERATOR, metric::AGENT);
    finding.sentence = placed::sentence(&own(&finding.sentence), MACHINE);
    for line in &mut finding.evidence {
        line.series = by_agent(&line.series, MACHINE);
        line.label = placed::label(&own(&line.label), MACHINE);
    }
    finding
}

#[test]
fn every_planted_limit_is_found_by_itself() {
    let alone = planted().into_iter().filter(|(name, values)| {
        let run = SyntheticRun::healthy().set(name, *values);
        !generator().beside("web1", &run).find().is_empty()
    });
    // A queue that fills and does not overflow, and CPUs of which nobody waits for one, are no limits.
    assert_eq!(alone.count(), planted().len() - 3);
}

#[test]
fn what_no_machine_explains_is_not_known() {
    let mut run = summary::tests::run(Duration::from_secs(6));
    for second in 0..6 {
        let mut window = Window::new(second);
        (window.offered, window.sent) = (10, 10);
        window.outcomes.add_many(Outcome::Timeout, 10);
        run.windows.push(window);
        let values = [
            (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
            (metric::CPU_BUSY.to_owned(), 0.05),
            (on_machine(metric::TARGET_IS_LOCAL, "web1"), 1.0),
            (on_machine(metric::CPU_BUSY, "web1"), 0.3),
            (on_machine(metric::CPU_BUSY, "db1"), 0.2),
        ];
        run.readings.push(&Readings {
            second,
            values: values.into_iter().collect(),
            new_series: BTreeMap::new(),
        });
    }
    let text = not_known(&run).unwrap();
    let expected = "no measured resource was at its limit (CPU on web1 30 %, CPU on db1 20 %)";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("not watched"), "{text}");
}

#[test]
fn rules_about_the_generator_are_about_the_load() {
    let of_load = |id: RuleId| crate::rules::definition(id).is_of_load();
    assert!(
        [RuleId::G1, RuleId::G2, RuleId::G3]
            .into_iter()
            .all(of_load)
    );
    assert!(
        ![RuleId::C1, RuleId::N1, RuleId::S2]
            .into_iter()
            .any(of_load)
    );
}
