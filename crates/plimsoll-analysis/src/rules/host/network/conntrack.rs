//! The table of the firewall.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::bounds::NEARLY_FULL;
use crate::diagnosis::mitigation::LimitSetting;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{N2, N4, N5, N6};
use crate::diagnosis::stretch::{View, bounded};

pub(crate) const RULES: &[Rule] = &[Rule::new(
    N6,
    "conntrack table",
    &[Check {
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Signs(conntrack),
        words: conntrack_words,
        remedy: "raise `net.netfilter.nf_conntrack_max`",
        explains: &[&[N2, N4, N5]],
    }],
)
.tried_on_series()
.with_setting(LimitSetting::Kernel("net.netfilter.nf_conntrack_max"))];

/// N6: the firewall's table of connections.
fn conntrack(view: &View<'_>) -> Vec<Sign> {
    let limit = view.max(metric::CONNTRACK_LIMIT).filter(|&most| most > 0.0);
    let share = view.max(metric::CONNTRACK_USED).zip(limit);
    let share = share.map(|(used, limit)| used / limit);
    share
        .map(|share| Sign::lone(share, share > NEARLY_FULL))
        .into_iter()
        .collect()
}

fn conntrack_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let limit = view.max(metric::CONNTRACK_LIMIT).unwrap_or(0.0);
    let used = view.max(metric::CONNTRACK_USED).unwrap_or(0.0);
    Words::new(
        "table of tracked connections (conntrack)",
        format!(
            "the firewall tracked {used:.0} of at most {limit:.0} connections; when the table is full it drops new ones"
        ),
    )
    .with(bounded(
        case.line(metric::CONNTRACK_USED, "connections tracked"),
        Some(limit * NEARLY_FULL),
    ))
    .advising(format!(
        "raise `net.netfilter.nf_conntrack_max` (now {limit:.0}; about 320 bytes of the kernel's memory for each) \
         with `sysctl -w net.netfilter.nf_conntrack_max={:.0}` and in /etc/sysctl.d/, keep connections alive, or do \
         not track the service's port (`notrack`)",
        4.0 * limit
    ))
}
