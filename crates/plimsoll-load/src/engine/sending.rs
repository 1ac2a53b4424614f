//! A request is sent on a connection that is ready for it.

use super::Engine;
use crate::connections::TargetConnection;
use crate::prepared_load::PreparedLoad;

impl Engine {
    /// Sends a request on a connection that is ready for it.
    #[inline]
    pub(super) fn send_on(&mut self, id: u32, request_id: u32, now: u64) {
        let connection = self.connections.occupy(id);
        if connection.http2().is_some() {
            return self.send_stream(id, request_id, now);
        }
        let request = &mut self.requests[request_id];
        connection.begin_exchange(request_id);
        request.assign(id);
        request.mark_sent(now);
        if let Some(call) = request.call_mut() {
            call.begin_answer();
            if is_last(&self.prepared, connection) {
                call.close_after();
            }
            connection.set_keeps_body(call.wants_body());
        }
        self.recorder.current().count_sent();
        self.write(id, now);
    }

    /// Writes the rest of a request. Returns whether the connection is still open.
    #[inline]
    pub(super) fn write(&mut self, id: u32, now: u64) -> bool {
        let connection = &mut self.connections[id];
        let request = &self.requests[connection.request()];
        let is_last = is_last(&self.prepared, connection);
        let (head, body) = request.payload(&self.prepared, is_last);
        let Ok(count) = connection.write(head, body) else {
            self.broken(id, now);
            return false;
        };
        self.recorder.current().count_bytes_out(count as u64);
        true
    }
}

/// Whether the connection has sent its last request.
pub(super) fn is_last(prepared: &PreparedLoad, connection: &TargetConnection) -> bool {
    connection.has_served(prepared.plan().transport.requests_per_connection)
}
