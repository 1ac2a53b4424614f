//! One request: what is sent, when, on which connection, and what is left to try.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::request::is_idempotent;

use super::redirect::Detour;
use crate::due::NOBODY;
use crate::list::{Linked, Links, NONE};
use crate::prepared_load::PreparedLoad;
use crate::recorder::RequestEnd;
use crate::virtual_users::{RequestRole, UserRequest};

/// List of requests by when they are due.
pub(super) const BY_DUE: usize = 0;
/// List of requests that wait for a connection.
pub(super) const BY_WAIT: usize = 1;

/// Never sent.
const UNSENT: u64 = u64::MAX;

/// One request from its due time to its end, over redirects and a retry.
#[derive(Debug)]
pub(crate) struct Request {
    due: u64,
    /// First sent, or [`UNSENT`].
    sent: u64,
    /// First bytes of the response to the last attempt, or [`UNSENT`] until it takes a second read.
    first_byte: u64,
    user: u32,
    /// Index of its template.
    path: u32,
    /// The connection that carries it or is being opened for it; [`NONE`] while it waits.
    connection: u32,
    pub(super) redirects: u32,
    /// Number of retries.
    retries: u8,
    /// Length of the last response body as transferred.
    body_len: u64,
    /// Whether it is in the list of waiting requests.
    waiting: bool,
    due_links: Links,
    wait_links: Links,
    /// The target of the last redirect.
    pub(super) detour: Option<Box<Detour>>,
    /// The request of a journey's user.
    call: Option<Box<UserRequest>>,
}

impl Request {
    /// A request of the plan's template `path`.
    #[inline]
    pub(crate) fn new(due: u64, user: u32, path: u32) -> Self {
        Self {
            due,
            sent: UNSENT,
            first_byte: UNSENT,
            user,
            path,
            connection: NONE,
            redirects: 0,
            retries: 0,
            body_len: 0,
            waiting: false,
            due_links: Links::default(),
            wait_links: Links::default(),
            detour: None,
            call: None,
        }
    }

    /// A request of a journey's user.
    pub(crate) fn of_user(due: u64, user: u32, call: Box<UserRequest>) -> Self {
        Self {
            call: Some(call),
            ..Self::new(due, user, 0)
        }
    }

    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// When it was first sent, or the largest moment.
    #[inline]
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    #[inline]
    pub(crate) fn is_unsent(&self) -> bool {
        self.sent == UNSENT
    }

    /// Whether a part of the response has been read.
    #[inline]
    pub(crate) fn has_first_byte(&self) -> bool {
        self.first_byte != UNSENT
    }

    /// The first part of the response was read.
    #[inline]
    pub(crate) fn mark_first_byte(&mut self, at: u64) {
        if self.first_byte == UNSENT {
            self.first_byte = at;
        }
    }

    /// It is being sent: the first time counts.
    #[inline]
    pub(crate) fn mark_sent(&mut self, now: u64) {
        self.first_byte = UNSENT;
        if self.sent == UNSENT {
            self.sent = now;
        }
    }

    #[inline]
    pub(crate) fn user(&self) -> u32 {
        self.user
    }

    /// Whether it belongs to a user of a closed load.
    #[inline]
    pub(crate) fn has_user(&self) -> bool {
        self.user != NOBODY
    }

    /// Index of its template.
    #[inline]
    pub(crate) fn path(&self) -> u32 {
        self.path
    }

    /// The connection that carries it or is being opened for it; [`NONE`] while it waits.
    #[inline]
    pub(crate) fn connection(&self) -> u32 {
        self.connection
    }

    /// This connection carries it, or is being opened for it.
    #[inline]
    pub(crate) fn assign(&mut self, connection: u32) {
        self.connection = connection;
    }

    /// No connection carries it any more.
    #[inline]
    pub(crate) fn unassign(&mut self) {
        self.connection = NONE;
    }

    /// Counts another attempt, at most so many. Returns whether it may be made.
    pub(crate) fn retry(&mut self, retries_max: u8) -> bool {
        let may_retry = self.retries < retries_max;
        self.retries += u8::from(may_retry);
        may_retry
    }

    /// The request of a journey's user.
    #[inline]
    pub(crate) fn call(&self) -> Option<&UserRequest> {
        self.call.as_deref()
    }

    #[inline]
    pub(crate) fn call_mut(&mut self) -> Option<&mut UserRequest> {
        self.call.as_deref_mut()
    }

    #[inline]
    pub(crate) fn take_call(&mut self) -> Option<Box<UserRequest>> {
        self.call.take()
    }

    /// Its purpose, where a journey's user sends it.
    pub(crate) fn role(&self) -> Option<RequestRole> {
        self.call.as_ref().map(|call| call.role())
    }

    /// Deadline, where it differs from the plan's time-out.
    #[inline]
    pub(super) fn own_expiry(&self) -> Option<u64> {
        self.call.as_ref().and_then(|call| call.expiry())
    }

    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    #[inline]
    pub(super) fn set_waiting(&mut self, waiting: bool) {
        self.waiting = waiting;
    }

    /// Whether it is idempotent.
    pub(crate) fn is_idempotent(&self, prepared: &PreparedLoad) -> bool {
        match (&self.call, &self.detour) {
            (Some(call), _) => call.is_idempotent(),
            (None, Some(detour)) => is_idempotent(&detour.method),
            (None, None) => prepared.request().is_idempotent(),
        }
    }

    /// Head and body as sent; `is_last` on its connection.
    #[inline]
    pub(crate) fn payload<'a>(
        &'a self,
        prepared: &'a PreparedLoad,
        is_last: bool,
    ) -> (&'a [u8], &'a [u8]) {
        if let Some(call) = &self.call {
            return (call.bytes(), &[]);
        }
        let body = &prepared.request().body()[..];
        match &self.detour {
            None => (prepared.request().head(self.path, is_last), body),
            Some(detour) => (&detour.head, if detour.with_body { body } else { &[] }),
        }
    }

    /// Its head after a redirect, and whether it still has its body.
    pub(crate) fn redirected(&self) -> Option<(&[u8], bool)> {
        let detour = self.detour.as_ref()?;
        Some((&detour.head, detour.with_body))
    }

    /// A response with a body of this length is complete.
    #[inline]
    pub(crate) fn set_body_len(&mut self, body_len: u64) {
        self.body_len = body_len;
    }

    /// Its end, as counted; `now` stands for the time it was sent when it never was.
    #[inline]
    pub(crate) fn ended(&self, outcome: Outcome, now: u64) -> RequestEnd {
        let sent = if self.sent == UNSENT { now } else { self.sent };
        RequestEnd {
            first_byte: self.first_byte.min(now),
            body_len: self.body_len,
            ..RequestEnd::new(outcome, self.due, sent, now)
        }
    }
}

impl Linked<BY_DUE> for Request {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.due_links
    }
}

impl Linked<BY_WAIT> for Request {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.wait_links
    }
}
