//! WebSockets: handshakes and frames are written, bytes are read.

use plimsoll_model::outcome::Outcome;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::Engine;
use super::receiving::READS_MAX;
use crate::clock;
use crate::poller::ENDED;
use crate::receive_buffer::BUFFER_LEN;
use crate::websocket_session::{Fed, Moment, Owned, ReceiveContext};

impl Engine {
    /// A connection is established: sends the handshake on it.
    pub(super) fn begin_handshake(&mut self, id: u32, request_id: u32, now: u64) {
        let request = &mut self.requests[request_id];
        request.mark_sent(now);
        let (path, is_users) = (request.path(), request.call().is_some());
        self.recorder.current().count_sent();
        if is_users {
            return self.begin_user_handshake(id, request_id, now);
        }
        if let Some(websockets) = &mut self.websockets {
            let template = self.prepared.request().head(path, false);
            if self
                .prepared
                .load()
                .websockets()
                .is_some_and(|load| load.is_stream)
            {
                websockets.begin_handshake_with(id, path, (template, None), None);
            } else {
                websockets.begin_handshake(id, path, template);
            }
            self.transmit(id);
        }
    }

    /// Writes prepared bytes behind those that are pending. A broken socket shows when it is read.
    pub(super) fn transmit(&mut self, id: u32) {
        let Some(websockets) = self
            .websockets
            .as_mut()
            .filter(|websockets| !websockets.output().is_empty())
        else {
            return;
        };
        let connection = &mut self.connections[id];
        let mut written = 0;
        if !connection.is_writing() {
            written = connection.write_frames(websockets.output());
        }
        self.recorder.current().count_bytes_out(written as u64);
        websockets.output_written(id, written);
    }

    /// Writes pending bytes.
    fn transmit_rest(&mut self, id: u32) {
        let connection = &mut self.connections[id];
        let Some(unsent) = self
            .websockets
            .as_mut()
            .and_then(|websockets| websockets.unsent(id))
        else {
            return;
        };
        let written = connection.write_frames(unsent);
        unsent.drain(..written);
        if unsent.is_empty() {
            // A connection whose target reads again holds no buffer.
            *unsent = Vec::new();
        }
        self.recorder.current().count_bytes_out(written as u64);
    }

    pub(super) fn on_websocket_event(&mut self, id: u32, flags: EventFlags) {
        let connection = &mut self.connections[id];
        if flags.contains(EventFlags::OUT) {
            if connection.is_writing() {
                self.transmit_rest(id);
            } else {
                // Handshake bytes that did not fit the socket.
                connection.flush_tls();
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read_websocket(id, flags.intersects(ENDED));
        }
    }

    /// Reads available bytes. `ended` means that the target closed its side.
    pub(super) fn read_websocket(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id].generation();
        for _ in 0..READS_MAX {
            let socket = self.connections[id].socket();
            let received = self.received.receive_stamped(socket);
            let (count, timestamp_ns) = match received {
                Ok((0, _)) => return self.websocket_is_cut(id),
                Ok(received) => received,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => return self.websocket_is_cut(id),
            };
            let now = self.clock.now();
            self.close_seconds(now);
            let at = Moment {
                now,
                unix_us: timestamp_ns.unwrap_or_else(clock::wall_ns) / 1000,
            };
            let fed = match self.feed_websocket(id, count, at) {
                Ok(fed) => fed,
                Err(outcome) => return self.websocket_failed(id, outcome, now),
            };
            self.conclude(id, fed, timestamp_ns, now);
            // A short read has emptied the socket; its next byte triggers a new edge.
            if !self.connections.contains(id, generation) || (count < BUFFER_LEN && !ended) {
                return;
            }
        }
        self.read_later(id);
    }

    /// Processes `count` bytes of the buffer, decrypted where needed.
    fn feed_websocket(&mut self, id: u32, count: usize, at: Moment) -> Result<Fed, Outcome> {
        let mut fed = Fed::default();
        let Some(feed_websocket) = &mut self.websockets else {
            return Ok(fed);
        };
        feed_websocket.clear_output();
        let connection = &mut self.connections[id];
        let current = self.recorder.current();
        if !connection.is_secure() {
            current.count_bytes_in(count as u64);
        }
        let mut context = ReceiveContext {
            agenda: self.prepared.agenda(),
            expected: self.prepared.request().expected(),
            virtual_users: self.virtual_users.as_deref_mut(),
            at,
            second: current.websocket(),
            fed: &mut fed,
        };
        let Some(mut session) = connection.take_tls() else {
            feed_websocket.feed(id, self.received.received(count), &mut context);
            return Ok(fed);
        };
        let decrypted = self.received.decrypt(count, &mut session, |bytes| {
            feed_websocket.feed(id, bytes, &mut context);
        });
        let current = self.recorder.current();
        current.count_bytes_in(decrypted.len);
        // Handshake responses, or the alert with the reason.
        let _ = session.flush(connection.socket());
        let is_made = connection.is_connecting() && !session.is_handshaking();
        connection.return_tls(session);
        if !decrypted.is_valid {
            return Err(Outcome::Tls);
        }
        if is_made {
            current.count_handshake(connection.end_phase(at.now));
            self.make_ready(id, at.now);
        }
        Ok(fed)
    }

    /// Whether open WebSockets are being closed, because the load is over.
    pub(super) fn websockets_are_over(&self) -> bool {
        let websockets = self.websockets.as_ref();
        websockets.is_some_and(|websockets| websockets.are_over())
    }

    /// The WebSocket of a user on a connection, if it is one.
    pub(super) fn owned(&mut self, id: u32) -> Option<&mut Owned> {
        self.websockets.as_mut()?.owned(id)
    }

    /// Whether a connection carries an event stream.
    pub(super) fn is_stream(&mut self, id: u32) -> bool {
        let websockets = self.websockets.as_mut();
        websockets.is_some_and(|websockets| websockets.is_stream(id))
    }
}
