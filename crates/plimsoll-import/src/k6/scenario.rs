//! Scenarios of a script's options.

use std::time::Duration;

use super::http::duration;
use super::machine::Machine;
use super::number;
use super::value::Value;

/// A scenario.
#[derive(Clone, Debug)]
pub(super) struct Scenario<'a> {
    pub(super) name: String,
    /// The function that it runs.
    pub(super) exec: String,
    pub(super) start: Duration,
    pub(super) shape: Shape,
    pub(super) variables: Vec<(String, Value<'a>)>,
}

/// The load of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Users at the corners of a polygon: seconds since the scenario's start, and users.
    Users(Vec<(Duration, f64)>),
    /// Iterations per second at the corners of a polygon.
    Rate(Vec<(Duration, f64)>),
    Iterations {
        users: u64,
        /// Of each user; else of all together.
        each: Option<u64>,
        total: u64,
    },
}

impl<'a> Machine<'a, '_> {
    /// The scenarios of options; one of them if the script tells the load itself.
    pub(super) fn scenarios(&mut self, options: &Value<'a>, at: u32) -> Vec<Scenario<'a>> {
        let mut scenarios = Vec::new();
        if let Some(several) = options.field("scenarios") {
            for (name, scenario) in several.entries() {
                let at = self.place_of(&name, at);
                if let Some(shape) = self.executor(&name, &scenario, at) {
                    scenarios.push(self.scenario(name, &scenario, shape));
                }
            }
            if !scenarios.is_empty() {
                return scenarios;
            }
        }
        let shape = self.plain_load(options);
        vec![Scenario {
            name: "default".to_owned(),
            exec: "default".to_owned(),
            start: Duration::ZERO,
            shape,
            variables: Vec::new(),
        }]
    }

    fn scenario(&mut self, name: String, scenario: &Value<'a>, shape: Shape) -> Scenario<'a> {
        let exec = scenario
            .field("exec")
            .and_then(|exec| self.known_text(&exec));
        let start = scenario
            .field("startTime")
            .and_then(|start| self.duration_of(&start));
        let variables = scenario
            .field("env")
            .map(|env| env.entries())
            .unwrap_or_default();
        Scenario {
            name,
            exec: exec.unwrap_or_else(|| "default".to_owned()),
            start: start.unwrap_or_default(),
            shape,
            variables,
        }
    }

    fn count(&self, value: &Value<'a>, name: &str) -> Option<u64> {
        let number = self.number(&value.field(name)?)?;
        number::whole(number).and_then(|number| u64::try_from(number).ok())
    }

    /// The load of a scenario by its executor.
    fn executor(&mut self, name: &str, scenario: &Value<'a>, at: u32) -> Option<Shape> {
        let executor = scenario
            .field("executor")
            .and_then(|executor| self.known_text(&executor));
        let executor = executor.unwrap_or_default();
        let users = self.count(scenario, "vus").unwrap_or(1).max(1);
        let time = scenario
            .field("duration")
            .and_then(|time| self.duration_of(&time));
        let corners = |low: f64, time: Option<Duration>| {
            let time = time.unwrap_or(Duration::from_secs(1));
            vec![(Duration::ZERO, low), (time, low)]
        };
        for key in ["gracefulStop", "gracefulRampDown"] {
            if scenario.field(key).is_some() {
                self.lose(
                    at,
                    format!("{key} of the scenario {name}"),
                    "users of a plan end their request and leave",
                    "add the time to the last phase",
                );
            }
        }
        Some(match executor.as_str() {
            "shared-iterations" => Shape::Iterations {
                users,
                each: None,
                total: self.count(scenario, "iterations").unwrap_or(1).max(1),
            },
            "per-vu-iterations" => {
                let each = self.count(scenario, "iterations").unwrap_or(1).max(1);
                Shape::Iterations {
                    users,
                    each: Some(each),
                    total: users.saturating_mul(each),
                }
            }
            "constant-vus" => Shape::Users(corners(users as f64, time)),
            "ramping-vus" => {
                let start = self.count(scenario, "startVUs").unwrap_or(1);
                Shape::Users(self.stages(scenario, start as f64, 1.0))
            }
            "constant-arrival-rate" => {
                let rate = scenario
                    .field("rate")
                    .and_then(|rate| self.number(&rate))
                    .unwrap_or(1.0);
                Shape::Rate(corners(rate / self.time_unit(scenario), time))
            }
            "ramping-arrival-rate" => {
                let unit = self.time_unit(scenario);
                let start = scenario
                    .field("startRate")
                    .and_then(|rate| self.number(&rate))
                    .unwrap_or(0.0);
                Shape::Rate(self.stages(scenario, start / unit, unit))
            }
            other => {
                self.lose(
                    at,
                    format!("the scenario {name} with the executor {other}"),
                    "a plan has no load that is set from outside while it runs",
                    "write `load: { users: N, hold: TIME }`",
                );
                return None;
            }
        })
    }

    /// Seconds of `timeUnit`.
    fn time_unit(&self, scenario: &Value<'a>) -> f64 {
        let unit = scenario
            .field("timeUnit")
            .and_then(|unit| self.duration_of(&unit));
        unit.map_or(1.0, |unit| unit.as_secs_f64()).max(0.001)
    }

    /// The corners of stages.
    fn stages(&mut self, holder: &Value<'a>, start: f64, unit: f64) -> Vec<(Duration, f64)> {
        let mut corners = vec![(Duration::ZERO, start)];
        let mut at = Duration::ZERO;
        let stages = holder
            .field("stages")
            .map(|stages| stages.items())
            .unwrap_or_default();
        for stage in stages {
            let time = stage
                .field("duration")
                .and_then(|time| self.duration_of(&time));
            let target = stage
                .field("target")
                .and_then(|target| self.number(&target))
                .unwrap_or(0.0);
            at = at.saturating_add(time.unwrap_or_default());
            corners.push((at, target / unit));
        }
        corners
    }

    /// The load of options without scenarios.
    fn plain_load(&mut self, options: &Value<'a>) -> Shape {
        let users = self.count(options, "vus").unwrap_or(1).max(1);
        if options
            .field("stages")
            .is_some_and(|stages| !stages.items().is_empty())
        {
            return Shape::Users(self.stages(options, users as f64, 1.0));
        }
        let time = options
            .field("duration")
            .and_then(|time| self.duration_of(&time));
        match (self.count(options, "iterations"), time) {
            (Some(total), _) => Shape::Iterations {
                users,
                each: None,
                total: total.max(1),
            },
            (None, Some(time)) => {
                Shape::Users(vec![(Duration::ZERO, users as f64), (time, users as f64)])
            }
            (None, None) => Shape::Iterations {
                users,
                each: None,
                total: users,
            },
        }
    }
}

/// A duration of a threshold.
pub(super) fn delay(text: &str) -> Option<Duration> {
    duration(text)
}
