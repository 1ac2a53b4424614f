//! Something grows without end: memory, descriptors or threads.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::measure::{mebibytes, of_target};
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::M4;
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::stats::trend::{TheilSen, theil_sen_points};

/// A leak that reaches its limit within this time is reported, s.
const LEAK_SOON_S: f64 = 86_400.0;
/// Anchors must lie this far apart, s, and have so many readings.
const LEAK_SPAN_S: f64 = 120.0;
const LEAK_POINTS_MIN: usize = 12;
/// Most points of a leak's line: the slopes of all pairs are computed.
const LEAK_POINTS_MAX: usize = 300;
/// What has grown by less than this share may be a cache that fills.
const LEAK_GROWTH_MIN: f64 = 0.1;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    M4,
    "memory/fd/thread leak",
    &[Check {
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(leaking),
        words: leaking_words,
        remedy: "find what grows (a heap profile; `ls -l /proc/PID/fd`); until then, \
                 restart workers after a number of requests (`pm.max_requests`, `--max-requests`)",
        explains: &[],
    }],
)
.tried_on_series()
.with_role(Role::Addition)];

/// What may leak: series, its limit, name, and unit in texts.
fn leaks(view: &View<'_>) -> Vec<(String, Option<f64>, &'static str)> {
    let cgroup = view
        .series_of(metric::CGROUP_MEMORY_LIMIT)
        .filter(|series| label(series, "process") == Some(metric::TARGET))
        .filter_map(|series| view.max(series))
        .reduce(f64::min);
    let memory = cgroup.or_else(|| view.max(metric::MEMORY_LIMIT));
    let files = view.max(&of_target(metric::PROCESS_FILES_LIMIT));
    let threads = view
        .series_of(metric::CGROUP_PIDS_LIMIT)
        .filter(|series| label(series, "process") == Some(metric::TARGET))
        .filter_map(|series| view.max(series))
        .reduce(f64::min);
    vec![
        (of_target(metric::PROCESS_MEMORY), memory, "memory"),
        (of_target(metric::PROCESS_FILES), files, "file descriptors"),
        (of_target(metric::PROCESS_THREADS), threads, "threads"),
    ]
}

/// The line through a level at equal low loads, the level at its end, and the share by which it has grown; `None`
/// where anchors are too few or the growth may be chance. Its second half must grow as well: a cache that fills stops.
fn leak(over: &Stretch3<'_>, series: &str) -> Option<(TheilSen, f64, f64)> {
    let all = over.base.points(series);
    let step = all.len().div_ceil(LEAK_POINTS_MAX).max(1);
    let points: Vec<(f64, f64)> = all.into_iter().step_by(step).collect();
    let span = points.last()?.0 - points.first()?.0;
    if points.len() < LEAK_POINTS_MIN || span < LEAK_SPAN_S {
        return None;
    }
    let line = theil_sen_points(&points)?;
    let later = theil_sen_points(&points[points.len() / 2..])?;
    let end = points.last()?.1;
    let growth = line.slope * span / (end - line.slope * span).max(1.0);
    let goes_on = line.slope_low > 0.0 && later.slope_low > 0.0 && later.slope > line.slope / 2.0;
    (goes_on && growth >= LEAK_GROWTH_MIN).then_some((line, end, growth))
}

/// M4: at the same low load, again and again, the target has more than before.
fn leaking(over: &Stretch3<'_>) -> Vec<Sign> {
    let candidates = leaks(&over.failing).into_iter();
    candidates
        .filter_map(|(series, limit, _)| {
            let (line, end, growth) = leak(over, &series)?;
            let left_s = limit.map(|limit| (limit - end).max(0.0) / line.slope);
            let is_soon = left_s.is_some_and(|left_s| left_s < LEAK_SOON_S);
            Some(Sign::of(&series, growth, is_soon))
        })
        .collect()
}

fn leaking_words(case: &RuleMatch<'_>) -> Words {
    let candidates = leaks(case.failing());
    let own = candidates.into_iter().find(|leak| leak.0 == case.label_set);
    let (series, limit, what) = own.unwrap_or_default();
    let Some((line, end, growth)) = leak(case.over, &series) else {
        return Words::new(what, String::new());
    };
    let per_hour = line.slope * 3600.0;
    let [end_text, per_hour_text, low, high] = [
        end,
        per_hour,
        line.slope_low * 3600.0,
        line.slope_high * 3600.0,
    ]
    .map(|value| {
        if what == "memory" {
            mebibytes(value)
        } else {
            value
        }
    });
    let unit = if what == "memory" { " MiB" } else { "" };
    let mut sentence = format!(
        "at the same low load the target's {what} grew by {:.0} %, by {per_hour_text:.0}{unit} an hour (95 % interval \
         {low:.0} to {high:.0}), to {end_text:.0}{unit}",
        growth * 100.0
    );
    if let Some(limit) = limit {
        let hours = (limit - end).max(0.0) / per_hour;
        append_clause(
            &mut sentence,
            format_args!("; at this rate it reaches its limit in {hours:.1} hours"),
        );
    }
    Words::new(format!("{what} of the target, which leaks"), sentence)
        .with(bounded(case.line(&series, what), limit))
}
