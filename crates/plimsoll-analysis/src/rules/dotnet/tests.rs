//! .NET, over synthetic series.

use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, found_over, only};

/// A .NET program with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::DOTNET_QUEUE), 0.0),
        (at(metric::DOTNET_THREADS), 12.0),
    ]
}

#[test]
fn a_dotnet_program_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
    // A queue before a pool that does not grow.
    let near = [(at(metric::DOTNET_QUEUE), 3.0)];
    assert_eq!(found_in(&healthy(), &near), []);
}

#[test]
fn a_pool_that_grows_and_lets_tasks_wait() {
    let starved = found_over(&healthy(), |nth| {
        vec![
            (at(metric::DOTNET_QUEUE), 120.0),
            (at(metric::DOTNET_THREADS), 12.0 + f64::from(nth)),
        ]
    });
    only(
        starved,
        RuleId::R6,
        [
            "threads of .NET's pool",
            "up to 120 tasks waited for a thread of .NET's pool, which grew from 12 to 21 threads",
            "dotnet-stack",
        ],
    );
}
