//! The load of a plan from the scenarios of a script.

use super::machine::Machine;
use super::profile::{PhaseDraft, area, same_shares, superposed};
use super::scenario::{Scenario, Shape};
use crate::script::draft::{JourneyDraft, duration};
use crate::yaml::YamlNode;

/// The load, and how users divide among journeys.
pub(super) struct LoadDraft {
    pub(super) load: YamlNode,
    /// Weight of each scenario's journey; none where phases have a mix, or there is one journey.
    pub(super) weights: Vec<Option<f64>>,
    /// Iterations of each user of a scenario.
    pub(super) iterations: Vec<Option<u64>>,
    /// Whether a user may take several iterations.
    repeats: bool,
}

impl LoadDraft {
    /// The journeys with their shares of the load.
    pub(super) fn divided(
        &self,
        journeys: Vec<JourneyDraft>,
        resets_cookies: bool,
    ) -> Vec<JourneyDraft> {
        let numbered = journeys.into_iter().enumerate();
        let divided = numbered.map(|(index, journey)| JourneyDraft {
            weight: self.weights.get(index).copied().flatten(),
            iterations: self.iterations.get(index).copied().flatten(),
            forgets: resets_cookies && self.repeats,
            ..journey
        });
        divided.collect()
    }
}

impl<'a> Machine<'a, '_> {
    /// The load of scenarios of one kind.
    pub(super) fn load(&mut self, scenarios: &[Scenario<'a>], at: u32) -> LoadDraft {
        let first = scenarios.first().map(|scenario| kind(&scenario.shape));
        match first {
            Some(LoadKind::Users) => self.timeline(scenarios, false, at),
            Some(LoadKind::Rate) => self.timeline(scenarios, true, at),
            Some(LoadKind::Iterations) | None => self.iterations(scenarios, at),
        }
    }

    /// A load of a plan is of users, of arrivals or of iterations: the kind with the most iterations stays, the others
    /// are taken out of the list, and lost.
    pub(super) fn keep_one_kind(&mut self, scenarios: &mut Vec<Scenario<'a>>, at: u32) {
        let of_kind = |wanted: LoadKind| -> f64 {
            let all = scenarios.iter().map(|scenario| &scenario.shape);
            let same = all.filter(|shape| kind(shape) == wanted);
            same.map(iterations_of).sum()
        };
        let kinds = [LoadKind::Users, LoadKind::Rate, LoadKind::Iterations];
        let present = kinds.map(|wanted| {
            let mut all = scenarios.iter();
            all.any(|scenario| kind(&scenario.shape) == wanted)
        });
        if present.iter().filter(|is_present| **is_present).count() < 2 {
            return;
        }
        let sums = kinds.map(|wanted| (wanted, of_kind(wanted)));
        let candidates = sums.iter().zip(present).filter(|(_, present)| *present);
        let most = candidates
            .map(|(sum, _)| *sum)
            .max_by(|left, right| left.1.total_cmp(&right.1));
        let Some((most, _)) = most else {
            return;
        };
        let (kept, dropped): (Vec<_>, Vec<_>) = std::mem::take(scenarios)
            .into_iter()
            .partition(|scenario| kind(&scenario.shape) == most);
        *scenarios = kept;
        let names: Vec<&str> = scenarios
            .iter()
            .map(|scenario| scenario.name.as_str())
            .collect();
        let why = format!(
            "a load has either users, an arrival rate or a number of iterations; the plan has {} of {}, which {} the most iterations (a user taken to make one a second)",
            most.words(),
            names.join(", "),
            if names.len() == 1 { "makes" } else { "make" },
        );
        for scenario in dropped {
            let at = self.place_of(&scenario.name, at);
            self.lose(
                at,
                format!("the scenario {}", scenario.name),
                &why,
                "run it as a plan of its own",
            );
        }
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
            repeats: scenarios.iter().any(|scenario| repeats(&scenario.shape)),
        }
    }

    /// Scenarios over time, as the phases of their sum.
    fn timeline(&mut self, scenarios: &[Scenario<'a>], is_rate: bool, at: u32) -> LoadDraft {
        let sum = superposed(scenarios);
        if let Some(cut_at) = sum.cut_at {
            self.lose(
                at,
                format!("the stages from {} on", duration(cut_at)),
                "the plan would have more than 2,000 phases",
                "write fewer stages, or a replay",
            );
        }
        let phases = sum.phases;
        let active = phases
            .iter()
            .find(|phase| phase.shares.iter().any(|share| *share > 0.0));
        let same_mix = active.is_none_or(|active| {
            let mut all = phases.iter();
            all.all(|phase| same_shares(&active.shares, &phase.shares))
        });
        let weights = match active {
            Some(active) if scenarios.len() > 1 && same_mix => {
                let shares = active.shares.iter();
                shares.map(|share| Some(rounded(*share))).collect()
            }
            _ => vec![None; scenarios.len()],
        };
        let names: Vec<&str> = scenarios
            .iter()
            .map(|scenario| scenario.name.as_str())
            .collect();
        let mixed = (scenarios.len() > 1 && !same_mix).then_some(names.as_slice());
        if mixed.is_some() {
            self.note("scenarios run beside each other as journeys; the mix of each phase has their shares in its middle");
        }
        LoadDraft {
            load: written(&phases, is_rate, mixed),
            weights,
            iterations: vec![None; scenarios.len()],
            repeats: scenarios.iter().any(|scenario| repeats(&scenario.shape)),
        }
    }
}

/// The phases as a plan has them; one that is even is written without a list.
fn written(phases: &[PhaseDraft], is_rate: bool, mixed: Option<&[&str]>) -> YamlNode {
    if let [phase] = phases
        && super::number::same(phase.start, phase.end)
    {
        return if is_rate {
            YamlNode::map([
                ("sessions", YamlNode::text(rate(phase.start))),
                ("for", YamlNode::plain(duration(phase.time))),
                ("spacing", YamlNode::text("even")),
            ])
        } else {
            YamlNode::map([
                ("users", YamlNode::plain(count(phase.start).max(1))),
                ("hold", YamlNode::plain(duration(phase.time))),
            ])
        };
    }
    let list = phases
        .iter()
        .map(|phase| written_phase(phase, is_rate, mixed));
    let mut entries = vec![("phases", YamlNode::list(list))];
    if is_rate {
        entries.push(("spacing", YamlNode::text("even")));
    }
    YamlNode::map(entries)
}

fn written_phase(phase: &PhaseDraft, is_rate: bool, mixed: Option<&[&str]>) -> YamlNode {
    let (key, value) = if is_rate {
        ("sessions", range(&rate(phase.start), &rate(phase.end)))
    } else {
        let (start, end) = (count(phase.start), count(phase.end));
        ("users", range(&start.to_string(), &end.to_string()))
    };
    let mut entries = vec![
        (key, YamlNode::text(value)),
        ("for", YamlNode::plain(duration(phase.time))),
    ];
    // A pause between scenarios has no users to divide.
    let is_active = |share: &f64| rounded(*share) > 0.0;
    if let Some(names) = mixed
        && phase.shares.iter().any(is_active)
    {
        let shares = names.iter().zip(&phase.shares);
        let mix = shares
            .filter(|(_, share)| is_active(share))
            .map(|(name, share)| (*name, YamlNode::plain(rounded(*share))));
        entries.push(("mix", YamlNode::map(mix)));
    }
    YamlNode::map(entries)
}

/// What a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadKind {
    Users,
    Rate,
    Iterations,
}

impl LoadKind {
    fn words(self) -> &'static str {
        match self {
            Self::Users => "the users",
            Self::Rate => "the arrival rate",
            Self::Iterations => "the iterations",
        }
    }
}

fn kind(shape: &Shape) -> LoadKind {
    match shape {
        Shape::Users(_) => LoadKind::Users,
        Shape::Rate(_) => LoadKind::Rate,
        Shape::Iterations { .. } => LoadKind::Iterations,
    }
}

/// Whether a user of a scenario may take several iterations.
fn repeats(shape: &Shape) -> bool {
    match shape {
        Shape::Users(_) => true,
        // Each session is another user.
        Shape::Rate(_) => false,
        Shape::Iterations { each, total, .. } => *total > 1 && *each != Some(1),
    }
}

/// Iterations of a scenario; how long one of a user takes is known only at run time: a second is assumed.
fn iterations_of(shape: &Shape) -> f64 {
    match shape {
        Shape::Users(_) | Shape::Rate(_) => area(shape),
        Shape::Iterations { total, .. } => *total as f64,
    }
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

    #[test]
    fn rates_have_the_unit_in_which_they_are_whole() {
        assert_eq!(rate(0.5), "30/m");
        assert_eq!(rate(20.0), "20/s");
    }
}
