//! Rules about the load generator itself: when one of them holds, the measurement says little about the target.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::NEARLY_FULL;
use crate::diagnosis::measure::{of_generator, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{G1, G2, G3, N11};
use crate::diagnosis::stretch::{View, bounded};

/// Share of an event loop's core above which it has nothing to spare.
const LOOP_CPU_MAX: f64 = 0.85;
/// Share of the arrivals that must be sent in the second they are due.
const SENT_MIN: f64 = 0.99;
/// The failures behind G2 and G3 count per second; a level is a share. Failures weigh more.
const FAILURES: f64 = 1e3;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        G1,
        "load generator CPU",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Generator,
            symptom: Symptom::Signs(late),
            words: late_words,
            remedy: "give the generator more cores (--cores) or a machine of its own; \
                 measurements taken while it was late do not describe the target",
            explains: &[],
        }],
    )
    .of_the_load(),
    Rule::new(
        G2,
        "generator ephemeral ports",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Generator,
            symptom: Symptom::Signs(ports),
            words: ports_words,
            remedy: "keep connections alive, connect from more addresses (--source), or widen \
                 net.ipv4.ip_local_port_range; a port stays in TIME_WAIT for 60 s before reuse",
            explains: &[&[N11]],
        }],
    )
    .of_the_load(),
    Rule::new(
        G3,
        "generator fd limit",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Generator,
            symptom: Symptom::Signs(descriptors),
            words: descriptors_words,
            remedy: "raise the generator's limit of open files (ulimit -n) or lower \
                 --max-connections",
            explains: &[],
        }],
    )
    .of_the_load(),
];

/// Highest p99 of the lag that is valid, µs: max(1 ms, 0.05 τ).
fn lag_bound_us(view: &View<'_>) -> f64 {
    let tau = view.context.bound_us.unwrap_or(0) as f64;
    (0.05 * tau).max(1000.0)
}

fn loop_cpu(view: &View<'_>) -> Option<f64> {
    view.generator_per_second(|used| used.loop_cpu_us_max)
        .map(|us| us / 1e6)
}

fn sent_share(view: &View<'_>) -> Option<f64> {
    let offered = view
        .sum(|window| window.offered)
        .filter(|&offered| offered > 0)?;
    Some(view.sum(|window| window.sent)? as f64 / offered as f64)
}

/// G1: late beyond the bound, or sending too little with its CPU used up. A closed loop is never late.
fn late(view: &View<'_>) -> Vec<Sign> {
    if !view.context.open {
        return Vec::new();
    }
    let lag_us = view.lag_us(0.99).unwrap_or(0) as f64;
    let starved = sent_share(view).is_some_and(|share| share < SENT_MIN)
        && loop_cpu(view).is_some_and(|share| share > LOOP_CPU_MAX);
    vec![Sign {
        label_set: String::new(),
        magnitude: lag_us,
        present: lag_us > lag_bound_us(view) || starved,
    }]
}

fn late_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let lag_ms = view.lag_us(0.99).unwrap_or(0) as f64 / 1e3;
    let bound_ms = lag_bound_us(view) / 1e3;
    let cpu = loop_cpu(view).unwrap_or(0.0) * 100.0;
    let over = case.over;
    let lag = |view: &View<'_>| view.lag_us(0.99).map(|us| us as f64 / 1e6);
    let lag = over.evidence(("plimsoll.generator.lag", "generator's lag, p99", "s"), lag);
    let busy = over.evidence(
        (
            "plimsoll.generator.loop_cpu",
            "CPU of the busiest event loop",
            "1",
        ),
        loop_cpu,
    );
    let sent = over.evidence(
        (
            "plimsoll.generator.sent_share",
            "sent requests as a share of those due",
            "1",
        ),
        sent_share,
    );
    Words::new(
        "CPU of the load generator",
        format!(
            "the generator sent requests {lag_ms:.1} ms late (p99; valid: up to {bound_ms:.1} ms) with its busiest \
             event loop at {cpu:.0} % of a core"
        ),
    )
    .with(bounded(lag, Some(bound_ms / 1e3)))
    .with(bounded(busy, Some(LOOP_CPU_MAX)))
    .with(bounded(sent, Some(SENT_MIN)))
    .with(case.line(&of_generator(metric::PROCESS_CPU), "generator's share of all CPUs"))
}

/// G2: connections failed for want of a port, or nearly all ports towards the target are in use.
fn ports(view: &View<'_>) -> Vec<Sign> {
    let failures = view.generator_per_second(|used| used.ports_exhausted);
    let fullest = view
        .series_of(metric::PORTS_USED)
        .filter(|series| label(series, "process") == Some(metric::GENERATOR))
        .filter_map(|series| {
            let share = view.rows().filter_map(|row| {
                let limit = row.get(metric::PORTS_LIMIT).filter(|&limit| limit > 0.0)?;
                Some(row.get(series)? / limit)
            });
            Some((subject_of(series), share.reduce(f64::max)?))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let (label_set, share) = fullest.unwrap_or_default();
    let failures = failures.unwrap_or(0.0);
    vec![Sign {
        label_set: label_set.to_owned(),
        magnitude: failures * FAILURES + share,
        present: failures > 0.0 || share > NEARLY_FULL,
    }]
}

fn ports_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let failures = view.generator_per_second(|used| used.ports_exhausted);
    let used = case.series(metric::PORTS_USED);
    let limit = view.max(metric::PORTS_LIMIT);
    let target = &view.context.target;
    let mut sentence = format!(
        "the generator ran out of local ports towards {target}: {:.0} connections a second failed",
        failures.unwrap_or(0.0)
    );
    if let (Some(used), Some(limit)) = (view.max(&used), limit) {
        let waiting = view
            .max(&case.series(metric::PORTS_TIME_WAIT))
            .unwrap_or(0.0);
        append_clause(
            &mut sentence,
            format_args!(
                "; {used:.0} of {limit:.0} ports were in use, {waiting:.0} of them in TIME_WAIT"
            ),
        );
    }
    let failed = case.over.evidence(
        (
            "plimsoll.generator.ports_exhausted",
            "connections failed for want of a port, per second",
            "{connection}",
        ),
        |view| view.generator_per_second(|used| used.ports_exhausted),
    );
    Words::new(
        format!("local ports of the generator towards {target}"),
        sentence,
    )
    .with(bounded(failed, Some(0.0)))
    .with(bounded(
        case.line(&used, "ports in use towards the target"),
        limit.map(|limit| limit * NEARLY_FULL),
    ))
    .with(case.line(&case.series(metric::PORTS_TIME_WAIT), "ports in TIME_WAIT"))
    .with(case.line(metric::PORTS_LIMIT, "local port range"))
}

/// G3: connections failed for want of a descriptor.
fn descriptors(view: &View<'_>) -> Vec<Sign> {
    let failures = view.generator_per_second(|used| used.descriptors_exhausted);
    let failures = failures.unwrap_or(0.0);
    vec![Sign {
        label_set: String::new(),
        magnitude: failures,
        present: failures > 0.0,
    }]
}

fn descriptors_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let failures = view.generator_per_second(|used| used.descriptors_exhausted);
    let mut sentence = format!(
        "the generator ran out of file descriptors: {:.0} connections a second failed",
        failures.unwrap_or(0.0)
    );
    // Without descriptors the probe, too, may have read nothing more.
    let limit = of_generator(metric::PROCESS_FILES_LIMIT);
    let limit = view.max(&limit).or_else(|| case.over.base.max(&limit));
    if let Some(limit) = limit {
        append_clause(&mut sentence, format_args!("; its limit is {limit:.0}"));
    }
    let failed = case.over.evidence(
        (
            "plimsoll.generator.descriptors_exhausted",
            "connections failed for want of a descriptor, per second",
            "{connection}",
        ),
        |view| view.generator_per_second(|used| used.descriptors_exhausted),
    );
    Words::new("file descriptors of the generator", sentence)
        .with(bounded(failed, Some(0.0)))
        .with(bounded(
            case.line(
                &of_generator(metric::PROCESS_FILES),
                "descriptors of the generator",
            ),
            limit,
        ))
}
