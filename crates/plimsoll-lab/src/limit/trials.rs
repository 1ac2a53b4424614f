//! Carries out trials one after the other, each against the target or, for the self-test, against a server that does
//! nothing.

use std::time::Duration;

use plimsoll_analysis::intervention::Repeats;
use plimsoll_analysis::search::users::Stayed;
use plimsoll_analysis::verdict::early::may_stop_early;
use plimsoll_analysis::verdict::{self, ThresholdObjective, TrialFacts};
use plimsoll_analysis::whole_run;
use plimsoll_load::Stay;
use plimsoll_model::event::Event;
use plimsoll_model::journey::Scenario;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::schedule::Spacing;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::VoidReason;
use plimsoll_model::window::Window;
use plimsoll_model::worker::WorkerRecord;
use plimsoll_workers::WorkersLost;

use super::course::{Course, CourseResult, CourseStep, RepeatContext};
use crate::active_run::{ActiveRun, Flow, Round, RoundEnd, RoundOfTrial};
use crate::carried_load::StayedUsers;
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
    stayed: StayedUsers,
    /// Requests in flight at a low load, as the course had them that ended last.
    anchor_in_flight: f64,
    /// Why no further trial can be carried out: workers were lost.
    over: Option<VoidReason>,
}

/// A trial that was carried out, before its judgement.
#[derive(Debug)]
struct Carried {
    windows: Vec<Window>,
    workers: Vec<WorkerRecord>,
    loss: Option<WorkersLost>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(active_run: &'a ActiveRun, objective: Objective) -> Self {
        Self {
            active_run,
            objective,
            previous_rate: 0.0,
            count: 0,
            reached: false,
            stayed: StayedUsers::default(),
            anchor_in_flight: 0.0,
            over: None,
        }
    }

    /// Whether further trials can be carried out.
    pub(super) fn can_go_on(&self) -> bool {
        self.over.is_none()
    }

    /// Runs the trials of `course` until it is done, the user stops it, the target is unreachable, or the workers that carry
    /// them are gone.
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
            if let Some(reason) = &self.over {
                return Ok(course.give_up(reason.clone()));
            }
            let carried = self.carry_trial(&spec, &course, watcher)?;
            if self.active_run.is_stopping() {
                return Ok(course.interrupt());
            }
            // Without requests nothing is known of the target: nobody began, as after the loss of a worker.
            if spec.kind != TrialKind::SelfTest && carried.loss.is_none() {
                if !self.reached && whole_run::is_unreachable(&carried.windows) {
                    return Ok(course.unreachable());
                }
                self.reached = true;
            }
            let trial = self.evaluate(&spec, &course, &carried);
            self.report_utilisation(&trial, &mut course);
            self.active_run
                .append(Event::TrialEnded(Box::new(trial.clone())));
            watcher.trial_ended(&trial);
            if let Some(loss) = carried.loss {
                self.lose_workers(loss, &mut course, watcher);
            }
            course.record(&trial, self.active_run.elapsed());
            self.log_estimate(&course);
            course.users_stayed(Stayed::new(self.stayed.places.clone()));
            self.count += 1;
        }
    }

    /// Workers were lost: no further trial is carried out, or those that are left carry them.
    fn lose_workers(&mut self, loss: WorkersLost, course: &mut Course, watcher: &mut dyn Watcher) {
        if let Some(why) = loss.end {
            self.over = Some(VoidReason::CutShort { why });
            return;
        }
        course.lose_hosts(loss.left, loss.before);
        // Users have other places among fewer workers, and begin anew.
        self.stayed = StayedUsers::default();
        let text = format!(
            "workers that are left: {} of {}; they carry the next trials as a whole",
            loss.left, loss.before
        );
        watcher.noted(&text);
        self.active_run.note(text);
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

    fn carry_trial(
        &mut self,
        spec: &TrialSpec,
        course: &Course,
        watcher: &mut dyn Watcher,
    ) -> Result<Carried, LabError> {
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
            load: self.load(spec),
            seed: course.seed(self.count),
            start_second: second,
            trial: Some(RoundOfTrial {
                is_self_test: spec.kind == TrialKind::SelfTest,
                judged: (spec.ramp_s + spec.warmup_s, spec.offered_s()),
                stay,
            }),
        };
        let RoundEnd {
            stayed,
            workers,
            loss,
        } = self.active_run.carry_out(round, |window| {
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
            self.stayed = stayed;
        }
        self.previous_rate = spec.rate;
        Ok(Carried {
            windows,
            workers,
            loss,
        })
    }

    /// The users who return to a trial, and the arrivals of the others. The single-client trial has neither.
    fn stay(&mut self, spec: &TrialSpec) -> Option<Stay> {
        let plan = self.active_run.plan();
        let stays = plan.scenario.is_some()
            && spec.unit == LoadUnit::Users
            && !matches!(spec.kind, TrialKind::SelfTest | TrialKind::Single);
        stays.then(|| Stay {
            carry_over: std::mem::take(&mut self.stayed).carry_over,
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

    fn evaluate(&self, spec: &TrialSpec, course: &Course, carried: &Carried) -> Trial {
        let plan = self.active_run.plan();
        let Carried {
            windows, workers, ..
        } = carried;
        let start_second = windows.first().map_or(0, |window| window.second);
        let end = start_second + spec.offered_s();
        let machine = self.active_run.machine_use(start_second, end);
        let facts = TrialFacts {
            index: self.count,
            start_second,
            // Workers that were lost in an earlier trial have no loops in this one.
            cores: match workers.iter().map(|worker| worker.loops).sum::<u32>() {
                0 => plan.cores,
                loops => loops,
            },
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
            workers: workers.clone(),
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
