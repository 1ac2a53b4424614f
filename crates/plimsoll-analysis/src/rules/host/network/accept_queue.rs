//! The kernel's queues of new connections.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::mitigation::LimitSetting;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{N1, N2, N3, N4, N5};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::network::{OFTEN, per_second};

/// A queue at this share of its backlog in some second is the likely one to have overflowed.
const NEARLY_OVERFLOWING: f64 = 0.5;
/// Overflows per second that cannot all have happened between two readings of the queues.
const SUSTAINED_OVERFLOWS: f64 = 1.0;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        N1,
        "accept backlog of listener",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Network,
            symptom: Symptom::Increase {
                metric: metric::LISTEN_OVERFLOWS,
            },
            words: overflow_words,
            remedy: "raise the backlog that the application passes to listen() and \
                 net.core.somaxconn, which caps it; accept faster or run more workers; keep \
                 connections alive",
            // A listener with a short backlog has a short queue of half-open connections as well.
            explains: &[&[N2, N3, N4, N5]],
        }],
    ),
    Rule::new(
        N2,
        "SYN drop, not accept queue (memory, filters)",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Network,
            symptom: Symptom::Signs(syn_drops),
            words: syn_drops_words,
            remedy: sysctl!(
                "check the firewall's rules, and TCP's memory (`net.ipv4.tcp_mem`, in pages of \
                     4 KiB; more costs the machine that much memory)"
            ),
            explains: &[&[N4, N5]],
        }],
    )
    .tried_on_series(),
    Rule::new(
        N3,
        "SYN queue",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Network,
            symptom: Symptom::Signs(syn_queue),
            words: syn_queue_words,
            remedy: sysctl!(
                "raise `net.ipv4.tcp_max_syn_backlog` and the backlog of the listener, which \
                     both bound it (about 300 bytes per connection), and keep connections alive"
            ),
            explains: &[&[N2, N4, N5]],
        }],
    )
    .tried_on_series()
    .with_setting(LimitSetting::Kernel("net.ipv4.tcp_max_syn_backlog")),
];

/// N2: SYNs that listeners dropped, neither for a full accept queue (N1) nor for a full SYN queue (N3).
fn other_drops(view: &View<'_>) -> Option<f64> {
    let known = [metric::LISTEN_OVERFLOWS, metric::SYN_QUEUE_DROPS];
    let known: f64 = known.iter().map(|metric| per_second(view, metric)).sum();
    Some((view.mean(metric::LISTEN_DROPS)? - known).max(0.0))
}

fn syn_drops(view: &View<'_>) -> Vec<Sign> {
    let drops = other_drops(view).into_iter();
    drops
        .map(|drops| Sign::lone(drops, drops >= OFTEN))
        .collect()
}

fn syn_drops_words(case: &RuleMatch<'_>) -> Words {
    let drops = other_drops(case.failing()).unwrap_or(0.0);
    let evidence = case.over.evidence(
        (
            metric::LISTEN_DROPS,
            "SYNs dropped for neither queue, per second",
            "{connection}",
        ),
        other_drops,
    );
    Words::new(
        "new connections that the kernel drops",
        format!(
            "{drops:.0} times a second this machine dropped the first packet of a connection although the listener's \
             queue had room: TCP memory, or a packet filter"
        ),
    )
    .with(bounded(evidence, Some(0.0)))
    .with(case.line(metric::TCP_MEMORY, "memory of TCP buffers"))
}

/// N3. A SYN cookie refuses no connection, so there must be many.
fn syn_queue(view: &View<'_>) -> Vec<Sign> {
    let Some(dropped) = view.mean(metric::SYN_QUEUE_DROPS) else {
        return Vec::new();
    };
    let cookies = per_second(view, metric::SYN_COOKIES);
    vec![Sign::lone(
        dropped + cookies,
        dropped > 0.0 || cookies >= OFTEN,
    )]
}

fn syn_queue_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let dropped = per_second(view, metric::SYN_QUEUE_DROPS);
    let cookies = per_second(view, metric::SYN_COOKIES);
    Words::new(
        "queue of half-open connections (SYN queue)",
        format!(
            "more connections opened at once than a listener may hold half-open: {:.0} SYNs a minute were dropped, \
             {:.0} were answered with a cookie",
            dropped * 60.0,
            cookies * 60.0
        ),
    )
    .with(bounded(
        case.line(metric::SYN_QUEUE_DROPS, "SYNs dropped, per second"),
        Some(0.0),
    ))
    .with(case.line(metric::SYN_COOKIES, "SYNs answered with cookies, per second"))
    .with(case.line(
        metric::TCP_PASSIVE_OPENS,
        "connections opened to this machine, per second",
    ))
    // Cookies alone refuse no connection.
    .doubtful_if(dropped <= 0.0)
}

/// The listener whose queue came nearest its backlog: its labels, and how near.
fn fullest_listener<'a>(view: &View<'a>) -> Option<(&'a str, f64)> {
    view.series_of(metric::LISTEN_QUEUE)
        .filter_map(|queue| {
            let labels = &queue[metric::LISTEN_QUEUE.len()..];
            let backlog = format!("{}{labels}", metric::LISTEN_BACKLOG);
            let share = view.rows().filter_map(|row| {
                let backlog = row.get(&backlog)?;
                Some(row.get(queue)? / backlog.max(1.0))
            });
            Some((labels, share.reduce(f64::max)?))
        })
        // The target's own, where two are equally full.
        .max_by(|a, b| {
            let own = |labels| label(labels, "process") == Some(metric::TARGET);
            a.1.total_cmp(&b.1).then(own(a.0).cmp(&own(b.0)))
        })
}

/// N1. The kernel counts overflows of all listeners together; the queues, sampled once a second, identify the listener.
fn overflow_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let per_second = view.mean(metric::LISTEN_OVERFLOWS).unwrap_or(0.0);
    let times = if per_second >= 1.0 {
        format!("{per_second:.0} times a second")
    } else {
        format!("{:.0} times a minute", (per_second * 60.0).max(1.0))
    };
    let fullest = fullest_listener(view);
    let overflows = case.line(
        metric::LISTEN_OVERFLOWS,
        "connections dropped by full accept queues, per second",
    );
    let overflows = bounded(overflows, Some(0.0));
    let Some((labels, share)) = fullest else {
        return Words::new(
            "accept backlog of a listener",
            format!(
                "an accept queue on this machine overflowed {times}; its listener could not be determined"
            ),
        )
        .with(overflows);
    };
    let listener = label(labels, "listener").unwrap_or("a listener");
    let queue = format!("{}{labels}", metric::LISTEN_QUEUE);
    let backlog = format!("{}{labels}", metric::LISTEN_BACKLOG);
    let backlog_len = view.max(&backlog);
    Words::new(
        format!("accept backlog of {listener}"),
        format!(
            "the accept queue of {listener} overflowed {times}; its backlog is {:.0}",
            backlog_len.unwrap_or(0.0)
        ),
    )
    .with(overflows)
    .with(bounded(
        case.line(&queue, "connections waiting to be accepted"),
        backlog_len,
    ))
    .with(case.line(&backlog, "backlog of the listener"))
    .with(case.line(
        metric::LISTEN_DROPS,
        "connections dropped by listeners for any reason, per second",
    ))
    // A queue never sampled half full may not be the one that overflowed, unless it overflowed all the time.
    .doubtful_if(share < NEARLY_OVERFLOWING && per_second < SUSTAINED_OVERFLOWS)
}
