//! How many users, or arrivals a second, a thread group has over time, and how several groups add up.

use std::time::Duration;

use crate::script::draft::duration;
use crate::yaml::{YamlEntry, YamlNode};

/// What a profile counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadUnit {
    Users,
    /// Users who arrive per second.
    Arrivals,
}

/// A piece of a profile: a level that changes evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) lasting: Duration,
}

/// The load of one thread group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    pub(super) unit: LoadUnit,
    pub(super) stretches: Vec<Stretch>,
    /// Whether its users end by themselves, and the last stretch is only long enough.
    pub(super) is_bounded: bool,
    /// Whether arrivals are evenly spaced.
    pub(super) is_even: bool,
}

impl Profile {
    pub(super) fn users(stretches: Vec<Stretch>, is_bounded: bool) -> Self {
        Self {
            unit: LoadUnit::Users,
            stretches,
            is_bounded,
            is_even: false,
        }
    }

    /// The highest level.
    pub(super) fn peak(&self) -> f64 {
        let levels = self
            .stretches
            .iter()
            .flat_map(|stretch| [stretch.from, stretch.to]);
        levels.fold(0.0, f64::max)
    }

    /// Whether its users start from the beginning on.
    fn starts_at_once(&self) -> bool {
        self.stretches.first().is_some_and(|first| first.to > 0.0)
    }

    fn ends(&self) -> Vec<Duration> {
        let mut at = Duration::ZERO;
        let mut ends = Vec::new();
        for stretch in &self.stretches {
            at = at.saturating_add(stretch.lasting);
            ends.push(at);
        }
        ends
    }

    /// The level within a span that no stretch begins or ends in: at its start and at its end.
    fn level(&self, from: Duration, to: Duration) -> (f64, f64) {
        let mut start = Duration::ZERO;
        for stretch in &self.stretches {
            let end = start.saturating_add(stretch.lasting);
            if from >= start && to <= end && !stretch.lasting.is_zero() {
                let at = |time: Duration| {
                    let since = time.saturating_sub(start);
                    let share = since.as_secs_f64() / stretch.lasting.as_secs_f64();
                    stretch.from + (stretch.to - stretch.from) * share
                };
                return (at(from), at(to));
            }
            start = end;
        }
        (0.0, 0.0)
    }
}

/// The sum of profiles over time.
pub(super) fn sum(profiles: &[Profile]) -> Vec<Stretch> {
    let mut cuts: Vec<Duration> = profiles.iter().flat_map(Profile::ends).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut stretches = Vec::new();
    let mut start = Duration::ZERO;
    for cut in cuts {
        if cut > start {
            let levels = profiles.iter().map(|profile| profile.level(start, cut));
            let (from, to) =
                levels.fold((0.0, 0.0), |sum, level| (sum.0 + level.0, sum.1 + level.1));
            stretches.push(Stretch {
                from,
                to,
                lasting: cut.saturating_sub(start),
            });
        }
        start = cut;
    }
    stretches
}

/// The `load` of a plan with these groups, each with the name of its journey.
pub(super) fn load(groups: &[(String, Profile)]) -> Option<YamlNode> {
    let unit = groups.first()?.1.unit;
    if let Some(simple) = simple(groups) {
        return Some(simple);
    }
    let mut cuts: Vec<Duration> = groups
        .iter()
        .flat_map(|(_, profile)| profile.ends())
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut phases = Vec::new();
    let mut start = Duration::ZERO;
    let is_mixed = groups.len() > 1 && !are_alike(groups);
    for cut in cuts {
        let lasting = cut.saturating_sub(start);
        if lasting.as_millis() > 0 {
            phases.push(phase(groups, unit, (start, cut), is_mixed));
        }
        start = cut;
    }
    if phases.is_empty() {
        return None;
    }
    let is_even = unit == LoadUnit::Arrivals && groups.iter().all(|(_, profile)| profile.is_even);
    if is_even {
        return Some(YamlNode::map([
            ("phases", YamlNode::list(phases)),
            ("spacing", YamlNode::text("even")),
        ]));
    }
    Some(YamlNode::list(phases))
}

fn phase(
    groups: &[(String, Profile)],
    unit: LoadUnit,
    (start, end): (Duration, Duration),
    is_mixed: bool,
) -> YamlNode {
    let levels: Vec<(f64, f64)> = groups
        .iter()
        .map(|(_, profile)| profile.level(start, end))
        .collect();
    let from: f64 = levels.iter().map(|(from, _)| from).sum();
    let to: f64 = levels.iter().map(|(_, to)| to).sum();
    let (key, level) = match unit {
        LoadUnit::Users => (
            "users",
            range(from, to, |users| format!("{:.0}", users.round())),
        ),
        LoadUnit::Arrivals => ("sessions", range(from, to, rate)),
    };
    let mut entries = vec![
        YamlEntry::new(key, YamlNode::plain(level)),
        YamlEntry::new("for", YamlNode::plain(duration(end.saturating_sub(start)))),
    ];
    let total = |levels: &(f64, f64)| levels.0 + levels.1;
    if is_mixed && levels.iter().map(total).sum::<f64>() > 0.0 {
        let shares = groups
            .iter()
            .zip(&levels)
            .filter(|(_, levels)| total(levels) > 0.0);
        let mix = shares
            .map(|((name, _), levels)| (name.clone(), YamlNode::plain(short(total(levels) / 2.0))));
        entries.push(YamlEntry::new("mix", YamlNode::map(mix)));
    }
    YamlNode::Map(entries)
}

/// Whether all groups rise and fall together, so that their shares never change.
fn are_alike(groups: &[(String, Profile)]) -> bool {
    let shape = |profile: &Profile| -> Vec<(u64, Duration)> {
        let peak = profile.peak().max(f64::MIN_POSITIVE);
        let share = |level: f64| (level / peak).to_bits();
        let ends = profile.stretches.iter();
        ends.flat_map(|stretch| {
            [
                (share(stretch.from), stretch.lasting),
                (share(stretch.to), stretch.lasting),
            ]
        })
        .collect()
    };
    let mut shapes = groups.iter().map(|(_, profile)| shape(profile));
    let first = shapes.next();
    shapes.all(|other| Some(other) == first)
}

/// Users who start evenly and stay: one map instead of phases.
fn simple(groups: &[(String, Profile)]) -> Option<YamlNode> {
    let first = &groups.first()?.1;
    if first.unit != LoadUnit::Users {
        return None;
    }
    let is_bounded = groups.iter().all(|(_, profile)| profile.is_bounded);
    if is_bounded && groups.iter().all(|(_, profile)| profile.starts_at_once()) {
        return Some(until_done(groups));
    }
    if !are_alike(groups) {
        return None;
    }
    let (within, hold) = match first.stretches.as_slice() {
        [hold] if hold.from.to_bits() == hold.to.to_bits() => (Duration::ZERO, hold.lasting),
        [ramp, hold]
            if ramp.from == 0.0
                && hold.from.to_bits() == hold.to.to_bits()
                && ramp.to.to_bits() == hold.from.to_bits() =>
        {
            (ramp.lasting, hold.lasting)
        }
        _ => return None,
    };
    let users: f64 = groups.iter().map(|(_, profile)| profile.peak()).sum();
    let mut entries = vec![YamlEntry::new(
        "users",
        YamlNode::plain(format!("{:.0}", users.round())),
    )];
    if !within.is_zero() {
        entries.push(YamlEntry::new("within", YamlNode::plain(duration(within))));
    }
    if !is_bounded {
        entries.push(YamlEntry::new("hold", YamlNode::plain(duration(hold))));
    }
    Some(YamlNode::Map(entries))
}

/// Users who leave when they have done their iterations; they start within the longest of the ramps.
fn until_done(groups: &[(String, Profile)]) -> YamlNode {
    let users: f64 = groups.iter().map(|(_, profile)| profile.peak()).sum();
    let ramps = groups
        .iter()
        .filter_map(|(_, profile)| profile.stretches.first());
    let ramps = ramps
        .filter(|first| first.from < first.to)
        .map(|first| first.lasting);
    let mut entries = vec![("users", YamlNode::plain(format!("{:.0}", users.round())))];
    if let Some(within) = ramps.max() {
        entries.push(("within", YamlNode::plain(duration(within))));
    }
    YamlNode::map(entries)
}

fn range(from: f64, to: f64, text: impl Fn(f64) -> String) -> String {
    let (from, to) = (text(from), text(to));
    if from == to {
        from
    } else {
        format!("{from}..{to}")
    }
}

/// A rate as a plan has it.
fn rate(per_second: f64) -> String {
    format!("{}/s", short(per_second))
}

/// A number with at most four decimals.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::document;

    fn stretch(from: f64, to: f64, seconds: u64) -> Stretch {
        Stretch {
            from,
            to,
            lasting: Duration::from_secs(seconds),
        }
    }

    #[track_caller]
    fn check(groups: &[(&str, Profile)], expected: &str) {
        let groups: Vec<(String, Profile)> = groups
            .iter()
            .map(|(name, profile)| ((*name).to_owned(), profile.clone()))
            .collect();
        let text = document(&[], &[YamlEntry::new("load", load(&groups).unwrap())]);
        assert_eq!(text, expected);
    }

    #[test]
    fn groups_add_up() {
        let ramp = Profile::users(vec![stretch(0.0, 10.0, 5), stretch(10.0, 10.0, 60)], false);
        check(
            &[("a", ramp.clone())],
            "load: { users: 10, within: 5s, hold: 1m }\n",
        );
        let late = Profile::users(vec![stretch(0.0, 0.0, 5), stretch(4.0, 4.0, 60)], false);
        check(
            &[("a", ramp.clone()), ("b", late)],
            "load:\n  - users: 0..10\n    for: 5s\n    mix: { a: 5 }\n  - users: 14\n    for: 1m\n    mix: { a: 10, b: 4 }\n",
        );
        check(
            &[("a", ramp.clone()), ("b", ramp)],
            "load: { users: 20, within: 5s, hold: 1m }\n",
        );
        let arrivals = Profile {
            unit: LoadUnit::Arrivals,
            is_even: true,
            ..Profile::users(vec![stretch(0.0, 2.5, 10)], false)
        };
        check(
            &[("a", arrivals)],
            "load:\n  phases:\n    - sessions: 0/s..2.5/s\n      for: 10s\n  spacing: even\n",
        );
    }
}
