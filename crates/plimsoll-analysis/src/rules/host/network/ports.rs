//! Ephemeral ports towards an upstream.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::NEARLY_FULL;
use crate::diagnosis::mitigation::LimitSetting;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{N11, N12};
use crate::diagnosis::stretch::bounded;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    N12,
    "ephemeral ports to one upstream",
    &[Check {
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Fill {
            level: metric::PORTS_USED,
            limit: metric::PORTS_LIMIT,
            with: ("process", "other"),
            above: NEARLY_FULL,
        },
        words: upstream_ports_words,
        remedy: "keep connections to the upstream alive in a pool, give the upstream more \
                 addresses or ports, or widen net.ipv4.ip_local_port_range",
        explains: &[&[N11]],
    }],
)
.with_setting(LimitSetting::Kernel("net.ipv4.ip_local_port_range"))];

/// N12.
fn upstream_ports_words(case: &RuleMatch<'_>) -> Words {
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
