//! Connections and memory of memcached.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

use crate::diagnosis::component::place;
use crate::diagnosis::evictions::evicted;
use crate::diagnosis::gauges::{Gauge, slots};
use crate::diagnosis::measure::format_mebibytes;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{K6, S5};
use crate::diagnosis::stretch::bounded;
use crate::rules::in_front::ON_THE_MACHINE;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    K6,
    "memcached connections / memory",
    &[
        Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::MEMCACHED_REFUSED,
            },
            words: memcached_connections_words,
            remedy: "raise memcached's connections (-c)",
            explains: &[ON_THE_MACHINE, &[S5]],
        },
        Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::MEMCACHED_EVICTIONS,
            },
            words: memcached_evictions_words,
            remedy: "give memcached more memory (-m)",
            explains: &[ON_THE_MACHINE, &[S5]],
        },
    ],
)];

/// K6: memcached refuses connections because its connections are used up.
fn memcached_connections_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let refused = case.series(metric::MEMCACHED_REFUSED);
    let most = view
        .setting(at, "max_connections", "")
        .map(|(most, _)| most);
    let now = most
        .map(|most| format!(" (now {most:.0})"))
        .unwrap_or_default();
    let per_minute = view.mean(&refused).unwrap_or(0.0) * 60.0;
    Words::new(
        format!("connections of memcached ({at})"),
        format!(
            "memcached refused {:.0} connections a minute because its limit{now} was reached",
            per_minute.max(1.0)
        ),
    )
    .with(bounded(
        case.line(&refused, "connections refused, per second"),
        Some(0.0),
    ))
    .with(bounded(
        case.line(&case.series(metric::MEMCACHED_CONNECTIONS), "connections open"),
        most,
    ))
    .advising(format!(
        "keep connections to memcached in a pool, or raise its limit of connections: option -c{now}, on Debian in \
         /etc/memcached.conf"
    ))
}

/// K6: memcached throws items away because its memory is full.
fn memcached_evictions_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let evictions = case.series(metric::MEMCACHED_EVICTIONS);
    let most = view.setting(at, "limit_maxbytes", "").map(|(most, _)| most);
    let now = most
        .map(|most| format!(" (now {})", format_mebibytes(most)))
        .unwrap_or_default();
    let series =
        [metric::MEMCACHED_HITS, metric::MEMCACHED_MISSES].map(|metric| case.series(metric));
    let words = (
        format!("memory of memcached ({at})"),
        format!(
            "memcached evicted {:.0} items a second because its memory{now} is full",
            view.mean(&evictions).unwrap_or(0.0).max(1.0)
        ),
    );
    evicted(case, words, &evictions, [&series[0], &series[1]])
        .with(bounded(
            case.line(&case.series(metric::MEMCACHED_MEMORY), "memory of its items"),
            most,
        ))
        .advising(format!(
            "give memcached more memory: option -m{now}, on Debian in /etc/memcached.conf; or store less, with shorter TTLs"
        ))
}

/// Connections of memcached.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    slots(
        readings,
        metric::MEMCACHED_CONNECTIONS,
        ("max_connections", &[K6]),
        "connections of memcached",
    )
}
