//! Bytes that were read, handed to the reader of their connection, and to the call that wants them.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head::HeadMemo;
use plimsoll_wire::response::Progress;
use slab::Slab;

use crate::connection::{Connection, Phase, Request};
use crate::crowd::Crowd;
use crate::order::Order;

/// What became of bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The answer goes on.
    More,
    /// The answer is complete; `exactly` when no byte is left over.
    Complete { exactly: bool },
    /// The bytes are of no use, and neither is the connection.
    Failed(Outcome),
}

/// Where bytes that were read go.
pub(super) struct Intake<'a> {
    pub(super) order: &'a Order,
    pub(super) memo: &'a mut HeadMemo,
    pub(super) requests: &'a mut Slab<Request>,
    pub(super) crowd: Option<&'a mut Crowd>,
}

impl Intake<'_> {
    #[inline]
    pub(super) fn feed(&mut self, connection: &mut Connection, bytes: &[u8]) -> Taken {
        if connection.phase != Phase::Busy {
            // Nobody asked. A kept connection that speaks is of no use.
            return Taken::Failed(Outcome::Protocol);
        }
        let progress = match &mut self.crowd {
            None => connection
                .reader
                .feed(bytes, self.order.expected, self.memo),
            Some(crowd) => {
                let request = self.requests.get_mut(connection.request as usize);
                let Some(call) = request.and_then(|request| request.call.as_mut()) else {
                    return Taken::Failed(Outcome::Protocol);
                };
                call.bytes_in += bytes.len() as u64;
                let memo = &mut crowd.memos[call.request as usize];
                connection
                    .reader
                    .feed_into(bytes, call.expected, memo, &mut **call)
            }
        };
        match progress {
            Ok(Progress::More) => Taken::More,
            Ok(Progress::Complete(taken)) => Taken::Complete {
                exactly: taken == bytes.len(),
            },
            Err(_) => Taken::Failed(Outcome::Protocol),
        }
    }
}
