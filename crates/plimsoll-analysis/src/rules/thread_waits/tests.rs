//! Waits of threads, over synthetic samples.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric::{self, series};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::window::Window;

use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::{Context, Stretches};
use crate::findings::find_in;
use crate::rules::tests::rule_of;

const SECONDS: u32 = 20;

fn waits(on: &str, threads: f64) -> (String, f64) {
    let labels = [("process", metric::TARGET), ("on", on)];
    (series(metric::THREAD_WAITS, &labels), threads)
}

/// What is found where so many requests a second ended and threads waited so, at low load and at the one that failed.
fn found(low: (u64, &[(String, f64)]), failing: (u64, &[(String, f64)])) -> Vec<Finding> {
    let (mut table, mut windows) = (SeriesTable::default(), Vec::new());
    for (start, (rate, values)) in [(100, low), (200, failing)] {
        for second in start..start + SECONDS {
            let mut values: std::collections::BTreeMap<String, f64> =
                values.iter().cloned().collect();
            values.insert(metric::CPU_BUSY.to_owned(), 0.1);
            table.push(&Readings {
                second,
                values,
                new_series: std::collections::BTreeMap::new(),
            });
            let mut window = Window::new(second);
            window.outcomes.add_many(Outcome::Ok, rate);
            windows.push(window);
        }
    }
    let stretches = Stretches {
        base: Vec::new(),
        passing: Some((100, 100 + SECONDS)),
        failing: Some((200, 200 + SECONDS)),
    };
    let context = Context {
        target: "127.0.0.1:80".to_owned(),
        bound_us: None,
        open: true,
        robbed: false,
    };
    find_in(&table, &windows, &stretches, &context)
}

/// 100 requests a second that wait 10 ms each become 150 that wait 80 ms.
#[test]
fn a_server_that_gets_slow_is_named() {
    let low = [waits("10.0.0.3:9200", 1.0), waits("accept", 19.0)];
    let failing = [
        waits("10.0.0.3:9200", 12.0),
        waits("running", 1.0),
        waits("accept", 7.0),
    ];
    let found = found((100, &low), (150, &failing));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(rule_of(&found[0]), RuleId::J9);
    assert_eq!(found[0].limit, "10.0.0.3:9200, which the target waits for");
    assert_eq!(
        found[0].sentence,
        "12.0 of the target's threads on average waited for 10.0.0.3:9200, about 80 ms per request and 10 ms at \
         low load; it is not watched"
    );
}

/// A series begins with the first sample of its wait; its absence at low load equals zeros.
#[test]
fn a_server_that_nobody_was_seen_to_wait_for_before_is_named() {
    let low = [waits("accept", 19.0)];
    let failing = [waits("10.0.0.3:9200", 12.0), waits("accept", 7.0)];
    let named = found((100, &low), (150, &failing));
    assert_eq!(named.len(), 1, "{named:#?}");
    assert_eq!(rule_of(&named[0]), RuleId::J9);
    let words = "about 80 ms per request and 0 ms at low load";
    assert!(named[0].sentence.contains(words), "{}", named[0].sentence);
    // Threads were not sampled then: nothing to compare with.
    let unsampled = found((100, &[]), (150, &failing));
    assert_eq!(unsampled, []);
}

#[test]
fn a_server_that_stays_as_it_was_is_not() {
    // As long per request as before: threads are missing.
    let low = [waits("10.0.0.3:9200", 1.0)];
    let steady = [waits("10.0.0.3:9200", 4.0)];
    assert_eq!(found((25, &low), (100, &steady)), []);
    // Too few samples at low load to decide.
    let few = [waits("10.0.0.3:9200", 0.0)];
    let slow = [waits("10.0.0.3:9200", 4.0)];
    assert_eq!(found((4, &few), (100, &slow)), []);
    // Watched: its own rules apply.
    let watched = (
        series(metric::PROBE_ANSWER_TIME, &[("at", "/run/.s.PGSQL.5432")]),
        0.001,
    );
    let low = [waits("127.0.0.1:5432", 1.0), watched.clone()];
    let failing = [waits("127.0.0.1:5432", 12.0), watched];
    assert_eq!(found((100, &low), (150, &failing)), []);
}
