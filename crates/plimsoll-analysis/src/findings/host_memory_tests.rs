//! Rules about memory, disks, file systems and numbers of processes over made-up series.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, SeriesTable};

use super::host_tests::{calm, disk, major_faults, mount, paging, stall};
use super::tests::{cgroup, check, of, rules_and_causes, rules_of};
use super::{Context, Stretches, find_in};
use crate::diagnosis::rule_id::RuleId;

#[test]
fn memory_that_is_short() {
    let stalled = calm().set(&stall("memory", "full"), [0.0, 0.01, 0.3]);
    let expected = "all tasks waited for it 30 % of the time";
    check(&stalled, RuleId::M1, Certainty::Suspected, 0.8, expected);
    let thrashing = calm().set(&major_faults(), [1.0, 3.0, 2000.0]);
    let expected = "2000 pages a second were read back from disk";
    check(&thrashing, RuleId::M1, Certainty::Suspected, 0.8, expected);
    let swapping = calm().set(&paging("in"), [0.0, 0.0, 400.0]);
    let expected = "400 pages a second were swapped in and 80 out";
    check(&swapping, RuleId::M3, Certainty::Suspected, 0.8, expected);
    // What is only swapped out was idle.
    assert_eq!(calm().set(&paging("out"), [0.0, 0.0, 9000.0]).find(), []);
    let high = calm().set(&cgroup(metric::CGROUP_MEMORY_HIGH), [0.0, 0.0, 12.0]);
    let expected = "12 times a second cgroup /shop was throttled";
    check(&high, RuleId::M5, Certainty::Explicit, 1.0, expected);
}

#[test]
fn disks_that_are_slow() {
    let busy = calm()
        .set(&disk(metric::DISK_UTILIZATION, ""), [0.1, 0.6, 0.99])
        .set(&disk(metric::DISK_AWAIT, ""), [0.001, 0.002, 0.02])
        .set(&stall("io", "some"), [0.0, 0.05, 0.6]);
    // Synthetic series are flat, as under a cap.
    let found = busy.find();
    assert_eq!(rules_of(&found), [RuleId::D2, RuleId::D1], "{found:#?}");
    assert_eq!(rules_and_causes(&found)[1].1, Some(RuleId::D2));
    assert!(
        found[0]
            .sentence
            .contains("disk vda stayed at 910 operations a second"),
        "{found:#?}"
    );
    assert!(
        found[1].sentence.contains("an operation took 20.0 ms"),
        "{found:#?}"
    );
    // Busy and as fast as before: no task waits.
    let quick = calm().set(&disk(metric::DISK_UTILIZATION, ""), [0.1, 0.6, 0.99]);
    assert_eq!(quick.find(), []);
    let waited = calm().set(&stall("io", "full"), [0.0, 0.01, 0.4]);
    check(
        &waited,
        RuleId::D1,
        Certainty::Suspected,
        0.8,
        "all tasks waited for disks 40 %",
    );
    let flushes = calm().set(&disk(metric::DISK_FLUSH_TIME, ""), [0.001, 0.004, 0.03]);
    let expected = "a flush of disk vda took 30 ms, at 90 flushes a second";
    check(&flushes, RuleId::D3, Certainty::Suspected, 0.8, expected);
}

#[test]
fn a_disk_that_is_busy_in_its_own_way_is_not_capped() {
    let (mut readings, values) = (
        SeriesTable::default(),
        [
            (metric::TARGET_IS_LOCAL.to_owned(), 1.0),
            (disk(metric::DISK_UTILIZATION, ""), 0.99),
            (stall("io", "some"), 0.6),
        ],
    );
    for second in 0..24 {
        let mut values: BTreeMap<String, f64> = values.iter().cloned().collect();
        let is_failing = second >= 12;
        let waits = if is_failing { 0.02 } else { 0.001 };
        values.insert(disk(metric::DISK_AWAIT, ""), waits);
        let swings = f64::from(second % 3) * 50.0;
        values.insert(disk(metric::DISK_OPERATIONS, "write"), 300.0 + swings);
        readings.push(&row(second, values));
    }
    let stretches = Stretches {
        base: vec![(0, 12)],
        passing: None,
        failing: Some((12, 24)),
    };
    let found = find_in(&readings, &[], &stretches, &context());
    assert_eq!(rules_of(&found), [RuleId::D1], "{found:#?}");
}

#[test]
fn file_systems_and_processes_without_room() {
    let full = calm().set(&mount(metric::FILESYSTEM_FREE), [0.3, 0.1, 0.001]);
    let expected = "the file system at /var was full (0.1 % of it free)";
    check(&full, RuleId::D4, Certainty::Explicit, 1.0, expected);
    let inodes = calm().set(&mount(metric::FILESYSTEM_INODES_FREE), [0.3, 0.1, 0.0]);
    check(
        &inodes,
        RuleId::D4,
        Certainty::Explicit,
        1.0,
        "0.0 % of its inodes free",
    );
    let threads = calm()
        .set(&cgroup(metric::CGROUP_PIDS), [10.0, 40.0, 64.0])
        .set(&cgroup(metric::CGROUP_PIDS_REFUSED), [0.0, 0.0, 0.5]);
    let expected = "cgroup /shop had 64 of at most 64 processes and threads; 30 times a minute it could not start another one";
    check(&threads, RuleId::F2, Certainty::Explicit, 1.0, expected);
    // At the limit, but no further one was needed.
    let exact = calm().set(&cgroup(metric::CGROUP_PIDS), [10.0, 40.0, 64.0]);
    assert_eq!(exact.find(), []);
}

fn row(second: u32, values: BTreeMap<String, f64>) -> Readings {
    Readings {
        second,
        values,
        new_series: BTreeMap::new(),
    }
}

fn context() -> Context {
    Context {
        target: "127.0.0.1:8080".to_owned(),
        bound_us: None,
        open: true,
        robbed: false,
    }
}

/// Anchors of 15 s every two minutes; memory as `at` says, bytes at a second.
fn anchors(at: impl Fn(f64) -> f64) -> Vec<Finding> {
    let mut readings = SeriesTable::default();
    let starts = [0, 120, 240, 360, 480];
    let spans: Vec<(u32, u32)> = starts.iter().map(|&start| (start, start + 15)).collect();
    for second in spans
        .iter()
        .flat_map(|&(from, to)| from..to)
        .chain(600..610)
    {
        // As much noise as a heap makes that is collected now and then.
        let noise = f64::from(second * 37 % 11) * 1e5;
        let values = [
            (metric::TARGET_IS_LOCAL.to_owned(), 1.0),
            (metric::MEMORY_LIMIT.to_owned(), 2e9),
            (
                of(metric::PROCESS_MEMORY, metric::TARGET),
                at(f64::from(second)) + noise,
            ),
        ];
        readings.push(&row(second, values.into_iter().collect()));
    }
    let stretches = Stretches {
        base: spans,
        passing: None,
        failing: Some((600, 610)),
    };
    find_in(&readings, &[], &stretches, &context())
}

#[test]
fn memory_that_leaks() {
    // 360 MB an hour.
    let found = anchors(|second| 1e8 + 1e5 * second);
    assert_eq!(rules_of(&found), [RuleId::M4], "{found:#?}");
    let expected = [
        "the target's memory grew by",
        "MiB an hour (95 % interval ",
        "it reaches its limit in 5.",
    ];
    for expected in expected {
        assert!(
            found[0].sentence.contains(expected),
            "{expected}: {}",
            found[0].sentence
        );
    }
}

#[test]
fn memory_that_stands_or_fills_a_cache_does_not_leak() {
    assert_eq!(anchors(|_| 1e8), []);
    assert_eq!(anchors(|second| 1e8 + 1e5 * second.min(200.0)), []);
    // Too slow to matter: a tenth of a percent an hour.
    assert_eq!(anchors(|second| 1e8 + 30.0 * second), []);
}
