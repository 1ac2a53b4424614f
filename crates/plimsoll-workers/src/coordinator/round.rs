//! The loads that workers carry one after the other, and what becomes of them when one of the workers is lost.
//!
//! A run has one load; a search has one for each trial. A load begins when the one before is over everywhere, so that the
//! results of two of them never meet. A worker that is lost voids the trial in which it is missed first.

use super::{Command, CoordinatorState, IfLost, Slot, Stage};
use crate::error::WorkersError;
use crate::load_order::LoadOrder;
use crate::merge::WindowMerge;
use crate::message::Start;

/// The load that goes on, or the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Its number, from 0.
    pub(super) number: u32,
    /// The second in which it begins.
    pub(super) start_second: u32,
    /// Its judged seconds, counted from its start, half-open.
    pub(super) judged: (u32, u32),
    /// Another one may follow.
    pub(super) is_trial: bool,
}

/// Workers were lost: what that means for further loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkersLost {
    /// Why there are none; `None` where the workers that are left carry them, as a whole.
    pub end: Option<String>,
    /// Workers that are left.
    pub left: u32,
    /// Workers that there were before.
    pub before: u32,
}

impl CoordinatorState {
    /// A load begins at `second` of run time, whose second 0 is at `epoch_ns`. Where a worker was lost since the last load,
    /// and nobody was informed of it, nobody begins: a load of those that are left is not the one that was asked for.
    ///
    /// # Errors
    /// When not all workers are ready, one of them has found a problem, or the load before is not over or was the last.
    pub(crate) fn start(
        &mut self,
        (epoch_ns, second): (i64, u32),
        order: &LoadOrder,
    ) -> Result<(), WorkersError> {
        let number = match self.round {
            Some(round) if !round.is_trial || !self.is_over() => return Err(WorkersError::Busy),
            Some(round) => round.number + 1,
            None => {
                if let Some(problem) = self.problem() {
                    return Err(problem);
                }
                if !self.is_ready() {
                    return Err(WorkersError::Left);
                }
                0
            }
        };
        let mut spans = self.spans()?.into_iter();
        self.round = Some(Round {
            number,
            start_second: second,
            judged: order.judged,
            is_trial: order.is_trial,
        });
        self.command = Command::Run;
        self.next_second = second;
        self.merge = WindowMerge::new(self.settings.workers);
        self.load_errors = std::mem::take(&mut self.lost_between);
        let workers = self.left();
        if number == 0 {
            self.known_left = workers;
        }
        if workers == 0 && self.load_errors.is_empty() {
            self.load_errors.push("no worker is left".to_owned());
        }
        let nobody_begins = !self.load_errors.is_empty();
        let mut index = 0;
        for (part, slot) in (0..).zip(&mut self.slots) {
            let Some(slot) = slot else {
                self.merge.end(part);
                continue;
            };
            slot.list(second);
            if nobody_begins || slot.stage == Stage::Lost {
                self.merge.end(part);
                continue;
            }
            slot.begin(Start {
                round: number,
                epoch_ns,
                second,
                index,
                workers,
                loops: spans.next(),
                order: order.clone(),
            });
            index += 1;
        }
        Ok(())
    }

    /// Whether the load that goes on is one of several.
    fn is_trial(&self) -> bool {
        self.round.is_some_and(|round| round.is_trial)
    }

    /// Whether signs of life of a worker are expected.
    pub(super) fn is_expected(&self, slot: &Slot) -> bool {
        let waits_for_another = self.is_trial() && !self.is_finished;
        match slot.stage {
            Stage::Taking | Stage::Ready | Stage::Running => true,
            Stage::Ended => waits_for_another,
            Stage::Lost => false,
        }
    }

    /// Workers that were not lost.
    fn left(&self) -> u32 {
        let left = self.live_slots().filter(|slot| slot.stage != Stage::Lost);
        u32::try_from(left.count()).unwrap_or(u32::MAX)
    }

    /// A worker carries its part no longer. Its whole seconds count.
    pub(super) fn lose(&mut self, part: u32, why: &str) {
        let is_trial = self.is_trial();
        let Some(slot) = self.slots[part as usize].as_mut() else {
            return;
        };
        let has_delivered = match slot.stage {
            Stage::Running => false,
            Stage::Ended if is_trial => true,
            _ => return,
        };
        slot.stage = Stage::Lost;
        let name = &slot.record.name;
        let text = if has_delivered {
            format!("worker {name} was lost between two trials: {why}")
        } else {
            slot.record.lost_at = Some(slot.next_second);
            format!(
                "worker {name} was lost at second {}: {why}",
                slot.next_second
            )
        };
        let id = slot.connection;
        if let Some(connection) = id.and_then(|id| self.connections.get_mut(&id)) {
            connection.refusal = Some(format!("its part is over: {why}"));
        }
        self.add_news(text.clone());
        self.latest_loss = Some(text.clone());
        if has_delivered {
            self.lost_between.push(text);
            return;
        }
        self.merge.end(part);
        let goes_on = !is_trial && self.settings.if_lost == IfLost::Continue && self.left() > 0;
        if goes_on {
            self.notes.push(format!("{text}; the others went on"));
        } else {
            self.load_errors.push(text);
            self.abort();
        }
        self.collect();
    }

    /// What the loss of workers since the last call means for further loads; `None` where none was lost.
    pub(crate) fn take_loss(&mut self) -> Option<WorkersLost> {
        let text = self.latest_loss.take()?;
        // Who asks knows of them now.
        self.lost_between.clear();
        let left = self.left();
        Some(WorkersLost {
            end: self.why_no_more(&text, left),
            left,
            before: std::mem::replace(&mut self.known_left, left),
        })
    }

    /// Why the workers that are left carry no further load.
    fn why_no_more(&self, text: &str, left: u32) -> Option<String> {
        let mut regions = self.live_slots().map(|slot| &slot.record.region);
        let first = regions.next();
        let are_elsewhere = regions.any(|region| Some(region) != first);
        if left == 0 {
            Some(format!("{text}; no worker is left"))
        } else if self.settings.if_lost == IfLost::Void {
            Some(text.to_owned())
        } else if are_elsewhere {
            Some(format!(
                "{text}; without it the load comes from other regions than before, and its line may be another"
            ))
        } else {
            None
        }
    }

    /// Places of users who stay for the next load, ascending, each with whether its user was waiting for an answer.
    pub(crate) fn places(&self) -> Vec<(u64, bool)> {
        let slots = self.live_slots().filter(|slot| slot.stage != Stage::Lost);
        let mut places: Vec<(u64, bool)> = slots.flat_map(|slot| slot.stayed.places()).collect();
        places.sort_unstable();
        places
    }
}
