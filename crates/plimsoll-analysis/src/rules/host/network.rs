//! Rules about packets and connections in the kernel, on the target's machine and on the path to it.

pub(crate) mod accept_queue;

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::NEARLY_FULL;
use crate::diagnosis::measure::{before, subject_of, sustained};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::rules::host::disk::cap;
use crate::rules::host::memory::mebibytes;

/// What happens less than once a second is no limit.
const OFTEN: f64 = 1.0;
/// Share of segments that may be sent again.
const RESENT_MAX: f64 = 0.01;
/// How much more of them than before is more than chance.
const RESENT_GROWTH: f64 = 3.0;
/// Share of packets that an interface may drop: some have no receiver here.
const DROPPED_MAX: f64 = 1e-4;
/// Share of one CPU in soft interrupts from which it has nothing to spare.
const SOFTIRQ_BUSY: f64 = 0.9;
/// Mean busy share below which the machine has CPU to spare.
const CPU_TO_SPARE: f64 = 0.7;

/// Queued bytes from which a link counts as slower than its sender, and the share of the seconds in which they must
/// wait.
const UNSENT_MIN: f64 = 262_144.0;
const UNSENT_SECONDS: f64 = 0.8;

fn per_second(view: &View<'_>, metric: &str) -> f64 {
    view.mean(metric).unwrap_or(0.0)
}

/// N2: SYNs that listeners dropped, neither for a full accept queue (N1) nor for a full SYN queue (N3).
fn other_drops(view: &View<'_>) -> Option<f64> {
    let known = [metric::LISTEN_OVERFLOWS, metric::SYN_QUEUE_DROPS];
    let known: f64 = known.iter().map(|metric| per_second(view, metric)).sum();
    Some((view.mean(metric::LISTEN_DROPS)? - known).max(0.0))
}

pub(crate) fn syn_drops(view: &View<'_>) -> Vec<Sign> {
    let drops = other_drops(view).into_iter();
    drops
        .map(|drops| Sign::lone(drops, drops >= OFTEN))
        .collect()
}

pub(crate) fn syn_drops_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn syn_queue(view: &View<'_>) -> Vec<Sign> {
    let Some(dropped) = view.mean(metric::SYN_QUEUE_DROPS) else {
        return Vec::new();
    };
    let cookies = per_second(view, metric::SYN_COOKIES);
    vec![Sign::lone(
        dropped + cookies,
        dropped > 0.0 || cookies >= OFTEN,
    )]
}

pub(crate) fn syn_queue_words(case: &RuleMatch<'_>) -> Words {
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

/// Retransmitted segments of established connections: as a share, and per second. SYNs belong to N5.
fn resent(view: &View<'_>) -> Option<(f64, f64)> {
    let again = view.mean(metric::TCP_RETRANSMITS)?;
    let again = (again - per_second(view, metric::SYN_RETRANSMITS)).max(0.0);
    let sent = view.mean(metric::TCP_SEGMENTS_OUT)?;
    Some((again / sent.max(1.0), again))
}

/// N4.
pub(crate) fn loss(over: &Stretch3<'_>) -> Vec<Sign> {
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

pub(crate) fn loss_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn syn_lost(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn syn_lost_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let again = per_second(view, metric::SYN_RETRANSMITS);
    let opened = per_second(view, metric::TCP_ACTIVE_OPENS);
    let mut sentence = format!(
        "{again:.0} SYNs a second were retransmitted, for {opened:.0} connections opened from this machine: they are \
         lost on the way"
    );
    if !view.target_is_local() {
        sentence.push_str(
            ", or dropped by a full accept queue of the target, which this machine cannot observe",
        );
    }
    let limit = if view.target_is_local() {
        "new connections lost on the way".to_owned()
    } else {
        format!("new connections lost on the way to {}", view.context.target)
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

/// N6: the firewall's table of connections.
pub(crate) fn conntrack(view: &View<'_>) -> Vec<Sign> {
    let limit = view.max(metric::CONNTRACK_LIMIT).filter(|&most| most > 0.0);
    let share = view.max(metric::CONNTRACK_USED).zip(limit);
    let share = share.map(|(used, limit)| used / limit);
    share
        .map(|share| Sign::lone(share, share > NEARLY_FULL))
        .into_iter()
        .collect()
}

pub(crate) fn conntrack_words(case: &RuleMatch<'_>) -> Words {
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

/// N7: the kernel's backlog of packets, or an interface that drops what it receives.
pub(crate) fn packets_dropped(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn packets_dropped_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn interrupts(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn interrupts_words(case: &RuleMatch<'_>) -> Words {
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

/// N9: a link at its capacity, or at a rate limit.
pub(crate) fn bandwidth(view: &View<'_>) -> Vec<Sign> {
    let traffic: Vec<&str> = view.series_of(metric::NETWORK_IO).collect();
    let full = traffic.iter().filter_map(|series| {
        let speed = view.max(&speed_of(series)).filter(|&speed| speed > 0.0)?;
        let share = view.share_of_seconds(|row| Some(row.get(series)? > NEARLY_FULL * speed));
        sustained(subject_of(series), share)
    });
    let mut signs: Vec<Sign> = full.collect();
    signs.extend(held_back(view, &traffic));
    signs
}

/// The link that carries most, where it carries exactly as much each second while answers wait to be sent: shaped, or
/// capped by a provider.
fn held_back(view: &View<'_>, traffic: &[&str]) -> Option<Sign> {
    let sent = traffic
        .iter()
        .filter(|series| label(series, "network.io.direction") == Some("transmit"));
    let busiest = sent.max_by(|a, b| per_second(view, a).total_cmp(&per_second(view, b)))?;
    let waiting = view.share_of_seconds(|row| Some(row.get(metric::TCP_UNSENT)? > UNSENT_MIN))?;
    let present = waiting >= UNSENT_SECONDS && held_at(view, busiest).is_some();
    Some(Sign::of(subject_of(busiest), waiting, present))
}

/// Bytes per second at which a link is flat.
fn held_at(view: &View<'_>, traffic: &str) -> Option<f64> {
    let seconds = view.points(traffic).into_iter();
    cap(&seconds.map(|point| point.1).collect::<Vec<f64>>())
}

fn speed_of(series: &str) -> String {
    let name = "network.interface.name";
    let interface = label(series, name).unwrap_or_default();
    metric::series(metric::NETWORK_SPEED, &[(name, interface)])
}

pub(crate) fn bandwidth_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let interface = label(case.label_set, "network.interface.name").unwrap_or("?");
    let does = match label(case.label_set, "network.io.direction") {
        Some("receive") => "received",
        _ => "sent",
    };
    let io = case.series(metric::NETWORK_IO);
    let speed = view.max(&speed_of(&io)).filter(|&speed| speed > 0.0);
    let megabits = |bytes: f64| bytes * 8.0 / 1e6;
    let rate = megabits(per_second(view, &io));
    let sentence = match (speed, held_at(view, &io)) {
        (Some(speed), _) if per_second(view, &io) > NEARLY_FULL * speed => format!(
            "{interface} {does} {rate:.0} Mbit/s and can carry {:.0}",
            megabits(speed)
        ),
        _ => format!(
            "{interface} {does} a steady {rate:.0} Mbit/s, as under a rate limit, while {:.1} MiB of answers waited to \
             be sent",
            mebibytes(per_second(view, metric::TCP_UNSENT))
        ),
    };
    Words::new(format!("bandwidth of {interface}"), sentence)
        .with(bounded(
            case.line(&io, "bytes per second"),
            speed.map(|speed| speed * NEARLY_FULL),
        ))
        .with(bounded(
            case.line(
                metric::TCP_UNSENT,
                "bytes waiting to be sent or acknowledged",
            ),
            Some(UNSENT_MIN),
        ))
        .with(case.line(&case.series(metric::NETWORK_PACKETS), "packets per second"))
}

/// N10.
pub(crate) fn tcp_memory(view: &View<'_>) -> Vec<Sign> {
    let counters = [metric::TCP_MEMORY_PRESSURES, metric::TCP_MEMORY_ABORTS];
    let values = counters.iter().filter_map(|metric| view.mean(metric));
    let sum: Option<f64> = values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value));
    sum.map(|sum| Sign::lone(sum, sum > 0.0))
        .into_iter()
        .collect()
}

pub(crate) fn tcp_memory_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn time_wait(view: &View<'_>) -> Vec<Sign> {
    let overflows = view.mean(metric::TIME_WAIT_OVERFLOWS).into_iter();
    overflows
        .map(|overflows| Sign::lone(overflows, overflows > 0.0))
        .collect()
}

pub(crate) fn time_wait_words(case: &RuleMatch<'_>) -> Words {
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
