//! The bandwidth of a link, or what somebody allows of it.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::NEARLY_FULL;
use crate::diagnosis::measure::{mebibytes, subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{N3, N4, N5, N9};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::disk::cap;
use crate::rules::host::network::per_second;

/// Queued bytes from which a link counts as slower than its sender, and the share of the seconds in which they must
/// wait.
const UNSENT_MIN: f64 = 262_144.0;
const UNSENT_SECONDS: f64 = 0.8;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    N9,
    "bandwidth or packet-rate cap",
    &[Check {
        strength: Strength::Utilisation,
        tier: Tier::Network,
        symptom: Symptom::Signs(bandwidth),
        words: bandwidth_words,
        remedy: "send less: compress answers (`gzip on` in nginx, `compression` in \
                 HAProxy), let caches and browsers keep them, make pictures smaller; or get a \
                 faster link, or a larger share of it (`tc qdisc show` shows the local shaping; \
                 providers list bandwidth limits by instance type)",
        explains: &[&[N3, N4, N5]],
    }],
)];

/// N9: a link at its capacity, or at a rate limit.
fn bandwidth(view: &View<'_>) -> Vec<Sign> {
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

fn bandwidth_words(case: &RuleMatch<'_>) -> Words {
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
