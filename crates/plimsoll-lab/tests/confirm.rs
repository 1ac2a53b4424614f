//! Limits of a real HAProxy, raised and reverted, during and after a search.
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, and the lint sees only functions marked so"
)]

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_lab::active_run::{Assignment, Finished};
use plimsoll_lab::controls::RunControls;
use plimsoll_lab::limit::confirm_limit::ConfirmOptions;
use plimsoll_lab::limit::{Ambition, LimitOrder, limit};
use plimsoll_lab::progress::{StopFlag, Watcher};
use plimsoll_lab::run_log::Followers;
use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, Tunable};
use plimsoll_model::finding::{Certainty, Finding, InterventionOutcome};
use plimsoll_model::journey::Inputs;
use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::plan::{Facts, Find, Load, LoadUnit, Plan, RequestPlan, Transport};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::trial::{TrialKind, TrialSpec};
use plimsoll_model::verdict::Verdict;
use plimsoll_probe::{ProbePlan, tunables};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::plan::get_root;
use plimsoll_testkit::program::Haproxy;

/// One search at a time: each measures.
static TEST_LOCK: Mutex<()> = Mutex::new(());

/// A service that answers any number at once, each after a tenth of a second, behind a HAProxy that lets ten through.
struct HaproxySetup {
    haproxy: Haproxy,
    _origin: KnownLaw,
    folder: tempfile::TempDir,
    _guard: MutexGuard<'static, ()>,
}

impl HaproxySetup {
    fn new() -> Self {
        let guard = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = KnownLaw::start(KnownLawPlan {
            servers: NonZeroU32::new(4096).unwrap(),
            service: Service::Deterministic(Duration::from_millis(100)),
            ..KnownLawPlan::default()
        })
        .unwrap();
        let url = origin.url();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let server = format!("  server s1 {address} maxconn 10");
        Self {
            haproxy: Haproxy::start_with("level admin", "", &server),
            _origin: origin,
            folder: tempfile::tempdir().unwrap(),
            _guard: guard,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn tunable(&self) -> Tunable {
        Tunable {
            kind: ComponentKind::Haproxy,
            place: ComponentAddress::Socket(self.haproxy.socket.clone()),
            setting: "maxconn".to_owned(),
            of: "app/s1".to_owned(),
        }
    }

    fn maxconn(&self) -> String {
        tunables::value_of(&self.tunable(), None).unwrap()
    }

    fn plan(&self) -> Plan {
        let base = get_root(self.haproxy.address);
        Plan {
            name: "confirm".to_owned(),
            request: RequestPlan {
                headers: Vec::new(),
                ..base.request
            },
            // The law says 100/s.
            find: Some(Find {
                unit: LoadUnit::RequestsPerSecond,
                from: Some(80.0),
                to: None,
            }),
            transport: Transport {
                timeout: Duration::from_secs(5),
                connect_timeout: Duration::from_secs(5),
                connections_max: 5000,
                ..base.transport
            },
            load: Load::Open {
                phases: vec![LoadPhase::constant(10.0, Duration::from_secs(1))],
                spacing: Spacing::Poisson,
            },
            objective: Some(Objective {
                latency: vec![LatencyBound {
                    quantile: 0.95,
                    within_us: 300_000,
                }],
                errors_max: Some(0.01),
                ..Objective::default()
            }),
            ..base
        }
    }

    /// A short search whose limit is tested.
    fn search(
        &self,
        commands: Option<(&[&str], &[&str])>,
        stop: StopFlag,
        watcher: &mut dyn Watcher,
    ) -> Finished {
        let plan = self.plan();
        let assignment = Assignment {
            agents: Vec::new(),
            probes: ProbePlan {
                target_address: plan.target.addresses.first().copied(),
                components: vec![Component {
                    kind: ComponentKind::Haproxy,
                    place: ComponentAddress::Socket(self.haproxy.socket.clone()),
                    login: None,
                }],
                ..ProbePlan::default()
            },
            plan,
            inputs: Arc::new(Inputs::default()),
            command: "limit",
            started_at: "2026-11-23T00:00:00Z".to_owned(),
            log_path: self.path().join("confirm.run"),
            versions: Facts::new(),
            worker_processes: None,
            workers: None,
            followers: Followers::default(),
            controls: RunControls::default(),
            browser: None,
        };
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let order = LimitOrder {
            ambition: Ambition::Within(Duration::from_mins(1)),
            confirm: Some(ConfirmOptions {
                commands: commands.map(|(apply, undo)| (words(apply), words(undo))),
                environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
                journal: self.path().join("confirm.undo"),
            }),
            ..LimitOrder::default()
        };
        limit(assignment, &order, stop, watcher).unwrap()
    }

    /// Nothing of the change is left.
    fn is_as_before(&self) {
        assert_eq!(self.maxconn(), "10");
        assert!(!self.path().join("confirm.undo").exists());
    }
}

/// The tested limit; `None`, with a loud note, when this machine had no time for the search to find the limit, or for
/// enough trials.
fn tried(finished: &Finished) -> Option<&Finding> {
    let findings = &finished.run.findings;
    let is_void = |kind: TrialKind| {
        let trials = finished.run.trials.iter();
        trials
            .filter(|trial| trial.spec.kind == kind)
            .any(|trial| trial.verdict.is_void())
    };
    let tried = findings.iter().find(|finding| {
        let outcome = finding.intervention.as_ref().map(|tried| tried.outcome);
        outcome.is_some_and(|outcome| outcome != InterventionOutcome::Undecided)
    });
    if let Some(tried) = tried.filter(|tried| tried.rule == "H1") {
        return Some(tried);
    }
    let is_disturbed = is_void(TrialKind::Mitigated)
        || is_void(TrialKind::Restored)
        || finished
            .run
            .trials
            .iter()
            .any(|trial| trial.verdict.is_void())
        || findings
            .iter()
            .any(|finding| ["C1", "G1"].contains(&finding.rule.as_str()));
    assert!(
        is_disturbed,
        "{findings:#?}\n{:#?}\n{:#?}",
        finished.run.search, finished.run.notes
    );
    plimsoll_testkit::not_tried::disturbed(format_args!("{findings:#?}"));
    None
}

#[derive(Default)]
struct RecordingWatcher {
    notes: Vec<String>,
}

impl Watcher for RecordingWatcher {
    fn noted(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

#[test]
fn a_limit_that_is_one_is_confirmed_and_put_back() {
    let setup = HaproxySetup::new();
    let mut watcher = RecordingWatcher::default();
    let finished = setup.search(None, StopFlag::default(), &mut watcher);
    setup.is_as_before();
    let Some(found) = tried(&finished) else {
        return;
    };
    let intervention = found.intervention.as_ref().unwrap();
    assert_eq!(found.certainty, Certainty::Confirmed, "{found:#?}");
    assert!(intervention.mitigated.passed >= 3 && intervention.restored.failed >= 2);
    assert!(
        intervention.change.contains("maxconn of app/s1 in HAProxy")
            && intervention.change.ends_with("raised from 10 to 40"),
        "{intervention:#?}"
    );
    assert_eq!(finished.run.findings[0].rule, "H1", "the best comes first");
    let notes = watcher.notes.join("\n");
    assert!(notes.contains("confirm: change reverted"), "{notes}");
}

#[test]
fn what_changes_nothing_is_demoted() {
    let setup = HaproxySetup::new();
    let undone = setup.path().join("undone").display().to_string();
    let commands: (&[&str], &[&str]) = (&["true"], &["touch", &undone]);
    let finished = setup.search(
        Some(commands),
        StopFlag::default(),
        &mut RecordingWatcher::default(),
    );
    setup.is_as_before();
    let Some(found) = tried(&finished) else {
        return;
    };
    assert_eq!(found.certainty, Certainty::Demoted, "{found:#?}");
    assert!(Path::new(&undone).exists());
    let last = finished.run.findings.last().unwrap();
    assert_eq!(last.rule, "H1", "what sets no line comes last");
}

/// Stops a search when it begins to try.
struct Impatient {
    stop: StopFlag,
    tries: u32,
}

impl Watcher for Impatient {
    fn trial_started(&mut self, spec: &TrialSpec) {
        if spec.kind == TrialKind::Mitigated {
            self.tries += 1;
            self.stop.raise();
        }
    }
}

#[test]
fn an_interrupt_puts_it_back() {
    let setup = HaproxySetup::new();
    let stop = StopFlag::default();
    let mut impatient = Impatient {
        stop: stop.clone(),
        tries: 0,
    };
    let finished = setup.search(None, stop, &mut impatient);
    setup.is_as_before();
    if impatient.tries == 0 {
        assert!(tried(&finished).is_none(), "nothing began to be tried");
        return;
    }
    assert_eq!(impatient.tries, 1);
    let ending = finished.run.ending.as_ref().unwrap();
    assert_eq!(ending.verdict, Verdict::Interrupted);
}
