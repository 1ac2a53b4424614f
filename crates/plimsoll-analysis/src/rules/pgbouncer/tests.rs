//! pgbouncer, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, found_in, only, setting};

fn pool(metric: &str, state: &str) -> String {
    let labels = [("at", AT), ("pool", "shop/app"), ("state", state)];
    series(metric, &labels[..if state.is_empty() { 2 } else { 3 }])
}

/// A pgbouncer with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    let size = [("at", AT), ("setting", "pool_size"), ("of", "shop")];
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (pool(metric::PGBOUNCER_CLIENTS, "active"), 2.0),
        (pool(metric::PGBOUNCER_CLIENTS, "waiting"), 0.0),
        (pool(metric::PGBOUNCER_SESSIONS, "active"), 2.0),
        (pool(metric::PGBOUNCER_SESSIONS, "idle"), 0.0),
        (pool(metric::PGBOUNCER_WAIT, ""), 0.0),
        (series(metric::SETTING, &size), 2.0),
        (setting("default_pool_size", "/etc/pgbouncer.ini:7"), 2.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_pgbouncer_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn sessions_that_are_all_busy() {
    let found = expect_only(
        &[
            (pool(metric::PGBOUNCER_CLIENTS, "waiting"), 38.0),
            (pool(metric::PGBOUNCER_WAIT, ""), 1.25),
        ],
        RuleId::P11,
        [
            "pool shop/app of pgbouncer",
            "all 2 sessions of pgbouncer's pool shop/app were busy while up to 38 clients waited for one, the longest \
             for 1250 ms",
            "(now 2) in /etc/pgbouncer.ini:7",
        ],
    );
    assert_eq!(
        (found.tier, found.certainty),
        (Some(Tier::Store), Certainty::Suspected)
    );
}

#[test]
fn a_session_that_is_idle_is_no_limit() {
    let idle = [
        (pool(metric::PGBOUNCER_CLIENTS, "waiting"), 3.0),
        (pool(metric::PGBOUNCER_SESSIONS, "idle"), 1.0),
    ];
    assert_eq!(found_in(&healthy(), &idle), []);
}
