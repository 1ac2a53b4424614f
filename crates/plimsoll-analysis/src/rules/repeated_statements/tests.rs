//! Statements that each request repeats, over synthetic series.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::window::Window;

use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::{Context, Stretches};
use crate::findings::find_in;
use crate::rules::tests::{AT, rule_of};

const POINT: &str = "SELECT n FROM items WHERE id = ?";

fn of_statement(metric: &str, statement: &str) -> String {
    series(metric, &[("at", AT), ("statement", statement)])
}

/// Findings for a rate of requests in both stretches, and a number of executions of a statement.
fn repeated(requests: [u64; 2], calls: [f64; 2]) -> Vec<Finding> {
    let (mut table, mut windows) = (SeriesTable::default(), Vec::new());
    for (start, requests, calls) in [(100, requests[0], calls[0]), (200, requests[1], calls[1])] {
        for second in start..start + 5 {
            let values = BTreeMap::from([
                (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
                (of_statement(metric::STATEMENT_CALLS, POINT), calls),
                (
                    of_statement(metric::STATEMENT_TIME, POINT),
                    calls / 10_000.0,
                ),
                (
                    of_statement(metric::STATEMENT_CALLS, "COMMIT"),
                    calls / 10.0,
                ),
            ]);
            table.push(&Readings {
                second,
                values,
                new_series: BTreeMap::new(),
            });
            windows.push(Window {
                second,
                sent: requests,
                ..Window::default()
            });
        }
    }
    let stretches = Stretches {
        base: Vec::new(),
        passing: Some((100, 105)),
        failing: Some((200, 205)),
    };
    let context = Context {
        target: "10.0.0.7:80".to_owned(),
        bound_us: None,
        open: true,
        robbed: false,
    };
    find_in(&table, &windows, &stretches, &context)
}

#[test]
fn a_statement_that_each_request_repeats() {
    let found = repeated([5, 200], [300.0, 6000.0]);
    assert_eq!(found.len(), 1, "{found:#?}");
    let found = &found[0];
    assert_eq!(
        (rule_of(found), found.certainty),
        (RuleId::NPlus1, Certainty::Suspected)
    );
    let expected = "each request executed `SELECT n FROM items WHERE id = ?` 60 times, 6000 times a second in all, \
        0.10 ms each";
    assert!(found.sentence.contains(expected), "{found:#?}");
    assert!(found.remedy.contains("= ANY"), "{found:#?}");
    // Few in each request, or few in all.
    assert_eq!(repeated([100, 2000], [300.0, 6000.0]), []);
    assert_eq!(repeated([1, 10], [60.0, 600.0]), []);
}
