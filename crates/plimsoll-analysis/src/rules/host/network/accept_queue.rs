//! Rules about the kernel's queues and ports before and behind the target.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::NEARLY_FULL;
use crate::diagnosis::rule::{RuleMatch, Words};
use crate::diagnosis::stretch::{View, bounded};

/// A queue at this share of its backlog in some second is the likely one to have overflowed.
const NEARLY_OVERFLOWING: f64 = 0.5;

/// Overflows per second that cannot all have happened between two readings of the queues.
const SUSTAINED_OVERFLOWS: f64 = 1.0;

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
pub(crate) fn overflow_words(case: &RuleMatch<'_>) -> Words {
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

/// N12.
pub(crate) fn upstream_ports_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let upstream = label(case.label_set, "destination").unwrap_or("an upstream");
    let used = case.series(metric::PORTS_USED);
    let waiting = case.series(metric::PORTS_TIME_WAIT);
    let limit = view.max(metric::PORTS_LIMIT);
    Words::new(
        format!("local ports towards {upstream}"),
        format!(
            "{:.0} of {:.0} local ports were in use towards {upstream}, {:.0} of them in TIME_WAIT: connections to it \
             run out of ports",
            view.max(&used).unwrap_or(0.0),
            limit.unwrap_or(0.0),
            view.max(&waiting).unwrap_or(0.0)
        ),
    )
    .with(bounded(
        case.line(&used, "ports in use towards the upstream"),
        limit.map(|limit| limit * NEARLY_FULL),
    ))
    .with(case.line(&waiting, "ports in TIME_WAIT"))
    .with(case.line(metric::PORTS_LIMIT, "local port range"))
    .with(case.line(metric::TCP_FAILED_OPENS, "connections that could not be opened, per second"))
}
