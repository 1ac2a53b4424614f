//! The numbered messages of workers: the seconds of their loads, and their ends.

use plimsoll_model::window::Window;
use plimsoll_model::worker::HostUse;

use super::{Command, CoordinatorState, Stage};
use crate::merge::{AHEAD_MAX, MergeError};
use crate::message::Numbered;
use crate::window_range::is_in_range;

/// Seconds of results that may wait to be taken.
const COMPLETE_MAX: usize = 600;
/// Users of one worker at most, as of a load of one process.
const USERS_MAX: usize = 1 << 20;

impl CoordinatorState {
    /// The worker of a part has sent a numbered message.
    pub(super) fn numbered(&mut self, part: u32, (round, number): (u32, u64), content: Numbered) {
        let is_current = self.round.is_some_and(|current| current.number == round);
        let Some(slot) = self.slots[part as usize].as_mut() else {
            return;
        };
        // What was received already is sent again over another connection.
        if slot.stage != Stage::Running || number < slot.next {
            return;
        }
        if number > slot.next {
            self.lose(part, "a second of its results is missing");
            return;
        }
        if !is_current {
            self.lose(part, "it sent results of another load");
            return;
        }
        match content {
            Numbered::Second { window, host } => {
                if let Err(why) = self.second(part, *window, host) {
                    self.lose(part, why);
                }
            }
            Numbered::Ended { stayed, .. } if stayed.count() > USERS_MAX => {
                self.lose(part, "it sent more users than a load can have");
            }
            Numbered::Ended {
                used,
                plan_error,
                stayed,
            } => {
                slot.next += 1;
                slot.end(used, stayed);
                self.merge.end(part);
                if plan_error.is_some() {
                    // It ends the load everywhere; its text is in the windows.
                    self.stop();
                }
            }
        }
        self.collect();
    }

    /// Takes a second of results; the error is why it cannot be one.
    fn second(&mut self, part: u32, window: Window, host: HostUse) -> Result<(), &'static str> {
        if !is_in_range(&window) {
            return Err("it sent numbers that no second of its load can have");
        }
        let second = window.second;
        let Some(round) = self.round else {
            return Err("no load was started");
        };
        let start = round.start_second;
        if self.merge.check(part, second) == Err(MergeError::TooFarAhead)
            && let Some(slowest) = self.merge.slowest()
        {
            let why = format!("it sent no results while others sent {AHEAD_MAX} s");
            self.lose(slowest, &why);
        }
        if self.merge.check(part, second).is_err() || second < start {
            return Err("its seconds are not in order");
        }
        let (from, to) = round.judged;
        if let Some(slot) = self.slots[part as usize].as_mut() {
            slot.next += 1;
            slot.next_second = second.saturating_add(1);
            let is_judged = (from..to).contains(&(second - start));
            slot.record.add(&window, host, is_judged);
        }
        // Checked above.
        let _ = self.merge.push(part, window);
        Ok(())
    }

    /// Moves what is complete out of the merge.
    pub(super) fn collect(&mut self) {
        while let Some(window) = self.merge.next() {
            self.next_second = window.second.saturating_add(1);
            self.complete.push_back(window);
        }
        if self.complete.len() > COMPLETE_MAX && self.command < Command::Abort {
            self.load_errors
                .push("the coordinator did not take results for ten minutes".to_owned());
            self.abort();
        }
    }
}
