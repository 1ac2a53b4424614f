//! Scenarios of one kind that run beside each other, as the phases of their sum.

use std::time::Duration;

use super::scenario::{Scenario, Shape};

/// Most phases of a load.
const PHASES_MAX: usize = 2_000;
/// Parts of a phase in which the shares of scenarios change: a phase of a plan has one mix.
const PARTS: u32 = 4;
/// Shortest phase that is divided.
const DIVIDED_MIN: Duration = Duration::from_secs(4);

/// A phase of a load before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PhaseDraft {
    /// Users, or iterations per second, at its start and at its end.
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) time: Duration,
    /// Of each scenario, in the middle of the phase.
    pub(super) shares: Vec<f64>,
}

/// The sum of scenarios.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SumOfScenarios {
    pub(super) phases: Vec<PhaseDraft>,
    /// When the phases end because there are too many.
    pub(super) cut_at: Option<Duration>,
}

/// Adds scenarios up: a phase ends where a stage of any of them ends, and within a ramp where the shares change.
pub(super) fn superposed(scenarios: &[Scenario<'_>]) -> SumOfScenarios {
    let mut times: Vec<Duration> = scenarios
        .iter()
        .flat_map(|scenario| {
            let corners = corners(&scenario.shape).iter();
            corners.map(move |(at, _)| scenario.start.saturating_add(*at))
        })
        .collect();
    times.sort_unstable();
    times.dedup();
    let mut phases = Vec::new();
    for pair in times.windows(2) {
        let [from, to] = pair else { continue };
        for (from, to) in parts(scenarios, *from, *to) {
            if phases.len() >= PHASES_MAX {
                let cut_at = Some(from);
                return SumOfScenarios { phases, cut_at };
            }
            phases.push(phase(scenarios, from, to));
        }
    }
    let cut_at = None;
    SumOfScenarios { phases, cut_at }
}

fn phase(scenarios: &[Scenario<'_>], from: Duration, to: Duration) -> PhaseDraft {
    let time = to.saturating_sub(from);
    let middle = from.saturating_add(time / 2);
    PhaseDraft {
        start: heights(scenarios, from, 1.0).iter().sum(),
        end: heights(scenarios, to, -1.0).iter().sum(),
        time,
        shares: heights(scenarios, middle, -1.0),
    }
}

/// The span itself, or parts of it where the shares at its start are not those at its end.
fn parts(scenarios: &[Scenario<'_>], from: Duration, to: Duration) -> Vec<(Duration, Duration)> {
    let time = to.saturating_sub(from);
    let first = heights(scenarios, from, 1.0);
    let last = heights(scenarios, to, -1.0);
    if time < DIVIDED_MIN || same_shares(&first, &last) {
        return vec![(from, to)];
    }
    let cut = |part: u32| {
        let ms = time.as_millis() * u128::from(part) / u128::from(PARTS);
        from.saturating_add(u64::try_from(ms).map_or(time, Duration::from_millis))
    };
    (0..PARTS)
        .map(|part| {
            let end = if part + 1 == PARTS { to } else { cut(part + 1) };
            (cut(part), end)
        })
        .collect()
}

/// Whether scenarios have the same shares at two times; where none is active, any shares are.
pub(super) fn same_shares(left: &[f64], right: &[f64]) -> bool {
    let sums: (f64, f64) = (left.iter().sum(), right.iter().sum());
    left.iter()
        .zip(right)
        .all(|(a, b)| (a * sums.1 - b * sums.0).abs() < 1e-6)
}

/// Users of a scenario over time times seconds, or its iterations.
pub(super) fn area(shape: &Shape) -> f64 {
    let pairs = corners(shape).windows(2);
    pairs
        .map(|pair| match pair {
            [(from, low), (to, high)] => {
                to.saturating_sub(*from).as_secs_f64() * (low + high) / 2.0
            }
            _ => 0.0,
        })
        .sum()
}

fn corners(shape: &Shape) -> &[(Duration, f64)] {
    match shape {
        Shape::Users(corners) | Shape::Rate(corners) => corners,
        Shape::Iterations { .. } => &[],
    }
}

fn heights(scenarios: &[Scenario<'_>], at: Duration, side: f64) -> Vec<f64> {
    let heights = scenarios.iter().map(|scenario| height(scenario, at, side));
    heights.collect()
}

/// Users or iterations per second at a time; at a jump the value after it (`side` above 0), or before it.
fn height(scenario: &Scenario<'_>, at: Duration, side: f64) -> f64 {
    let corners = corners(&scenario.shape);
    let Some(at) = at.checked_sub(scenario.start) else {
        return 0.0;
    };
    let next = corners.partition_point(|(corner, _)| *corner < at || (side > 0.0 && *corner == at));
    let before = next.checked_sub(1).and_then(|index| corners.get(index));
    let (Some((from, low)), Some((to, high))) = (before, corners.get(next)) else {
        return 0.0;
    };
    let share = at.saturating_sub(*from).as_secs_f64() / to.saturating_sub(*from).as_secs_f64();
    low + (high - low) * share
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
        assert_near(height(&candidate, at(5), -1.0), 0.0);
        assert_near(height(&candidate, at(10), -1.0), 0.0);
        assert_near(height(&candidate, at(15), -1.0), 10.0);
        assert_near(height(&candidate, at(30), 1.0), 0.0);
        assert_near(height(&candidate, at(30), -1.0), 20.0);
        // A stage of no time is a jump.
        let jump = scenario(0, &[(0, 1.0), (5, 1.0), (5, 9.0), (10, 9.0)]);
        assert_near(height(&jump, at(5), -1.0), 1.0);
        assert_near(height(&jump, at(5), 1.0), 9.0);
    }

    #[test]
    fn the_sum_keeps_the_area_of_each_scenario() {
        let scenarios = [
            scenario(0, &[(0, 10.0), (60, 10.0)]),
            scenario(20, &[(0, 0.0), (40, 20.0), (70, 20.0)]),
        ];
        let sum = superposed(&scenarios);
        assert_eq!(sum.cut_at, None);
        let of_phases: f64 = sum
            .phases
            .iter()
            .map(|phase| phase.time.as_secs_f64() * (phase.start + phase.end) / 2.0)
            .sum();
        let of_scenarios: f64 = scenarios.iter().map(|each| area(&each.shape)).sum();
        assert_near(of_phases, of_scenarios);
        for (index, candidate) in scenarios.iter().enumerate() {
            let shares = sum.phases.iter();
            let own: f64 = shares
                .map(|phase| phase.time.as_secs_f64() * phase.shares[index])
                .sum();
            assert_near(own, area(&candidate.shape));
        }
    }

    #[test]
    fn a_ramp_beside_a_constant_load_is_divided() {
        let scenarios = [
            scenario(0, &[(0, 10.0), (40, 10.0)]),
            scenario(0, &[(0, 0.0), (40, 40.0)]),
        ];
        let phases = superposed(&scenarios).phases;
        let shares: Vec<&[f64]> = phases.iter().map(|phase| &phase.shares[..]).collect();
        assert_eq!(
            shares,
            [[10.0, 5.0], [10.0, 15.0], [10.0, 25.0], [10.0, 35.0]]
        );
        // Both in proportion: one mix, one phase.
        let scenarios = [
            scenario(0, &[(0, 0.0), (40, 10.0)]),
            scenario(0, &[(0, 0.0), (40, 40.0)]),
        ];
        assert_eq!(superposed(&scenarios).phases.len(), 1);
    }
}
