//! Disks and file systems, on made-up series.

use std::collections::BTreeMap;

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

use crate::diagnosis::Stretches;
use crate::diagnosis::rule_id::RuleId;
use crate::findings::find_in;
use crate::rules::host::tests::{calm, context, disk, mount, row, stall};
use crate::rules::tests::{check, rules_and_causes, rules_of};

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
fn file_systems_without_room() {
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
}
