//! Packets that are lost on their way.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::measure::before;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{N4, N5};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::rules::host::network::{OFTEN, per_second};

/// Share of segments that may be sent again.
const RESENT_MAX: f64 = 0.01;
/// How much more of them than before is more than chance.
const RESENT_GROWTH: f64 = 3.0;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        N4,
        "packet loss or congested path",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Network,
            symptom: Symptom::Change(loss),
            words: loss_words,
            remedy: "find the link that loses packets (`ethtool -S`, `tc -s qdisc`, `mtr`); \
                 let senders pace (`net.core.default_qdisc=fq`, \
                 `net.ipv4.tcp_congestion_control=bbr` in /etc/sysctl.d/), or take a faster one",
            explains: &[&[N5]],
        }],
    ),
    Rule::new(
        N5,
        "SYN lost on path (firewall, conntrack, LB)",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Network,
            symptom: Symptom::Signs(syn_lost),
            words: syn_lost_words,
            remedy: "check the devices in between: firewalls and their connection tables, load \
                 balancers, limits of a provider; keeping connections alive relieves all of them",
            explains: &[],
        }],
    )
    .shows_remotely(),
];

/// Retransmitted segments of established connections: as a share, and per second. SYNs belong to N5.
fn resent(view: &View<'_>) -> Option<(f64, f64)> {
    let again = view.mean(metric::TCP_RETRANSMITS)?;
    let again = (again - per_second(view, metric::SYN_RETRANSMITS)).max(0.0);
    let sent = view.mean(metric::TCP_SEGMENTS_OUT)?;
    Some((again / sent.max(1.0), again))
}

/// N4.
fn loss(over: &Stretch3<'_>) -> Vec<Sign> {
    let Some((share, again)) = resent(&over.failing) else {
        return Vec::new();
    };
    let was = before(over, |view| Some(resent(view)?.0)).unwrap_or(0.0);
    let is_new = share > RESENT_GROWTH * was;
    vec![Sign::lone(
        share,
        share > RESENT_MAX && is_new && again >= OFTEN,
    )]
}

fn loss_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (share, again) = resent(view).unwrap_or_default();
    let mut sentence = format!(
        "{:.1} % of the TCP segments were retransmitted ({again:.0} a second): the network loses packets",
        share * 100.0
    );
    let dropping = view.series_of(metric::NETWORK_DROPPED);
    let dropping = dropping.filter_map(|series| Some((series, view.mean(series)?)));
    let worst = dropping.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((series, dropped)) = worst.filter(|(_, dropped)| *dropped >= OFTEN) {
        let interface = label(series, "network.interface.name").unwrap_or("?");
        append_clause(
            &mut sentence,
            format_args!("; {interface} dropped {dropped:.0} a second"),
        );
    }
    let evidence = case.over.evidence(
        (
            metric::TCP_RETRANSMITS,
            "share of segments retransmitted",
            "1",
        ),
        |view| Some(resent(view)?.0),
    );
    Words::new("packets lost on the network", sentence)
        .with(bounded(evidence, Some(RESENT_MAX)))
        .with(case.line(
            metric::TCP_TIMEOUTS,
            "retransmission timers that expired, per second",
        ))
        .with(case.line(metric::TCP_SEGMENTS_OUT, "segments sent, per second"))
}

/// N5: SYNs are sent again although no listener here drops them.
fn syn_lost(view: &View<'_>) -> Vec<Sign> {
    let Some(again) = view.mean(metric::SYN_RETRANSMITS) else {
        return Vec::new();
    };
    let opened = per_second(view, metric::TCP_ACTIVE_OPENS).max(1.0);
    let dropped_here = per_second(view, metric::LISTEN_DROPS)
        + per_second(view, metric::LISTEN_OVERFLOWS)
        + per_second(view, metric::SYN_QUEUE_DROPS);
    let is_elsewhere = dropped_here < RESENT_MAX * again;
    vec![Sign::lone(
        again / opened,
        again >= OFTEN && again > RESENT_MAX * opened && is_elsewhere,
    )]
}

fn syn_lost_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let again = per_second(view, metric::SYN_RETRANSMITS);
    let opened = per_second(view, metric::TCP_ACTIVE_OPENS);
    let mut sentence = format!(
        "{again:.0} SYNs a second were retransmitted, for {opened:.0} connections opened from this machine: they are \
         lost on the way"
    );
    // A machine behind the target opens connections to others.
    let is_towards_target = !view.serves_requests();
    if is_towards_target && !view.target_is_watched() {
        sentence.push_str(
            ", or dropped by a full accept queue of the target, which this machine cannot observe",
        );
    }
    let limit = if is_towards_target {
        format!("new connections lost on the way to {}", view.context.target)
    } else {
        "new connections lost on the way".to_owned()
    };
    Words::new(limit, sentence)
        .with(bounded(
            case.line(metric::SYN_RETRANSMITS, "SYNs retransmitted, per second"),
            Some(0.0),
        ))
        .with(case.line(
            metric::TCP_ACTIVE_OPENS,
            "connections opened from this machine, per second",
        ))
        .with(case.line(
            metric::LISTEN_DROPS,
            "SYNs dropped by listeners on this machine, per second",
        ))
}
