//! The numbers of a run by step, journey and group, its thresholds, and its users.
//!
//! Steps of one label in one journey share a row. A journey's row holds its requests and pages; a group's row holds
//! the time from its first step to its last, which no journey's row holds again. Steps of `once` have their own rows,
//! over the whole run: most users take them while the load still grows.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::{Scenario, Scope, StepId, StepInfo};
use plimsoll_model::objective::{Answers, Objective};
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::window::{StepWindow, Window};

use super::given_up::GivenUpSummary;
use super::processes::ProcessSummary;
use super::users::UsersSummary;
use super::websockets::WebSocketSummary;
use super::{MeasuredSpan, ObjectiveResult, percentiles, share};

/// A run by steps, journeys and groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// One row for each label of a journey, in the order of the plan; steps that were never taken included.
    pub steps: Vec<StepSummary>,
    /// One row for each journey.
    pub journeys: Vec<JourneySummary>,
    /// One row for each group of a journey.
    pub groups: Vec<GroupSummary>,
    /// The thresholds of the load; empty for a search, which judges trials.
    pub thresholds: Vec<ThresholdResult>,
    /// How many users there were; `None` without any.
    pub users: Option<UsersSummary>,
    /// Users who gave up waiting, by step; empty without any.
    pub given_up: Vec<GivenUpSummary>,
    /// The cost of external scripts; one row for each journey that has them.
    pub processes: Vec<ProcessSummary>,
}

/// The numbers of a step, journey, group, or row of URLs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopeMetrics {
    /// Requests that ended, the drain included.
    pub samples: u64,
    /// The same by outcome.
    pub outcomes: OutcomeCounts,
    /// Response time (done − due) of good answers, µs; `None` without any.
    pub response_us: Option<Percentiles>,
    /// Complete answers per second, good or not, while requests became due.
    pub throughput: f64,
    /// Bytes of answers, heads included.
    pub bytes: u64,
}

/// The numbers of the steps of one label in one journey.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSummary {
    /// As written.
    pub label: String,
    /// Name of the journey.
    pub journey: String,
    /// Whether the steps are in `once`.
    pub once: bool,
    /// Whether the plan expects something of an answer beside a good status.
    pub expects: bool,
    /// The steps.
    pub ids: Vec<StepId>,
    /// The numbers.
    pub metrics: ScopeMetrics,
}

/// The numbers of one kind of user.
#[derive(Clone, Debug, PartialEq)]
pub struct JourneySummary {
    /// As written.
    pub name: String,
    /// Iterations, failed ones included; `None` where a log of an older version has one count for several journeys.
    pub iterations: Option<u64>,
    /// The numbers of its requests and pages, those of `once` left out.
    pub metrics: ScopeMetrics,
}

/// The numbers of a group: the time from its first step to its last, without thinking.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSummary {
    /// As written.
    pub name: String,
    /// Name of the journey.
    pub journey: String,
    /// The numbers; a sample is one way through the group.
    pub metrics: ScopeMetrics,
}

/// A threshold, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdResult {
    /// What it holds for: `everything`, `journey NAME`, `step LABEL`, `group NAME`.
    pub scope: String,
    /// Requests that it was judged by.
    pub samples: u64,
    /// The judgement; void without requests.
    pub result: ObjectiveResult,
}

/// One bound of a threshold, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdBound {
    /// The bound alone, as an objective, for its text form.
    pub bound: Objective,
    /// What was measured.
    pub measured: Measured,
    /// Whether it holds; `None` when there was nothing to judge it by.
    pub met: Option<bool>,
}

/// What a bound was held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// The quantile, µs, with failures as infinitely slow; `None` when it is a failure, or nothing was measured.
    TimeUs(Option<u64>),
    /// The mean of good answers, µs; `None` without any.
    MeanUs(Option<f64>),
    /// The share of failures, 0 to 1; `None` when nothing was measured.
    Share(Option<f64>),
    /// The share of the expected broadcasts that was received, 0 to 1; `None` when none was expected.
    Reach(Option<f64>),
}

impl ThresholdResult {
    /// Whether it was met; `None` when there was nothing to judge it by.
    pub fn met(&self) -> Option<bool> {
        (self.samples > 0).then_some(self.result.met)
    }

    /// Each of its bounds.
    pub fn bounds(&self) -> Vec<ThresholdBound> {
        let verdict = |holds: bool| (self.samples > 0).then_some(holds);
        let times = self.result.latency.iter().map(|result| ThresholdBound {
            bound: Objective {
                latency: vec![result.bound],
                errors_max: None,
                ..Objective::default()
            },
            measured: Measured::TimeUs(result.measured_us),
            met: verdict(result.holds),
        });
        let errors = self
            .result
            .errors
            .map(|(max, share, holds)| ThresholdBound {
                bound: Objective {
                    latency: Vec::new(),
                    errors_max: Some(max),
                    ..Objective::default()
                },
                measured: Measured::Share((self.samples > 0).then_some(share)),
                met: verdict(holds),
            });
        let mean = self.result.mean.map(|(max, mean, holds)| ThresholdBound {
            bound: Objective {
                mean_us_max: Some(max),
                ..Objective::default()
            },
            measured: Measured::MeanUs(mean),
            met: verdict(holds),
        });
        let broadcasts = self.result.broadcast.iter().map(|result| ThresholdBound {
            bound: Objective {
                broadcast: vec![result.bound],
                ..Objective::default()
            },
            measured: Measured::TimeUs(result.measured_us),
            met: result.measured_us.map(|_| result.holds),
        });
        let reach = self.result.reach.map(|(min, reach, holds)| ThresholdBound {
            bound: Objective {
                reach_min: Some(min),
                ..Objective::default()
            },
            measured: Measured::Reach(reach),
            met: reach.map(|_| holds),
        });
        let of_answers = times.chain(mean).chain(errors);
        of_answers.chain(broadcasts).chain(reach).collect()
    }
}

impl ScopeMetrics {
    /// Share of requests that failed, 0 to 1; 0 without requests.
    pub fn error_share(&self) -> f64 {
        share(self.outcomes.failed(), self.samples)
    }
}

/// What is added up of one step, or of one row of URLs.
#[derive(Clone, Debug, Default)]
pub(super) struct StepTotal {
    pub(super) window: StepWindow,
    /// Complete answers while requests became due.
    answered: u64,
}

impl StepTotal {
    pub(super) fn add(&mut self, window: &StepWindow, is_due: bool) {
        self.window.merge(window);
        if is_due {
            self.answered += answered(&window.outcomes);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.window.merge(&other.window);
        self.answered += other.answered;
    }

    /// Requests, and the sum of their response times, failed ones included, µs.
    pub(super) fn waited(&self) -> (u64, f64) {
        let sum =
            |histogram: &Histogram| histogram.mean().unwrap_or(0.0) * histogram.count() as f64;
        let us = sum(&self.window.response) + sum(&self.window.failed);
        (self.window.outcomes.total(), us)
    }

    pub(super) fn metrics(&self, seconds: f64) -> ScopeMetrics {
        ScopeMetrics {
            samples: self.window.outcomes.total(),
            outcomes: self.window.outcomes,
            response_us: percentiles(&self.window.response),
            throughput: if seconds > 0.0 {
                self.answered as f64 / seconds
            } else {
                0.0
            },
            bytes: self.window.bytes_in,
        }
    }
}

fn answered(outcomes: &OutcomeCounts) -> u64 {
    [Outcome::Ok, Outcome::WrongStatus, Outcome::Expectation]
        .map(|outcome| outcomes.get(outcome))
        .iter()
        .sum()
}

/// Totals of every step: over the judged seconds, and for `once` over the whole run.
#[derive(Debug)]
pub(super) struct StepTotals {
    by_id: BTreeMap<StepId, StepTotal>,
    /// Judged seconds in which requests became due.
    seconds: f64,
    /// Seconds of the whole run.
    whole_s: f64,
}

impl StepTotals {
    fn of(run: &Run, scenario: &Scenario, spans: &[MeasuredSpan]) -> Self {
        let mut by_id: BTreeMap<StepId, StepTotal> = BTreeMap::new();
        let mut add = |windows: &[Window], due_until: u32, once: bool| {
            for window in windows {
                for (&id, step) in &window.steps {
                    if info(scenario, id).is_some_and(|info| info.once == once) {
                        let total = by_id.entry(id).or_default();
                        total.add(step, window.second < due_until);
                    }
                }
            }
        };
        for span in spans {
            let windows = run.windows_between(span.from, span.until);
            add(windows, span.due_until, false);
        }
        add(&run.windows, u32::MAX, true);
        Self {
            by_id,
            seconds: spans.iter().map(|span| span.seconds).sum(),
            whole_s: run.windows.len() as f64,
        }
    }

    /// All of `ids` together.
    pub(super) fn sum(&self, ids: &[StepId]) -> StepTotal {
        let mut sum = StepTotal::default();
        for total in ids.iter().filter_map(|id| self.by_id.get(id)) {
            sum.merge(total);
        }
        sum
    }

    fn metrics(&self, ids: &[StepId], once: bool) -> ScopeMetrics {
        let seconds = if once { self.whole_s } else { self.seconds };
        self.sum(ids).metrics(seconds)
    }
}

fn info(scenario: &Scenario, id: StepId) -> Option<&StepInfo> {
    scenario.steps.get(usize::try_from(id).ok()?)
}

impl Breakdown {
    /// The breakdown of `run` over its judged stretches; `None` for a run without a scenario.
    pub(super) fn of(
        run: &Run,
        spans: &[MeasuredSpan],
        is_search: bool,
        websocket: Option<&WebSocketSummary>,
    ) -> Option<Self> {
        let scenario = run.header.plan.scenario.as_ref()?;
        let totals = StepTotals::of(run, scenario, spans);
        let groups = scenario.group_ids();
        let thresholds = if is_search {
            Vec::new()
        } else {
            thresholds(scenario, &totals, websocket)
        };
        Some(Self {
            steps: steps(scenario, &totals, &groups),
            journeys: journeys(run, scenario, &totals, spans),
            groups: self::groups(scenario, &totals, &groups),
            thresholds,
            users: UsersSummary::of(run, scenario, &totals, spans, is_search),
            given_up: GivenUpSummary::all(run, scenario),
            processes: ProcessSummary::all(run, scenario, spans),
        })
    }

    /// Users who gave up waiting, at all steps together.
    pub fn users_given_up(&self) -> u64 {
        self.given_up.iter().map(|row| row.users).sum()
    }

    /// What the thresholds make of the run: `Some(false)` when one is missed, `None` when one could not be judged.
    pub fn met(&self) -> Option<bool> {
        let verdicts = || self.thresholds.iter().map(ThresholdResult::met);
        if verdicts().any(|met| met == Some(false)) {
            Some(false)
        } else {
            verdicts().all(|met| met.is_some()).then_some(true)
        }
    }
}

/// Ids by (journey, label, once), in the order of the plan.
pub(super) fn rows(
    scenario: &Scenario,
    is_in: impl Fn(StepId) -> bool,
) -> Vec<(&StepInfo, Vec<StepId>)> {
    let mut rows: Vec<(&StepInfo, Vec<StepId>)> = Vec::new();
    for (id, info) in (0..).zip(&scenario.steps).filter(|pair| is_in(pair.0)) {
        let same = |row: &&mut (&StepInfo, Vec<StepId>)| {
            (row.0.journey, &row.0.label, row.0.once) == (info.journey, &info.label, info.once)
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.1.push(id),
            None => rows.push((info, vec![id])),
        }
    }
    rows
}

pub(super) fn journey_name(scenario: &Scenario, index: u32) -> String {
    let journey = usize::try_from(index)
        .ok()
        .and_then(|index| scenario.journeys.get(index));
    journey.map_or_else(String::new, |journey| journey.name.clone())
}

fn steps(scenario: &Scenario, totals: &StepTotals, groups: &BTreeSet<StepId>) -> Vec<StepSummary> {
    let expecting = scenario.expecting_ids();
    let rows = rows(scenario, |id| !groups.contains(&id));
    rows.into_iter()
        .map(|(info, ids)| StepSummary {
            label: info.label.clone(),
            journey: journey_name(scenario, info.journey),
            once: info.once,
            expects: ids.iter().any(|id| expecting.contains(id)),
            metrics: totals.metrics(&ids, info.once),
            ids,
        })
        .collect()
}

fn groups(
    scenario: &Scenario,
    totals: &StepTotals,
    groups: &BTreeSet<StepId>,
) -> Vec<GroupSummary> {
    let rows = rows(scenario, |id| groups.contains(&id));
    rows.into_iter()
        .map(|(info, ids)| GroupSummary {
            name: info.label.clone(),
            journey: journey_name(scenario, info.journey),
            metrics: totals.metrics(&ids, info.once),
        })
        .collect()
}

fn journeys(
    run: &Run,
    scenario: &Scenario,
    totals: &StepTotals,
    spans: &[MeasuredSpan],
) -> Vec<JourneySummary> {
    let alone = scenario.journeys.len() == 1;
    let windows = || spans.iter().flat_map(|span| span.windows(run));
    let all: u64 = windows().map(|window| window.iterations).sum();
    let mut by_journey = BTreeMap::<u32, u64>::new();
    for window in windows() {
        for (&journey, &count) in &window.journey_iterations {
            *by_journey.entry(journey).or_default() += count;
        }
    }
    let is_counted = by_journey.values().sum::<u64>() == all;
    let iterations = |index: u32| match (is_counted, alone) {
        (true, _) => Some(by_journey.get(&index).copied().unwrap_or(0)),
        (false, true) => Some(all),
        (false, false) => None,
    };
    (0..)
        .zip(&scenario.journeys)
        .map(|(index, journey)| JourneySummary {
            name: journey.name.clone(),
            iterations: iterations(index),
            metrics: totals.metrics(&scenario.steps_in(&Scope::Journey(index)), false),
        })
        .collect()
}

fn thresholds(
    scenario: &Scenario,
    totals: &StepTotals,
    websocket: Option<&WebSocketSummary>,
) -> Vec<ThresholdResult> {
    let results = scenario.thresholds.iter().map(|threshold| {
        let total = totals.sum(&scenario.steps_in(&threshold.scope)).window;
        let answers = Answers {
            good: &total.response,
            failed: total.outcomes.failed(),
        };
        ThresholdResult {
            scope: scenario.scope_text(&threshold.scope),
            samples: answers.total(),
            result: ObjectiveResult::of_broadcasts(&threshold.objective, answers, websocket),
        }
    });
    results.collect()
}
