//! One connection, and one request: what the slabs hold.

use plimsoll_wire::response::ResponseReader;
use rustix::fd::OwnedFd;

use crate::due::NOBODY;
use crate::list::{Linked, Links, NONE};
use crate::multiplex::{Multiplex, Standing};
use crate::tls::TlsSession;
use crate::user_request::UserRequest;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    /// Being made, or shaking hands.
    Connecting,
    /// Kept, without a request.
    Idle,
    /// With a request.
    Busy,
    /// Its last answer is there; the target closes it, so that its port is not left in `TIME_WAIT` on our side.
    Closing,
}

/// How far a connection is, and what is spoken on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportStage {
    /// The kernel is making it.
    Dialing,
    /// TLS is shaking hands, and the target chooses between HTTP/1.1 and HTTP/2.
    Negotiating,
    /// HTTP/1.1; TLS may still be shaking hands.
    Exchanging,
    /// HTTP/2.
    Multiplexing,
    /// A WebSocket, or what is to become one; TLS may still be shaking hands.
    WebSocket,
}

/// One connection. Small, for there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct TargetConnection {
    pub(crate) socket: OwnedFd,
    /// Tells an event of this connection from one of the last that had its place.
    pub(crate) generation: u32,
    pub(crate) phase: ConnectionPhase,
    pub(crate) stage: TransportStage,
    /// Bytes of the request could not all be written at once.
    pub(crate) writing: bool,
    /// The body of its answer is needed, and not skipped.
    pub(crate) keeps_body: bool,
    /// Index of the origin it goes to; 0 is the plan's target.
    pub(crate) origin: u16,
    /// The request it carries, or is being made for.
    pub(crate) request: u32,
    /// Requests sent on it.
    pub(crate) served: u32,
    /// The user of a closed load, or of a journey, that it belongs to.
    pub(crate) user: u32,
    /// Bytes of the request that are written.
    pub(crate) written: usize,
    /// When it is given up while being made or closed.
    pub(crate) deadline: u64,
    /// Place among those being made, being closed, or idle: by phase.
    pub(crate) links: Links,
    pub(crate) reader: ResponseReader,
    pub(crate) tls: Option<Box<TlsSession>>,
    /// HTTP/2 on it. Its requests stand there, and not in `request`.
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

    /// Whether it speaks HTTP/2, and goes on doing so.
    pub(crate) fn is_http2_open(&self) -> bool {
        let multiplex = self.multiplex.as_ref();
        multiplex.is_some_and(|multiplex| multiplex.standing() == Standing::Open)
    }

    /// Whether a request of its user can go on it now, without leaving another waiting.
    pub(crate) fn is_free(&self) -> bool {
        match &self.multiplex {
            None => self.phase == ConnectionPhase::Idle,
            Some(multiplex) => multiplex.has_capacity(),
        }
    }

    /// Whether it will carry several requests at once sooner or later, as far as is known: who needs it waits for it.
    pub(crate) fn may_multiplex(&self) -> bool {
        self.is_http2_open()
            || matches!(
                self.stage,
                TransportStage::Dialing | TransportStage::Negotiating
            )
    }
}

/// Connections being made, idle or closing: one list each, and a connection is in at most one.
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

/// One request from being due to its end, over redirects and a retry.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) due: u64,
    /// First sent, or [`UNSENT`].
    pub(crate) sent: u64,
    pub(crate) user: u32,
    /// Index of its template.
    pub(crate) path: u32,
    /// The connection that carries it or is being made for it; [`NONE`] while it waits.
    pub(crate) connection: u32,
    pub(crate) redirects: u32,
    /// Times it was sent again.
    pub(crate) retries: u8,
    /// Stands in the list of those that wait.
    pub(crate) waiting: bool,
    pub(crate) due_links: Links,
    pub(crate) wait_links: Links,
    /// Where a redirect sent it.
    pub(crate) detour: Option<Box<Detour>>,
    /// What a user of a journey asks.
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

    /// When it is given up, when that is not the plan's time-out.
    #[inline]
    pub(crate) fn own_expiry(&self) -> Option<u64> {
        self.call.as_ref().and_then(|call| call.expiry)
    }

    /// Whether it stands for a user of a closed load.
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

/// A request as a redirect changed it.
#[derive(Debug)]
pub(crate) struct Detour {
    /// Path and query.
    pub(crate) target: String,
    pub(crate) method: String,
    pub(crate) head: Box<[u8]>,
    pub(crate) with_body: bool,
}
