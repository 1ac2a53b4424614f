//! The last that a client is told.

use super::{Audience, ClientId, EndedSubscription};

impl Audience {
    /// A client is about to go: it has no subscriptions any more, nothing waits for it but what is begun, and it may be
    /// said something even if it was to be closed. What it leaves must be told to the channels.
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
