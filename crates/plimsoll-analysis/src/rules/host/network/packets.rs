//! The machine cannot take packets fast enough.

use plimsoll_model::finding::{Finding, Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::SecondRange;
use crate::diagnosis::bounds::CPU_TO_SPARE;
use crate::diagnosis::measure::{subject_of, sustained};
use crate::diagnosis::mitigation::{LimitSetting, Mitigation};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{N4, N5, N7, N8};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::network::{OFTEN, per_second};

/// Share of packets that an interface may drop: some have no receiver here.
const DROPPED_MAX: f64 = 1e-4;
/// Share of one CPU in soft interrupts from which it has nothing to spare.
const SOFTIRQ_BUSY: f64 = 0.9;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        N7,
        "NIC ring or softirq backlog",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Network,
            symptom: Symptom::Signs(packets_dropped),
            words: packets_dropped_words,
            remedy: sysctl!(
                "raise `net.core.netdev_max_backlog` (1000 packets for each CPU by default), \
                     and spread packets over the CPUs (/sys/class/net/*/queues/rx-*/rps_cpus)"
            ),
            explains: &[&[N4, N5]],
        }],
    )
    .tried_on_series()
    .with_setting(LimitSetting::Found(raised_backlog)),
    Rule::new(
        N8,
        "interrupt imbalance",
        &[Check {
            strength: Strength::Utilisation,
            tier: Tier::Network,
            symptom: Symptom::Signs(interrupts),
            words: interrupts_words,
            remedy: "spread the interrupts of the network card over the CPUs: irqbalance, \
                 `ethtool -L` for more queues, /proc/irq/*/smp_affinity, or RPS \
                 (/sys/class/net/*/queues/rx-*/rps_cpus)",
            explains: &[&[N4, N7]],
        }],
    )
    .tried_on_series(),
];

/// N7: the kernel's backlog of packets, or an interface that drops what it receives.
fn packets_dropped(view: &View<'_>) -> Vec<Sign> {
    let backlog = view.mean(metric::SOFTNET_DROPPED);
    let mut signs: Vec<Sign> = backlog
        .map(|dropped| Sign::lone(dropped, dropped >= OFTEN))
        .into_iter()
        .collect();
    let interfaces = view
        .series_of(metric::NETWORK_DROPPED)
        .filter(|series| label(series, "network.io.direction") == Some("receive"));
    signs.extend(interfaces.filter_map(|series| {
        let label_set = subject_of(series);
        let dropped = view.mean(series)?;
        let packets = view.mean(&format!("{}{label_set}", metric::NETWORK_PACKETS))?;
        let is_much = dropped >= OFTEN && dropped > DROPPED_MAX * packets;
        Some(Sign::of(label_set, dropped, is_much))
    }));
    signs
}

fn packets_dropped_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let squeezed = case.line(
        metric::SOFTNET_SQUEEZED,
        "times packet processing was postponed (time_squeeze), per second",
    );
    let Some(interface) = label(case.label_set, "network.interface.name") else {
        return Words::new(
            "the kernel's backlog of received packets",
            format!(
                "the kernel dropped {:.0} packets a second because a CPU's backlog was full",
                per_second(view, metric::SOFTNET_DROPPED)
            ),
        )
        .with(bounded(
            case.line(metric::SOFTNET_DROPPED, "packets dropped, per second"),
            Some(0.0),
        ))
        .with(squeezed);
    };
    let dropped = case.series(metric::NETWORK_DROPPED);
    Words::new(
        format!("receive ring of {interface}"),
        format!(
            "{interface} dropped {:.0} of {:.0} packets received a second",
            per_second(view, &dropped),
            per_second(view, &case.series(metric::NETWORK_PACKETS))
        ),
    )
    .with(bounded(
        case.line(&dropped, "packets dropped, per second"),
        Some(0.0),
    ))
    .with(squeezed)
    .advising(format!(
        "give it a longer ring (`ethtool -G {interface} rx 4096`) and spread its packets over the CPUs (`ethtool -L`, or \
         /sys/class/net/{interface}/queues/rx-0/rps_cpus); `ethtool -S {interface}` shows which queue drops"
    ))
}

/// N8: one CPU does nothing but soft interrupts while others are idle.
fn interrupts(view: &View<'_>) -> Vec<Sign> {
    let cpus = view.series_of(metric::CPU_SOFTIRQ);
    cpus.filter_map(|series| {
        let share = view.share_of_seconds(|row| {
            let is_idle = row.get(metric::CPU_BUSY)? < CPU_TO_SPARE;
            Some(row.get(series)? > SOFTIRQ_BUSY && is_idle)
        });
        sustained(subject_of(series), share)
    })
    .collect()
}

fn interrupts_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let cpu = label(case.label_set, "cpu.logical_number").unwrap_or("?");
    let softirq = case.series(metric::CPU_SOFTIRQ);
    Words::new(
        format!("CPU {cpu}, which alone serves the network's interrupts"),
        format!(
            "CPU {cpu} spent {:.0} % of its time in soft interrupts while all CPUs together were {:.0} % busy",
            per_second(view, &softirq) * 100.0,
            per_second(view, metric::CPU_BUSY) * 100.0
        ),
    )
    .with(bounded(
        case.line(&softirq, "share of that CPU in soft interrupts"),
        Some(SOFTIRQ_BUSY),
    ))
    .with(bounded(
        case.line(metric::CPU_BUSY, "share of all CPUs that was busy"),
        Some(CPU_TO_SPARE),
    ))
}

/// The backlog of the kernel; the ring of a network card is none of its settings.
fn raised_backlog(_: &SeriesTable, finding: &Finding, _: SecondRange) -> Option<Mitigation> {
    let mut series = finding.evidence.iter().map(|line| line.series.as_str());
    let is_backlog = series.any(|series| series == metric::SOFTNET_DROPPED);
    is_backlog.then_some(Mitigation::Kernel {
        name: "net.core.netdev_max_backlog",
    })
}
