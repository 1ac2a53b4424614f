//! WebSockets of users that were cut from this side, and how they came back.

use std::collections::BTreeMap;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::run::Run;
use plimsoll_model::websocket::{CutWindow, SocketCut, WebSocketWindow};

/// What became of WebSockets that were cut in one way, over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct CutSummary {
    /// By users who dropped, or many at a moment.
    pub cut: SocketCut,
    /// Number of those that were cut.
    pub count: u64,
    /// Those that were open again.
    pub back: u64,
    /// After how long half of all were open again, µs; `None` when fewer were. From the moment of a mass disconnect, from the
    /// return of users who had dropped.
    pub half_back_us: Option<u64>,
    /// The same for 99 % of all.
    pub p99_back_us: Option<u64>,
    /// Attempts to open one.
    pub attempts: u64,
    /// Most attempts in one second.
    pub attempts_per_second_max: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Those that stay closed: their attempts were used up.
    pub abandoned: u64,
}

impl CutSummary {
    /// Users who dropped first, then mass disconnects in order.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        let mut totals = BTreeMap::<SocketCut, (CutWindow, u64)>::new();
        for window in &run.windows {
            let Some(websocket) = window.websocket.as_deref() else {
                continue;
            };
            for (cut, counts) in of_window(websocket) {
                let (total, attempts_max) = totals.entry(cut).or_default();
                total.merge(counts);
                *attempts_max = counts.attempts.max(*attempts_max);
            }
        }
        let all = totals.into_iter().filter(|(_, (total, _))| total.cut > 0);
        all.map(|(cut, (total, attempts_max))| Self {
            cut,
            count: total.cut,
            back: total.back.count(),
            half_back_us: back_after(&total.back, total.cut, 0.5),
            p99_back_us: back_after(&total.back, total.cut, 0.99),
            attempts: total.attempts,
            attempts_per_second_max: attempts_max,
            failed: total.failed,
            abandoned: total.abandoned,
        })
        .collect()
    }
}

fn of_window(window: &WebSocketWindow) -> impl Iterator<Item = (SocketCut, &CutWindow)> {
    let dropped = window.dropped.iter();
    let dropped = dropped.map(|counts| (SocketCut::Dropped, &**counts));
    let disconnects = window.disconnects.iter();
    dropped.chain(disconnects.map(|(&at_ms, counts)| (SocketCut::Disconnected(at_ms), counts)))
}

/// After how long this share of all that were cut was back, µs; `None` when fewer were.
fn back_after(back: &Histogram, cut: u64, share: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count"
    )]
    let rank = (share * cut as f64).ceil().max(1.0) as u64;
    let mut so_far = 0;
    let mut buckets = back.buckets().iter();
    buckets.find_map(|&(top_us, count)| {
        so_far += count;
        (so_far >= rank).then_some(top_us)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::window::Window;

    use super::*;
    use crate::summary::tests::run;

    fn second(second: u32, counts: CutWindow) -> Window {
        let mut window = Window::new(second);
        let websocket = window.websocket.get_or_insert_default();
        websocket.disconnects.insert(2_000, counts);
        window
    }

    #[test]
    fn a_share_of_all_that_were_cut_is_back_not_of_those_that_came() {
        let mut run = run(Duration::from_secs(4));
        let mut first = CutWindow {
            cut: 100,
            attempts: 60,
            failed: 5,
            ..CutWindow::default()
        };
        first.back.record(500_000, 55);
        let mut next = CutWindow {
            attempts: 80,
            abandoned: 2,
            ..CutWindow::default()
        };
        next.back.record(1_500_000, 43);
        run.windows = vec![second(2, first), second(3, next)];
        let all = CutSummary::all(&run);
        assert_eq!(all.len(), 1);
        let storm = &all[0];
        assert_eq!(storm.cut, SocketCut::Disconnected(2_000));
        assert_eq!((storm.count, storm.back, storm.attempts), (100, 98, 140));
        assert_eq!(storm.attempts_per_second_max, 80);
        assert_eq!((storm.failed, storm.abandoned), (5, 2));
        let half_us = storm.half_back_us.unwrap();
        assert!((500_000..501_000).contains(&half_us), "{half_us}");
        assert_eq!(storm.p99_back_us, None, "98 of 100 came back");
        assert!(back_after(&Histogram::new(), 0, 0.5).is_none());
    }

    #[test]
    fn users_who_dropped_are_apart() {
        let mut run = run(Duration::from_secs(4));
        let mut window = Window::new(1);
        let websocket = window.websocket.get_or_insert_default();
        websocket.dropped.get_or_insert_default().cut = 3;
        run.windows = vec![window];
        let all = CutSummary::all(&run);
        assert_eq!((all[0].cut, all[0].count), (SocketCut::Dropped, 3));
    }
}
