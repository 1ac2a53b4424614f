//! Dispatches received bytes to the reader of their connection, and to the call that needs them.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head::HeadMemo;
use plimsoll_wire::response::Progress;

use crate::connections::{ConnectionPhase, TargetConnection};
use crate::prepared_load::PreparedLoad;
use crate::requests::Requests;
use crate::virtual_users::VirtualUsers;

/// The result for received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeedOutcome {
    /// The response is incomplete.
    More,
    /// The response is complete; `exactly` when no byte is left over.
    Complete { exactly: bool },
    /// The bytes are invalid, and the connection must be closed.
    Failed(Outcome),
}

/// The call that receives the bytes.
pub(super) struct Intake<'a> {
    pub(super) prepared: &'a PreparedLoad,
    pub(super) memo: &'a mut HeadMemo,
    pub(super) requests: &'a mut Requests,
    pub(super) virtual_users: Option<&'a mut VirtualUsers>,
}

impl Intake<'_> {
    #[inline]
    pub(super) fn feed(&mut self, connection: &mut TargetConnection, bytes: &[u8]) -> FeedOutcome {
        if connection.phase() != ConnectionPhase::Busy {
            // No request is pending. An idle connection that sends data must be closed.
            return FeedOutcome::Failed(Outcome::Protocol);
        }
        let progress = match &mut self.virtual_users {
            None => connection
                .reader_mut()
                .feed(bytes, self.prepared.expected, self.memo),
            Some(virtual_users) => {
                let request = self.requests.get_mut(connection.request());
                let Some(call) = request.and_then(|request| request.call_mut()) else {
                    return FeedOutcome::Failed(Outcome::Protocol);
                };
                call.bytes_in += bytes.len() as u64;
                let memo = virtual_users.memo(call.request);
                connection
                    .reader_mut()
                    .feed_into(bytes, call.expected, memo, call)
            }
        };
        match progress {
            Ok(Progress::More) => FeedOutcome::More,
            Ok(Progress::Complete(taken)) => FeedOutcome::Complete {
                exactly: taken == bytes.len(),
            },
            Err(_) => FeedOutcome::Failed(Outcome::Protocol),
        }
    }
}
