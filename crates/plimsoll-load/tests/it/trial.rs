//! Trials for the tests: a plan to modify, a load, and the invariants of all windows.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_load::{Job, RunningLoad, start};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::known_law::KnownLaw;
use plimsoll_testkit::plan::get_root;
use plimsoll_testkit::turns::{self, MachineTurn};

thread_local! {
    /// The turn of the test on this thread, from its first load to its end.
    static TURN: RefCell<Option<Arc<MachineTurn>>> = const { RefCell::new(None) };
}

/// The turn of every other test, from here to its end.
pub(crate) fn share() {
    TURN.set(Some(turns::held_or_shared()));
}

/// The turn of a test that measures: the loads of no other test run beside its own.
pub(crate) fn alone() -> Arc<MachineTurn> {
    // Of the test before, if there is only one thread.
    TURN.take();
    turns::alone()
}

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A GET of `/` from `address`, to be modified by a test.
pub(crate) fn plan(address: SocketAddr) -> Plan {
    Plan {
        load: even(1.0, ms(1)),
        ..get_root(address)
    }
}

pub(crate) fn even(rate: f64, lasting: Duration) -> Load {
    Load::Open {
        phases: vec![LoadPhase::constant(rate, lasting)],
        spacing: Spacing::Even,
    }
}

pub(crate) fn closed(connections: u32, think: Duration, lasting: Duration) -> Load {
    Load::Closed {
        connections,
        think,
        lasting,
    }
}

#[expect(clippy::disallowed_methods, reason = "a trial starts now")]
pub(crate) fn begin(plan: Plan, load: Load) -> RunningLoad {
    share();
    start(Job {
        seed: plan.seed,
        plan: Arc::new(plan),
        load,
        epoch: Instant::now(),
        start_second: 0,
        inputs: Arc::default(),
    })
    .unwrap()
}

/// All windows of a trial; asserts the invariants of every trial.
pub(crate) fn windows(running: &mut RunningLoad) -> Vec<Window> {
    check_windows(std::iter::from_fn(|| running.next_window()).collect())
}

/// The first windows of a trial: up to the one with which, all merged, this is true. A load that ends before has no more.
pub(crate) fn windows_until(
    running: &mut RunningLoad,
    is_enough: impl Fn(&Window) -> bool,
) -> Vec<Window> {
    let mut first: Vec<Window> = Vec::new();
    while first.is_empty() || !is_enough(&total(&first)) {
        let Some(window) = running.next_window() else {
            break;
        };
        first.push(window);
    }
    first
}

/// All windows of a load that is stopped once this is true of them: what is waited for may take as long as a busy machine
/// needs. The load itself lasts far longer.
pub(crate) fn stop_when(
    running: &mut RunningLoad,
    is_enough: impl Fn(&Window) -> bool,
) -> Vec<Window> {
    let mut all = windows_until(running, is_enough);
    running.stop();
    all.extend(std::iter::from_fn(|| running.next_window()));
    check_windows(all)
}

/// How long a load lasts at most that is stopped before.
pub(crate) const UNTIL_STOPPED: Duration = Duration::from_secs(30);

/// Asserts the invariants of every trial.
pub(crate) fn check_windows(windows: Vec<Window>) -> Vec<Window> {
    for (second, window) in (windows.first().map_or(0, |window| window.second)..).zip(&windows) {
        assert_eq!(window.second, second, "seconds are consecutive");
        let counted = window.response.count() + window.failed.count();
        assert_eq!(counted, window.completed(), "each request has one time");
        assert_eq!(window.response.count(), window.outcomes.get(Outcome::Ok));
        assert_eq!(window.service.count(), window.response.count());
        assert!(window.in_flight_mean >= 0.0, "{}", window.in_flight_mean);
    }
    let offered: u64 = windows.iter().map(|window| window.offered).sum();
    let ended: u64 = windows.iter().map(Window::completed).sum();
    assert_eq!(offered, ended, "every arrival ends in one outcome");
    if let Some(last) = windows.last() {
        assert_eq!(last.in_flight, 0, "nothing is left in flight");
    }
    windows
}

/// The merged windows of a trial.
pub(crate) fn total(windows: &[Window]) -> Window {
    let mut total = Window::new(0);
    for window in windows {
        let mut window = window.clone();
        window.second = 0;
        total.merge(&window);
    }
    total
}

pub(crate) fn run(plan: Plan, load: Load) -> Window {
    total(&windows(&mut begin(plan, load)))
}

/// Whether this machine was too busy for a trial, so that its times are inconclusive: the generator handled arrivals
/// late, or the origin read requests late or replied later than its law says. Reported with a message.
pub(crate) fn is_disturbed(total: &Window, origin: &KnownLaw) -> bool {
    let lag_us = total.lag.quantile(0.99).unwrap_or(0);
    let counts = origin.counts();
    let late_mean = counts.late_mean();
    let is_disturbed = lag_us > 10_000 || late_mean > ms(5) || counts.stood_still_max > ms(30);
    if is_disturbed {
        plimsoll_testkit::not_tried::disturbed(format_args!(
            "p99 of the lag {lag_us} µs, replies left {late_mean:?} late, the origin stood still for {:?}",
            counts.stood_still_max
        ));
    }
    is_disturbed
}

/// Whether the loop stood still for this long, so that a test of shorter times is inconclusive. Reported with a message.
pub(crate) fn stood_still(total: &Window, time: Duration) -> bool {
    let late_us = total.lag.max().unwrap_or(0);
    let stood_still = u128::from(late_us) >= time.as_micros();
    if stood_still {
        plimsoll_testkit::not_tried::disturbed(format_args!("the generator was {late_us} µs late"));
    }
    stood_still
}

/// Asserts that every request ended with this outcome that was taken up within its time-out: the others are dropped.
pub(crate) fn assert_all_within(window: &Window, timeout: Duration, outcome: Outcome) {
    let dropped = window.outcomes.get(Outcome::Dropped);
    assert_eq!(
        window.outcomes.get(outcome) + dropped,
        window.offered,
        "{:?}",
        window.outcomes
    );
    assert!(dropped == 0 || stood_still(window, timeout), "{window:?}");
}

/// Asserts that every request ended with this outcome.
pub(crate) fn assert_all(window: &Window, outcome: Outcome) {
    let count = window.outcomes.get(outcome);
    let all: Vec<_> = window.outcomes.iter().filter(|pair| pair.1 > 0).collect();
    assert!(
        count > 0 && count == window.offered,
        "{all:?} of {} offered",
        window.offered
    );
}
