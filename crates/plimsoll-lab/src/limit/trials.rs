//! Carries out trials one after the other, each against the target or, for the self-test, against a server that does
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::intervention::Repeats;
use plimsoll_analysis::judge::early::may_stop_early;
use plimsoll_analysis::judge::{self, PartObjective, TrialFacts};
use plimsoll_analysis::search::users::Stayed;
use plimsoll_analysis::whole_run;
use plimsoll_load::{Kept, NullServer, Stay};
use plimsoll_model::event::Event;
use plimsoll_model::journey::Scenario;
use plimsoll_model::load_line::NoLine;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Http2, Load, LoadUnit, Plan, Target};
use plimsoll_model::schedule::Spacing;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::window::Window;

use super::course::{Course, CourseResult, Ground, Next};
use crate::conductor::{Conductor, Flow, Round};
use crate::error::LabError;
use crate::progress::{self, Progress, Watcher};

/// The trials of one search.
pub(super) struct Trials<'a> {
    conductor: &'a Conductor,
    objective: Objective,
    previous_rate: f64,
    count: u32,
    /// Whether a trial got through to the target.
    reached: bool,
    /// Users of the trials so far, who stay for the next.
    kept: Kept,
    /// Requests in flight at a low load, as the course had them that ended last.
    anchor_in_flight: f64,
}

impl<'a> Trials<'a> {
    pub(super) fn new(conductor: &'a Conductor, objective: Objective) -> Self {
        Self {
            conductor,
            objective,
            previous_rate: 0.0,
            count: 0,
            reached: false,
            kept: Kept::default(),
            anchor_in_flight: 0.0,
        }
    }

    /// Carries out what `course` asks for until it is done, the user stops it, or nothing can be reached.
    pub(super) fn carry_out(
        &mut self,
        mut course: Course,
        watcher: &mut dyn Watcher,
    ) -> Result<CourseResult, LabError> {
        loop {
            self.anchor_in_flight = course.anchor_in_flight();
            let spec = match course.next() {
                Next::Trial(spec) => spec,
                Next::Done(result) => return Ok(result),
            };
            let windows = self.windows_of(&spec, &course, watcher)?;
            if self.conductor.is_stopping() {
                return Ok(course.stop(NoLine::Interrupted));
            }
            if spec.kind != TrialKind::SelfTest {
                if !self.reached && whole_run::is_unreachable(&windows) {
                    return Ok(course.stop(NoLine::Unreachable));
                }
                self.reached = true;
            }
            let trial = self.judge(&spec, &course, &windows);
            self.tell_utilisation(&trial, &mut course);
            self.conductor
                .append(Event::TrialEnded(Box::new(trial.clone())));
            watcher.trial_ended(&trial);
            course.record(&trial, self.conductor.elapsed());
            course.users_stayed(Stayed::new(self.kept.places()));
            self.count += 1;
        }
    }

    /// Carries out trials at one load until they tell.
    pub(super) fn repeat(
        &mut self,
        repeats: Repeats,
        watcher: &mut dyn Watcher,
    ) -> Result<Repeats, LabError> {
        let ground = Ground {
            seed: self.conductor.plan().seed,
            anchor_in_flight: self.anchor_in_flight,
        };
        // Whatever was there before has ended: its load is come up to from nothing.
        self.previous_rate = 0.0;
        let course = Course::Repeats(Box::new(repeats.clone()), ground);
        Ok(match self.carry_out(course, watcher)? {
            CourseResult::Repeats(repeats) => *repeats,
            _ => repeats,
        })
    }

    fn windows_of(
        &mut self,
        spec: &TrialSpec,
        course: &Course,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Window>, LabError> {
        let null_server = match spec.kind {
            TrialKind::SelfTest => Some(plimsoll_load::null_server()?),
            _ => None,
        };
        let plan = match &null_server {
            Some(server) => against(self.conductor.plan(), server),
            None => Arc::clone(self.conductor.plan()),
        };
        let second = self.conductor.next_second();
        self.conductor.append(Event::TrialStarted {
            index: self.count,
            second,
            spec: *spec,
        });
        watcher.trial_started(spec);
        let stage = course.stage_text();
        let trial_left = |window: &Window| {
            let left = (second + spec.offered_s()).saturating_sub(window.second + 1);
            Duration::from_secs(u64::from(left))
        };
        let find = self.conductor.plan().find;
        let plan_unit = find.map_or(LoadUnit::default(), |find| find.unit);
        let mut windows = Vec::new();
        let stay = self.stay(spec);
        let are_to_stay = stay.is_some();
        let round = Round {
            plan: &plan,
            load: self.load(spec),
            seed: course.seed(self.count),
            start_second: second,
            stay,
        };
        let kept = self.conductor.carry_out(round, |window| {
            watcher.window_closed(&Progress {
                window,
                stage: &stage,
                interval: course.interval(),
                unit: plan_unit,
                remaining: course.remaining().max(trial_left(window)),
                cpu: self.conductor.latest_machine_use().map(|seen| seen.busy),
            });
            progress::tell_of_processes(window, watcher);
            progress::tell_of_parts(self.conductor.take_told(), watcher);
            windows.push(window.clone());
            self.flow(spec, course, &windows)
        })?;
        if are_to_stay {
            self.kept = kept;
        }
        self.previous_rate = spec.rate;
        Ok(windows)
    }

    /// Who comes back to a trial in users, and how the others come. One client alone is none of them.
    fn stay(&mut self, spec: &TrialSpec) -> Option<Stay> {
        let plan = self.conductor.plan();
        let stays = plan.scenario.is_some()
            && spec.unit == LoadUnit::Users
            && !matches!(spec.kind, TrialKind::SelfTest | TrialKind::Single);
        stays.then(|| Stay {
            kept: std::mem::take(&mut self.kept),
            within: Duration::from_secs(u64::from(spec.ramp_s)),
            seed: plan.seed,
        })
    }

    /// The load of a trial: open at its rate, users, or the closed loop of one client alone.
    fn load(&self, spec: &TrialSpec) -> Load {
        let plan = self.conductor.plan();
        if let Some(scenario) = &plan.scenario
            && spec.kind != TrialKind::SelfTest
        {
            return match spec.unit {
                _ if spec.kind == TrialKind::Single => alone(scenario, spec),
                LoadUnit::SessionsPerSecond => Load::Sessions {
                    mixes: vec![plan.load.mix().to_vec(); spec.phases(0.0).len()],
                    phases: spec.phases(0.0),
                    spacing: spacing(&plan.load),
                },
                LoadUnit::Users | LoadUnit::RequestsPerSecond => Load::Users {
                    phases: vec![spec.user_phase(plan.load.mix())],
                    iterations: None,
                },
            };
        }
        if spec.kind == TrialKind::Single {
            return Load::Closed {
                connections: 1,
                think: Duration::ZERO,
                lasting: Duration::from_secs(u64::from(spec.offered_s())),
            };
        }
        Load::Open {
            phases: spec.phases(self.previous_rate),
            spacing: spacing(&plan.load),
        }
    }

    /// A trial that has certainly failed ends at once, and so does a recovery that is complete.
    fn flow(&self, spec: &TrialSpec, course: &Course, windows: &[Window]) -> Flow {
        if spec.kind == TrialKind::Recovery {
            let well = judge::recovered(windows, course.anchor_in_flight(), &self.objective);
            return if well.is_some() {
                Flow::Stop
            } else {
                Flow::Continue
            };
        }
        let stops = spec.stop_early && may_stop_early(spec.kind);
        if stops && judge::early(spec, &self.objective, windows).is_some() {
            // Not aborted: requests cut off by us would be told as failures of the target.
            return Flow::Stop;
        }
        Flow::Continue
    }

    fn judge(&self, spec: &TrialSpec, course: &Course, windows: &[Window]) -> Trial {
        let plan = self.conductor.plan();
        let start_second = windows.first().map_or(0, |window| window.second);
        let end = start_second + spec.offered_s();
        let machine = self.conductor.machine_use(start_second, end);
        let facts = TrialFacts {
            index: self.count,
            start_second,
            cores: plan.cores,
            tick_us: plan.tick.map_or(0, |tick| {
                u64::try_from(tick.as_micros()).unwrap_or(u64::MAX)
            }),
            steal: machine.iter().map(|seen| seen.steal).collect(),
            busy: machine.iter().map(|seen| seen.busy).collect(),
            open: spec.kind != TrialKind::Single,
            parts: self
                .conductor
                .scenario()
                .as_ref()
                .map(PartObjective::all)
                .unwrap_or_default(),
            overlapping: plan.scenario.as_ref().is_some_and(Scenario::has_pages),
            anchor_in_flight: course.anchor_in_flight(),
        };
        judge::judge(spec, &self.objective, windows, &facts)
    }

    /// The machine's busy share, when the target runs on it, tells the bracket how far it may jump.
    fn tell_utilisation(&self, trial: &Trial, course: &mut Course) {
        if !self.conductor.target_is_local() || !trial.verdict.is_pass() {
            return;
        }
        let seen = self.conductor.machine_use(trial.judged.0, trial.judged.1);
        if seen.is_empty() || trial.spec.kind == TrialKind::SelfTest || trial.throughput <= 0.0 {
            return;
        }
        let busy = seen.iter().map(|seen| seen.busy).sum::<f64>() / seen.len() as f64;
        let load = match trial.spec.unit {
            LoadUnit::RequestsPerSecond => trial.throughput,
            LoadUnit::Users | LoadUnit::SessionsPerSecond => trial.spec.rate,
        };
        if load > 0.0 {
            course.record_utilisation(load, busy);
        }
    }
}

/// One user of each journey.
fn alone(scenario: &Scenario, spec: &TrialSpec) -> Load {
    // By their weights there might be two of the most frequent, and nobody of the rarest.
    let equal: Vec<f64> = scenario
        .journeys
        .iter()
        .map(|journey| if journey.weight > 0.0 { 1.0 } else { 0.0 })
        .collect();
    let users = equal.iter().sum::<f64>().max(1.0);
    Load::Users {
        phases: vec![
            TrialSpec {
                rate: users,
                ..*spec
            }
            .user_phase(&equal),
        ],
        iterations: None,
    }
}

fn spacing(load: &Load) -> Spacing {
    match load {
        Load::Open { spacing, .. } | Load::Sessions { spacing, .. } => *spacing,
        Load::Closed { .. } | Load::Users { .. } | Load::WebSockets(_) => Spacing::Poisson,
    }
}

/// The plan with a server that does nothing in place of the target.
fn against(plan: &Plan, server: &NullServer) -> Arc<Plan> {
    let address = server.address();
    let mut plan = plan.clone();
    plan.target = Target {
        url: format!("http://{address}/"),
        tls: false,
        host: address.ip().to_string(),
        port: address.port(),
        addresses: vec![address],
        unix_socket: None,
    };
    // The server that does nothing knows no journeys.
    plan.scenario = None;
    plan.transport.sources.clear();
    // It has no TLS in which HTTP/2 could be chosen.
    plan.transport.http2 = plan.transport.http2.map(|http2| Http2 {
        prior_knowledge: true,
        ..http2
    });
    Arc::new(plan)
}
