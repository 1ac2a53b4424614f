//! Memory and tables of TCP.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{N2, N4, N10, N11};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::network::per_second;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        N10,
        "TCP memory",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Network,
            symptom: Symptom::Signs(tcp_memory),
            words: tcp_memory_words,
            remedy: sysctl!(
                "raise `net.ipv4.tcp_mem` (three numbers, in pages of 4 KiB), or use fewer \
                     idle connections and smaller buffers (`net.ipv4.tcp_rmem`, `tcp_wmem`)"
            ),
            explains: &[&[N2, N4]],
        }],
    )
    .tried_on_series(),
    Rule::new(
        N11,
        "TIME_WAIT table",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Network,
            symptom: Symptom::Signs(time_wait),
            words: time_wait_words,
            remedy: sysctl!(
                "keep connections alive; or raise `net.ipv4.tcp_max_tw_buckets` (about 250 \
                     bytes for each)"
            ),
            explains: &[],
        }],
    )
    .tried_on_series()
    .with_role(Role::Addition),
];

/// N10.
fn tcp_memory(view: &View<'_>) -> Vec<Sign> {
    let counters = [metric::TCP_MEMORY_PRESSURES, metric::TCP_MEMORY_ABORTS];
    let values = counters.iter().filter_map(|metric| view.mean(metric));
    let sum: Option<f64> = values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value));
    sum.map(|sum| Sign::lone(sum, sum > 0.0))
        .into_iter()
        .collect()
}

fn tcp_memory_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let mebibytes = |metric: &str| view.max(metric).map(|bytes| bytes / 1_048_576.0);
    let mut sentence = "TCP ran out of memory".to_owned();
    if let Some(used) = mebibytes(metric::TCP_MEMORY) {
        append_clause(&mut sentence, format_args!(": {used:.0} MiB in buffers"));
    }
    if let Some(most) = mebibytes(metric::TCP_MEMORY_LIMIT) {
        append_clause(&mut sentence, format_args!(" of at most {most:.0}"));
    }
    let aborted = per_second(view, metric::TCP_MEMORY_ABORTS) * 60.0;
    if aborted > 0.0 {
        append_clause(
            &mut sentence,
            format_args!("; {aborted:.0} connections a minute were aborted for it"),
        );
    }
    Words::new("memory of TCP", sentence)
        .with(bounded(
            case.line(
                metric::TCP_MEMORY_PRESSURES,
                "times under memory pressure, per second",
            ),
            Some(0.0),
        ))
        .with(case.line(
            metric::TCP_MEMORY_ABORTS,
            "connections aborted for want of memory, per second",
        ))
        .with(bounded(
            case.line(metric::TCP_MEMORY, "memory of TCP buffers"),
            view.max(metric::TCP_MEMORY_LIMIT),
        ))
}

/// N11. A socket that skips `TIME_WAIT` refuses no connection: it is reported, never with certainty.
fn time_wait(view: &View<'_>) -> Vec<Sign> {
    let overflows = view.mean(metric::TIME_WAIT_OVERFLOWS).into_iter();
    overflows
        .map(|overflows| Sign::lone(overflows, overflows > 0.0))
        .collect()
}

fn time_wait_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let mut sentence = format!(
        "{:.0} sockets a second skipped TIME_WAIT because its table was full",
        per_second(view, metric::TIME_WAIT_OVERFLOWS).max(1.0)
    );
    let most = view.max(metric::TIME_WAIT_LIMIT);
    if let Some(most) = most {
        append_clause(&mut sentence, format_args!(" (limit {most:.0})"));
    }
    sentence.push_str("; no connection is refused for it, but connections are not reused");
    Words::new("table of sockets in TIME_WAIT", sentence)
        .with(bounded(
            case.line(
                metric::TIME_WAIT_OVERFLOWS,
                "sockets that skipped TIME_WAIT, per second",
            ),
            Some(0.0),
        ))
        .with(bounded(
            case.line(metric::TCP_TIME_WAIT, "sockets in TIME_WAIT"),
            most,
        ))
        .doubtful_if(true)
}
