//! What admission found out about a request: what the phases behind it take with them.

use std::net::IpAddr;
use std::rc::Rc;

use plimsoll_wire::request_head::RequestHead;

use crate::exchange::Facts;
use crate::settings::Settings;
use crate::telemetry::moments::Moments;

/// An admitted request.
#[derive(Clone, Copy)]
pub(super) struct Admitted<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) head: &'a RequestHead<'a, 'a>,
    /// The client behind a trusted peer.
    pub(super) client: Option<IpAddr>,
    pub(super) own: ResponseContext,
    pub(super) settings: &'a Rc<Settings>,
}

/// Facts of the request that a response depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseContext {
    pub(super) facts: Facts,
    /// An unread body follows.
    pub(super) has_body: bool,
    pub(super) moments: Moments,
}
