//! Workers of Python programs, over synthetic series.

use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, only, rule_of, setting};

/// A uWSGI with room, on another machine.
fn uwsgi() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::UWSGI_PLACES), 4.0),
        (at(metric::UWSGI_BUSY), 3.0),
        (at(metric::UWSGI_QUEUE), 0.0),
        (setting("processes", "/etc/uwsgi/shop.ini:3"), 2.0),
        (setting("threads", ""), 2.0),
    ]
}

/// A gunicorn with room, on another machine.
fn gunicorn() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::GUNICORN_PLACES), 2.0),
        (at(metric::GUNICORN_TAKEN), 2.0),
        (at(metric::GUNICORN_WAITING), 0.0),
        (setting("workers", ""), 2.0),
    ]
}

#[test]
fn workers_with_room_are_silent() {
    assert_eq!(found_in(&uwsgi(), &[]), []);
    assert_eq!(found_in(&uwsgi(), &[(at(metric::UWSGI_QUEUE), 3.0)]), []);
    assert_eq!(found_in(&gunicorn(), &[]), []);
}

#[test]
fn workers_of_uwsgi_that_are_all_busy() {
    only(
        found_in(
            &uwsgi(),
            &[
                (at(metric::UWSGI_BUSY), 4.0),
                (at(metric::UWSGI_QUEUE), 57.0),
            ],
        ),
        RuleId::R2,
        [
            "workers of uWSGI",
            "all 2 workers of uWSGI were busy, each with 2 threads, while up to 57 connections waited",
            "raise `processes` (now 2) in /etc/uwsgi/shop.ini:3",
        ],
    );
    // The queue of a Unix socket is unknown.
    only(
        found_in(&uwsgi(), &[(at(metric::UWSGI_BUSY), 4.0)]),
        RuleId::R2,
        [
            "uWSGI",
            "each with 2 threads",
            "a larger `listen` only lengthens the queue",
        ],
    );
}

#[test]
fn workers_of_gunicorn_that_are_all_busy() {
    only(
        found_in(&gunicorn(), &[(at(metric::GUNICORN_WAITING), 57.0)]),
        RuleId::R2,
        [
            "workers of gunicorn",
            "all 2 workers of gunicorn were busy while up to 57 connections waited",
            "raise `--workers` (now 2)",
        ],
    );
}

#[test]
fn workers_that_are_not_all_used_are_no_limit() {
    let taken = [
        (at(metric::GUNICORN_WAITING), 57.0),
        (at(metric::GUNICORN_TAKEN), 1.0),
    ];
    assert_eq!(found_in(&gunicorn(), &taken), []);
}

#[test]
fn the_call_stands_behind_the_worker() {
    let of = |metric, name, value| series(metric, &[("at", "py-spy dump -p 7"), (name, value)]);
    let healthy = vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::GUNICORN_WAITING), 0.0),
        (at(metric::GUNICORN_TAKEN), 1.0),
        (at(metric::GUNICORN_PLACES), 1.0),
    ];
    let failing = [
        (at(metric::GUNICORN_WAITING), 20.0),
        (of(metric::PYTHON_CALLS, "of", "rank (shop.py:41)"), 3.0),
        (of(metric::PYTHON_CALLS, "of", "show (shop.py:7)"), 1.0),
        (of(metric::PYTHON_THREADS, "state", "active"), 4.0),
        (of(metric::PYTHON_THREADS, "state", "lock"), 1.0),
    ];
    let found = found_in(&healthy, &failing);
    assert_eq!(rule_of(&found[0]), RuleId::R2, "{found:#?}");
    for expected in [
        "Python was in rank (shop.py:41) in 75 % of the samples",
        "on average 4.0 threads competed for the interpreter lock (GIL)",
    ] {
        assert!(found[0].sentence.contains(expected), "{found:#?}");
    }
}
