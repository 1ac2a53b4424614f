//! Handles of clients for deferred replies.

use super::{Audience, ClientId};
use crate::message::ClientFormat;

/// A client during one connection: never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientVisit {
    client: ClientId,
    number: u64,
}

impl Audience {
    /// A handle that distinguishes the client from later ones with the same index.
    pub fn visit(&self, client: ClientId) -> ClientVisit {
        let place = self.clients.get(client.index());
        ClientVisit {
            client,
            number: place.map_or(0, |place| place.visit),
        }
    }

    /// The client and its format, if it is still connected.
    pub fn who(&self, visit: ClientVisit) -> Option<(ClientId, ClientFormat)> {
        let place = self.clients.get(visit.client.index())?;
        (place.visit == visit.number).then_some((visit.client, place.format))
    }
}
