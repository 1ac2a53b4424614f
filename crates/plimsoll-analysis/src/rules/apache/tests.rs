//! Apache, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, at, found_in, only, setting};

fn workers(state: &str) -> String {
    series(metric::APACHE_WORKERS, &[("at", AT), ("state", state)])
}

/// An Apache with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (workers("busy"), 3.0),
        (workers("idle"), 1.0),
        (at(metric::APACHE_SILENT), 0.0),
        (setting("MaxRequestWorkers", "/etc/apache2.conf:9"), 4.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn an_apache_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn workers_that_are_all_busy() {
    let found = expect_only(
        &[(workers("idle"), 0.0)],
        RuleId::A0,
        [
            "MaxRequestWorkers of Apache",
            "all 4 workers of Apache were busy",
            "(now 4) in /etc/apache2.conf:9",
        ],
    );
    assert_eq!(found.certainty, Certainty::Explicit);
    expect_only(
        &[(at(metric::APACHE_SILENT), 1.0)],
        RuleId::A0,
        [
            "Apache",
            "in 100 % of the seconds none was free",
            "event MPM",
        ],
    );
}

#[test]
fn workers_that_are_not_all_used_are_no_limit() {
    // It may start more.
    assert_eq!(
        found_in(
            &healthy(),
            &[(workers("idle"), 0.0), (workers("busy"), 1.0)]
        ),
        []
    );
}
