//! Rules about Node: its event loop, and the thread pool of libuv.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::gauges::{Gauge, shares};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{C3, J1, J2};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::{BEFORE_PROGRAMS, BEFORE_SERVERS};

/// Share of the time from which an event loop has nothing to spare.
const LOOP_BUSY: f64 = 0.95;
/// How long things may wait for it, s; or this share of the tightest bound.
const LATE_MIN_S: f64 = 0.050;
const LATE_SHARE: f64 = 0.25;
/// How long a task may wait for a thread of libuv's pool, s; and the busy share from which the event loop is the
/// limit instead.
const TASK_WAIT_S: f64 = 0.010;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        J1,
        "Node event loop",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(node),
            words: node_words,
            remedy: "move computation off the loop (worker threads, asynchronous calls of \
                 crypto, zlib and fs), run one process per CPU (`node:cluster`, `pm2 -i max`), or \
                 cache results",
            explains: &[BEFORE_SERVERS, &[C3]],
        }],
    ),
    Rule::new(
        J2,
        "libuv pool",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(libuv),
            words: libuv_words,
            remedy: "give libuv's pool more threads",
            explains: &[BEFORE_PROGRAMS, &[C3]],
        }],
    ),
];

/// J1: the event loop of Node has nothing to spare, or lets everything wait.
fn node(view: &View<'_>) -> Vec<Sign> {
    let bound_s = view
        .context
        .bound_us
        .map_or(0.0, |bound| bound as f64 / 1e6);
    let late_s = LATE_MIN_S.max(LATE_SHARE * bound_s);
    let processes = view.series_of(metric::NODE_DELAY);
    let signs = processes.filter_map(|delay| {
        let label_set = subject_of(delay);
        let active = of_component(metric::NODE_ACTIVE, label_set);
        let share = view.share_of_seconds(|row| {
            let is_busy = row.get(&active).is_some_and(|active| active > LOOP_BUSY);
            Some(is_busy || row.get(delay)? > late_s)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

fn node_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let [delay, active] = [metric::NODE_DELAY, metric::NODE_ACTIVE]
        .map(|metric| of_component(metric, case.label_set));
    let at = place(case.label_set);
    Words::new(
        format!("the event loop of Node ({at})"),
        format!(
            "the event loop of Node was busy {:.0} % of the time and delayed callbacks by up to {:.0} ms",
            (view.mean(&active).unwrap_or(0.0) * 100.0).min(100.0),
            view.max(&delay).unwrap_or(0.0) * 1e3
        ),
    )
    .with(bounded(case.line(&active, "busy time of the event loop, per second"), Some(LOOP_BUSY)))
    .with(case.line(&delay, "longest delay of the event loop"))
}

/// J2: tasks wait for a thread of libuv's pool while the event loop has time.
fn libuv(view: &View<'_>) -> Vec<Sign> {
    let processes = view.series_of(metric::NODE_POOL_WAIT);
    let signs = processes.filter_map(|wait| {
        let label_set = subject_of(wait);
        let active = of_component(metric::NODE_ACTIVE, label_set);
        let share = view.share_of_seconds(|row| {
            let has_time = row.get(&active).is_none_or(|active| active <= LOOP_BUSY);
            Some(has_time && row.get(wait)? > TASK_WAIT_S)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            // Against low load, the time is more significant than the count.
            magnitude: view.mean(wait)?,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

fn libuv_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [wait, threads, active] = [
        metric::NODE_POOL_WAIT,
        metric::NODE_POOL_THREADS,
        metric::NODE_ACTIVE,
    ]
    .map(|metric| of_component(metric, case.label_set));
    let now = view.max(&threads).unwrap_or(4.0);
    let used = if now < 1.5 {
        "the only thread of libuv's pool in Node was busy".to_owned()
    } else {
        format!("all {now:.0} threads of libuv's pool in Node were busy")
    };
    Words::new(
        format!("libuv's pool of threads in Node ({at})"),
        format!(
            "{used}: files, DNS, crypto and compression waited up to {:.0} ms for one, while \
             the event loop was busy only {:.0} % of the time",
            view.max(&wait).unwrap_or(0.0) * 1e3,
            (view.mean(&active).unwrap_or(0.0) * 100.0).min(100.0)
        ),
    )
    .with(bounded(case.line(&wait, "longest wait for a thread of the pool"), Some(TASK_WAIT_S)))
    .with(bounded(case.line(&active, "busy time of the event loop, per second"), Some(LOOP_BUSY)))
    .advising(format!(
        "start Node with a larger pool, `UV_THREADPOOL_SIZE=16 node …` (now {now:.0}), as far as the CPUs allow if its \
         tasks compute; cache DNS results (`dns.resolve` does not use the pool), and avoid needless hashing and \
         compression"
    ))
}

/// The event loop.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    shares(
        readings,
        metric::NODE_ACTIVE,
        (&[J1, C3], 0.95),
        "the event loop of Node",
    )
}
