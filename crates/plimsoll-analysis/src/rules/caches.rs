//! Rules about caches as components: stored responses that expire all at once, and a low hit ratio.

#[cfg(test)]
mod tests;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::{labels, metric};

use crate::diagnosis::component::place;
use crate::diagnosis::measure::{before, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{P2, Q2, S4, S5, V1};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::stats::order::median;

/// A hit ratio that fell by more has fallen.
const HIT_RATIO_FALL: f64 = 0.05;
/// Lookups per second from which a ratio is significant.
const LOOKUPS_MIN: f64 = 10.0;
/// Evictions per second, and the share of misses, from which a cache is too small.
const THROWN_MIN: f64 = 1.0;
const MISSES_MIN: f64 = 0.1;
/// Multiple of the median, and the least number, of misses in a burst.
const BURST: f64 = 5.0;
const BURST_MIN: f64 = 20.0;
/// How often that must happen, and in which share of the seconds it is no burst any more.
const BURSTS_MIN: usize = 2;
const BURSTS_MAX: f64 = 0.3;
/// How much longer answers take in those seconds.
const SLOWER: f64 = 1.5;
/// A cache: its hits, and its misses.
const CACHES: [(&str, &str); 4] = [
    (metric::REDIS_HITS, metric::REDIS_MISSES),
    (metric::MEMCACHED_HITS, metric::MEMCACHED_MISSES),
    (metric::VARNISH_HITS, metric::VARNISH_MISSES),
    (metric::EDGE_CACHE_HITS, metric::EDGE_CACHE_MISSES),
];

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        S4,
        "cache stampede",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(stampede),
            words: stampede_words,
            remedy: "let one fetch serve all waiting requests (`proxy_cache_lock on` in nginx, \
                 collapsing in `plimsoll edge`), serve stale responses meanwhile \
                 (`proxy_cache_use_stale updating`), and let responses expire at different times",
            explains: &[&[P2, Q2]],
        }],
    ),
    Rule::new(
        S5,
        "cache too small / polluted / fragmented key",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Store,
            symptom: Symptom::Change(missing),
            words: missing_words,
            remedy: "give the cache more memory, remove from its keys what does not change the \
                 answer (tracking parameters, their order), and do not store responses requested \
                 only once",
            explains: &[&[V1]],
        }],
    ),
];

/// The metric of the hits of the cache whose misses these are.
fn hits_of(misses: &str) -> Option<&'static str> {
    let name = labels::metric(misses);
    let cache = CACHES.into_iter().find(|cache| cache.1 == name)?;
    Some(cache.0)
}

fn name_of(misses: &str) -> String {
    let kind = ComponentKind::of_metric(labels::metric(misses));
    let name = kind.map_or("the edge's cache", ComponentKind::name);
    match place(misses) {
        // Varnish is identified by a command, which is not its name.
        "?" => name.to_owned(),
        _ if kind == Some(ComponentKind::Varnish) => name.to_owned(),
        at => format!("{name} ({at})"),
    }
}

/// Series of the misses of all caches.
fn all_misses<'a>(view: &View<'a>) -> Vec<&'a str> {
    let all = CACHES.into_iter().flat_map(|cache| view.series_of(cache.1));
    all.collect()
}

/// Seconds in which misses came all at once, and the misses of the middle.
fn bursts(view: &View<'_>, misses: &str) -> Option<(Vec<f64>, f64)> {
    let points = view.points(misses);
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let middle = median(&values)?;
    let bound = BURST_MIN.max(BURST * middle);
    let seconds: Vec<f64> = points
        .iter()
        .filter(|point| point.1 >= bound)
        .map(|point| point.0)
        .collect();
    let are_few = seconds.len() as f64 <= BURSTS_MAX * points.len() as f64;
    (seconds.len() >= BURSTS_MIN && are_few).then_some((seconds, middle))
}

/// How much longer answers took in these seconds than in the others.
fn slower(view: &View<'_>, seconds: &[f64]) -> Option<f64> {
    let mean = |inside: bool| {
        let own = view.windows().iter().filter(|window| {
            let second = f64::from(window.second);
            seconds
                .iter()
                .any(|candidate| (candidate - second).abs() < 0.5)
                == inside
        });
        let times: Vec<f64> = own.filter_map(|window| window.response.mean()).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    };
    Some(mean(true)? / mean(false)?.max(1.0))
}

/// S4: stored responses expire all at once, and every request for them fetches.
fn stampede(view: &View<'_>) -> Vec<Sign> {
    let all = all_misses(view).into_iter();
    all.filter_map(|misses| {
        let (seconds, _) = bursts(view, misses)?;
        let slower = slower(view, &seconds)?;
        Some(Sign::of(misses, slower, slower >= SLOWER))
    })
    .collect()
}

fn stampede_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let misses = case.label_set;
    let (seconds, middle) = bursts(view, misses).unwrap_or_default();
    let slower = slower(view, &seconds).unwrap_or(1.0);
    let name = name_of(misses);
    Words::new(
        format!("responses in {name} that expire all at once"),
        format!(
            "in {} seconds up to {:.0} lookups a second missed in {name}, and {middle:.0} in the others; answers then \
             took {slower:.1} times as long: many requests fetch the same response",
            seconds.len(),
            view.max(misses).unwrap_or(0.0)
        ),
    )
    .with(case.line(misses, "cache misses, per second"))
}

/// Hit ratio.
fn ratio(view: &View<'_>, misses: &str) -> Option<f64> {
    let hits = hits_of(misses)?;
    let hits = view.mean(&format!("{hits}{}", subject_of(misses)))?;
    let misses = view.mean(misses)?;
    (hits + misses >= LOOKUPS_MIN).then(|| hits / (hits + misses))
}

/// Evictions of Varnish, per second. Evictions of Redis and memcached have their own rules.
fn evictions(view: &View<'_>, misses: &str) -> f64 {
    let series = format!("{}{}", metric::VARNISH_NUKED, subject_of(misses));
    let is_varnish = labels::metric(misses) == metric::VARNISH_MISSES;
    let thrown = is_varnish.then(|| view.mean(&series)).flatten();
    thrown.unwrap_or(0.0)
}

/// S5: the hit ratio is lower than at low load, or the cache is too small for the working set.
fn missing(over: &Stretch3<'_>) -> Vec<Sign> {
    let all = all_misses(&over.failing).into_iter();
    all.filter_map(|misses| {
        let now = ratio(&over.failing, misses)?;
        let was = before(over, |view| ratio(view, misses)).unwrap_or(now);
        let is_full = evictions(&over.failing, misses) >= THROWN_MIN && now < 1.0 - MISSES_MIN;
        let present = is_full || now < was - HIT_RATIO_FALL;
        Some(Sign::of(misses, (was - now).max(1.0 - now), present))
    })
    .collect()
}

fn missing_words(case: &RuleMatch<'_>) -> Words {
    let misses = case.label_set;
    let name = name_of(misses);
    let was = before(case.over, |view| ratio(view, misses));
    let evidence = case
        .over
        .evidence((misses, "hit ratio", "1"), |view| ratio(view, misses));
    let thrown = evictions(case.failing(), misses);
    let mut sentence = format!(
        "{:.0} % of the lookups in {name} were hits",
        evidence.failing.unwrap_or(0.0) * 100.0,
    );
    if let Some(was) = was.filter(|&was| evidence.failing.is_some_and(|now| now < was)) {
        append_clause(
            &mut sentence,
            format_args!(", and {:.0} % at a lower load", was * 100.0),
        );
    }
    if thrown >= THROWN_MIN {
        append_clause(
            &mut sentence,
            format_args!("; it evicted {thrown:.0} responses a second because its memory is full"),
        );
    }
    let bound = was.map(|was| was - HIT_RATIO_FALL);
    Words::new(format!("the content of {name}"), sentence)
        .with(bounded(evidence, bound))
        .with(case.line(misses, "cache misses, per second"))
        .with(case.line(
            &format!("{}{}", metric::VARNISH_NUKED, subject_of(misses)),
            "evictions from Varnish's cache, per second",
        ))
        .with(case.line(
            metric::EDGE_CACHE_EVICTIONS,
            "evictions from the edge's cache, per second",
        ))
}
