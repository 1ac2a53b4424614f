//! Rules about Redis, from its own metrics.

pub(crate) mod commands;

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::component::{place, written};
use crate::diagnosis::evictions::evicted;
use crate::diagnosis::gauges::{Gauge, shares, slots};
use crate::diagnosis::measure::{format_mebibytes, subject_of, sustained};
use crate::diagnosis::mitigation::{LimitSetting, Takes};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{K1, K2, K4, K5, S5};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::ON_THE_MACHINE;

/// Share of one CPU from which the thread that executes commands is saturated.
pub(crate) const THREAD_BUSY: f64 = 0.95;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        K1,
        "Redis single thread",
        &[Check {
            strength: Strength::Utilisation,
            tier: Tier::Store,
            symptom: Symptom::Signs(redis_thread),
            words: redis_thread_words,
            remedy: "send fewer and smaller commands, in pipelines; cache in the application, \
                 spread keys over several instances, or set `io-threads`",
            explains: &[ON_THE_MACHINE],
        }],
    ),
    Rule::new(
        K2,
        "Redis maxmemory",
        &[
            Check {
                strength: Strength::Explicit,
                tier: Tier::Store,
                symptom: Symptom::Increase {
                    metric: metric::REDIS_EVICTED,
                },
                words: redis_evicted_words,
                remedy: "raise `maxmemory`",
                explains: &[ON_THE_MACHINE, &[S5]],
            },
            Check {
                strength: Strength::Explicit,
                tier: Tier::Store,
                symptom: Symptom::Increase {
                    metric: metric::REDIS_OUT_OF_MEMORY,
                },
                words: redis_refused_words,
                remedy: "raise `maxmemory`",
                explains: &[&[S5]],
            },
        ],
    )
    .with_setting(LimitSetting::Component("maxmemory", Takes::Memory)),
    Rule::new(
        K4,
        "Redis maxclients",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::REDIS_REJECTED,
            },
            words: redis_rejected_words,
            remedy: "raise `maxclients`",
            explains: &[],
        }],
    )
    .with_setting(LimitSetting::Component("maxclients", Takes::Nothing)),
    Rule::new(
        K5,
        "fork/AOF stall",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::REDIS_FSYNC_DELAYED,
            },
            words: redis_fsync_words,
            remedy: "let a replica write the append-only file, set `appendfsync no`, or give \
                 it a faster disk",
            explains: &[],
        }],
    )
    .tried_on_series(),
];

/// K1: Redis executes commands on one thread, which is busy.
fn redis_thread(view: &View<'_>) -> Vec<Sign> {
    let threads = view.series_of(metric::REDIS_MAIN_THREAD);
    threads
        .filter_map(|series| {
            let share = view.share_of_seconds(|row| Some(row.get(series)? >= THREAD_BUSY));
            sustained(subject_of(series), share)
        })
        .collect()
}

fn redis_thread_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let thread = case.series(metric::REDIS_MAIN_THREAD);
    let commands = case.series(metric::REDIS_COMMANDS);
    let mut sentence = format!(
        "the thread that executes Redis's commands used {:.0} % of a CPU",
        view.mean(&thread).unwrap_or(0.0) * 100.0
    );
    match view.mean(&commands) {
        Some(commands) => append_clause(
            &mut sentence,
            format_args!(" at {commands:.0} commands a second"),
        ),
        None => append_clause(
            &mut sentence,
            format_args!(", and it did not answer INFO in time"),
        ),
    }
    Words::new(format!("the one thread of Redis ({at})"), sentence)
        .with(bounded(
            case.line(&thread, "CPU time of its thread, per second"),
            Some(THREAD_BUSY),
        ))
        .with(case.line(&commands, "commands, per second"))
}

/// K2: Redis throws keys away because its memory is full.
fn redis_evicted_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let evictions = case.series(metric::REDIS_EVICTED);
    let memory = case.series(metric::REDIS_MEMORY);
    let setting = view.setting(at, "maxmemory", "");
    let most = setting.map(|(most, _)| most);
    let mut sentence = format!(
        "Redis evicted {:.0} keys a second",
        view.mean(&evictions).unwrap_or(0.0).max(1.0)
    );
    if let Some(most) = most {
        append_clause(
            &mut sentence,
            format_args!(
                " because its `maxmemory` of {} is full",
                format_mebibytes(most)
            ),
        );
    }
    let series = [metric::REDIS_HITS, metric::REDIS_MISSES].map(|metric| case.series(metric));
    let words = (format!("maxmemory of Redis ({at})"), sentence);
    evicted(case, words, &evictions, [&series[0], &series[1]])
        .with(bounded(case.line(&memory, "memory of Redis"), most))
        .advising(memory_remedy(case))
}

fn memory_remedy(case: &RuleMatch<'_>) -> String {
    match case
        .failing()
        .setting(place(case.label_set), "maxmemory", "")
    {
        Some((now, file)) => format!(
            "raise `maxmemory` (now {}){} or by `redis-cli CONFIG SET maxmemory {:.0}`, shorten the TTL of keys, or \
             store less in each",
            format_mebibytes(now),
            written(file),
            2.0 * now
        ),
        None => {
            "raise Redis's `maxmemory`, shorten the TTL of keys, or store less in each".to_owned()
        }
    }
}

/// K2 with eviction disabled: Redis refuses to write.
fn redis_refused_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let refused = case.series(metric::REDIS_OUT_OF_MEMORY);
    let memory = case.series(metric::REDIS_MEMORY);
    let policies = view.series_of(metric::SETTING);
    let mut own = policies.filter(|series| {
        label(series, "at") == Some(at) && label(series, "setting") == Some("maxmemory-policy")
    });
    let policy = own
        .find_map(|series| label(series, "of"))
        .unwrap_or("noeviction");
    let most = view.setting(at, "maxmemory", "").map(|(most, _)| most);
    Words::new(
        format!("maxmemory of Redis ({at})"),
        format!(
            "Redis refused {:.0} commands a second because its memory is full and its policy is `{policy}`",
            view.mean(&refused).unwrap_or(0.0).max(1.0)
        ),
    )
    .with(bounded(
        case.line(&refused, "commands refused, per second"),
        Some(0.0),
    ))
    .with(bounded(case.line(&memory, "memory of Redis"), most))
    .advising(format!(
        "{}; or let it evict keys: `maxmemory-policy allkeys-lru`",
        memory_remedy(case)
    ))
}

/// K4: Redis refuses connections.
fn redis_rejected_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let rejected = case.series(metric::REDIS_REJECTED);
    let clients = case.series(metric::REDIS_CLIENTS);
    let setting = view.setting(at, "maxclients", "");
    let most = setting.map(|(most, _)| most);
    let mut sentence = format!(
        "Redis refused {:.0} connections a second",
        view.mean(&rejected).unwrap_or(0.0).max(1.0)
    );
    if let Some(most) = most {
        append_clause(
            &mut sentence,
            format_args!(" because its limit of {most:.0} clients was reached"),
        );
    }
    let now = most
        .map(|most| format!(" (now {most:.0})"))
        .unwrap_or_default();
    let file = written(setting.and_then(|(_, file)| file));
    Words::new(format!("maxclients of Redis ({at})"), sentence)
        .with(bounded(
            case.line(&rejected, "connections refused, per second"),
            Some(0.0),
        ))
        .with(bounded(case.line(&clients, "clients connected"), most))
        .advising(format!(
            "keep connections in a pool in the application; or raise `maxclients`{now}{file}, with the limit of open files"
        ))
}

/// K5: writes wait for the disk.
fn redis_fsync_words(case: &RuleMatch<'_>) -> Words {
    let delayed = case.series(metric::REDIS_FSYNC_DELAYED);
    let at = place(case.label_set);
    let per_minute = case.failing().mean(&delayed).unwrap_or(0.0) * 60.0;
    Words::new(
        format!("append-only file of Redis ({at})"),
        format!(
            "{:.0} times a minute Redis waited for the disk to write its append-only file",
            per_minute.max(1.0)
        ),
    )
    .with(bounded(
        case.line(&delayed, "writes that waited for the disk, per second"),
        Some(0.0),
    ))
}

/// The one thread of Redis.
pub(crate) fn thread_gauges(readings: &SeriesTable) -> Vec<Gauge> {
    shares(
        readings,
        metric::REDIS_MAIN_THREAD,
        (&[K1], 0.95),
        "the one thread of Redis",
    )
}

/// Clients of Redis.
pub(crate) fn client_gauges(readings: &SeriesTable) -> Vec<Gauge> {
    slots(
        readings,
        metric::REDIS_CLIENTS,
        ("maxclients", &[K4]),
        "maxclients of Redis",
    )
}
