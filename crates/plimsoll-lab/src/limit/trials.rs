//! Carries out trials one after the other, each against the target or, for the self-test, against a server that does
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::intervention::Repeats;
use plimsoll_analysis::search::users::Stayed;
use plimsoll_analysis::verdict::early::may_stop_early;
use plimsoll_analysis::verdict::{self, ThresholdObjective, TrialFacts};
use plimsoll_analysis::whole_run;
use plimsoll_load::{NullServer, SessionCarryOver, Stay};
use plimsoll_model::event::Event;
use plimsoll_model::journey::Scenario;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Http2, Load, LoadUnit, Plan, Target};
use plimsoll_model::schedule::Spacing;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::window::Window;

use super::course::{Course, CourseResult, CourseStep, RepeatContext};
use crate::active_run::{ActiveRun, Flow, Round};
use crate::error::LabError;
use crate::progress::{self, Progress, Watcher};

/// The trials of one search.
pub(super) struct Trials<'a> {
    active_run: &'a ActiveRun,
    objective: Objective,
    previous_rate: f64,
    count: u32,
    /// Whether a trial got through to the target.
    reached: bool,
    /// Users of earlier trials who stay for the next.
    carry_over: SessionCarryOver,
    /// Requests in flight at a low load, as the course had them that ended last.
    anchor_in_flight: f64,
}

impl<'a> Trials<'a> {
    pub(super) fn new(active_run: &'a ActiveRun, objective: Objective) -> Self {
        Self {
            active_run,
            objective,
            previous_rate: 0.0,
            count: 0,
            reached: false,
            carry_over: SessionCarryOver::default(),
            anchor_in_flight: 0.0,
        }
    }

    /// Runs the trials of `course` until it is done, the user stops it, or the target is unreachable.
    pub(super) fn carry_out(
        &mut self,
        mut course: Course,
        watcher: &mut dyn Watcher,
    ) -> Result<CourseResult, LabError> {
        loop {
            self.anchor_in_flight = course.anchor_in_flight();
            let spec = match course.next() {
                CourseStep::Trial(spec) => spec,
                CourseStep::Done(result) => return Ok(result),
            };
            let windows = self.windows_of(&spec, &course, watcher)?;
            if self.active_run.is_stopping() {
                return Ok(course.interrupt());
            }
            if spec.kind != TrialKind::SelfTest {
                if !self.reached && whole_run::is_unreachable(&windows) {
                    return Ok(course.unreachable());
                }
                self.reached = true;
            }
            let trial = self.evaluate(&spec, &course, &windows);
            self.report_utilisation(&trial, &mut course);
            self.active_run
                .append(Event::TrialEnded(Box::new(trial.clone())));
            watcher.trial_ended(&trial);
            course.record(&trial, self.active_run.elapsed());
            self.log_estimate(&course);
            course.users_stayed(Stayed::new(self.carry_over.places()));
            self.count += 1;
        }
    }

    fn log_estimate(&self, course: &Course) {
        if let Some((low, median, high)) = course.interval() {
            let second = self.active_run.elapsed().as_secs();
            self.active_run.append(Event::LineEstimated {
                second: u32::try_from(second).unwrap_or(u32::MAX),
                low,
                median,
                high,
            });
        }
    }

    /// Runs trials at one load until they suffice.
    pub(super) fn repeat(
        &mut self,
        repeats: Repeats,
        watcher: &mut dyn Watcher,
    ) -> Result<Repeats, LabError> {
        let ground = RepeatContext {
            seed: self.active_run.plan().seed,
            anchor_in_flight: self.anchor_in_flight,
        };
        // Earlier load has ended: the ramp starts at zero.
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
            Some(server) => against(self.active_run.plan(), server),
            None => Arc::clone(self.active_run.plan()),
        };
        let second = self.active_run.next_second();
        self.active_run.append(Event::TrialStarted {
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
        let find = self.active_run.plan().find;
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
        let kept = self.active_run.carry_out(round, |window| {
            watcher.window_closed(&Progress {
                window,
                stage: &stage,
                interval: course.interval(),
                unit: plan_unit,
                remaining: course.remaining().max(trial_left(window)),
                cpu: self
                    .active_run
                    .latest_machine_use()
                    .map(|sample| sample.busy),
            });
            progress::report_process_output(window, watcher);
            progress::report_component_notes(self.active_run.take_notes(), watcher);
            windows.push(window.clone());
            self.flow(spec, course, &windows)
        })?;
        if are_to_stay {
            self.carry_over = kept;
        }
        self.previous_rate = spec.rate;
        Ok(windows)
    }

    /// The users who return to a trial, and the arrivals of the others. The single-client trial has neither.
    fn stay(&mut self, spec: &TrialSpec) -> Option<Stay> {
        let plan = self.active_run.plan();
        let stays = plan.scenario.is_some()
            && spec.unit == LoadUnit::Users
            && !matches!(spec.kind, TrialKind::SelfTest | TrialKind::Single);
        stays.then(|| Stay {
            carry_over: std::mem::take(&mut self.carry_over),
            within: Duration::from_secs(u64::from(spec.ramp_s)),
            seed: plan.seed,
        })
    }

    /// The load of a trial: open at its rate, users, or the closed loop of one client alone.
    fn load(&self, spec: &TrialSpec) -> Load {
        let plan = self.active_run.plan();
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
            let well = verdict::recovered(windows, course.anchor_in_flight(), &self.objective);
            return if well.is_some() {
                Flow::Stop
            } else {
                Flow::Continue
            };
        }
        let stops = spec.stop_early && may_stop_early(spec.kind);
        if stops && verdict::early(spec, &self.objective, windows).is_some() {
            // Not aborted: requests cut off by us would count as failures of the target.
            return Flow::Stop;
        }
        Flow::Continue
    }

    fn evaluate(&self, spec: &TrialSpec, course: &Course, windows: &[Window]) -> Trial {
        let plan = self.active_run.plan();
        let start_second = windows.first().map_or(0, |window| window.second);
        let end = start_second + spec.offered_s();
        let machine = self.active_run.machine_use(start_second, end);
        let facts = TrialFacts {
            index: self.count,
            start_second,
            cores: plan.cores,
            tick_us: plan.tick.map_or(0, |tick| {
                u64::try_from(tick.as_micros()).unwrap_or(u64::MAX)
            }),
            steal: machine.iter().map(|sample| sample.steal).collect(),
            busy: machine.iter().map(|sample| sample.busy).collect(),
            browsers: machine.iter().map(|sample| sample.browsers).collect(),
            open: spec.kind != TrialKind::Single,
            thresholds: self
                .active_run
                .scenario()
                .as_ref()
                .map(ThresholdObjective::all)
                .unwrap_or_default(),
            overlapping: plan.scenario.as_ref().is_some_and(Scenario::has_pages),
            anchor_in_flight: course.anchor_in_flight(),
        };
        verdict::evaluate(spec, &self.objective, windows, &facts)
    }

    /// The machine's busy share, when the target runs on it, limits the jump of the bracket.
    fn report_utilisation(&self, trial: &Trial, course: &mut Course) {
        if !self.active_run.target_is_local() || !trial.verdict.is_pass() {
            return;
        }
        let samples = self
            .active_run
            .machine_use(trial.measured.0, trial.measured.1);
        if samples.is_empty() || trial.spec.kind == TrialKind::SelfTest || trial.throughput <= 0.0 {
            return;
        }
        let busy = samples.iter().map(|sample| sample.busy).sum::<f64>() / samples.len() as f64;
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
    // By their weights there might be two users of the most frequent, and none of the rarest.
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

/// The plan with a server that does nothing instead of the target.
fn against(plan: &Plan, server: &NullServer) -> Arc<Plan> {
    let mut plan = plan.clone();
    plan.target = Target::at(server.address());
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
