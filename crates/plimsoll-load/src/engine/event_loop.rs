//! The loop: takes arrivals when they are due, waits for events, and hands each to the stage of its connection.

use std::num::NonZeroU64;

use super::{Engine, WEBSOCKET_EVENTS_MAX};
use crate::clock;
use crate::connections::TransportStage;
use crate::due::NEVER;
use crate::poller::{self, Event, EventSource};
use crate::stop_signal::command;
use crate::virtual_users::LoopCarryOver;
use crate::websocket_session::REST_NS;

/// Events taken from the kernel in one batch; bounds the delay of arrivals by a batch.
const EVENTS_MAX: usize = 256;

impl Engine {
    /// Runs from before the start of the load to the end of the drain. Returns the users who may resume.
    pub(crate) fn run(mut self) -> LoopCarryOver {
        // The default timer slack of 50 µs would delay every send. Where it cannot be set, the recorded lag
        // shows it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        if let Some(virtual_users) = &mut self.virtual_users {
            virtual_users.set_unix_ns(self.clock.unix_ns());
        }
        let events_max = match self.websockets {
            None => EVENTS_MAX,
            Some(_) => WEBSOCKET_EVENTS_MAX,
        };
        let mut events = Vec::with_capacity(events_max);
        if !self.wait_for_start(&mut events) {
            return self.suspend_users(self.prepared.start_ns());
        }
        if self.virtual_users.is_some() {
            self.restore_users(self.prepared.start_ns());
            self.end_when_over(self.prepared.start_ns());
        }
        loop {
            let now = self.clock.now();
            if !self.scripts.is_empty() && now >= self.recorder.end_ns() {
                self.read_process_cpu();
            }
            self.close_seconds(now);
            self.take_changes();
            self.obey(now);
            if self.prepared.timing().linger_ns() > 0 {
                // Before the finished second is handed over: some of the arrivals belong to it.
                self.handle_events(&mut events, 0);
            }
            let now = self.clock.now();
            let more = self.take_up(now);
            let more = self.drive_websockets(now) || more;
            self.expire(now);
            if self.http2.has_woken() {
                self.attend_woken();
            }
            if !self.scripts.is_empty() {
                self.expire_waits(now);
                self.flush_processes();
            }
            let now = self.clock.now();
            if self.is_finished(now) {
                break;
            }
            let wait_ns = if more {
                0
            } else {
                self.next_moment(now).saturating_sub(now)
            };
            if wait_ns > 0 && self.may_rest() {
                clock::sleep(wait_ns.min(REST_NS));
            } else if wait_ns > self.prepared.timing().linger_ns() {
                self.handle_events(&mut events, wait_ns);
            } else if wait_ns > 0 {
                // The next request is due so soon that responses can wait for it: a wake-up costs more than a request.
                clock::sleep(wait_ns);
            } else if self.prepared.timing().linger_ns() == 0 {
                self.handle_events(&mut events, 0);
            }
        }
        self.finish()
    }

    /// Closes every second that is over at `now`, with its received messages.
    #[inline]
    pub(super) fn close_seconds(&mut self, now: u64) {
        if now >= self.recorder.end_ns() {
            self.flush_websockets();
        }
        self.recorder.roll(now);
    }

    /// Waits for events, or for `wait_ns` to pass, and handles those that came.
    #[inline]
    fn handle_events(&mut self, events: &mut Vec<Event>, wait_ns: u64) {
        self.poller.wait(events, wait_ns);
        let count = events.len();
        for event in events.drain(..) {
            self.on_event(&event);
        }
        if self.websockets.is_some() {
            self.note_messages(count);
        }
    }

    /// Waits for the start; false when the loop is stopped before.
    fn wait_for_start(&mut self, events: &mut Vec<Event>) -> bool {
        loop {
            if self.signal.command() != command::RUN {
                return false;
            }
            let wait_ns = self.clock.until(self.prepared.start_ns());
            if wait_ns == 0 {
                return true;
            }
            self.poller.wait(events, wait_ns);
            events.clear();
        }
    }

    /// Takes up changes of the load, which hold a little later.
    #[inline]
    fn take_changes(&mut self) {
        while self.changes < self.prepared.changes().count() {
            if let Some(change) = self.prepared.changes().get(self.changes) {
                self.scheduler.change(change);
            }
            self.changes += 1;
        }
    }

    /// Stops arrivals on request.
    fn obey(&mut self, now: u64) {
        let mut command = self.signal.command();
        if self.virtual_users.is_some() && self.prepared.plan_error().is_some() {
            // Another loop has ended the run.
            command = command.max(command::STOP);
        }
        if command == self.command {
            return;
        }
        self.command = command;
        let end = now.min(self.scheduler.end_ns());
        self.scheduler.cut(end);
        let drain_end_ns = if command == command::ABORT {
            end
        } else {
            self.prepared.timing().drain_end(end)
        };
        self.drain_end_ns = self.drain_end_ns.min(drain_end_ns);
    }

    fn is_finished(&mut self, now: u64) -> bool {
        if now < self.scheduler.end_ns() {
            return false;
        }
        now >= self.drain_end_ns
            || (self.requests.is_empty()
                && self.scheduler.next_due() == NEVER
                && (self.websockets.is_none() || self.connections.are_idle()))
    }

    /// The next moment at which work is due without an event.
    fn next_moment(&mut self, now: u64) -> u64 {
        let due = self.scheduler.next_due().min(self.next_message());
        let release = self.prepared.timing().next_tick(due);
        let load_end_ns = self.scheduler.end_ns();
        let end = if now < load_end_ns {
            load_end_ns.min(self.scripts.next_wait())
        } else {
            self.drain_end_ns
        };
        release
            .min(self.next_expiry())
            .min(self.recorder.end_ns())
            .min(end)
    }

    fn on_event(&mut self, event: &Event) {
        let (id, generation) = match poller::source(event) {
            // The request is read at the top of the loop.
            EventSource::Waker => return self.signal.clear_waker(),
            EventSource::Pipe(number) => return self.on_pipe(number),
            EventSource::Connection(id, generation) => (id, generation),
        };
        // A connection closed earlier in this batch has no more events, even if its slot is taken again.
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        if connection.generation() != generation {
            return;
        }
        let flags = event.flags;
        match connection.stage() {
            TransportStage::Exchanging => self.on_ready(id, flags),
            TransportStage::Dialing => self.on_connect_event(id, flags),
            TransportStage::Negotiating | TransportStage::Http2 => {
                self.on_http2_event(id, flags);
            }
            TransportStage::WebSocket => self.on_websocket_event(id, flags),
        }
    }

    /// Fails what is unfinished, closes everything, and hands over the last second.
    fn finish(mut self) -> LoopCarryOver {
        let load_end_ns = self.scheduler.end_ns();
        self.give_up_everything();
        self.dismiss_processes();
        let carry_over = self.suspend_users(load_end_ns);
        self.recorder.finish(load_end_ns);
        carry_over
    }
}
