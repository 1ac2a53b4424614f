//! Payloads over made-up seconds, with noise.

use plimsoll_model::broadcast::BroadcastWindow;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::seed::Seed;
use plimsoll_model::websocket::WebSocketWindow;
use plimsoll_model::window::{StepWindow, Window};
use plimsoll_testkit::normal::standard_normal;

use super::*;

/// Answers of a second.
const ANSWERS: u64 = 40;

/// Seconds with these users and bytes for each answer, with noise of this share.
fn seconds(seed: u64, noise: f64, of: impl Fn(u32) -> (u64, f64), count: u32) -> Vec<Window> {
    let mut random = Seed(seed).generator();
    let windows = (0..count).map(|second| {
        let (users, bytes) = of(second);
        let mut window = Window::new(second);
        window.users = users;
        window.outcomes.add_many(Outcome::Ok, ANSWERS);
        let each = bytes * (1.0 + noise * standard_normal(&mut random));
        window.bytes_in = whole(each.max(0.0) * ANSWERS as f64);
        window
    });
    windows.collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes of a test"
)]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

fn growths_of(windows: &[Window]) -> Vec<Growth> {
    growths(&windows.iter().collect::<Vec<_>>(), &[])
}

#[track_caller]
fn only(windows: &[Window]) -> Growth {
    let mut found = growths_of(windows);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

/// Users of a search: the load rises and falls.
fn searching(second: u32) -> u64 {
    [10, 160, 20, 80, 10, 120, 40, 10][(second / 15) as usize % 8]
}

#[test]
fn answers_that_grow_with_users() {
    let of = |second| (searching(second), 1000.0 + 50.0 * searching(second) as f64);
    let growth = only(&seconds(1, 0.02, of, 240));
    assert_eq!(growth.with, GrowsWith::Users);
    assert!(growth.low <= 50.0 && 50.0 <= growth.high, "{growth:?}");
    assert!((growth.slope - 50.0).abs() < 2.0, "{growth:?}");
    let text = growth.sentence();
    for part in [
        "the answers grew by ",
        " with each user (95 % interval ",
        "kB at 10 to 9.",
        "kB at 160 users",
    ] {
        assert!(text.contains(part), "`{part}` is not in `{text}`");
    }
}

#[test]
fn answers_that_grow_with_time() {
    let of = |second| (searching(second), 2000.0 + 10.0 * f64::from(second));
    let growth = only(&seconds(2, 0.02, of, 240));
    assert_eq!(growth.with, GrowsWith::Time);
    assert!(growth.low <= 600.0 && 600.0 <= growth.high, "{growth:?}");
    // Of an open load there are no users.
    let of = |second| (0, 2000.0 + 10.0 * f64::from(second));
    assert_eq!(only(&seconds(3, 0.02, of, 120)).with, GrowsWith::Time);
    let text = growth.sentence();
    assert!(
        text.contains(" each minute (95 % interval ") && text.ends_with("at 4.0 minutes"),
        "{text}"
    );
}

#[test]
fn users_and_time_that_rise_together_are_not_told_apart() {
    let of = |second| (10 + u64::from(second), 1000.0 + 50.0 * f64::from(second));
    let growth = only(&seconds(4, 0.02, of, 120));
    assert_eq!(growth.with, GrowsWith::Either);
    assert!(growth.sentence().contains("it may be time"), "{growth:?}");
}

#[test]
fn steps_and_messages_have_their_own_sizes() {
    let mut windows = seconds(5, 0.0, |second| (searching(second), 1000.0), 240);
    for window in &mut windows {
        let mut step = StepWindow::default();
        step.outcomes.add_many(Outcome::Ok, 50);
        step.bytes_in = 50 * (1000 + 30 * window.users);
        window.steps.insert(2, step);
        window.websocket = Some(Box::new(WebSocketWindow {
            messages_in: 100,
            bytes_in: 100 * (200 + 20 * window.users),
            ..WebSocketWindow::default()
        }));
    }
    let found = growths_of(&windows);
    let payloads: Vec<Payload> = found.iter().map(|growth| growth.payload).collect();
    assert_eq!(
        payloads,
        [Payload::Step(2), Payload::Messages],
        "{found:#?}"
    );
    assert_eq!(found[0].name, "the answers of step 3");
    assert!(
        found[1].remedy().contains("send what changed"),
        "{found:#?}"
    );
}

#[test]
fn what_does_not_grow_is_silent() {
    // By chance: noise of half the size.
    let of = |second| (searching(second), 2000.0);
    let wrong = (0..200).filter(|&seed| !growths_of(&seconds(seed, 0.5, of, 240)).is_empty());
    let wrong = wrong.count();
    // Five percent, and three standard errors more.
    assert!(wrong <= 19, "{wrong} of 200");
    // A list that is filled, and then has its limit.
    let filled = |second: u32| (50, 1000.0 + 100.0 * f64::from(second.min(60)));
    assert_eq!(growths_of(&seconds(6, 0.02, filled, 240)), []);
    // A little.
    let little = |second: u32| (50, 10_000.0 + 5.0 * f64::from(second));
    assert_eq!(growths_of(&seconds(7, 0.0, little, 240)), []);
    let few_bytes = |second: u32| (50, 200.0 + 0.5 * f64::from(second));
    assert_eq!(growths_of(&seconds(8, 0.0, few_bytes, 240)), []);
    // Too few seconds, and answers that shrink.
    let grows = |second: u32| (50, 1000.0 + 100.0 * f64::from(second));
    assert_eq!(growths_of(&seconds(9, 0.02, grows, 30)), []);
    let shrinks = |second: u32| (50, 30_000.0 - 100.0 * f64::from(second));
    assert_eq!(growths_of(&seconds(10, 0.02, shrinks, 240)), []);
}

#[test]
fn answers_with_errors_tell_nothing() {
    let of = |second: u32| (50, 1000.0 + 100.0 * f64::from(second));
    let mut windows = seconds(11, 0.0, of, 240);
    for window in &mut windows {
        window.outcomes.add_many(Outcome::WrongStatus, 5);
    }
    assert_eq!(growths_of(&windows), []);
}

fn receiving(duplicates: u64, reconnected: u64) -> Window {
    let broadcast = BroadcastWindow {
        duplicates,
        ..BroadcastWindow::default()
    };
    let mut window = Window::new(0);
    window.websocket = Some(Box::new(WebSocketWindow {
        messages_in: 100,
        bytes_in: 20_000,
        reconnected,
        channels: [(0, broadcast)].into(),
        ..WebSocketWindow::default()
    }));
    window
}

#[test]
fn messages_received_again() {
    let found = |duplicates, reconnected| {
        let windows = [(); 5].map(|()| receiving(duplicates, reconnected));
        repetition(&windows.iter().collect::<Vec<_>>())
    };
    let text = found(50, 0).unwrap().sentence();
    let right = "50 % of the messages that subscribers received were messages that they had already received: 50 a second, \
        10.0 kB";
    assert_eq!(text, right);
    // Few; and after a reconnect the history is sent again, and rightly.
    assert_eq!(found(4, 0), None);
    assert_eq!(found(50, 1), None);
    assert_eq!(repetition(&[]), None);
}
