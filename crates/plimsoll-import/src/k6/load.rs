//! The load of a plan from the scenarios of a script.

use std::time::Duration;

use super::machine::Machine;
use super::scenario::{Scenario, Shape};
use crate::script::draft::duration;
use crate::yaml::YamlNode;

/// Most phases of a load.
const PHASES_MAX: usize = 200;

/// The load, and how users divide among journeys.
pub(super) struct LoadDraft {
    pub(super) load: YamlNode,
    /// Weight of each scenario's journey; none where phases have a mix, or there is one journey.
    pub(super) weights: Vec<Option<f64>>,
    /// Iterations of each user of a scenario.
    pub(super) iterations: Vec<Option<u64>>,
}

impl<'a> Machine<'a, '_> {
    /// The load of scenarios. Those that cannot run beside the others are taken out of the list, and lost.
    pub(super) fn load(&mut self, scenarios: &mut Vec<Scenario<'a>>, at: u32) -> LoadDraft {
        let has_users = |candidate: &Scenario<'a>| matches!(candidate.shape, Shape::Users(_));
        let has_rate = |candidate: &Scenario<'a>| matches!(candidate.shape, Shape::Rate(_));
        let all_iterations = scenarios
            .iter()
            .all(|candidate| matches!(candidate.shape, Shape::Iterations { .. }));
        if all_iterations {
            return self.iterations(scenarios, at);
        }
        let users = scenarios
            .iter()
            .filter(|candidate| has_users(candidate))
            .count();
        let rates = scenarios
            .iter()
            .filter(|candidate| has_rate(candidate))
            .count();
        let keeps_rates = rates > users;
        let overlaps = scenarios.iter().any(|candidate| {
            scenarios.iter().any(|other| {
                kind(&candidate.shape) != kind(&other.shape)
                    && candidate.start < other.start + other.shape.time()
                    && other.start < candidate.start + candidate.shape.time()
            })
        });
        let mut dropped = Vec::new();
        if overlaps {
            scenarios.retain(|candidate| {
                let keeps = kind(&candidate.shape) == u8::from(keeps_rates);
                if !keeps {
                    dropped.push(candidate.name.clone());
                }
                keeps
            });
        }
        for name in dropped {
            self.lose(
                at,
                format!("the scenario {name}"),
                "a phase of a plan has either users or an arrival rate, and other scenarios run at the same time",
                "run it as a plan of its own",
            );
        }
        self.timeline(scenarios)
    }

    /// Scenarios that end with their iterations.
    fn iterations(&mut self, scenarios: &[Scenario<'a>], at: u32) -> LoadDraft {
        let mut all_users = 0_u64;
        let mut all = 0_u64;
        let mut each_list = Vec::new();
        let mut users_list = Vec::new();
        for scenario in scenarios {
            let Shape::Iterations { users, each, total } = scenario.shape else {
                continue;
            };
            all_users = all_users.saturating_add(users);
            all = all.saturating_add(total);
            each_list.push(if scenarios.len() > 1 {
                each.or(Some(total.div_ceil(users)))
            } else {
                each
            });
            users_list.push(Some(users as f64));
            if !scenario.start.is_zero() {
                self.lose(
                    at,
                    format!("startTime of the scenario {}", scenario.name),
                    "scenarios that end with their iterations begin together in the plan",
                    "run it as a plan of its own",
                );
            }
        }
        let load = YamlNode::map([
            ("users", YamlNode::plain(all_users)),
            ("iterations", YamlNode::plain(all)),
        ]);
        LoadDraft {
            load,
            weights: if scenarios.len() > 1 {
                users_list
            } else {
                vec![None]
            },
            iterations: each_list,
        }
    }

    /// Scenarios over time, as phases between the corners of all.
    fn timeline(&mut self, scenarios: &[Scenario<'a>]) -> LoadDraft {
        let single = scenarios.len() == 1;
        let mut times: Vec<Duration> = scenarios.iter().flat_map(corners).collect();
        times.sort_unstable();
        times.dedup();
        let mut phases = Vec::new();
        let mut shares: Vec<Vec<f64>> = Vec::new();
        for pair in times.windows(2) {
            let [from, to] = pair else { continue };
            if to == from || phases.len() >= PHASES_MAX {
                continue;
            }
            let time = to.saturating_sub(*from);
            let middle = *from + time / 2;
            let active: Vec<f64> = scenarios
                .iter()
                .map(|candidate| height(candidate, middle, 0.0))
                .collect();
            let is_rate = scenarios.iter().any(|candidate| {
                matches!(candidate.shape, Shape::Rate(_)) && height(candidate, middle, 0.0) > 0.0
            });
            let start: f64 = scenarios
                .iter()
                .map(|candidate| height(candidate, *from, 1.0))
                .sum();
            let end: f64 = scenarios
                .iter()
                .map(|candidate| height(candidate, *to, -1.0))
                .sum();
            phases.push((is_rate, start, end, time));
            shares.push(active);
        }
        self.written(scenarios, single, &phases, &shares)
    }

    fn written(
        &mut self,
        scenarios: &[Scenario<'a>],
        single: bool,
        phases: &[(bool, f64, f64, Duration)],
        shares: &[Vec<f64>],
    ) -> LoadDraft {
        let iterations = vec![None; scenarios.len()];
        let is_even =
            |candidate: &(bool, f64, f64, Duration)| super::number::same(candidate.1, candidate.2);
        let same_mix = shares
            .windows(2)
            .all(|pair| same_shares(&pair[0], &pair[1]));
        let weights = match shares.first() {
            Some(first) if !single && same_mix => {
                first.iter().map(|share| Some(rounded(*share))).collect()
            }
            _ => vec![None; scenarios.len()],
        };
        let has_mix = !single && !same_mix;
        if has_mix {
            self.note("the mix of scenarios of each phase is that of its middle");
        }
        if let [(is_rate, start, _, time)] = phases
            && phases.first().is_some_and(is_even)
        {
            let load = if *is_rate {
                YamlNode::map([
                    ("sessions", YamlNode::text(rate(*start))),
                    ("for", YamlNode::plain(duration(*time))),
                    ("spacing", YamlNode::text("even")),
                ])
            } else {
                YamlNode::map([
                    ("users", YamlNode::plain(count(*start).max(1))),
                    ("hold", YamlNode::plain(duration(*time))),
                ])
            };
            return LoadDraft {
                load,
                weights,
                iterations,
            };
        }
        let entries = phases
            .iter()
            .zip(shares)
            .map(|((is_rate, start, end, time), shares)| {
                let (key, value) = if *is_rate {
                    ("sessions", range(&rate(*start), &rate(*end)))
                } else {
                    (
                        "users",
                        range(&count(*start).to_string(), &count(*end).to_string()),
                    )
                };
                let mut entries = vec![
                    (key, YamlNode::text(value)),
                    ("for", YamlNode::plain(duration(*time))),
                ];
                if has_mix {
                    let names = scenarios
                        .iter()
                        .zip(shares)
                        .filter(|(_, share)| **share > 0.0);
                    let mix = names.map(|(candidate, share)| {
                        (candidate.name.clone(), YamlNode::plain(rounded(*share)))
                    });
                    entries.push(("mix", YamlNode::map(mix)));
                }
                YamlNode::map(entries)
            });
        LoadDraft {
            load: YamlNode::map([("phases", YamlNode::list(entries))]),
            weights,
            iterations,
        }
    }
}

fn kind(shape: &Shape) -> u8 {
    match shape {
        Shape::Users(_) => 0,
        Shape::Rate(_) => 1,
        Shape::Iterations { .. } => 2,
    }
}

/// Times at which the height of a scenario changes its direction.
fn corners(scenario: &Scenario<'_>) -> Vec<Duration> {
    let start = scenario.start;
    match &scenario.shape {
        Shape::Users(corners) | Shape::Rate(corners) => {
            corners.iter().map(|(at, _)| start + *at).collect()
        }
        Shape::Iterations { .. } => vec![start, start + scenario.shape.time()],
    }
}

/// Users or iterations per second at a time; at a jump the value after it (`side` above 0), or before it.
fn height(scenario: &Scenario<'_>, at: Duration, side: f64) -> f64 {
    let corners = match &scenario.shape {
        Shape::Users(corners) | Shape::Rate(corners) => corners.clone(),
        Shape::Iterations { users, .. } => vec![
            (Duration::ZERO, *users as f64),
            (scenario.shape.time(), *users as f64),
        ],
    };
    let Some(at) = at.checked_sub(scenario.start) else {
        return 0.0;
    };
    let end = corners.last().map_or(Duration::ZERO, |(end, _)| *end);
    if at > end || (at == end && side > 0.0) || (at.is_zero() && side < 0.0) {
        return 0.0;
    }
    let mut found = 0.0;
    for pair in corners.windows(2) {
        let [(from, low), (to, high)] = pair else {
            continue;
        };
        let is_inside = if side > 0.0 {
            *from <= at && at < *to
        } else {
            *from < at && at <= *to
        };
        if is_inside {
            let share =
                at.saturating_sub(*from).as_secs_f64() / to.saturating_sub(*from).as_secs_f64();
            found = low + (high - low) * share;
        }
    }
    found
}

fn same_shares(left: &[f64], right: &[f64]) -> bool {
    let sums: (f64, f64) = (left.iter().sum(), right.iter().sum());
    left.iter()
        .zip(right)
        .all(|(a, b)| (a * sums.1 - b * sums.0).abs() < 1e-6)
}

fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// A number of users.
fn count(users: f64) -> i64 {
    super::number::whole(users.round()).unwrap_or(0).max(0)
}

/// A rate as a plan has it.
fn rate(per_second: f64) -> String {
    let per_minute = per_second * 60.0;
    if per_second.fract() != 0.0 && (per_minute - per_minute.round()).abs() < 1e-9 {
        return format!("{}/m", per_minute.round());
    }
    format!("{}/s", rounded(per_second))
}

fn range(start: &str, end: &str) -> String {
    if start == end {
        start.to_owned()
    } else {
        format!("{start}..{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(start: u64, corners: &[(u64, f64)]) -> Scenario<'static> {
        Scenario {
            name: "a".to_owned(),
            exec: "default".to_owned(),
            start: Duration::from_secs(start),
            shape: Shape::Users(
                corners
                    .iter()
                    .map(|(at, users)| (Duration::from_secs(*at), *users))
                    .collect(),
            ),
            variables: Vec::new(),
        }
    }

    #[track_caller]
    fn assert_near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9, "{left} is not {right}");
    }

    #[test]
    fn heights_are_between_the_corners() {
        let candidate = scenario(10, &[(0, 0.0), (10, 20.0), (20, 20.0)]);
        let at = |seconds| Duration::from_secs(seconds);
        assert_near(height(&candidate, at(5), 0.0), 0.0);
        assert_near(height(&candidate, at(15), 0.0), 10.0);
        assert_near(height(&candidate, at(30), 1.0), 0.0);
        assert_near(height(&candidate, at(30), -1.0), 20.0);
    }

    #[test]
    fn rates_have_the_unit_in_which_they_are_whole() {
        assert_eq!(rate(0.5), "30/m");
        assert_eq!(rate(20.0), "20/s");
    }
}
