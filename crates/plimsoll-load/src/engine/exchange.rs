//! The exchange: a request is written, its response read, its end counted.

use std::io::IoSlice;

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head::ContentCoding;
use plimsoll_wire::request::is_idempotent;
use plimsoll_wire::response::{AnswerEnd, Progress};
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

use super::intake::{FeedOutcome, Intake};
use super::opening::ENDED;
use super::{BUFFER_LEN, Engine};
use crate::clock::LoadClock;
use crate::connection::{ConnectionPhase, Request, TargetConnection, UNSENT};
use crate::list::NONE;
use crate::prepared_load::PreparedLoad;
use crate::rx_timestamp::RxTimestampReader;

/// Bytes requested while the head is incomplete. A response within it takes one read; the rest of a longer one can
/// be skipped.
const FIRST_READ_LEN: usize = 16 * 1024;

/// Remaining body length from which on it is skipped rather than read, bytes.
const SKIPPED_LEN_MIN: u64 = 4096;

/// Full buffers read from one connection before other connections are served.
pub(super) const READS_MAX: usize = 16;

impl Engine {
    /// Sends a request on a connection that is ready for it.
    #[inline]
    pub(super) fn send_on(&mut self, id: u32, request_id: u32, now: u64) {
        let connection = &mut self.connections[id as usize];
        connection.phase = ConnectionPhase::Busy;
        if connection.multiplex.is_some() {
            return self.send_stream(id, request_id, now);
        }
        let request = &mut self.requests[request_id as usize];
        connection.request = request_id;
        connection.served += 1;
        connection.written = 0;
        connection.reader.begin();
        request.connection = id;
        if request.sent == UNSENT {
            request.sent = now;
        }
        if let Some(call) = &mut request.call {
            call.begin_answer();
            if is_last(&self.prepared, connection) {
                call.close_after();
            }
            connection.keeps_body = call.wants_body();
        }
        self.recorder.current().window.sent += 1;
        self.write(id, now);
    }

    /// Writes the rest of a request. Returns whether the connection is still open.
    #[inline]
    fn write(&mut self, id: u32, now: u64) -> bool {
        let connection = &mut self.connections[id as usize];
        let request = &self.requests[connection.request as usize];
        let (head, body) = payload(&self.prepared, connection, request);
        let written = connection.written;
        let head_left = &head[written.min(head.len())..];
        let body_left = &body[written.saturating_sub(head.len())..];
        let (result, sealed) = match &mut connection.tls {
            None => (put(&connection.socket, head_left, body_left), true),
            Some(session) => {
                let result = session.send(&connection.socket, head_left, body_left);
                let result =
                    result.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
                (result, !session.wants_write())
            }
        };
        match result {
            Ok(count) => {
                connection.written += count;
                connection.writing = !sealed || connection.written < head.len() + body.len();
                self.recorder.current().window.bytes_out += count as u64;
                true
            }
            Err(Errno::AGAIN) => {
                connection.writing = true;
                true
            }
            Err(_) => {
                self.broken(id, now);
                false
            }
        }
    }

    #[inline]
    pub(super) fn on_ready(&mut self, id: u32, flags: EventFlags) {
        let connection = &mut self.connections[id as usize];
        if flags.contains(EventFlags::OUT) {
            if connection.writing {
                let now = self.clock.now();
                if !self.write(id, now) {
                    return;
                }
            } else if let Some(session) = &mut connection.tls {
                // Handshake bytes that did not fit the socket. A broken socket shows when it is read.
                let _ = session.flush(&connection.socket);
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read(id, flags.intersects(ENDED));
        }
    }

    /// Reads available bytes. `ended` means that the target closed its side.
    #[inline]
    pub(super) fn read(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id as usize].generation;
        for _ in 0..READS_MAX {
            let connection = &mut self.connections[id as usize];
            let (asked, flags) = reading(connection);
            let count = match receive(
                &connection.socket,
                &mut self.buffer[..asked],
                flags,
                self.timestamps.as_mut(),
                &mut self.arrived,
                self.clock,
            ) {
                Ok(0) => return self.cut(id),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    let now = self.clock.now();
                    return self.broken(id, now);
                }
            };
            let secure = connection.tls.is_some();
            let taken = if secure {
                self.take_secure(id, count)
            } else if flags == RecvFlags::TRUNC {
                self.skip(id, count)
            } else {
                self.take(id, count)
            };
            if secure && !self.stands(id, generation) {
                return;
            }
            match taken {
                // A short read has emptied the socket; its next byte triggers a new edge.
                FeedOutcome::More if count < asked && !ended => return,
                FeedOutcome::More => {}
                FeedOutcome::Complete { exactly } => {
                    return self.complete(id, exactly && !ended, ended);
                }
                FeedOutcome::Failed(outcome) => {
                    let now = self.clock.now();
                    return self.fail(id, outcome, now);
                }
            }
        }
        self.read_later(id);
    }

    /// Processes `count` bytes of the buffer without TLS.
    #[inline]
    fn take(&mut self, id: u32, count: usize) -> FeedOutcome {
        self.recorder.current().window.bytes_in += count as u64;
        let connection = &mut self.connections[id as usize];
        let mut intake = Intake {
            prepared: &self.prepared,
            memo: &mut self.memo,
            requests: &mut self.requests,
            virtual_users: self.virtual_users.as_deref_mut(),
        };
        intake.feed(connection, &self.buffer[..count])
    }

    /// Accounts for `count` body bytes that the kernel discarded.
    fn skip(&mut self, id: u32, count: usize) -> FeedOutcome {
        self.recorder.current().window.bytes_in += count as u64;
        let connection = &mut self.connections[id as usize];
        if let Some(request) = self.requests.get_mut(connection.request as usize)
            && let Some(call) = &mut request.call
        {
            call.bytes_in += count as u64;
        }
        match connection.reader.skip(count as u64) {
            Progress::More => FeedOutcome::More,
            Progress::Complete(_) => FeedOutcome::Complete { exactly: true },
        }
    }

    /// Decrypts `count` bytes of the buffer, and processes the plaintext.
    fn take_secure(&mut self, id: u32, count: usize) -> FeedOutcome {
        let connection = &mut self.connections[id as usize];
        let Some(mut session) = connection.tls.take() else {
            return FeedOutcome::Failed(Outcome::Tls);
        };
        let mut input = &self.buffer[..count];
        let mut taken = FeedOutcome::More;
        let mut plain_len = 0;
        let mut intake = Intake {
            prepared: &self.prepared,
            memo: &mut self.memo,
            requests: &mut self.requests,
            virtual_users: self.virtual_users.as_deref_mut(),
        };
        while !input.is_empty() {
            let received = session.receive(&mut input, &mut self.plain, |bytes| {
                plain_len += bytes.len();
                taken = match taken {
                    FeedOutcome::More => intake.feed(connection, bytes),
                    FeedOutcome::Complete { .. } => FeedOutcome::Complete { exactly: false },
                    FeedOutcome::Failed(outcome) => FeedOutcome::Failed(outcome),
                };
            });
            if received.is_err() {
                // The alert with the reason; it does not matter here whether it arrives.
                let _ = session.flush(&connection.socket);
                taken = match taken {
                    FeedOutcome::Complete { .. } => FeedOutcome::Complete { exactly: false },
                    _ => FeedOutcome::Failed(Outcome::Tls),
                };
                break;
            }
        }
        self.recorder.current().window.bytes_in += plain_len as u64;
        if session.flush(&connection.socket).is_err() && taken == FeedOutcome::More {
            taken = FeedOutcome::Failed(Outcome::Reset);
        }
        let is_made = connection.phase == ConnectionPhase::Connecting && !session.is_handshaking();
        connection.tls = Some(session);
        if is_made && taken == FeedOutcome::More {
            self.recorder.current().window.handshakes += 1;
            let now = self.clock.now();
            self.make_ready(id, now);
        }
        taken
    }

    /// An answer is complete.
    #[inline]
    fn complete(&mut self, id: u32, reusable: bool, peer_closed: bool) {
        let now = self.clock.now();
        let done = self.arrived.take().map_or(now, |arrived| arrived.min(now));
        // Counts from here on belong to the second in which the request ended.
        self.recorder.roll(now);
        let connection = &mut self.connections[id as usize];
        let request_id = connection.request;
        let status = connection.reader.status();
        let kept = reusable && !connection.writing && connection.reader.keeps_alive();
        let kept = kept && !is_last(&self.prepared, connection);
        let coding = connection.reader.coding();
        self.count_coding(coding);
        if self.virtual_users.is_some() {
            return self.complete_call(id, kept, peer_closed, now);
        }
        let mut goes_on_for_ever = false;
        if let Some(location) = self.connections[id as usize].reader.take_location() {
            if self.follow(request_id, status, &location) {
                if kept {
                    self.send_on(id, request_id, now);
                } else {
                    self.let_go(id, peer_closed, now);
                    self.dispatch(request_id, now);
                }
                return;
            }
            goes_on_for_ever = self.has_used_up_redirects(request_id, status);
        }
        // A followed redirect is an intermediate step; only the final status counts.
        self.recorder.answered(status, done);
        let outcome = self.outcome_of(status, goes_on_for_ever);
        self.connections[id as usize].request = NONE;
        self.end_request(request_id, outcome, done);
        if kept {
            self.keep(id, now);
        } else {
            self.let_go(id, peer_closed, now);
        }
        if let Some(due) = self.scheduler.pop_ready() {
            self.arrive(due, now);
        }
    }

    #[inline]
    pub(super) fn count_coding(&mut self, coding: ContentCoding) {
        match coding {
            ContentCoding::Other => {}
            ContentCoding::Gzip => self.recorder.current().window.gzip += 1,
            ContentCoding::Brotli => self.recorder.current().window.brotli += 1,
        }
    }

    /// The outcome of a request by the status of its last response.
    #[inline]
    pub(super) fn outcome_of(&self, status: u16, goes_on_for_ever: bool) -> Outcome {
        let good = self.prepared.good.get(usize::from(status));
        if good.is_some_and(|good| *good) && !goes_on_for_ever {
            Outcome::Ok
        } else {
            Outcome::WrongStatus
        }
    }

    /// A connection is free: a waiting request takes it, or it becomes idle.
    #[inline]
    fn keep(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id as usize];
        connection.phase = ConnectionPhase::Idle;
        if connection.user != crate::due::NOBODY {
            return;
        }
        match self.pop_waiting() {
            Some(request) => self.send_on(id, request, now),
            None => self.idle.push_back(&mut self.connections, id),
        }
    }

    /// A connection accepts no further request.
    pub(super) fn let_go(&mut self, id: u32, peer_closed: bool, now: u64) {
        if peer_closed {
            self.close(id, true);
            self.serve_waiting(now);
        } else {
            self.retire(id, now);
        }
    }

    /// The target closed the connection.
    fn cut(&mut self, id: u32) {
        let now = self.clock.now();
        let connection = &self.connections[id as usize];
        if connection.request == NONE {
            self.close(id, true);
            return self.serve_waiting(now);
        }
        if connection.tls.is_some() && connection.phase == ConnectionPhase::Connecting {
            return self.fail(id, Outcome::Tls, now);
        }
        match connection.reader.end() {
            // Over TLS, a closing alert ends such a body; otherwise anyone could truncate it.
            AnswerEnd::Complete
                if connection
                    .tls
                    .as_ref()
                    .is_some_and(|session| !session.is_closed()) =>
            {
                self.fail(id, Outcome::BodyCut, now);
            }
            AnswerEnd::Complete => self.complete(id, false, true),
            AnswerEnd::BeforeAnswer => self.broken(id, now),
            AnswerEnd::InHead => self.fail(id, Outcome::Protocol, now),
            AnswerEnd::InBody => self.fail(id, Outcome::BodyCut, now),
        }
    }

    /// The connection was reset, or closed before any byte of the response. The target may have closed a keep-alive
    /// connection while the request was in transit: an idempotent request is then sent once more.
    pub(super) fn broken(&mut self, id: u32, now: u64) {
        let connection = &self.connections[id as usize];
        let (request_id, kept) = (connection.request, connection.served > 1);
        let begun = connection.reader.has_begun();
        let Some(request) = self.requests.get(request_id as usize) else {
            return self.fail(id, Outcome::Reset, now);
        };
        if !kept || begun || request.retries > 0 || !self.is_idempotent(request_id) {
            let handshake =
                connection.tls.is_some() && connection.phase == ConnectionPhase::Connecting;
            let outcome = if handshake {
                Outcome::Tls
            } else {
                Outcome::Reset
            };
            return self.fail(id, outcome, now);
        }
        let request = &mut self.requests[request_id as usize];
        request.retries += 1;
        request.connection = NONE;
        self.recorder.current().window.retries += 1;
        self.close(id, true);
        self.open_for(request_id, now);
    }

    /// Whether the request is idempotent.
    pub(super) fn is_idempotent(&self, id: u32) -> bool {
        let request = &self.requests[id as usize];
        match (&request.call, &request.detour) {
            (Some(call), _) => call.idempotent,
            (None, Some(detour)) => is_idempotent(&detour.method),
            (None, None) => self.prepared.idempotent,
        }
    }
}

/// Reads, and returns the kernel's arrival timestamp where it was requested.
#[inline]
pub(super) fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
    flags: RecvFlags,
    timestamps: Option<&mut RxTimestampReader>,
    arrived: &mut Option<u64>,
    clock: LoadClock,
) -> Result<usize, Errno> {
    let Some(timestamps) = timestamps else {
        return rustix::net::recv(socket, buffer, flags).map(|(_, count)| count);
    };
    let (count, timestamp) = timestamps.receive(socket, buffer, flags)?;
    *arrived = timestamp.map(|timestamp_ns| clock.moment_of(timestamp_ns));
    Ok(count)
}

/// How to read from a connection: how many bytes at most, and whether their content is needed.
///
/// The rest of a long body of known length is discarded in the kernel (tcp(7), `MSG_TRUNC`): copying it would
/// cost more than the rest of the exchange. A unix socket has no such flag, and copies.
#[inline]
fn reading(connection: &TargetConnection) -> (usize, RecvFlags) {
    let skippable = connection.reader.skippable();
    if skippable >= SKIPPED_LEN_MIN
        && connection.phase == ConnectionPhase::Busy
        && connection.tls.is_none()
        && !connection.keeps_body
    {
        let asked = usize::try_from(skippable).unwrap_or(usize::MAX);
        (asked.min(BUFFER_LEN), RecvFlags::TRUNC)
    } else if connection.reader.head().is_none() {
        (FIRST_READ_LEN, RecvFlags::empty())
    } else {
        (BUFFER_LEN, RecvFlags::empty())
    }
}

/// Whether the connection has sent its last request.
pub(super) fn is_last(prepared: &PreparedLoad, connection: &TargetConnection) -> bool {
    let per_connection = prepared.plan.transport.requests_per_connection;
    per_connection > 0 && connection.served >= per_connection
}

/// Head and body of a request as sent on this connection.
fn payload<'a>(
    prepared: &'a PreparedLoad,
    connection: &TargetConnection,
    request: &'a Request,
) -> (&'a [u8], &'a [u8]) {
    if let Some(call) = &request.call {
        return (&call.bytes, &[]);
    }
    let body = &prepared.plan.request.body[..];
    match &request.detour {
        None => {
            let template = &prepared.templates[request.path as usize];
            (template.head(is_last(prepared, connection)), body)
        }
        Some(detour) => (&detour.head, if detour.with_body { body } else { &[] }),
    }
}

#[inline]
pub(super) fn put(socket: &OwnedFd, head: &[u8], body: &[u8]) -> Result<usize, Errno> {
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
