//! A load with fewer workers than were asked for, where the others did not come.

use super::{CoordinatorState, Slot, Stage};
use crate::merge::WindowMerge;

impl CoordinatorState {
    /// Workers that were asked for, or those that are left of them.
    pub(crate) fn workers(&self) -> u32 {
        self.settings.workers
    }

    /// Names of the workers that can begin.
    pub(crate) fn ready_names(&self) -> Vec<String> {
        let ready = self.live_slots().filter(|slot| slot.can_begin());
        ready.map(|slot| slot.record.name.clone()).collect()
    }

    /// Goes on with the workers that can begin, and returns how many those are: they are the whole load then. The others are
    /// refused, whether they have joined or come later. Nothing happens once a load was started.
    pub(crate) fn leave_out_missing(&mut self) -> u32 {
        if self.round.is_some() {
            return self.settings.workers;
        }
        let slots = std::mem::take(&mut self.slots);
        let mut parts = Vec::new();
        for slot in slots {
            let stays = slot.as_ref().is_some_and(Slot::can_begin);
            parts.push(stays.then(|| u32::try_from(self.slots.len()).unwrap_or(u32::MAX)));
            if stays {
                self.slots.push(slot);
            }
        }
        for connection in self.connections.values_mut() {
            let Some(part) = connection.part else {
                continue;
            };
            connection.part = parts[part as usize];
            if connection.part.is_none() {
                let reason = "the load begins without this worker: it was not ready in time";
                connection.refusal.get_or_insert_with(|| reason.to_owned());
            }
        }
        // What a worker without a part cannot do is no reason against the load.
        let names = self.ready_names();
        self.problem = self.problem.take().filter(|(name, _)| names.contains(name));
        let workers = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let wanted = std::mem::replace(&mut self.settings.workers, workers);
        if workers < wanted {
            self.notes.push(format!(
                "the load began with {workers} of {wanted} workers: the others were not ready in time"
            ));
        }
        self.known_left = workers;
        self.merge = WindowMerge::new(workers);
        workers
    }
}

impl Slot {
    /// Whether its worker can begin, and its clock is known.
    pub(super) fn can_begin(&self) -> bool {
        self.stage == Stage::Ready && self.clock.is_known()
    }
}
