//! Loads of users in the laboratory: windows in the log, an early end, a verdict.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_lab::active_run::{Assignment, Finished};
use plimsoll_lab::controls::RunControls;
use plimsoll_lab::limit::{Ambition, LimitOrder, limit};
use plimsoll_lab::progress::{Progress, StopFlag, Watcher};
use plimsoll_lab::run_log::Followers;
use plimsoll_model::journey::{
    Abort, Inputs, Journey, ProcessPlan, RequestBody, RequestStep, Scenario, Scope, Step, StepInfo,
    TextTemplate, ThinkTime, Threshold, UserPhase,
};
use plimsoll_model::objective::Objective;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Facts, Find, Load, LoadUnit, Plan, RequestPlan, Transport};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_model::verdict::{TrialVerdict, Verdict, VoidReason};
use plimsoll_probe::ProbePlan;
use plimsoll_testkit::origin::site;
use plimsoll_testkit::plan::get_root;
use plimsoll_testkit::turns;

/// Calls of a watcher.
#[derive(Debug, Default)]
struct RecordingWatcher {
    notes: Vec<String>,
    windows: u32,
}

impl Watcher for RecordingWatcher {
    fn window_closed(&mut self, _: &Progress<'_>) {
        self.windows += 1;
    }

    fn noted(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

fn plan(address: SocketAddr, scenario: Scenario, load: Load) -> Plan {
    let base = get_root(address);
    Plan {
        request: RequestPlan {
            headers: Vec::new(),
            ..base.request
        },
        scenario: Some(scenario),
        transport: Transport {
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            ..base.transport
        },
        load,
        ..base
    }
}

/// Journeys that each request a path and think 20 ms.
fn journeys_requesting(paths: &[&str]) -> Scenario {
    let mut scenario = Scenario::default();
    for (id, path) in (0..).zip(paths) {
        let request = RequestStep {
            id,
            method: "GET".to_owned(),
            url: TextTemplate::literal(*path),
            headers: Vec::new(),
            body: RequestBody::Empty,
            follow: 0,
            timeout: None,
            captures: Vec::new(),
            expectations: Vec::new(),
        };
        scenario.steps.push(StepInfo {
            label: format!("GET {path}"),
            journey: id,
            ..StepInfo::default()
        });
        scenario.journeys.push(Journey {
            name: format!("j{id}"),
            weight: 1.0,
            steps: vec![
                Step::Request(Box::new(request)),
                Step::Think(ThinkTime::Fixed(Duration::from_millis(20))),
            ],
            connections: 1,
            ..Journey::default()
        });
    }
    scenario
}

fn users(count: f64, seconds: u64) -> Load {
    Load::Users {
        phases: vec![UserPhase {
            from: count,
            to: count,
            lasting: Duration::from_secs(seconds),
            mix: Vec::new(),
        }],
        iterations: None,
    }
}

fn run(plan: Plan, inputs: Inputs) -> (Finished, RecordingWatcher) {
    let _turn = turns::held_or_shared();
    let folder = tempfile::tempdir().unwrap();
    let assignment = assignment(plan, inputs, folder.path());
    let mut watcher = RecordingWatcher::default();
    let finished = plimsoll_lab::run::run(assignment, StopFlag::default(), &mut watcher).unwrap();
    (finished, watcher)
}

fn assignment(plan: Plan, inputs: Inputs, folder: &Path) -> Assignment {
    Assignment {
        agents: Vec::new(),
        probes: ProbePlan {
            target_address: plan.target.addresses.first().copied(),
            ..ProbePlan::default()
        },
        plan,
        inputs: Arc::new(inputs),
        command: "run",
        started_at: "2026-11-22T00:00:00Z".to_owned(),
        log_path: folder.join("people.run"),
        versions: Facts::new(),
        worker_processes: None,
        workers: None,
        followers: Followers::default(),
        controls: RunControls::default(),
        browser: None,
    }
}

/// Whether this machine had no time for a run, which reports it, and loudly here: its verdict is void then. Or the generator
/// stood still so long that it counts arrivals in later seconds, and sends less.
fn is_disturbed(finished: &Finished) -> bool {
    let ending = finished.run.ending.as_ref().unwrap();
    let of_the_machine = |reason: &&VoidReason| {
        matches!(
            reason,
            VoidReason::GeneratorLag { .. }
                | VoidReason::GeneratorCpu { .. }
                | VoidReason::Steal { .. }
        )
    };
    let found = ending.void.iter().find(of_the_machine);
    if let Some(reason) = found {
        plimsoll_testkit::not_tried::disturbed(reason);
    }
    let windows = finished.run.windows.iter();
    let latest_us = windows.filter_map(|window| window.lag.max()).max();
    let stood_still = latest_us.is_some_and(|lag_us| lag_us > 500_000);
    if stood_still {
        plimsoll_testkit::not_tried::disturbed(format_args!("a user was {latest_us:?} µs late"));
    }
    found.is_some() || stood_still
}

#[test]
fn sessions_come_at_their_rate() {
    let site = site::start().unwrap();
    let load = Load::Sessions {
        phases: vec![LoadPhase::constant(50.0, Duration::from_secs(2))],
        spacing: Spacing::Even,
        mixes: Vec::new(),
    };
    let (finished, _) = run(
        plan(site.address(), journeys_requesting(&["/items"]), load),
        Inputs::default(),
    );
    let windows = &finished.run.windows;
    let offered: u64 = windows.iter().map(|window| window.offered).sum();
    assert_eq!((offered, site.count("GET /items")), (100, 100));
    if !is_disturbed(&finished) {
        assert_eq!(windows[0].offered, 50);
        assert_eq!(finished.run.ending.unwrap().verdict, Verdict::Met);
    }
}

#[test]
fn an_abort_ends_the_run_early_and_lets_what_is_under_way_finish() {
    let site = site::start().unwrap();
    let mut scenario = journeys_requesting(&["/status/500"]);
    scenario.aborts = vec![Abort {
        objective: Objective {
            errors_max: Some(0.5),
            ..Objective::default()
        },
        over: Duration::from_secs(2),
    }];
    let (finished, watcher) = run(
        plan(site.address(), scenario, users(2.0, 60)),
        Inputs::default(),
    );
    let run = &finished.run;
    // Of sixty.
    assert!(
        (2..20).contains(&run.windows.len()),
        "{}",
        run.windows.len()
    );
    if !is_disturbed(&finished) {
        assert_eq!(run.ending.as_ref().unwrap().verdict, Verdict::Missed);
    }
    let ended =
        "the run ended early after 2 s: all answers of the last 2 s together missed errors < 50%";
    assert_eq!(watcher.notes, [ended]);
    assert!(
        run.notes.iter().any(|(_, note)| note == ended),
        "{:?}",
        run.notes
    );
    let outcomes = run.windows.iter().map(|window| &window.outcomes);
    let cut: u64 = outcomes
        .map(|all| all.get(Outcome::Timeout) + all.get(Outcome::Dropped))
        .sum();
    assert_eq!(cut, 0, "nothing was cut off");
}

#[test]
fn thresholds_judge_a_run() {
    let site = site::start().unwrap();
    let threshold = |scope, objective| Threshold { scope, objective };
    let mean = |mean_us_max| Objective {
        mean_us_max: Some(mean_us_max),
        ..Objective::default()
    };
    for (bound, verdict) in [(10_000_000, Verdict::Met), (1, Verdict::Missed)] {
        let mut scenario = journeys_requesting(&["/items", "/slow/5"]);
        scenario.thresholds = vec![
            threshold(Scope::Everything, mean(10_000_000)),
            threshold(Scope::Journey(0), mean(10_000_000)),
            threshold(Scope::Step("GET /slow/5".to_owned()), mean(bound)),
        ];
        let (finished, _) = run(
            plan(site.address(), scenario, users(2.0, 1)),
            Inputs::default(),
        );
        if !is_disturbed(&finished) {
            assert_eq!(finished.run.ending.unwrap().verdict, verdict);
        }
    }
}

#[test]
fn a_lost_process_voids_the_run_and_its_words_are_kept() {
    let site = site::start().unwrap();
    let mut scenario = journeys_requesting(&["/items"]);
    scenario.journeys.push(Journey {
        name: "spoken".to_owned(),
        weight: 1.0,
        connections: 1,
        process: Some(ProcessPlan {
            command: ["sh", "-c", "read line; echo out of ideas >&2; exit 3"]
                .map(str::to_owned)
                .to_vec(),
            count: 1,
            feeds: Vec::new(),
            timeout: Duration::from_mins(1),
        }),
        ..Journey::default()
    });
    // The load goes on until the process has ended, however long it takes to start.
    let load = Load::Users {
        phases: vec![UserPhase {
            from: 2.0,
            to: 2.0,
            lasting: Duration::from_mins(1),
            mix: Vec::new(),
        }],
        iterations: Some(80),
    };
    let (finished, watcher) = run(plan(site.address(), scenario, load), Inputs::default());
    let ending = finished.run.ending.as_ref().unwrap();
    assert_eq!(ending.verdict, Verdict::Void);
    // Other work of this machine may be a second reason.
    let why = ending.void.iter().find_map(|reason| match reason {
        VoidReason::CutShort { why } => Some(why),
        _ => None,
    });
    let why = why.unwrap_or_else(|| panic!("{:?}", ending.void));
    assert!(
        why.contains("spoken") && why.contains("exit code 3"),
        "{why}"
    );
    assert!(
        watcher.notes.contains(&"spoken: out of ideas".to_owned()),
        "{watcher:?}"
    );
    assert!(watcher.notes.contains(why), "{watcher:?}");
    // The step that only the process's failure has is known to readers of the log.
    let steps = &finished.run.header.plan.scenario.as_ref().unwrap().steps;
    assert_eq!(steps.last().unwrap().label, "process");
    let good: u64 = finished
        .run
        .windows
        .iter()
        .map(|window| window.outcomes.get(Outcome::Ok))
        .sum();
    assert!(good >= 79, "the other journey went on: {good}");
}

#[test]
fn data_that_must_suffice_voids_the_run_when_it_does_not() {
    use plimsoll_model::journey::{AtEnd, Feed, FeedOrder, TextPiece};
    let site = site::start().unwrap();
    let mut scenario = journeys_requesting(&["/items?"]);
    scenario.feeds.push(Feed {
        name: "row".to_owned(),
        path: None,
        columns: vec!["value".to_owned()],
        rows: 2,
        order: FeedOrder::Unique,
        at_end: AtEnd::Error,
        each_iteration: false,
    });
    let Step::Request(request) = &mut scenario.journeys[0].steps[0] else {
        panic!("a request");
    };
    request.url.pieces.push(TextPiece::Column(0, 0));
    let inputs = Inputs {
        rows: vec![vec![vec!["a".to_owned()], vec!["b".to_owned()]]],
        ..Inputs::default()
    };
    let (finished, watcher) = run(plan(site.address(), scenario, users(3.0, 30)), inputs);
    let ending = finished.run.ending.as_ref().unwrap();
    assert_eq!(ending.verdict, Verdict::Void);
    assert!(
        watcher.notes[0].contains("all 2 rows of the data row are used"),
        "{watcher:?}"
    );
    // Of thirty.
    assert!(finished.run.windows.len() < 20);
}

/// Ends a search after so many trials of equal users.
struct Impatient {
    stop: StopFlag,
    trials: Vec<Trial>,
}

impl Watcher for Impatient {
    fn trial_ended(&mut self, trial: &Trial) {
        self.trials
            .extend((trial.spec.kind == TrialKind::Noise).then(|| trial.clone()));
        if self.trials.len() >= 2 {
            self.stop.raise();
        }
    }
}

#[test]
fn users_of_a_search_stay_from_trial_to_trial() {
    let site = site::start().unwrap();
    let mut scenario = journeys_requesting(&["/items?once", "/items", "/gzip"]);
    let mut entry = scenario.journeys.remove(0);
    entry.steps.truncate(1);
    for journey in &mut scenario.journeys {
        journey.once.clone_from(&entry.steps);
    }
    scenario.steps[0].once = true;
    let mut plan = plan(site.address(), scenario, users(4.0, 1));
    plan.find = Some(Find {
        unit: LoadUnit::Users,
        from: Some(6.0),
        to: Some(6.0),
    });
    let folder = tempfile::tempdir().unwrap();
    let stop = StopFlag::default();
    let mut watcher = Impatient {
        stop: stop.clone(),
        trials: Vec::new(),
    };
    let order = LimitOrder {
        ambition: Ambition::Within(Duration::from_mins(1)),
        ..LimitOrder::default()
    };
    let assignment = assignment(plan, Inputs::default(), folder.path());
    let finished = limit(assignment, &order, stop, &mut watcher).unwrap();
    // One of each journey alone, and then those of the first trial, who are those of the second: six, or fewer where the
    // generator itself cannot carry six. On a machine without time the search ends before, or in the middle of a trial.
    let mut trials = watcher.trials.iter();
    let is_void = trials.any(|trial| matches!(trial.verdict, TrialVerdict::Void { .. }));
    if watcher.trials.len() < 2 || is_void {
        assert!(is_void || is_disturbed(&finished), "{:#?}", watcher.trials);
        return;
    }
    let ending = finished.run.ending.as_ref().unwrap();
    assert_eq!(ending.verdict, Verdict::Interrupted);
    assert!(watcher.trials.iter().all(|trial| trial.requests > 0));
    let [first, second] = &watcher.trials[..] else {
        panic!("two trials: {:#?}", watcher.trials);
    };
    let logins = site.count("GET /items?once") as f64;
    for trial in [first, second] {
        assert!(
            (logins - 2.0 - trial.spec.rate).abs() < 0.5,
            "{logins} logins: {trial:#?}"
        );
    }
}

/// Tests that have the machine alone.
mod alone {
    use super::{
        Inputs, Verdict, is_disturbed, journeys_requesting, plan, run, site, turns, users,
    };

    #[test]
    fn users_are_carried_out_and_counted_by_journey() {
        let _alone = turns::alone();
        let site = site::start().unwrap();
        let scenario = journeys_requesting(&["/items", "/gzip"]);
        let (finished, watcher) = run(
            plan(site.address(), scenario, users(4.0, 2)),
            Inputs::default(),
        );
        let run = &finished.run;
        let is_disturbed = is_disturbed(&finished);
        if !is_disturbed {
            assert_eq!(run.ending.as_ref().unwrap().verdict, Verdict::Met);
        }
        assert_eq!(u32::try_from(run.windows.len()).unwrap(), watcher.windows);
        let mut first = run.windows.iter().take(2);
        assert!(is_disturbed || first.all(|window| window.users == 4));
        let mut by_journey = [0, 0];
        for window in &run.windows {
            for (&journey, &count) in &window.journey_iterations {
                by_journey[journey as usize] += count;
            }
        }
        // Two users of each for 2 s, an iteration in little more than 20 ms.
        for (journey, path) in [(0, "GET /items"), (1, "GET /gzip")] {
            let least = if is_disturbed { 1 } else { 100 };
            assert!(
                (least..=204).contains(&by_journey[journey]),
                "{by_journey:?}"
            );
            assert!(site.count(path).abs_diff(by_journey[journey]) <= 2);
        }
        let summary = plimsoll_analysis::summary::Summary::of(run);
        let journeys = summary.breakdown.unwrap().journeys;
        let iterations: Vec<_> = journeys.iter().map(|journey| journey.iterations).collect();
        assert_eq!(iterations, by_journey.map(Some));
    }
}
