//! Threads of Varnish.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{A0, V1};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_SERVERS;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    V1,
    "Varnish threads",
    &[Check {
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(varnish),
        words: varnish_words,
        remedy: "raise `thread_pool_max`",
        explains: &[BEFORE_SERVERS],
    }],
)
.follows_like(&[A0])];

/// V1: Varnish needs more threads than it may have, and requests wait or are dropped.
fn varnish(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::VARNISH_QUEUE);
    let signs = servers.filter_map(|queue| {
        let label_set = subject_of(queue);
        let [limited, dropped] = [metric::VARNISH_AT_LIMIT, metric::VARNISH_DROPPED]
            .map(|metric| of_component(metric, label_set));
        let share = view.share_of_seconds(|row| {
            let wanted = row.get(&limited).is_some_and(|times| times > 0.0);
            Some(wanted || row.get(queue)? > 0.0)
        })?;
        let dropped = view.mean(&dropped).unwrap_or(0.0);
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            present: share >= SUSTAINED || dropped > 0.0,
        })
    });
    signs.collect()
}

fn varnish_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let [threads, queue, dropped, limited] = [
        metric::VARNISH_THREADS,
        metric::VARNISH_QUEUE,
        metric::VARNISH_DROPPED,
        metric::VARNISH_AT_LIMIT,
    ]
    .map(|metric| of_component(metric, label_set));
    let all = view.max(&threads);
    let pools = view.setting(at, "thread_pools", "").map(|(pools, _)| pools);
    let mut sentence = format!(
        "all {:.0} threads of Varnish were busy while up to {:.0} requests and connections waited for one",
        all.unwrap_or(0.0),
        view.max(&queue).unwrap_or(0.0)
    );
    if let Some(lost) = view.mean(&dropped).filter(|&lost| lost > 0.0) {
        append_clause(
            &mut sentence,
            format_args!(", and {lost:.0} a second were dropped"),
        );
    }
    let now = match (all, pools.filter(|&pools| pools > 0.0)) {
        (Some(all), Some(pools)) => {
            format!(
                " (now about {:.0} in each of {pools:.0} pools)",
                all / pools
            )
        }
        _ => String::new(),
    };
    Words::new(format!("thread_pool_max of Varnish ({at})"), sentence)
        .with(bounded(case.line(&threads, "threads"), all))
        .with(bounded(case.line(&queue, "requests waiting for a thread"), Some(0.0)))
        .with(case.line(&dropped, "requests dropped, per second"))
        .with(case.line(&limited, "times more threads were needed than allowed, per second"))
        .advising(format!(
            "raise `thread_pool_max`{now}: `varnishadm param.set thread_pool_max NUMBER`, and `-p \
             thread_pool_max=NUMBER` in its command line to keep it; first check whether the backend is slow or the \
             hit ratio low"
        ))
}
