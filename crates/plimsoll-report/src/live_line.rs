//! The live line: the current state, in the width of the terminal.

use std::time::Duration;

use plimsoll_analysis::summary::answered;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::window::Window;

use crate::number::{self, count, micros, percent, seconds, short};
use crate::printable::printable;

/// The content of the live line.
#[derive(Clone, Copy, Debug)]
pub struct LiveState<'a> {
    /// The second of results that has just closed.
    pub window: &'a Window,
    /// The current action, such as `bracket: trial 3 at 400/s`.
    pub stage: &'a str,
    /// Load line so far (low, median, high), in `unit`.
    pub interval: Option<(f64, f64, f64)>,
    /// Unit of the loads.
    pub unit: LoadUnit,
    /// Estimate of the remaining time.
    pub remaining: Duration,
    /// Busy share of the machine's CPU, 0 to 1, if available.
    pub cpu: Option<f64>,
}

/// One line without a line break, at most `width` columns: less important parts are left out when it does not fit.
pub fn line(state: &LiveState<'_>, width: usize) -> String {
    let segments = segments(state);
    let mut by_importance: Vec<usize> = (0..segments.len()).collect();
    by_importance.sort_by_key(|&index| segments[index].0);
    let mut shown = vec![false; segments.len()];
    let mut used = 0;
    for index in by_importance {
        let gap = if used == 0 { 0 } else { SEPARATOR.len() };
        let columns = gap + segments[index].1.chars().count();
        if used + columns <= width {
            used += columns;
            shown[index] = true;
        }
    }
    let texts = segments.into_iter().zip(shown).filter(|pair| pair.1);
    let texts: Vec<String> = texts.map(|((_, text), _)| text).collect();
    texts.join(SEPARATOR)
}

const SEPARATOR: &str = "  ";

/// The parts in the order of the line, each with its importance: 0 is the most important.
fn segments(state: &LiveState<'_>) -> Vec<(u8, String)> {
    let window = state.window;
    let failed = window.outcomes.failed();
    let done = format!(
        "{}/s of {}/s",
        count(answered(window)),
        count(window.offered)
    );
    let mut segments = vec![(3, printable(state.stage)), (0, done)];
    if let Some(websocket) = &window.websocket {
        segments.push((2, format!("{} open", count(window.connections))));
        segments.push((2, format!("{} messages/s", count(websocket.messages_in))));
    }
    if window.users > 0 {
        segments.push((2, number::users(window.users)));
    }
    if window.users_lost > 0 {
        segments.push((2, format!("{} lost", count(window.users_lost))));
    }
    let at = |quantile| window.response.quantile(quantile);
    if let (Some(p50), Some(p95), Some(p99)) = (at(0.5), at(0.95), at(0.99)) {
        segments.push((8, format!("p50 {}", micros(p50))));
        segments.push((1, format!("p95 {}", micros(p95))));
        segments.push((6, format!("p99 {}", micros(p99))));
    }
    let failed_importance = if failed > 0 { 2 } else { 9 };
    segments.push((failed_importance, format!("{} failed", count(failed))));
    segments.push((10, format!("{} in flight", count(window.in_flight))));
    if let Some(cpu) = state.cpu {
        segments.push((7, format!("CPU {}", percent((cpu * 100.0).round() / 100.0))));
    }
    if let Some((low, _, high)) = state.interval {
        let unit = match state.unit {
            LoadUnit::RequestsPerSecond => "/s".to_owned(),
            unit => format!(" {}", unit.symbol()),
        };
        segments.push((5, format!("line {} to {}{unit}", short(low), short(high))));
    }
    segments.push((4, format!("{} left", seconds(state.remaining.as_secs()))));
    segments
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::outcome::Outcome;

    fn window() -> Window {
        let mut window = Window::new(7);
        window.offered = 1012;
        window.response.record(12_000, 990);
        window.response.record(250_000, 17);
        window.outcomes.add_many(Outcome::Ok, 1007);
        window.outcomes.add_many(Outcome::Timeout, 3);
        window.in_flight = 14;
        window
    }

    fn state(window: &Window) -> LiveState<'_> {
        LiveState {
            window,
            stage: "refine: trial 9 at 1,000/s",
            interval: Some((950.0, 1000.0, 1080.0)),
            unit: LoadUnit::RequestsPerSecond,
            remaining: Duration::from_secs(185),
            cpu: Some(0.834),
        }
    }

    #[test]
    fn shows_all_in_a_wide_terminal() {
        insta::assert_snapshot!(line(&state(&window()), 200), @"refine: trial 9 at 1,000/s  1,007/s of 1,012/s  p50 12 ms  p95 12 ms  p99 250 ms  3 failed  14 in flight  CPU 83 %  line 950 to 1,080/s  3 min 5 s left");
    }

    #[test]
    fn users_are_shown_when_there_are_any() {
        let users = Window {
            users: 12_000,
            users_lost: 3,
            ..window()
        };
        insta::assert_snapshot!(line(&state(&users), 110), @"refine: trial 9 at 1,000/s  1,007/s of 1,012/s  12,000 users  3 lost  p95 12 ms  3 failed  3 min 5 s left");
    }

    #[test]
    fn leaves_out_what_matters_less() {
        let window = window();
        for width in [80, 60, 40, 20] {
            let line = line(&state(&window), width);
            assert!(line.chars().count() <= width, "{width}: {line}");
            assert!(line.contains("1,007/s"), "{width}: {line}");
        }
        insta::assert_snapshot!(line(&state(&window), 80), @"refine: trial 9 at 1,000/s  1,007/s of 1,012/s  p95 12 ms  p99 250 ms  3 failed");
    }

    #[test]
    fn a_stage_cannot_move_the_cursor() {
        let window = window();
        let hostile = LiveState {
            stage: "\u{1b}[2J\r\nboo",
            ..state(&window)
        };
        assert!(!line(&hostile, 200).contains(['\u{1b}', '\r', '\n']));
    }
}
