//! Limits of processes, on made-up series.

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::host::tests::calm;
use crate::rules::tests::{SyntheticRun, cgroup, check, of};

#[test]
fn f1_a_target_without_descriptors() {
    let named = [
        ("process", metric::TARGET),
        ("pid", "42"),
        ("comm", "nginx"),
    ];
    let run = SyntheticRun::healthy()
        .set(
            &of(metric::PROCESS_FILES, metric::TARGET),
            [90.0, 700.0, 1010.0],
        )
        .set(
            &series(metric::PROCESS_FILES, &named),
            [90.0, 700.0, 1010.0],
        );
    let expected = "process nginx (42) held 1010 of at most 1024 file descriptors";
    check(&run, RuleId::F1, Certainty::Explicit, 1.0, expected);
    let machine = SyntheticRun::healthy().set(metric::FILES_OPEN, [1e3, 1e5, 9.5e5]);
    check(
        &machine,
        RuleId::F1,
        Certainty::Explicit,
        1.0,
        "this machine held 950000",
    );
}

#[test]
fn no_further_process_may_start() {
    let threads = calm()
        .set(&cgroup(metric::CGROUP_PIDS), [10.0, 40.0, 64.0])
        .set(&cgroup(metric::CGROUP_PIDS_REFUSED), [0.0, 0.0, 0.5]);
    let expected = "cgroup /shop had 64 of at most 64 processes and threads; 30 times a minute it could not start another one";
    check(&threads, RuleId::F2, Certainty::Explicit, 1.0, expected);
    // At the limit, but no further one was needed.
    let exact = calm().set(&cgroup(metric::CGROUP_PIDS), [10.0, 40.0, 64.0]);
    assert_eq!(exact.find(), []);
}
