//! Clients that are told something later, if they are still here.

use super::{Audience, ClientId};
use crate::message::ClientFormat;

/// A client for as long as it is here: no other is ever the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientVisit {
    client: ClientId,
    number: u64,
}

impl Audience {
    /// What tells a client from those who have its place later.
    pub fn visit(&self, client: ClientId) -> ClientVisit {
        let place = self.clients.get(client.index());
        ClientVisit {
            client,
            number: place.map_or(0, |place| place.visit),
        }
    }

    /// A client, and how it reads, if it is still here.
    pub fn who(&self, visit: ClientVisit) -> Option<(ClientId, ClientFormat)> {
        let place = self.clients.get(visit.client.index())?;
        (place.visit == visit.number).then_some((visit.client, place.format))
    }
}
