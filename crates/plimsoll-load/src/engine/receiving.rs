//! Responses are received: bytes are read, decrypted where needed, and passed to the reader of their connection and to
//! the call that needs them.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head::HeadMemo;
use plimsoll_wire::response::Progress;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::Engine;
use crate::answer_error;
use crate::connections::{ConnectionPhase, TargetConnection};
use crate::poller::ENDED;
use crate::prepared_load::PreparedLoad;
use crate::requests::Requests;
use crate::virtual_users::VirtualUsers;

/// Full buffers read from one connection before other connections are served.
pub(super) const READS_MAX: usize = 16;

impl Engine {
    #[inline]
    pub(super) fn on_ready(&mut self, id: u32, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            let connection = &mut self.connections[id];
            if connection.is_writing() {
                let now = self.clock.now();
                if !self.write(id, now) {
                    return;
                }
            } else {
                // Handshake bytes that did not fit the socket.
                connection.flush_tls();
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read(id, flags.intersects(ENDED));
        }
    }

    /// Reads available bytes. `ended` means that the target closed its side.
    #[inline]
    pub(super) fn read(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id].generation();
        for _ in 0..READS_MAX {
            let connection = &self.connections[id];
            let (asked, flags) = connection.next_read();
            let secure = connection.is_secure();
            let count = match self.received.receive(connection.socket(), asked, flags) {
                Ok(0) => return self.cut(id),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    let now = self.clock.now();
                    return self.broken(id, now);
                }
            };
            let taken = if secure {
                self.take_secure(id, count)
            } else if flags == RecvFlags::TRUNC {
                self.skip(id, count)
            } else {
                self.take(id, count)
            };
            if secure && !self.connections.contains(id, generation) {
                return;
            }
            match taken {
                // A short read has emptied the socket; its next byte triggers a new edge.
                FeedOutcome::More if count < asked && !ended => return self.note_first_byte(id),
                FeedOutcome::More => self.note_first_byte(id),
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

    /// A response that goes on in a later read has begun: its first read counts. One that is read at once, as most are,
    /// costs no reading of the clock.
    #[inline]
    fn note_first_byte(&mut self, id: u32) {
        let connection = &self.connections[id];
        if !connection.reader().has_begun() {
            return;
        }
        let request = self.requests.get_mut(connection.request());
        let Some(request) = request.filter(|request| !request.has_first_byte()) else {
            return;
        };
        let now = self.clock.now();
        let arrived = self.received.take_arrival();
        request.mark_first_byte(arrived.map_or(now, |arrived| arrived.min(now)));
    }

    /// Has the kernel report a pending event again, so that other connections are served first.
    pub(super) fn read_later(&mut self, id: u32) {
        let connection = &self.connections[id];
        let (socket, generation) = (connection.socket(), connection.generation());
        if self.poller.repeat(socket, id, generation).is_err() {
            let now = self.clock.now();
            self.fail(id, Outcome::Reset, now);
        }
    }

    /// Processes `count` bytes of the buffer without TLS.
    #[inline]
    fn take(&mut self, id: u32, count: usize) -> FeedOutcome {
        self.recorder.current().count_bytes_in(count as u64);
        let connection = &mut self.connections[id];
        let mut intake = Intake {
            prepared: &self.prepared,
            memo: &mut self.memo,
            requests: &mut self.requests,
            virtual_users: self.virtual_users.as_deref_mut(),
        };
        intake.feed(connection, self.received.received(count))
    }

    /// Accounts for `count` body bytes that the kernel discarded.
    fn skip(&mut self, id: u32, count: usize) -> FeedOutcome {
        self.recorder.current().count_bytes_in(count as u64);
        let connection = &mut self.connections[id];
        if let Some(request) = self.requests.get_mut(connection.request())
            && let Some(call) = request.call_mut()
        {
            call.count_bytes(count as u64);
        }
        match connection.reader_mut().skip(count as u64) {
            Progress::More => FeedOutcome::More,
            Progress::Complete(_) => FeedOutcome::Complete { exactly: true },
        }
    }

    /// Decrypts `count` bytes of the buffer, and processes the plaintext.
    fn take_secure(&mut self, id: u32, count: usize) -> FeedOutcome {
        let connection = &mut self.connections[id];
        let Some(mut session) = connection.take_tls() else {
            return FeedOutcome::Failed(Outcome::Tls);
        };
        let mut taken = FeedOutcome::More;
        let mut intake = Intake {
            prepared: &self.prepared,
            memo: &mut self.memo,
            requests: &mut self.requests,
            virtual_users: self.virtual_users.as_deref_mut(),
        };
        let decrypted = self.received.decrypt(count, &mut session, |bytes| {
            taken = match taken {
                FeedOutcome::More => intake.feed(connection, bytes),
                FeedOutcome::Complete { .. } => FeedOutcome::Complete { exactly: false },
                FeedOutcome::Failed(outcome) => FeedOutcome::Failed(outcome),
            };
        });
        if !decrypted.is_valid {
            // The alert with the reason; it does not matter here whether it arrives.
            let _ = session.flush(connection.socket());
            taken = match taken {
                FeedOutcome::Complete { .. } => FeedOutcome::Complete { exactly: false },
                _ => FeedOutcome::Failed(Outcome::Tls),
            };
        }
        self.recorder.current().count_bytes_in(decrypted.len);
        if session.flush(connection.socket()).is_err() && taken == FeedOutcome::More {
            taken = FeedOutcome::Failed(Outcome::Reset);
        }
        let is_made = connection.is_connecting() && !session.is_handshaking();
        connection.return_tls(session);
        if is_made && taken == FeedOutcome::More {
            let now = self.clock.now();
            let took_ns = connection.end_phase(now);
            self.recorder.current().count_handshake(took_ns);
            self.make_ready(id, now);
        }
        taken
    }
}

/// The result for received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedOutcome {
    /// The response is incomplete.
    More,
    /// The response is complete; `exactly` when no byte is left over.
    Complete { exactly: bool },
    /// The bytes are invalid, and the connection must be closed.
    Failed(Outcome),
}

/// The call that receives the bytes.
struct Intake<'a> {
    prepared: &'a PreparedLoad,
    memo: &'a mut HeadMemo,
    requests: &'a mut Requests,
    virtual_users: Option<&'a mut VirtualUsers>,
}

impl Intake<'_> {
    #[inline]
    fn feed(&mut self, connection: &mut TargetConnection, bytes: &[u8]) -> FeedOutcome {
        if connection.phase() != ConnectionPhase::Busy {
            // No request is pending. An idle connection that sends data must be closed.
            return FeedOutcome::Failed(Outcome::Protocol);
        }
        let progress = match &mut self.virtual_users {
            None => {
                connection
                    .reader_mut()
                    .feed(bytes, self.prepared.request().expected(), self.memo)
            }
            Some(virtual_users) => {
                let request = self.requests.get_mut(connection.request());
                let Some(call) = request.and_then(|request| request.call_mut()) else {
                    return FeedOutcome::Failed(Outcome::Protocol);
                };
                call.count_bytes(bytes.len() as u64);
                let memo = virtual_users.memo(call.request());
                let reader = connection.reader_mut();
                let progress = reader.feed_into(bytes, call.expected(), memo, call);
                if let Err(error) = progress {
                    call.set_reason(answer_error::reason(error));
                }
                progress
            }
        };
        match progress {
            Ok(Progress::More) => FeedOutcome::More,
            Ok(Progress::Complete(taken)) => FeedOutcome::Complete {
                exactly: taken == bytes.len(),
            },
            Err(error) => FeedOutcome::Failed(answer_error::outcome(error)),
        }
    }
}
