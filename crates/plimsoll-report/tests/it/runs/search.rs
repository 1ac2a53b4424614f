//! Searches for the load line of a server with a capacity of 800/s.

use plimsoll_analysis::summary::quantile_with_failures;
use plimsoll_model::finding::{Certainty, Evidence, Finding, Tier};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::load_line::{Estimate, GateResult, LoadLine, NoLine, Remark, SearchResult};
use plimsoll_model::objective::Answers;
use plimsoll_model::plan::{Find, LoadUnit};
use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_model::trial::{Percentiles, Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::{FailReason, TrialVerdict, Verdict, VoidReason};

use super::readings::readings;
use super::server::QueueServer;
use super::{ending, header_only};

const CAPACITY: f64 = 800.0;

/// The trials of a search, in order; p95 < 50 ms holds up to 800 − ln 20 / 0.05 = 740/s.
const STEPS: [(TrialKind, f64); 26] = [
    (TrialKind::Single, 0.0),
    (TrialKind::Noise, 50.0),
    (TrialKind::Noise, 50.0),
    (TrialKind::Noise, 50.0),
    (TrialKind::Bracket, 100.0),
    (TrialKind::Bracket, 200.0),
    (TrialKind::Bracket, 400.0),
    (TrialKind::Bracket, 800.0),
    (TrialKind::Recovery, 240.0),
    (TrialKind::Bracket, 800.0),
    (TrialKind::Refine, 560.0),
    (TrialKind::Refine, 650.0),
    (TrialKind::Refine, 760.0),
    (TrialKind::Anchor, 440.0),
    (TrialKind::Refine, 720.0),
    (TrialKind::Refine, 745.0),
    (TrialKind::Refine, 770.0),
    (TrialKind::Refine, 730.0),
    (TrialKind::Anchor, 440.0),
    (TrialKind::Refine, 750.0),
    (TrialKind::Refine, 735.0),
    (TrialKind::Confirm, 705.0),
    (TrialKind::Confirm, 705.0),
    (TrialKind::Confirm, 705.0),
    (TrialKind::Confirm, 705.0),
    (TrialKind::Confirm, 705.0),
];

/// Runs the trials of `steps`, each with a second of ramp, two of warm-up and eight that are judged.
fn trials(steps: &[(TrialKind, f64)]) -> Run {
    let mut run = header_only("limit");
    let mut server = QueueServer::new(CAPACITY, Seed(42));
    let mut second = 0;
    for (index, &(kind, rate)) in steps.iter().enumerate() {
        let index = u32::try_from(index).unwrap();
        let spec = TrialSpec {
            kind,
            rate,
            unit: LoadUnit::RequestsPerSecond,
            per_unit: 1.0,
            ramp_s: 1,
            warmup_s: 2,
            measure_s: 8,
            stop_early: true,
            in_flight_cap: 20_000,
        };
        run.trials_started.push((index, second, spec));
        server.rest();
        let start = second;
        let offered = if kind == TrialKind::Single {
            310.0
        } else {
            rate
        };
        for _ in 0..11 {
            let window = server.second(second, offered);
            run.readings.push(&readings(&window, second, CAPACITY));
            run.windows.push(window);
            second += 1;
        }
        // A pause: the probes continue, no window is closed.
        second += 2;
        let trial = evaluate_trial(&run, index, spec, start);
        run.trials.push(trial);
    }
    run
}

/// Judges by the objective; the sixth refinement was void, as happens on a shared machine.
fn evaluate_trial(run: &Run, index: u32, spec: TrialSpec, start: u32) -> Trial {
    let interval = (start + 3, start + 11);
    let windows = run.windows_between(interval.0, interval.1);
    let mut response = Histogram::new();
    for window in windows {
        response.merge(&window.response);
    }
    let requests: u64 = windows
        .iter()
        .map(plimsoll_model::window::Window::completed)
        .sum();
    let errors: u64 = windows.iter().map(|window| window.outcomes.failed()).sum();
    let answers = Answers {
        good: &response,
        failed: errors,
    };
    let objective = run.header.plan.objective.as_ref().unwrap();
    let verdict = if index == 17 {
        TrialVerdict::Void {
            reasons: vec![VoidReason::Steal {
                seconds_share: 0.31,
            }],
        }
    } else if objective.holds(answers) || !spec.kind.counts_for_line() {
        TrialVerdict::Pass
    } else {
        TrialVerdict::Fail {
            reason: FailReason::Latency,
        }
    };
    Trial {
        index,
        spec,
        start_second: start,
        measured: interval,
        verdict,
        requests,
        bad: answers.bad(50_000),
        errors,
        throughput: requests as f64 / 8.0,
        response_us: Percentiles::of(&response),
        objective_us: quantile_with_failures(answers, 0.95),
        in_flight_mean: windows
            .iter()
            .map(|window| window.in_flight_mean)
            .sum::<f64>()
            / 8.0,
        lag_us_p99: 80,
        generator_cpu: 0.02,
        stolen_share: 0.0,
    }
}

fn line() -> LoadLine {
    LoadLine {
        unit: LoadUnit::RequestsPerSecond,
        median: 736.0,
        low: 705.0,
        high: 762.0,
        verified: 705.0,
        confirmed_trials: 5,
        confirmed_passes: 5,
        pass_probability_low: 0.549,
        broken: Some((760.0, 2, 2)),
        trial_s: 8,
    }
}

/// A whole search that found the line and two limits.
pub(crate) fn search() -> Run {
    let mut run = trials(&STEPS);
    run.search = Some(SearchResult {
        line: Ok(line()),
        remarks: vec![
            Remark::Recovery {
                rate: 800.0,
                seconds: Some(4),
            },
            Remark::SharedMachine {
                generator_share: 0.03,
            },
        ],
    });
    run.findings = findings();
    run.notes
        .push((0, "the target runs on this machine".to_owned()));
    run.ending = Some(ending(Verdict::Met, &run));
    run
}

fn evidence(
    series: &str,
    label: &str,
    unit: &str,
    values: [f64; 3],
    bound: Option<f64>,
) -> Evidence {
    Evidence {
        series: series.to_owned(),
        label: label.to_owned(),
        unit: unit.to_owned(),
        base: Some(values[0]),
        passing: Some(values[1]),
        failing: Some(values[2]),
        bound,
    }
}

fn findings() -> Vec<Finding> {
    vec![
        Finding {
            rule: "C2".to_owned(),
            limit: "one thread of node (pid 4711)".to_owned(),
            machine: None,
            tier: Some(Tier::Machine),
            certainty: Certainty::Suspected,
            score: 0.6,
            sentence: "its busiest thread used 99 % of a core at 760 req/s while the machine was 24 % busy".to_owned(),
            remedy: "run one process per core (cluster mode), or make a page cheaper to render".to_owned(),
            evidence: vec![
                evidence(
                    "plimsoll.process.thread.busiest{process=target}",
                    "busiest thread of node",
                    "1",
                    [0.55, 0.93, 0.99],
                    Some(0.9),
                ),
                evidence(
                    "system.cpu.utilization{cpu.mode=user}",
                    "CPU in user mode",
                    "1",
                    [0.41, 0.66, 0.72],
                    None,
                ),
                evidence("plimsoll.cpu.run_queue", "run queue", "{thread}", [3.7, 8.0, 9.8], None),
            ],
            consequence_of: None,
            consequence_of_machine: None,
            intervention: None,
        },
        Finding {
            rule: "N1".to_owned(),
            limit: "accept backlog of 192.0.2.10:8080".to_owned(),
            machine: None,
            tier: None,
            certainty: Certainty::Explicit,
            score: 0.35,
            sentence: "the kernel dropped 37 connections a second because the accept queue was full".to_owned(),
            remedy: "raise the backlog given to listen() and net.core.somaxconn to 4096".to_owned(),
            evidence: vec![evidence(
                "plimsoll.tcp.listen_overflows",
                "connections dropped at the listening socket",
                "{connection}",
                [0.0, 0.0, 37.0],
                Some(0.0),
            )],
            consequence_of: Some("C2".to_owned()),
            consequence_of_machine: None,
            intervention: None,
        },
    ]
}

/// A search whose target misses the objective even with one client.
pub(crate) fn search_without_line() -> Run {
    let mut run = trials(&STEPS[..1]);
    run.search = Some(SearchResult {
        line: Err(NoLine::MissedAtOnce {
            alone_us: Some(61_000),
            errors: 0.0,
        }),
        remarks: Vec::new(),
    });
    run.ending = Some(ending(Verdict::Missed, &run));
    run
}

/// A search whose fresh trials failed too often.
pub(crate) fn search_not_confirmed() -> Run {
    let mut run = trials(&STEPS);
    run.search = Some(SearchResult {
        line: Err(NoLine::NotConfirmed {
            rate: 220.5,
            passes: 1,
            trials: 3,
            estimate: Some(Estimate {
                low: 146.996_8,
                median: 241.2,
                high: 280.4,
            }),
        }),
        remarks: Vec::new(),
    });
    run.ending = Some(ending(Verdict::Undecided, &run));
    run
}

/// A search that ran out of time before anything failed.
pub(crate) fn search_out_of_time() -> Run {
    let mut run = search_not_confirmed();
    run.search.as_mut().unwrap().line = Err(NoLine::GaveUp {
        low: 120.0,
        median: 120.0,
        high: f64::MAX,
        because: "the time ran out in the bracket phase".to_owned(),
    });
    run
}

/// A search that rests on void trials.
pub(crate) fn search_void() -> Run {
    let mut run = trials(&STEPS[..8]);
    let reason = VoidReason::GeneratorCpu { share: 0.97 };
    for trial in &mut run.trials {
        trial.verdict = TrialVerdict::Void {
            reasons: vec![reason.clone()],
        };
    }
    run.search = Some(SearchResult {
        line: Err(NoLine::Void {
            reason: reason.clone(),
            void_trials: 8,
        }),
        remarks: Vec::new(),
    });
    let mut ending = ending(Verdict::Void, &run);
    ending.void = vec![reason];
    run.ending = Some(ending);
    run
}

/// A gate that was accepted after six straight passes.
pub(crate) fn gate() -> Run {
    let mut run = trials(&[(TrialKind::Gate, 600.0); 6]);
    run.gate = Some(GateResult {
        rate: 600.0,
        accepted: Some(true),
        trials: 6,
        passes: 6,
        log_likelihood_ratio: 6.0 * 1.8_f64.ln(),
    });
    run.ending = Some(ending(Verdict::Met, &run));
    run
}

/// The same search as if it had counted users.
pub(crate) fn search_users() -> Run {
    let mut run = search();
    run.header.plan.find = Some(Find {
        unit: LoadUnit::Users,
        from: None,
        to: None,
    });
    let specs = run.trials.iter_mut().map(|trial| &mut trial.spec);
    for spec in specs.chain(run.trials_started.iter_mut().map(|started| &mut started.2)) {
        (spec.unit, spec.per_unit) = (LoadUnit::Users, 0.5);
    }
    let line = run.search.as_mut().unwrap().line.as_mut().unwrap();
    line.unit = LoadUnit::Users;
    run
}
