//! Entries of the slabs: a connection, and a request.

use plimsoll_wire::response::ResponseReader;
use rustix::fd::OwnedFd;

use crate::due::NOBODY;
use crate::list::{Linked, Links, NONE};
use crate::multiplex::{Multiplex, Standing};
use crate::tls::TlsSession;
use crate::user_request::UserRequest;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    /// Connecting, or in the TLS handshake.
    Connecting,
    /// Idle keep-alive.
    Idle,
    /// Carries a request.
    Busy,
    /// The last response is complete; the target closes, so that `TIME_WAIT` does not stay on our side.
    Closing,
}

/// The protocol of a connection, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportStage {
    /// The TCP connection is being established.
    Dialing,
    /// The TLS handshake is in progress, and ALPN chooses between HTTP/1.1 and HTTP/2.
    Negotiating,
    /// HTTP/1.1; the TLS handshake may still be in progress.
    Exchanging,
    /// HTTP/2.
    Multiplexing,
    /// A WebSocket, or one that is being opened; the TLS handshake may still be in progress.
    WebSocket,
}

/// One connection. Kept small: there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct TargetConnection {
    pub(crate) socket: OwnedFd,
    /// Distinguishes events of this connection from those of an earlier one in the same slot.
    pub(crate) generation: u32,
    pub(crate) phase: ConnectionPhase,
    pub(crate) stage: TransportStage,
    /// A request is only partly written.
    pub(crate) writing: bool,
    /// The response body is needed, and must not be skipped.
    pub(crate) keeps_body: bool,
    /// Index of the origin; 0 is the plan's target.
    pub(crate) origin: u16,
    /// The request that it carries, or is being opened for.
    pub(crate) request: u32,
    /// Requests sent on it.
    pub(crate) served: u32,
    /// The user of a closed load, or of a journey, that owns it.
    pub(crate) user: u32,
    /// Bytes of the request written so far.
    pub(crate) written: usize,
    /// Deadline while it is being opened or closed.
    pub(crate) deadline: u64,
    /// Link in the list of its phase: connecting, closing or idle.
    pub(crate) links: Links,
    pub(crate) reader: ResponseReader,
    pub(crate) tls: Option<Box<TlsSession>>,
    /// HTTP/2 state. Its requests are kept there, not in `request`.
    pub(crate) multiplex: Option<Box<Multiplex>>,
}

impl TargetConnection {
    pub(crate) fn new(
        socket: OwnedFd,
        generation: u32,
        request: u32,
        user: u32,
        deadline: u64,
    ) -> Self {
        Self {
            socket,
            generation,
            phase: ConnectionPhase::Connecting,
            stage: TransportStage::Dialing,
            writing: false,
            keeps_body: false,
            origin: 0,
            request,
            served: 0,
            user,
            written: 0,
            deadline,
            links: Links::default(),
            reader: ResponseReader::default(),
            tls: None,
            multiplex: None,
        }
    }

    /// Whether it uses HTTP/2, and accepts new requests.
    pub(crate) fn is_http2_open(&self) -> bool {
        let multiplex = self.multiplex.as_ref();
        multiplex.is_some_and(|multiplex| multiplex.standing() == Standing::Open)
    }

    /// Whether a request of its user can be sent on it now without delaying another.
    pub(crate) fn is_free(&self) -> bool {
        match &self.multiplex {
            None => self.phase == ConnectionPhase::Idle,
            Some(multiplex) => multiplex.has_capacity(),
        }
    }

    /// Whether it will multiplex requests, as far as is known: further requests then wait for it.
    pub(crate) fn may_multiplex(&self) -> bool {
        self.is_http2_open()
            || matches!(
                self.stage,
                TransportStage::Dialing | TransportStage::Negotiating
            )
    }
}

/// Connecting, idle or closing connections: one list each, and a connection is in at most one.
impl Linked<0> for TargetConnection {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// List of requests by when they are due.
pub(crate) const BY_DUE: usize = 0;
/// List of requests that wait for a connection.
pub(crate) const BY_WAIT: usize = 1;

/// Never sent.
pub(crate) const UNSENT: u64 = u64::MAX;

/// One request from its due time to its end, over redirects and a retry.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) due: u64,
    /// First sent, or [`UNSENT`].
    pub(crate) sent: u64,
    pub(crate) user: u32,
    /// Index of its template.
    pub(crate) path: u32,
    /// The connection that carries it or is being opened for it; [`NONE`] while it waits.
    pub(crate) connection: u32,
    pub(crate) redirects: u32,
    /// Number of retries.
    pub(crate) retries: u8,
    /// Whether it is in the list of waiting requests.
    pub(crate) waiting: bool,
    pub(crate) due_links: Links,
    pub(crate) wait_links: Links,
    /// The target of the last redirect.
    pub(crate) detour: Option<Box<Detour>>,
    /// The request of a journey's user.
    pub(crate) call: Option<Box<UserRequest>>,
}

impl Request {
    pub(crate) fn new(due: u64, user: u32, path: u32) -> Self {
        Self {
            due,
            sent: UNSENT,
            user,
            path,
            connection: NONE,
            redirects: 0,
            retries: 0,
            waiting: false,
            due_links: Links::default(),
            wait_links: Links::default(),
            detour: None,
            call: None,
        }
    }

    /// Deadline, where it differs from the plan's time-out.
    #[inline]
    pub(crate) fn own_expiry(&self) -> Option<u64> {
        self.call.as_ref().and_then(|call| call.expiry)
    }

    /// Whether it belongs to a user of a closed load.
    pub(crate) fn has_user(&self) -> bool {
        self.user != NOBODY
    }
}

impl Linked<BY_DUE> for Request {
    fn links(&mut self) -> &mut Links {
        &mut self.due_links
    }
}

impl Linked<BY_WAIT> for Request {
    fn links(&mut self) -> &mut Links {
        &mut self.wait_links
    }
}

/// A request changed by a redirect.
#[derive(Debug)]
pub(crate) struct Detour {
    /// Path and query.
    pub(crate) target: String,
    pub(crate) method: String,
    pub(crate) head: Box<[u8]>,
    pub(crate) with_body: bool,
}
