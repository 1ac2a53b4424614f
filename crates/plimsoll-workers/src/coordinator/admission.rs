//! Who gets which part.

use super::{ConnectionId, CoordinatorState, Slot, Stage};
use crate::label::label;
use crate::message::Join;

impl CoordinatorState {
    /// A worker joins over a connection, or comes back.
    pub(super) fn join(&mut self, id: ConnectionId, join: Join, now_ns: u64) {
        let part = match self.part_for(join, now_ns) {
            Ok(part) => part,
            Err(reason) => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.refusal = Some(reason);
                }
                return;
            }
        };
        let Some(slot) = self.slots[part as usize].as_mut() else {
            return;
        };
        let before = slot.connection;
        slot.attach(id, now_ns);
        if let Some(connection) = before.and_then(|before| self.connections.get_mut(&before)) {
            connection.is_replaced = true;
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.part = Some(part);
        }
    }

    /// The part of a worker that joins, or why it gets none.
    fn part_for(&mut self, join: Join, now_ns: u64) -> Result<u32, String> {
        let known = (0..).zip(&self.slots).find(|(_, slot)| {
            let slot = slot.as_ref();
            slot.is_some_and(|slot| slot.instance == join.instance)
        });
        if let Some((part, Some(slot))) = known {
            return if !join.resumes {
                Err("this worker has joined already".to_owned())
            } else if slot.stage == Stage::Lost {
                Err("it was away for too long, and its part is over; start it again for another run".to_owned())
            } else {
                Ok(part)
            };
        }
        if self.round.is_some() {
            return Err("the load has begun; workers join before it".to_owned());
        }
        if join.resumes {
            return Err("it was away for too long; start it again".to_owned());
        }
        let free = (0..).zip(&self.slots).find(|(_, slot)| slot.is_none());
        let Some((part, _)) = free else {
            return Err(format!(
                "all {} workers have joined; ask for more with --workers",
                self.settings.workers
            ));
        };
        let name = self.unused_name(&label(&join.name));
        let join = Join {
            region: join.region.as_deref().map(label),
            ..join
        };
        self.slots[part as usize] = Some(Slot::new(join, name, self.settings.loops, now_ns));
        Ok(part)
    }

    /// The name, with a number where another worker has it.
    fn unused_name(&self, name: &str) -> String {
        let name = if name.is_empty() { "worker" } else { name };
        let is_used = |name: &str| self.live_slots().any(|slot| slot.record.name == name);
        let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names
            .find(|name| !is_used(name))
            .unwrap_or_else(|| name.to_owned())
    }
}
