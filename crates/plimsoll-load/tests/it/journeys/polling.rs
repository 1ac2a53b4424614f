//! Users who poll.

use plimsoll_model::journey::{PollStep, RequestStep, Step};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::site;

use super::scenario_builder::{ScenarioBuilder, ends, step, users};
use crate::trial::{UNTIL_STOPPED, ms, stop_when, total};

fn poll(request: RequestStep, interval_ms: Option<u64>, lasting_ms: Option<u64>) -> Step {
    Step::Poll(Box::new(PollStep {
        request,
        interval: interval_ms.map(ms),
        lasting: lasting_ms.map(ms),
        messages: Some("$.items[*]".to_owned()),
        channel: None,
        timestamp: None,
        sequence: Some("$.id".to_owned()),
    }))
}

#[test]
fn messages_of_every_answer_are_counted() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let items = written.get("/items");
    let after = written.get("/home");
    let steps = vec![
        poll(items, Some(20), Some(400)),
        super::scenario_builder::request_step(after),
    ];
    written.journey(Vec::new(), steps);
    let mut running = written.begin(site.address(), users(2.0, UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| total.iterations >= 2);
    let total = total(&windows);
    let (good, all) = ends(&total, 0);
    assert_eq!(good, all, "{total:?}");
    let websocket = total.websocket.as_deref().unwrap();
    assert_eq!(websocket.messages_in, 2 * good);
    assert_eq!(
        websocket.channel_names.values().collect::<Vec<_>>(),
        ["/items"]
    );
    let channel = websocket.channels.values().next().unwrap();
    // Each of the users gets the same two again and again, and a step after them begins anew.
    assert!(channel.duplicates > 0 && channel.duplicates < 2 * good);
    assert!(ends(&total, 1).1 >= 2, "{total:?}");
}

#[test]
fn a_request_that_fails_is_followed_by_the_next() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let failing = written.get("/status/500");
    written.journey(Vec::new(), vec![poll(failing, None, None)]);
    let mut running = written.begin(site.address(), users(1.0, UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| {
        step(total, 0).outcomes.get(Outcome::WrongStatus) >= 2
    });
    let total = total(&windows);
    assert_eq!((total.iterations, total.users_lost), (0, 0));
    // A long poll is counted under its step alone.
    assert_eq!((total.offered, total.completed()), (0, 0));
}
