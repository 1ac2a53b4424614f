//! The end of a client, so that a final message can be sent to it.

use super::{Audience, ClientId, EndedSubscription};

impl Audience {
    /// Prepares the end of a client: its subscriptions end and its queue is dropped, but for a partially written
    /// message. A final message can then be sent, even if it was to be disconnected. The returned subscriptions must be
    /// reported to the channels.
    pub fn retire(&mut self, client: ClientId) -> Vec<EndedSubscription> {
        let Some(place) = self.clients.get_mut(client.index()) else {
            return Vec::new();
        };
        place.is_condemned = false;
        if let Some(slot) = &mut place.slot {
            let (forgotten, is_empty) = slot.forget_all();
            self.counts.delivered -= forgotten;
            if is_empty {
                place.slot = None;
            }
        }
        let count = place.subscriptions.len();
        self.condemned.retain(|&condemned| condemned != client);
        (0..count).rev().map(|at| self.remove(client, at)).collect()
    }
}
