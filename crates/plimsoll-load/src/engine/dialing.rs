//! A connection is opened for a request, or the request waits until one may be.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::connections::NewConnection;
use crate::transport::DialFailure;
use crate::virtual_users::UserRequest;

/// Pause before connecting again to a unix socket whose backlog was full: unlike TCP, the kernel does not try again
/// by itself.
const BACKLOG_PAUSE_NS: u64 = 1_000_000;

impl Engine {
    /// Opens a connection for a request.
    pub(super) fn open_for(&mut self, request: u32, now: u64) {
        if self.connections.backlog_is_full() {
            return self.wait(request, now);
        }
        let Err(error) = self.try_open(request, now) else {
            return;
        };
        let second = self.recorder.current();
        let outcome = match error {
            DialFailure::Ports => {
                second.count_ports_exhausted();
                Outcome::Dropped
            }
            DialFailure::Descriptors => {
                second.count_descriptors_exhausted();
                Outcome::Dropped
            }
            DialFailure::BacklogFull if self.is_reopening(request) => Outcome::ConnectRefused,
            DialFailure::BacklogFull => {
                self.connections.pause_until(now + BACKLOG_PAUSE_NS);
                return self.wait(request, now);
            }
            DialFailure::Failed(outcome) => outcome,
        };
        self.end_request(request, outcome, now);
    }

    fn try_open(&mut self, request: u32, now: u64) -> Result<(), DialFailure> {
        let user = self.requests[request].user();
        let call = self.requests[request].call();
        let (origin, has_call) = (call.map_or(0, UserRequest::origin), call.is_some());
        let new = NewConnection {
            origin,
            request,
            user,
            now,
            deadline: self.prepared.timing().connect_deadline(now),
            with_timestamps: self.received.reads_timestamps(),
        };
        let transport = self.prepared.transport_to(origin);
        let id = self.connections.open(transport, &self.poller, new)?;
        self.requests[request].assign(id);
        if has_call {
            self.virtual_users().add_connection(user, origin, id);
        }
        Ok(())
    }
}
