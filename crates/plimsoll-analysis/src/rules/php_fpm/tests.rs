//! PHP-FPM, over synthetic series.

use plimsoll_model::finding::{Finding, Tier};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, at, found_in, only, setting};

fn with(metric: &str, labels: &[(&str, &str)]) -> String {
    let labels: Vec<_> = std::iter::once(("at", AT))
        .chain(labels.iter().copied())
        .collect();
    series(metric, &labels)
}

/// A PHP-FPM with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::PHP_FPM_SILENT), 0.0),
        (at(metric::PHP_FPM_QUEUE), 0.0),
        (at(metric::PHP_FPM_AT_LIMIT), 0.0),
        (with(metric::PHP_FPM_PROCESSES, &[("state", "idle")]), 1.0),
        (setting("pm.max_children", "/etc/php.conf:7"), 5.0),
        (at(metric::PHP_FPM_SLOW), 0.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_php_fpm_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn processes_that_are_all_busy() {
    let idle = (with(metric::PHP_FPM_PROCESSES, &[("state", "idle")]), 0.0);
    let queue = (at(metric::PHP_FPM_QUEUE), 9.0);
    let full = expect_only(
        &[idle, queue.clone()],
        RuleId::R3,
        [
            "pm.max_children of PHP-FPM",
            "all 5 processes of PHP-FPM were busy while up to 9",
            "(now 5) in /etc/php.conf:7",
        ],
    );
    assert_eq!(full.tier, Some(Tier::Runtime));
    expect_only(
        &[(at(metric::PHP_FPM_SILENT), 1.0)],
        RuleId::R3,
        ["pm.max_children", "none was free", "memory"],
    );
    assert_eq!(found_in(&healthy(), &[queue]), [], "a process is idle");
}

#[test]
fn scripts_that_are_slow() {
    let call = "PDOStatement->execute() /srv/www/db.php:12";
    let log = |metric, labels: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = [("at", "/var/log/fpm.slow"), ("class", "slow")]
            .into_iter()
            .chain(labels.iter().copied())
            .collect();
        series(metric, &all)
    };
    let slow = [
        (at(metric::PHP_FPM_SLOW), 2.0),
        (log(metric::LOG_FAILURES, &[]), 2.0),
        (log(metric::LOG_FAILURES_OF, &[("of", call)]), 1.5),
    ];
    let expected = "120 requests a minute took longer than the `request_slowlog_timeout` of PHP-FPM; 75 % of them \
        were in PDOStatement->execute() /srv/www/db.php:12";
    expect_only(&slow, RuleId::R4, [call, expected, "timeout"]);
}
