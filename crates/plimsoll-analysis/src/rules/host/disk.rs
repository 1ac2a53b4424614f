//! Rules about disks and file systems of the target's machine.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::gauges::{Gauge, shares};
use crate::diagnosis::measure::{SUSTAINED, before, mebibytes, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{D1, D2, D3, D4};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::rules::host::stall;
use crate::rules::in_front::ON_A_SLOW_MACHINE;
use crate::stats::order::quantile;

/// Share of the time with work from which a disk has none to spare.
const DISK_BUSY: f64 = 0.9;
const AWAIT_GROWTH: f64 = 2.0;
/// Share of the time for which something, and everything, that runs may wait for disks.
const DISK_SOME_MIN: f64 = 0.1;
const DISK_FULL_MAX: f64 = 0.1;
/// A rate that stays this close to its maximum is capped.
const CAP_SPREAD: f64 = 0.03;
/// Share of the seconds that must be so close, and how many there must be.
const CAP_SECONDS: f64 = 0.9;
const CAP_SECONDS_MIN: usize = 10;
/// A flush that takes longer is slow, s.
const FLUSH_SLOW_S: f64 = 0.010;
/// Share of a file system that must be free.
const FREE_MIN: f64 = 0.01;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        D1,
        "disk",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Machine,
            symptom: Symptom::Change(disk),
            words: disk_words,
            remedy: "reduce the load on it: cache hot data in memory, write less and in larger \
                 pieces, move logs elsewhere; `iotop -o` shows the processes that use it; or use a \
                 faster disk",
            explains: &[ON_A_SLOW_MACHINE],
        }],
    ),
    Rule::new(
        D2,
        "volume cap/credits",
        &[Check {
            strength: Strength::Utilisation,
            tier: Tier::Machine,
            symptom: Symptom::Change(capped),
            words: capped_words,
            remedy: "check the limits of the volume (operations and bytes a second, credits) \
                 or `io.max` of the cgroup, and raise them",
            explains: &[&[D1, D3]],
        }],
    )
    .tried_on_series(),
    Rule::new(
        D3,
        "synchronous log writes",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Machine,
            symptom: Symptom::Change(flushes),
            words: flushes_words,
            remedy: "commit several transactions at once (`commit_delay` in postgresql.conf, \
                 `innodb_flush_log_at_trx_commit=2`, `appendfsync everysec`: the last second may \
                 be lost), or put the log on a device of its own, or a faster one",
            explains: &[],
        }],
    )
    .tried_on_series(),
    Rule::new(
        D4,
        "full disk",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Machine,
            symptom: Symptom::Signs(file_system_full),
            words: file_system_full_words,
            remedy: "make room",
            explains: &[ON_A_SLOW_MACHINE],
        }],
    ),
];

/// D1: a disk is busy all the time and slower than before, and tasks wait for it; or all tasks wait for disks.
fn disk(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let some = view.mean(&stall("io", "some"));
    let full = view.mean(&stall("io", "full")).unwrap_or(0.0);
    let is_waited_for = some.is_none_or(|share| share > DISK_SOME_MIN);
    let disks = view.series_of(metric::DISK_UTILIZATION);
    let mut signs: Vec<Sign> = disks
        .filter_map(|series| {
            let busy = view.share_of_seconds(|row| Some(row.get(series)? > DISK_BUSY))?;
            let is_slower = is_slower(over, &waits_of(series)).unwrap_or(false);
            let present = busy >= SUSTAINED && is_waited_for && (is_slower || full > DISK_FULL_MAX);
            Some(Sign::of(subject_of(series), busy, present))
        })
        .collect();
    if !signs.iter().any(|sign| sign.present) && full > DISK_FULL_MAX {
        signs.push(Sign::lone(full, true));
    }
    signs
}

/// The mean time of an operation, of the disk of another series.
fn waits_of(series: &str) -> String {
    format!("{}{}", metric::DISK_AWAIT, subject_of(series))
}

fn is_slower(over: &Stretch3<'_>, waits: &str) -> Option<bool> {
    let now = over.failing.mean(waits)?;
    Some(now > AWAIT_GROWTH * before(over, |view| view.mean(waits))?)
}

fn of_disk(metric: &str, device: &str, direction: &str) -> String {
    metric::series(
        metric,
        &[("system.device", device), ("disk.io.direction", direction)],
    )
}

fn disk_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let waited = bounded(
        case.line(
            &stall("io", "full"),
            "share of the time that all tasks waited for disks",
        ),
        Some(DISK_FULL_MAX),
    );
    let Some(device) = label(case.label_set, "system.device") else {
        return Words::new(
            "disks",
            format!(
                "all tasks waited for disks {:.0} % of the time",
                view.mean(&stall("io", "full")).unwrap_or(0.0) * 100.0
            ),
        )
        .with(waited);
    };
    let busy = case.series(metric::DISK_UTILIZATION);
    let waits = case.series(metric::DISK_AWAIT);
    let written = of_disk(metric::DISK_IO, device, "write");
    let read = of_disk(metric::DISK_IO, device, "read");
    Words::new(
        format!("disk {device}"),
        format!(
            "disk {device} was busy {:.0} % of the time; an operation took {:.1} ms, with {:.1} MiB/s read and {:.1} \
             written",
            view.mean(&busy).unwrap_or(0.0) * 100.0,
            view.mean(&waits).unwrap_or(0.0) * 1e3,
            mebibytes(view.mean(&read).unwrap_or(0.0)),
            mebibytes(view.mean(&written).unwrap_or(0.0))
        ),
    )
    .with(bounded(
        case.line(&busy, "share of the time busy"),
        Some(DISK_BUSY),
    ))
    .with(case.line(&waits, "mean time of an operation"))
    .with(waited)
    .with(case.line(&read, "read, per second"))
    .with(case.line(&written, "written, per second"))
}

/// What a disk did each second: bytes, and operations.
fn rates_of_disk(view: &View<'_>, device: &str) -> [Vec<f64>; 2] {
    [metric::DISK_IO, metric::DISK_OPERATIONS].map(|metric| {
        let [read, write] = ["read", "write"].map(|way| of_disk(metric, device, way));
        let sums = view
            .rows()
            .filter_map(|row| Some(row.get(&read).unwrap_or(0.0) + row.get(&write)?));
        sums.collect()
    })
}

/// The rate at which a series is flat.
pub(crate) fn cap(rates: &[f64]) -> Option<f64> {
    let top = rates.iter().copied().reduce(f64::max)?;
    let close = rates
        .iter()
        .filter(|&&rate| rate >= (1.0 - CAP_SPREAD) * top);
    let is_flat = close.count() as f64 >= CAP_SECONDS * rates.len() as f64;
    (rates.len() >= CAP_SECONDS_MIN && top > 0.0 && is_flat).then_some(top)
}

/// D2: a busy disk that does exactly as much each second, and is slower than before: its provider's cap.
fn capped(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let disks = view.series_of(metric::DISK_UTILIZATION);
    disks
        .filter_map(|series| {
            let device = label(series, "system.device")?;
            let busy = view.share_of_seconds(|row| Some(row.get(series)? > DISK_BUSY))?;
            let rates = rates_of_disk(view, device);
            let capped = rates.iter().any(|rates| cap(rates).is_some());
            let is_slower = is_slower(over, &waits_of(series))?;
            let present = capped && is_slower && busy >= CAP_SECONDS;
            Some(Sign::of(subject_of(series), busy, present))
        })
        .collect()
}

fn capped_words(case: &RuleMatch<'_>) -> Words {
    let device = label(case.label_set, "system.device").unwrap_or("?");
    let [bytes, operations] = rates_of_disk(case.failing(), device);
    let rate = match (cap(&bytes), cap(&operations)) {
        (_, Some(operations)) => format!("{operations:.0} operations a second"),
        (bytes, None) => format!("{:.1} MiB/s", mebibytes(bytes.unwrap_or(0.0))),
    };
    Words::new(
        format!("the throughput limit of disk {device}"),
        format!("disk {device} stayed at {rate}, as under a throughput limit, while each operation took longer"),
    )
    .with(case.line(&case.series(metric::DISK_AWAIT), "mean time of an operation"))
    .with(case.line(&of_disk(metric::DISK_IO, device, "write"), "written, per second"))
    .with(case.line(&of_disk(metric::DISK_IO, device, "read"), "read, per second"))
}

/// D3: flushes take long, and longer than before. The kernel reports the mean of a second's flushes.
fn flushes(over: &Stretch3<'_>) -> Vec<Sign> {
    let disks = over.failing.series_of(metric::DISK_FLUSH_TIME);
    disks
        .filter_map(|series| {
            let now = slow_flush(&over.failing, series)?;
            let was = before(over, |view| slow_flush(view, series));
            let is_slower = was.is_none_or(|was| now > AWAIT_GROWTH * was);
            let present = now > FLUSH_SLOW_S && is_slower;
            Some(Sign::of(subject_of(series), now, present))
        })
        .collect()
}

/// The 95th percentile over the seconds that had one.
fn slow_flush(view: &View<'_>, series: &str) -> Option<f64> {
    let seconds: Vec<f64> = view
        .points(series)
        .into_iter()
        .map(|point| point.1)
        .collect();
    quantile(&seconds, 0.95)
}

fn flushes_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let device = label(case.label_set, "system.device").unwrap_or("?");
    let time = case.series(metric::DISK_FLUSH_TIME);
    let evidence = case
        .over
        .evidence((&time, "time of a flush, in slow seconds", "s"), |view| {
            slow_flush(view, &time)
        });
    let count = case.series(metric::DISK_FLUSHES);
    Words::new(
        format!("flushes of disk {device}"),
        format!(
            "a flush of disk {device} took {:.0} ms, at {:.0} flushes a second: the writer of a log waits for each",
            slow_flush(view, &time).unwrap_or(0.0) * 1e3,
            view.mean(&count).unwrap_or(0.0)
        ),
    )
    .with(bounded(evidence, Some(FLUSH_SLOW_S)))
    .with(case.line(&count, "flushes, per second"))
    // Where the machine cannot be compared with an earlier stretch it may always be so.
    .doubtful_if(before(case.over, |view| slow_flush(view, &time)).is_none())
}

/// D4: a file system without room, or without inodes.
fn file_system_full(view: &View<'_>) -> Vec<Sign> {
    let kinds = [metric::FILESYSTEM_FREE, metric::FILESYSTEM_INODES_FREE];
    let all = kinds.into_iter().flat_map(|metric| view.series_of(metric));
    all.filter_map(|series| {
        let free = view.min(series)?;
        Some(Sign::of(series, 1.0 - free, free < FREE_MIN))
    })
    .collect()
}

fn file_system_full_words(case: &RuleMatch<'_>) -> Words {
    let point = label(case.label_set, "system.filesystem.mountpoint").unwrap_or("?");
    let is_inodes = case.label_set.starts_with(metric::FILESYSTEM_INODES_FREE);
    let (what, of) = if is_inodes {
        ("inodes", "of its inodes")
    } else {
        ("room", "of it")
    };
    let free = case.failing().min(case.label_set).unwrap_or(0.0);
    let line = case.line(case.label_set, "share free");
    Words::new(
        format!("{what} on the file system at {point}"),
        format!(
            "the file system at {point} was full ({:.1} % {of} free): writes fail",
            free * 100.0
        ),
    )
    .with(bounded(line, Some(FREE_MIN)))
    .advising(if is_inodes {
        format!("remove small files below {point} that are no longer needed (sessions, caches): `df -i {point}` shows \
            how many inodes are left")
    } else {
        format!("make room below {point}: rotate logs (/etc/logrotate.d), remove old files, or enlarge it; `df -h {point}`")
    })
}

/// Disks.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    shares(readings, metric::DISK_UTILIZATION, (&[D1], 0.9), "disk")
}
