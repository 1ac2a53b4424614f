//! Workers of Apache.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{append_unserved, place, written};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::A0;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_SERVERS;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    A0,
    "Apache workers",
    &[Check {
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(apache),
        words: apache_words,
        remedy: "raise `MaxRequestWorkers`",
        explains: &[BEFORE_SERVERS],
    }],
)];

fn workers(label_set: &str, state: &str) -> String {
    metric::series(
        metric::APACHE_WORKERS,
        &[("at", place(label_set)), ("state", state)],
    )
}

/// A0: no worker of Apache is idle, or none was left to answer about itself.
fn apache(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::APACHE_SILENT);
    let signs = servers.filter_map(|silent| {
        let label_set = subject_of(silent);
        let [busy, idle] = ["busy", "idle"].map(|state| workers(label_set, state));
        let most = view.setting(place(label_set), "MaxRequestWorkers", "");
        let share = view.share_of_seconds(|row| {
            let is_full = row.get(&idle).is_some_and(|idle| idle < 1.0);
            // It may still start some: then the next second has idle ones. The one that answers is counted as neither.
            let is_most =
                most.is_none_or(|(most, _)| row.get(&busy).is_some_and(|busy| busy + 1.0 >= most));
            Some(row.get(silent)? > 0.0 || is_full && is_most)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

fn apache_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let most = view.setting(at, "MaxRequestWorkers", "");
    let [busy, idle] = ["busy", "idle"].map(|state| workers(label_set, state));
    let silent = case.series(metric::APACHE_SILENT);
    let all = most
        .map(|(most, _)| most)
        .or(view.max(&busy).map(|busy| busy + 1.0));
    let mut sentence = match all {
        Some(all) => format!("all {all:.0} workers of Apache were busy"),
        None => "all workers of Apache were busy".to_owned(),
    };
    append_unserved(&mut sentence, view.mean(&silent));
    let now = most.map(|(now, file)| format!(" (now {now:.0}){}", written(file)));
    Words::new(format!("MaxRequestWorkers of Apache ({at})"), sentence)
        .with(bounded(case.line(&busy, "workers serving a request"), most.map(|(most, _)| most)))
        .with(case.line(&idle, "idle workers"))
        .with(case.line(&silent, "share of the seconds with none free to serve the status page"))
        .with(case.line(&case.series(metric::APACHE_REQUESTS), "requests, per second"))
        .advising(format!(
            "if CPUs and memory have room, raise `MaxRequestWorkers`{} (and `ServerLimit`, which caps it) and \
             restart Apache; let the event MPM hold idle connections (`a2enmod mpm_event`) or shorten \
             `KeepAliveTimeout`; first find what its requests wait for",
            now.unwrap_or_default()
        ))
}
