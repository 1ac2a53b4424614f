//! Loads in users, by Little's law, and the requests of one user.

use plimsoll_model::journey::{Scenario, Step};
use plimsoll_model::plan::{Load, LoadUnit, Plan};

/// Default arrivals of users per second: logins must not swamp the target.
pub const PACE: f64 = 50.0;

/// Users who are in the system or think at a load of `rate` requests per second: N = λ·(R + Z), with the mean
/// response time R and the think time Z in seconds.
pub fn users(rate: f64, response_s: f64, think_s: f64) -> f64 {
    rate * (response_s + think_s)
}

/// Requests per second that `users` make: λ = N / (R + Z). `None` when they neither wait nor think.
pub fn rate(users: f64, response_s: f64, think_s: f64) -> Option<f64> {
    let cycle = response_s + think_s;
    (cycle > 0.0).then(|| users / cycle)
}

/// The unit of a search's load when that is not requests per second, and the requests of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// Users, or sessions per second.
    pub unit: LoadUnit,
    /// Requests of an iteration, one after the other, on average.
    pub requests: f64,
    /// Time that a user thinks in an iteration, on average, s.
    pub think_s: f64,
    /// Most arrivals of users per second.
    pub pace: f64,
}

impl Population {
    /// The requests of the journeys of `plan`, by their weights. Both ways of an `if` are taken to be equally likely; a
    /// journey that is a program counts as one request without thinking.
    pub fn of(plan: &Plan, scenario: &Scenario, unit: LoadUnit) -> Self {
        Self {
            pace: pace(&plan.load).unwrap_or(PACE),
            ..Self::of_journeys(scenario, unit)
        }
    }

    /// The same of journeys without a load: users arrive at the default pace.
    pub fn of_journeys(scenario: &Scenario, unit: LoadUnit) -> Self {
        let weights: f64 = scenario.journeys.iter().map(|journey| journey.weight).sum();
        let mut cycle = Cycle::default();
        for journey in &scenario.journeys {
            let share = if weights > 0.0 {
                journey.weight / weights
            } else {
                1.0
            };
            cycle.add(Cycle::of(&journey.steps), share);
        }
        Self {
            unit,
            requests: cycle.requests.max(1.0),
            think_s: cycle.think_s,
            pace: PACE,
        }
    }

    /// Requests per second of one unit of load whose requests take `response_s` each: an upper bound, since answers
    /// only get slower under load.
    pub fn requests_per_unit(&self, response_s: f64) -> f64 {
        match self.unit {
            LoadUnit::RequestsPerSecond => 1.0,
            LoadUnit::SessionsPerSecond => self.requests,
            LoadUnit::Users => self.requests / self.iteration_s(response_s).max(1e-4),
        }
    }

    /// How long an iteration takes whose requests take `response_s` each, s.
    pub fn iteration_s(&self, response_s: f64) -> f64 {
        self.think_s + self.requests * response_s
    }

    /// Seconds that a trial of `rate` must judge to cover an iteration as a whole. Users who arrived one by one over an
    /// iteration, or longer, are spread over all its steps at any time: then half of it suffices.
    pub fn measured_s(&self, rate: f64, response_s: f64) -> f64 {
        let iteration_s = self.iteration_s(response_s);
        let are_spread = self.unit == LoadUnit::Users && rate >= self.pace * iteration_s;
        if are_spread {
            iteration_s / 2.0
        } else {
            iteration_s
        }
    }
}

/// Longest time over which users return who were waiting for their answers when the last trial ended, s.
const SPREAD_S_MAX: f64 = 8.0;
/// Share of waiting users from which their return is spread: below it they are no burst.
const WAITING_SHARE_MIN: f64 = 0.05;

/// Users of earlier trials who stay: they keep their identity, and do not log in again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stayed {
    /// Their places, ascending, each with whether its user was waiting for an answer at the end of the last trial.
    places: Vec<(u64, bool)>,
}

impl Stayed {
    /// Users by their places, from 1, ascending, each with whether it was waiting for an answer when its trial ended.
    pub fn new(places: Vec<(u64, bool)>) -> Self {
        Self { places }
    }

    /// Time until all users of a trial are there, s: new users arrive at their pace, and waiting ones return over an
    /// iteration, or they would all send the same request at the same moment.
    pub(super) fn ramp_s(&self, users: f64, population: &Population, response_s: f64) -> f64 {
        let back = self
            .places
            .partition_point(|&(place, _)| place as f64 <= users);
        let waited = self.places[..back]
            .iter()
            .filter(|(_, waited)| *waited)
            .count();
        let come_s = (users - back as f64).max(0.0) / population.pace;
        if waited as f64 > WAITING_SHARE_MIN * users {
            come_s.max(population.iteration_s(response_s).min(SPREAD_S_MAX))
        } else {
            come_s
        }
    }
}

/// The steepest rise of the number of users, 1/s; `None` when it never rises.
fn pace(load: &Load) -> Option<f64> {
    let Load::Users { phases, .. } = load else {
        return None;
    };
    let rises = phases.iter().filter(|phase| phase.to > phase.from);
    let paces = rises.map(|phase| (phase.to - phase.from) / phase.lasting.as_secs_f64());
    paces
        .filter(|pace| pace.is_finite() && *pace > 0.0)
        .max_by(f64::total_cmp)
}

/// Requests and thinking on one way through some steps, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cycle {
    requests: f64,
    think_s: f64,
}

impl Cycle {
    fn of(steps: &[Step]) -> Self {
        let mut cycle = Self::default();
        for step in steps {
            match step {
                Step::Request(_) | Step::Page { .. } | Step::Socket(_) => cycle.requests += 1.0,
                Step::Think(pause) => cycle.think_s += pause.mean_s(),
                Step::Repeat { times, steps } => {
                    let mean = f64::midpoint(f64::from(times.min), f64::from(times.max));
                    cycle.add(Self::of(steps), mean);
                }
                Step::Choose(choices) => {
                    let weights: f64 = choices.iter().map(|choice| choice.weight).sum();
                    for choice in choices.iter().filter(|choice| choice.weight > 0.0) {
                        cycle.add(Self::of(&choice.steps), choice.weight / weights);
                    }
                }
                Step::If {
                    then, otherwise, ..
                } => {
                    cycle.add(Self::of(then), 0.5);
                    cycle.add(Self::of(otherwise), 0.5);
                }
                Step::Group { steps, .. } => cycle.add(Self::of(steps), 1.0),
                Step::Send(send) => cycle.requests += f64::from(send.awaited.is_some()),
                Step::Subscribe(subscribe) => {
                    cycle.requests += f64::from(subscribe.send.awaited.is_some());
                }
                Step::Every {
                    interval,
                    lasting,
                    steps,
                } => {
                    // One without an end is gone through round by round, and no iteration ends.
                    let interval_s = interval.as_secs_f64();
                    let rounds = lasting.map_or(1.0, |lasting| lasting.as_secs_f64() / interval_s);
                    cycle.add(Self::of(steps), rounds);
                    cycle.think_s += rounds * interval_s;
                }
                Step::Poll(poll) => {
                    let lasting_s = poll.lasting.unwrap_or_default().as_secs_f64();
                    // A long poll is answered when there is something: how often is not known before.
                    let (requests, think_s) = match poll.interval {
                        Some(interval) => {
                            let interval_s = interval.as_secs_f64();
                            ((lasting_s / interval_s).max(1.0), lasting_s.max(interval_s))
                        }
                        None => (1.0, lasting_s),
                    };
                    cycle.requests += requests;
                    cycle.think_s += think_s;
                }
                Step::Set(..) | Step::Close(_) => {}
            }
        }
        cycle
    }

    fn add(&mut self, other: Self, times: f64) {
        self.requests += times * other.requests;
        self.think_s += times * other.think_s;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::journey::{
        Choice, Condition, Operator, RepeatRange, RequestBody, RequestStep, TextTemplate, ThinkTime,
    };

    use super::*;

    #[test]
    fn there_and_back() {
        // 12,000 candidates who get an answer in 0.4 s and think for 39.6 s make 300 requests a second.
        assert!((rate(12_000.0, 0.4, 39.6).unwrap() - 300.0).abs() < 1e-9);
        assert!((users(300.0, 0.4, 39.6) - 12_000.0).abs() < 1e-9);
        assert_eq!(rate(5.0, 0.0, 0.0), None);
    }

    fn get() -> Step {
        Step::Request(Box::new(RequestStep {
            id: 0,
            method: "GET".to_owned(),
            url: TextTemplate::default(),
            headers: Vec::new(),
            body: RequestBody::Empty,
            follow: 0,
            timeout: None,
            captures: Vec::new(),
            expectations: Vec::new(),
        }))
    }

    fn think(seconds: u64) -> Step {
        Step::Think(ThinkTime::Fixed(Duration::from_secs(seconds)))
    }

    #[test]
    fn an_iteration_is_added_up_over_all_its_ways() {
        let repeated = Step::Repeat {
            times: RepeatRange { min: 2, max: 4 },
            steps: vec![get(), think(2)],
        };
        let chosen = Step::Choose(vec![
            Choice {
                weight: 3.0,
                steps: vec![get()],
            },
            Choice {
                weight: 1.0,
                steps: vec![think(8)],
            },
        ]);
        let decided = Step::If {
            condition: Condition {
                left: TextTemplate::default(),
                operator: Operator::Truthy,
                right: TextTemplate::default(),
                negated: false,
            },
            then: vec![get()],
            otherwise: Vec::new(),
        };
        let group = Step::Group {
            id: 1,
            steps: vec![get()],
        };
        let cycle = Cycle::of(&[repeated, chosen, decided, group]);
        assert!((cycle.requests - 5.25).abs() < 1e-9, "{cycle:?}");
        assert!((cycle.think_s - 8.0).abs() < 1e-9, "{cycle:?}");
        let users = Population {
            unit: LoadUnit::Users,
            requests: 5.25,
            think_s: 8.0,
            pace: PACE,
        };
        assert!((users.requests_per_unit(0.5) - 5.25 / 10.625).abs() < 1e-9);
    }
}
