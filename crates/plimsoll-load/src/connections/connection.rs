//! One connection to the target.

use std::io::{ErrorKind, IoSlice};
use std::time::Duration;

use plimsoll_wire::response::ResponseReader;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, sockopt};

use super::NewConnection;
use crate::http2::{Http2Connection, Standing};
use crate::list::{Linked, Links, NONE};
use crate::receive_buffer::BUFFER_LEN;
use crate::tls::TlsSession;

/// Bytes requested while the head is incomplete. A response within it takes one read; the rest of a longer one can
/// be skipped.
const FIRST_READ_LEN: usize = 16 * 1024;

/// Remaining body length from which on it is skipped rather than read, bytes.
const SKIPPED_LEN_MIN: u64 = 4096;

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
    Http2,
    /// A WebSocket, or one that is being opened; the TLS handshake may still be in progress.
    WebSocket,
}

/// One connection. Kept small: there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct TargetConnection {
    socket: OwnedFd,
    /// Distinguishes events of this connection from those of an earlier one in the same slot.
    generation: u32,
    pub(super) phase: ConnectionPhase,
    stage: TransportStage,
    /// A request is only partly written.
    writing: bool,
    /// The response body is needed, and must not be skipped.
    keeps_body: bool,
    /// Index of the origin; 0 is the plan's target.
    origin: u16,
    /// The request that it carries, or is being opened for.
    request: u32,
    /// Requests sent on it.
    served: u32,
    /// The user of a closed load, or of a journey, that owns it.
    pub(super) user: u32,
    /// Bytes of the request written so far.
    written: usize,
    /// Deadline while it is being opened or closed.
    pub(super) deadline: u64,
    /// When it was dialed; once it is established, when that was.
    since: u64,
    /// Link in the list of its phase: connecting, closing or idle.
    links: Links,
    reader: ResponseReader,
    tls: Option<Box<TlsSession>>,
    /// HTTP/2 state. Its requests are kept there, not in `request`.
    http2: Option<Box<Http2Connection>>,
}

impl TargetConnection {
    pub(super) fn new(socket: OwnedFd, generation: u32, user: u32, new: &NewConnection) -> Self {
        Self {
            socket,
            generation,
            phase: ConnectionPhase::Connecting,
            stage: TransportStage::Dialing,
            writing: false,
            keeps_body: false,
            origin: new.origin,
            request: new.request,
            served: 0,
            user,
            written: 0,
            deadline: new.deadline,
            since: new.now,
            links: Links::default(),
            reader: ResponseReader::default(),
            tls: None,
            http2: None,
        }
    }

    #[inline]
    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    #[inline]
    pub(crate) fn phase(&self) -> ConnectionPhase {
        self.phase
    }

    /// Whether the target is to close it.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.phase == ConnectionPhase::Closing
    }

    #[inline]
    pub(crate) fn stage(&self) -> TransportStage {
        self.stage
    }

    /// A phase of its establishment ends at `now`, and the next begins. Returns how long it took, ns.
    pub(crate) fn end_phase(&mut self, now: u64) -> u64 {
        now.saturating_sub(std::mem::replace(&mut self.since, now))
    }

    pub(crate) fn set_stage(&mut self, stage: TransportStage) {
        self.stage = stage;
    }

    /// Index of its origin; 0 is the plan's target.
    #[inline]
    pub(crate) fn origin(&self) -> u16 {
        self.origin
    }

    /// The user of a closed load, or of a journey, that owns it.
    #[inline]
    pub(crate) fn user(&self) -> u32 {
        self.user
    }

    /// The request that it carries, or is being opened for; [`NONE`] without one.
    #[inline]
    pub(crate) fn request(&self) -> u32 {
        self.request
    }

    #[inline]
    pub(crate) fn set_request(&mut self, request: u32) {
        self.request = request;
    }

    /// The same, which it no longer carries.
    #[inline]
    pub(crate) fn take_request(&mut self) -> u32 {
        std::mem::replace(&mut self.request, NONE)
    }

    /// A request is sent on it, whose response body may be skipped unless `keeps_body`.
    #[inline]
    pub(crate) fn begin_exchange(&mut self, request: u32) {
        self.request = request;
        self.served += 1;
        self.written = 0;
        self.reader.begin();
    }

    /// Whether the body of the next response is needed.
    #[inline]
    pub(crate) fn set_keeps_body(&mut self, keeps_body: bool) {
        self.keeps_body = keeps_body;
    }

    /// A request is sent on it beside others.
    pub(crate) fn count_stream(&mut self) {
        self.served += 1;
    }

    /// Whether it has carried a request before the current one.
    #[inline]
    pub(crate) fn was_kept(&self) -> bool {
        self.served > 1
    }

    /// Whether it has carried so many requests; never where that is 0.
    #[inline]
    pub(crate) fn has_served(&self, requests: u32) -> bool {
        requests > 0 && self.served >= requests
    }

    #[inline]
    pub(crate) fn reader(&self) -> &ResponseReader {
        &self.reader
    }

    #[inline]
    pub(crate) fn reader_mut(&mut self) -> &mut ResponseReader {
        &mut self.reader
    }

    /// Whether bytes are pending that the socket did not take yet.
    #[inline]
    pub(crate) fn is_writing(&self) -> bool {
        self.writing
    }

    #[inline]
    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether the TCP connection, or the TLS handshake in it, is not complete.
    pub(crate) fn is_connecting(&self) -> bool {
        self.phase == ConnectionPhase::Connecting
    }

    /// Whether the TLS handshake is in progress.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.is_connecting() && self.is_secure()
    }

    /// Whether the target may end a body by closing: over TLS, only after a closing alert.
    pub(crate) fn may_end_body(&self) -> bool {
        let session = self.tls.as_ref();
        session.is_none_or(|session| session.is_closed())
    }

    /// Begins a TLS handshake.
    pub(crate) fn begin_tls(&mut self, session: Box<TlsSession>) {
        self.tls = Some(session);
        self.flush_tls();
    }

    #[inline]
    pub(crate) fn take_tls(&mut self) -> Option<Box<TlsSession>> {
        self.tls.take()
    }

    #[inline]
    pub(crate) fn return_tls(&mut self, session: Box<TlsSession>) {
        self.tls = Some(session);
    }

    /// Writes pending handshake bytes. A broken socket shows when it is read.
    pub(crate) fn flush_tls(&mut self) {
        if let Some(session) = &mut self.tls {
            let _ = session.flush(&self.socket);
        }
    }

    /// Writes the rest of its request as far as the socket takes it. Returns how many bytes it took.
    ///
    /// # Errors
    /// When the connection is broken.
    #[inline]
    pub(crate) fn write(&mut self, head: &[u8], body: &[u8]) -> Result<usize, Errno> {
        let head_left = &head[self.written.min(head.len())..];
        let body_left = &body[self.written.saturating_sub(head.len())..];
        match self.send(head_left, body_left) {
            Ok((count, is_sealed)) => {
                self.written += count;
                self.writing = !is_sealed || self.written < head.len() + body.len();
                Ok(count)
            }
            Err(Errno::AGAIN) => {
                self.writing = true;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the bytes of a WebSocket as far as the socket takes them. Returns how many it took.
    pub(crate) fn write_frames(&mut self, bytes: &[u8]) -> usize {
        // A broken socket takes nothing, and shows when it is read.
        let count = self.send(bytes, &[]).map_or(0, |(count, _)| count);
        let session = self.tls.as_ref();
        let is_sealed = session.is_none_or(|session| !session.wants_write());
        self.writing = !is_sealed || count < bytes.len();
        count
    }

    /// Sends as far as the socket takes it. Returns how many bytes were accepted, and whether no ciphertext of them is
    /// pending.
    #[inline]
    fn send(&mut self, head: &[u8], body: &[u8]) -> Result<(usize, bool), Errno> {
        match &mut self.tls {
            None => Ok((put(&self.socket, head, body)?, true)),
            Some(session) => {
                let result = session.send(&self.socket, head, body);
                let count =
                    result.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                Ok((count, !session.wants_write()))
            }
        }
    }

    /// How to read from it: how many bytes at most, and whether their content is needed.
    ///
    /// The rest of a long body of known length is discarded in the kernel (tcp(7), `MSG_TRUNC`): copying it would
    /// cost more than the rest of the exchange. A unix socket has no such flag, and copies.
    #[inline]
    pub(crate) fn next_read(&self) -> (usize, RecvFlags) {
        let skippable = self.reader.skippable();
        if skippable >= SKIPPED_LEN_MIN
            && self.phase == ConnectionPhase::Busy
            && self.tls.is_none()
            && !self.keeps_body
        {
            let asked = usize::try_from(skippable).unwrap_or(usize::MAX);
            (asked.min(BUFFER_LEN), RecvFlags::TRUNC)
        } else if self.reader.head().is_none() {
            (FIRST_READ_LEN, RecvFlags::empty())
        } else {
            (BUFFER_LEN, RecvFlags::empty())
        }
    }

    /// Speaks HTTP/2 from now on.
    pub(crate) fn begin_http2(&mut self, http2: Box<Http2Connection>) {
        self.stage = TransportStage::Http2;
        self.http2 = Some(http2);
    }

    #[inline]
    pub(crate) fn http2(&self) -> Option<&Http2Connection> {
        self.http2.as_deref()
    }

    #[inline]
    pub(crate) fn http2_mut(&mut self) -> Option<&mut Http2Connection> {
        self.http2.as_deref_mut()
    }

    /// Writes pending output of HTTP/2, as far as the socket takes it. Returns how many bytes it took; 0 when the socket
    /// is broken, which it reports by itself.
    pub(crate) fn flush_http2(&mut self) -> u64 {
        let Some(http2) = &mut self.http2 else {
            return 0;
        };
        if !self.writing && !http2.has_outward() {
            return 0;
        }
        let (socket, tls) = (&self.socket, &mut self.tls);
        let written = http2.write_with(|bytes| match tls {
            None if bytes.is_empty() => Ok(0),
            None => put(socket, bytes, &[]).map_err(Into::into),
            Some(session) => session.send(socket, bytes, &[]),
        });
        match written {
            Ok(count) => {
                let is_sealed = tls.as_ref().is_none_or(|session| !session.wants_write());
                self.writing = http2.has_outward() || !is_sealed;
                count as u64
            }
            Err(error) => {
                self.writing = error.kind() == ErrorKind::WouldBlock;
                0
            }
        }
    }

    /// Whether it uses HTTP/2, and accepts new requests.
    pub(crate) fn is_http2_open(&self) -> bool {
        let http2 = self.http2.as_ref();
        http2.is_some_and(|http2| http2.standing() == Standing::Open)
    }

    /// Whether a request of its user can be sent on it now without delaying another.
    pub(crate) fn is_free(&self) -> bool {
        match &self.http2 {
            None => self.phase == ConnectionPhase::Idle,
            Some(http2) => http2.has_capacity(),
        }
    }

    /// Whether it uses HTTP/2 or may yet, as far as is known: further requests then wait for it.
    pub(crate) fn may_use_http2(&self) -> bool {
        self.is_http2_open()
            || matches!(
                self.stage,
                TransportStage::Dialing | TransportStage::Negotiating
            )
    }

    /// Whether the target has accepted it.
    pub(crate) fn was_established(&self) -> bool {
        self.stage != TransportStage::Dialing
    }

    /// Makes its end a reset: `TIME_WAIT` would hold for two minutes a port that later trials need.
    pub(crate) fn reset_at_close(&self) {
        // Without it the port is only held longer.
        let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }
}

/// Connecting, idle or closing connections: one list each, and a connection is in at most one.
impl Linked<0> for TargetConnection {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

#[inline]
fn put(socket: &OwnedFd, head: &[u8], body: &[u8]) -> Result<usize, Errno> {
    loop {
        let result = if body.is_empty() {
            rustix::net::send(socket, head, SendFlags::NOSIGNAL)
        } else {
            let slices = [IoSlice::new(head), IoSlice::new(body)];
            let mut nothing = SendAncillaryBuffer::default();
            rustix::net::sendmsg(socket, &slices, &mut nothing, SendFlags::NOSIGNAL)
        };
        if result != Err(Errno::INTR) {
            return result;
        }
    }
}
