//! Counts outcomes per second, and hands over each finished second.
//!
//! At most two seconds are open: the current one, and the one before while its arrivals are still handled. Only a
//! generator that is more than a second late counts an arrival in a later second than its own.

mod cut_window;
mod duration_tally;
mod partial_reads;
mod step_window;
mod websocket_window;
mod window_builder;

use std::sync::mpsc::{Receiver, SyncSender};

use plimsoll_model::outcome::Outcome;

use self::window_builder::Gauges;
use crate::clock::{self, SECOND_NS};

pub(crate) use self::websocket_window::WebSocketWindowBuilder;
pub(crate) use self::window_builder::{RequestEnd, WindowBuilder};

/// The counts of one loop.
pub(crate) struct Recorder {
    current: Box<WindowBuilder>,
    previous: Option<Box<WindowBuilder>>,
    /// Start and end of the current second, ns of run time.
    start_ns: u64,
    end_ns: u64,
    highest_us: u64,
    /// Lag is recorded for open load only.
    open: bool,
    cpu_us: u64,
    /// As they are now; the CPU time is read at the end of a second.
    gauges: Gauges,
    seconds: SyncSender<Box<WindowBuilder>>,
    spare: Receiver<Box<WindowBuilder>>,
}

impl Recorder {
    pub(crate) fn new(
        start_second: u32,
        highest_us: u64,
        open: bool,
        seconds: SyncSender<Box<WindowBuilder>>,
        spare: Receiver<Box<WindowBuilder>>,
    ) -> Self {
        let mut current = WindowBuilder::new(highest_us);
        current.begin(start_second);
        let start_ns = u64::from(start_second) * SECOND_NS;
        Self {
            current,
            previous: None,
            start_ns,
            end_ns: start_ns + SECOND_NS,
            highest_us,
            open,
            // The loop's thread is still to be started.
            cpu_us: 0,
            gauges: Gauges::default(),
            seconds,
            spare,
        }
    }

    /// The second that is being counted.
    #[inline]
    pub(crate) fn current(&mut self) -> &mut WindowBuilder {
        &mut self.current
    }

    /// This many requests wait for a connection.
    #[inline]
    pub(crate) fn set_waiting(&mut self, requests: usize) {
        self.gauges.waiting = requests as u64;
    }

    /// A connection was established so long after it was dialed.
    pub(crate) fn connection_opened(&mut self, took_ns: u64) {
        self.gauges.connections += 1;
        self.current.count_connection(took_ns);
    }

    /// An established connection was closed.
    pub(crate) fn connection_closed(&mut self) {
        self.gauges.connections -= 1;
    }

    /// This many users of journeys are active.
    pub(crate) fn set_users(&mut self, users: usize) {
        self.gauges.users = users as u64;
    }

    /// End of the current second.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Until when arrivals are taken up that are due by `release`: those of the next second wait until this one is closed.
    #[inline]
    pub(crate) fn taken_up_to(&self, release: u64) -> u64 {
        release.min(self.end_ns - 1)
    }

    /// An arrival is handled.
    #[inline]
    pub(crate) fn offered(&mut self, due: u64, now: u64) {
        self.gauges.in_flight += 1;
        let start_ns = self.start_ns;
        let (second, start_ns) = match &mut self.previous {
            Some(previous) if due < start_ns => {
                previous.add_in_flight();
                // It was in flight to the end of that second, and is in flight from the start of this one.
                (previous, start_ns - SECOND_NS)
            }
            _ => (&mut self.current, start_ns),
        };
        second.count_offered(signed(due) - signed(start_ns));
        if self.open {
            second.record_lag(now.saturating_sub(due));
        }
    }

    /// A user's step that was due by the clock is handled at `now`.
    #[inline]
    pub(crate) fn late(&mut self, due: u64, now: u64) {
        let start_ns = self.start_ns;
        let second = match &mut self.previous {
            Some(previous) if due < start_ns => previous,
            _ => &mut self.current,
        };
        second.record_lag(now.saturating_sub(due));
    }

    /// A request ends.
    #[inline]
    pub(crate) fn ended(&mut self, ended: RequestEnd) {
        if ended.done >= self.end_ns {
            self.roll(ended.done);
        }
        self.gauges.in_flight -= 1;
        let start_ns = self.start_ns;
        let (second, start_ns) = match &mut self.previous {
            // It arrived before this second began, and was read later.
            Some(previous) if ended.done < start_ns => {
                previous.remove_in_flight();
                (previous, start_ns - SECOND_NS)
            }
            _ => (&mut self.current, start_ns),
        };
        second.count_ended(ended, signed(ended.done) - signed(start_ns));
    }

    /// Ends an arrival when it is handled: it was never sent.
    pub(crate) fn drop_at_once(&mut self, due: u64, now: u64) {
        self.ended(RequestEnd::new(Outcome::Dropped, due, now, now));
    }

    /// Counts the status, below 1000, of an answer that came at `done`.
    #[inline]
    pub(crate) fn answered(&mut self, status: u16, done: u64) {
        let second = match &mut self.previous {
            Some(previous) if done < self.start_ns => previous,
            _ => &mut self.current,
        };
        second.count_status(status);
    }

    /// Closes every second that is over at `now`.
    #[inline]
    pub(crate) fn roll(&mut self, now: u64) {
        while now >= self.end_ns {
            self.next_second();
        }
    }

    /// Hands over the previous second once no arrival before `next_due` is left.
    #[inline]
    pub(crate) fn settle(&mut self, next_due: u64) {
        if self.previous.is_some() && next_due >= self.start_ns {
            self.flush_previous();
        }
    }

    /// Hands over the rest. The last second only when something happened or was due in it.
    pub(crate) fn finish(mut self, load_end_ns: u64) {
        self.flush_previous();
        if !self.current.is_empty() || self.start_ns < load_end_ns {
            self.read_gauges();
            // The receiver may be gone.
            let _ = self.seconds.send(self.current);
        }
    }

    #[cold]
    fn next_second(&mut self) {
        self.flush_previous();
        self.read_gauges();
        let mut next = self
            .spare
            .try_recv()
            .unwrap_or_else(|_| WindowBuilder::new(self.highest_us));
        next.begin(self.current.second() + 1);
        // Requests in flight at the start stay so until they end: n · start, with moments counted from the start.
        self.start_ns = self.end_ns;
        self.end_ns += SECOND_NS;
        self.previous = Some(std::mem::replace(&mut self.current, next));
    }

    fn flush_previous(&mut self) {
        if let Some(previous) = self.previous.take() {
            // Blocks when no windows are taken for many seconds: the resulting lag voids the measurement,
            // which is better than memory without a limit.
            let _ = self.seconds.send(previous);
        }
    }

    fn read_gauges(&mut self) {
        let cpu_us = clock::thread_cpu_us();
        self.current.set_gauges(Gauges {
            cpu_us: cpu_us.saturating_sub(self.cpu_us),
            ..self.gauges
        });
        self.cpu_us = cpu_us;
    }
}

#[inline]
fn signed(moment_ns: u64) -> i64 {
    i64::try_from(moment_ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn the_time_integral_of_what_is_in_flight_is_exact() {
        let (seconds, receiver) = sync_channel(8);
        let (_spares, spare) = sync_channel(8);
        let mut recorder = Recorder::new(0, 1_000_000, true, seconds, spare);
        let half = SECOND_NS / 2;
        recorder.offered(half, half);
        recorder.roll(SECOND_NS);
        // Due in second 0, handled late: it counts where it was due.
        recorder.offered(SECOND_NS - half / 2, SECOND_NS + 1000);
        recorder.settle(2 * SECOND_NS);
        for done in [SECOND_NS + half, 2 * SECOND_NS + half] {
            let due = half;
            recorder.ended(RequestEnd::new(Outcome::Ok, due, due, done));
        }
        recorder.finish(3 * SECOND_NS);
        let windows: Vec<_> = receiver.iter().map(|mut second| second.close()).collect();
        let means: Vec<f64> = windows.iter().map(|window| window.in_flight_mean).collect();
        assert_eq!(means, [0.75, 1.5, 0.5]);
        assert_eq!(
            windows
                .iter()
                .map(|window| window.in_flight)
                .collect::<Vec<_>>(),
            [2, 1, 0]
        );
        assert_eq!(
            windows
                .iter()
                .map(|window| window.offered)
                .collect::<Vec<_>>(),
            [2, 0, 0]
        );
        assert_eq!(windows[0].lag.count(), 2);
    }
}
