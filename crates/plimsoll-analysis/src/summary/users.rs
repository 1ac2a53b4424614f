//! How many users a run had, and how their number and the requests they make belong together.

use plimsoll_model::journey::{Scenario, Scope, StepId};
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

use super::MeasuredSpan;
use super::breakdown::StepTotals;

/// The users of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsersSummary {
    /// Most at once, at the end of a second.
    pub max: u64,
    /// On average over the judged seconds.
    pub mean: f64,
    /// Users that left because a `once` step failed, no unique row was left or they gave up, over the whole run.
    pub lost: u64,
    /// Iterations that users finished in the judged seconds, failed ones included.
    pub iterations: u64,
    /// Users against requests; `None` for a search, which mixes loads, and without requests.
    pub little: Option<Little>,
}

/// Little's law, N = X·(R + Z), from measured values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Little {
    /// N: users on average.
    pub users: f64,
    /// X: requests and pages that ended per second, those of `once` and resources of pages left out.
    pub throughput: f64,
    /// R: mean response time of the same, failed ones included, µs.
    pub response_us: f64,
    /// Z: the rest of a user's time per request, µs: mostly think time.
    pub think_us: f64,
    /// Counted requests in flight over X·R: 1 when the counts are right. `None` where users send requests in parallel.
    pub ratio: Option<f64>,
}

impl Little {
    /// Requests per second that so many users make.
    pub fn rate_of(&self, users: f64) -> f64 {
        users * 1e6 / (self.response_us + self.think_us)
    }

    /// Users who make so many requests per second.
    pub fn users_of(&self, rate: f64) -> f64 {
        rate * (self.response_us + self.think_us) / 1e6
    }
}

impl UsersSummary {
    pub(super) fn of(
        run: &Run,
        scenario: &Scenario,
        totals: &StepTotals,
        spans: &[MeasuredSpan],
        is_search: bool,
    ) -> Option<Self> {
        let all = run.windows.iter();
        let max = all.clone().map(|window| window.users).max()?;
        let lost = all.map(|window| window.users_lost).sum();
        if max == 0 && lost == 0 {
            return None;
        }
        let measured = || spans.iter().flat_map(|span| span.windows(run));
        let due = || spans.iter().flat_map(|span| span.due_windows(run));
        Some(Self {
            max,
            mean: mean(due(), |window| window.users as f64),
            lost,
            iterations: measured().map(|window| window.iterations).sum(),
            little: if is_search {
                None
            } else {
                little(run, scenario, totals, spans)
            },
        })
    }
}

fn mean<'a>(windows: impl Iterator<Item = &'a Window>, pick: fn(&Window) -> f64) -> f64 {
    let (count, sum) = windows.fold((0_u32, 0.0), |(count, sum), window| {
        (count + 1, sum + pick(window))
    });
    sum / f64::from(count.max(1))
}

fn little(
    run: &Run,
    scenario: &Scenario,
    totals: &StepTotals,
    spans: &[MeasuredSpan],
) -> Option<Little> {
    let resources = scenario.resource_ids();
    let waited_for: Vec<StepId> = scenario
        .steps_in(&Scope::Everything)
        .into_iter()
        .filter(|id| !resources.contains(id))
        .collect();
    let (ended, waited_us) = totals.sum(&waited_for).waited();
    let due = || spans.iter().flat_map(|span| span.due_windows(run));
    let seconds: f64 = spans.iter().map(|span| span.seconds).sum();
    let users = mean(due(), |window| window.users as f64);
    if ended == 0 || seconds <= 0.0 || users <= 0.0 {
        return None;
    }
    let (throughput, response_us) = (ended as f64 / seconds, waited_us / ended as f64);
    let in_flight = mean(due(), |window| window.in_flight_mean);
    let has_pages = scenario.journeys.iter().any(|journey| {
        let mut found = false;
        journey.each_step(&mut |step| {
            found |= matches!(step, plimsoll_model::journey::Step::Page { .. });
        });
        found
    });
    let waiting = throughput * response_us / 1e6;
    Some(Little {
        users,
        throughput,
        response_us,
        think_us: (users * 1e6 / throughput - response_us).max(0.0),
        ratio: (!has_pages && waiting > 0.0).then(|| in_flight / waiting),
    })
}
