//! Rules about PHP-FPM: its processes, and slow scripts.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::{append_unserved, of_component, place, written};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{R3, R4};
use crate::diagnosis::statements::most_of;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_SERVERS;

/// The failure class of PHP-FPM's slow log.
const SLOW: &str = "slow";

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        R3,
        "`pm.max_children`",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(php_fpm),
            words: php_fpm_words,
            remedy: "raise `pm.max_children`",
            explains: &[BEFORE_SERVERS],
        }],
    ),
    Rule::new(
        R4,
        "slow script, cause below",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(php_slow),
            words: php_slow_words,
            remedy: "fix the slow call",
            explains: &[],
        }],
    )
    .with_role(Role::Addition)
    .follows_like(&[R3]),
];

fn processes(label_set: &str, state: &str) -> String {
    let labels = [("at", place(label_set)), ("state", state)];
    metric::series(metric::PHP_FPM_PROCESSES, &labels)
}

/// R3: all processes of PHP-FPM are busy: requests wait, `max_children` was reached, or none was free to serve the
/// status page.
fn php_fpm(view: &View<'_>) -> Vec<Sign> {
    let pools = view.series_of(metric::PHP_FPM_SILENT);
    let signs = pools.filter_map(|silent| {
        let label_set = subject_of(silent);
        let (queue, idle) = (
            of_component(metric::PHP_FPM_QUEUE, label_set),
            processes(label_set, "idle"),
        );
        let share = view.share_of_seconds(|row| {
            let is_full = row.get(&idle).is_some_and(|idle| idle < 1.0);
            let is_waited = row.get(&queue).is_some_and(|queue| queue > 0.0);
            Some(row.get(silent)? > 0.0 || is_full && is_waited)
        })?;
        let wanted = view
            .mean(&of_component(metric::PHP_FPM_AT_LIMIT, label_set))
            .unwrap_or(0.0);
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            // With processes started on demand, the first time that the limit is reached is significant.
            present: share >= SUSTAINED || wanted > 0.0 && share > 0.0,
        })
    });
    signs.collect()
}

fn php_fpm_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let setting = view.setting(at, "pm.max_children", "");
    let silent = of_component(metric::PHP_FPM_SILENT, label_set);
    let queue = of_component(metric::PHP_FPM_QUEUE, label_set);
    let all = setting
        .map(|(now, _)| now)
        .or(view.max(&processes(label_set, "all")));
    let mut sentence = match all {
        Some(all) => format!("all {all:.0} processes of PHP-FPM were busy"),
        None => "all processes of PHP-FPM were busy".to_owned(),
    };
    if let Some(waiting) = view.max(&queue).filter(|&waiting| waiting > 0.0) {
        append_clause(
            &mut sentence,
            format_args!(" while up to {waiting:.0} requests waited for one"),
        );
    }
    append_unserved(&mut sentence, view.mean(&silent));
    let now = setting.map(|(now, file)| format!(" (now {now:.0}){}", written(file)));
    Words::new(format!("pm.max_children of PHP-FPM ({at})"), sentence)
        .with(case.line(&processes(label_set, "active"), "processes serving a request"))
        .with(bounded(case.line(&queue, "requests waiting for a process"), Some(0.0)))
        .with(case.line(&silent, "share of the seconds with none free to serve the status page"))
        .with(case.line(
            &of_component(metric::PHP_FPM_AT_LIMIT, label_set),
            "times max_children was reached, per second",
        ))
        .advising(format!(
            "first find what its requests wait for (`request_slowlog_timeout = 1s`, `slowlog`); if the CPUs have room, \
             raise `pm.max_children`{}, at most to memory divided by the size of one process (`ps -o rss -C php-fpm`), \
             and reload PHP-FPM",
            now.unwrap_or_default()
        ))
}

/// A place in a script from a slow log, and its failures per second.
fn slowest_call<'a>(view: &View<'a>) -> Option<(&'a str, f64)> {
    let own = view
        .series_of(metric::LOG_FAILURES_OF)
        .filter(|series| label(series, "class") == Some(SLOW));
    most_of(view, own, "of")
}

/// R4: requests took longer than `request_slowlog_timeout`, as PHP-FPM counts them; or, where it is not scraped, as
/// its log shows.
fn php_slow(view: &View<'_>) -> Vec<Sign> {
    let counted: Vec<&str> = view.series_of(metric::PHP_FPM_SLOW).collect();
    let written = view
        .series_of(metric::LOG_FAILURES)
        .filter(|series| counted.is_empty() && label(series, "class") == Some(SLOW));
    let signs = written.chain(counted.iter().copied()).filter_map(|series| {
        let per_second = view.mean(series)?;
        let label_set = metric::series("", &[("at", place(series))]);
        Some(Sign::of(&label_set, per_second, per_second > 0.0))
    });
    signs.collect()
}

fn php_slow_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let counted = of_component(metric::PHP_FPM_SLOW, case.label_set);
    let written = metric::series(metric::LOG_FAILURES, &[("at", at), ("class", SLOW)]);
    let per_second = view.mean(&counted).or(view.mean(&written)).unwrap_or(0.0);
    let mut sentence = format!(
        "{:.0} requests a minute took longer than the `request_slowlog_timeout` of PHP-FPM",
        (per_second * 60.0).max(1.0)
    );
    let call = slowest_call(view);
    match call {
        Some((call, count)) => append_clause(
            &mut sentence,
            format_args!(
                "; {:.0} % of them were in {call}",
                (count * 100.0 / per_second.max(f64::MIN_POSITIVE)).min(100.0)
            ),
        ),
        None => append_clause(
            &mut sentence,
            format_args!("; its `slowlog` shows where they were"),
        ),
    }
    let label = "requests that took longer than `request_slowlog_timeout`, per second";
    let limit = call.map_or("a slow call".to_owned(), |(call, _)| {
        format!("a slow call, {call},")
    });
    Words::new(format!("{limit} in PHP ({at})"), sentence)
        .with(case.line(&counted, label))
        .with(case.line(&written, label))
        .advising(
            "find what that call waits for: a database statement, another service, a file; give it a timeout, cache \
             its result, or move it out of the request"
                .to_owned(),
        )
}
