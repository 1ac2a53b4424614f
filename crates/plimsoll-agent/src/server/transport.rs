//! What a session speaks over.

use std::io::{self, Read, Write};
use std::time::Duration;

use plimsoll_peer::ServerStream;

/// The shortest time-out that sockets know.
pub(super) const TIME_OUT_MIN: Duration = Duration::from_millis(1);

/// A stream whose reads end after a time with [`io::ErrorKind::WouldBlock`].
pub(super) trait Transport: Read + Write {
    /// How long a read waits from now on; at least a millisecond.
    fn set_time_out(&mut self, time_out: Duration) -> io::Result<()>;
}

impl Transport for ServerStream {
    fn set_time_out(&mut self, time_out: Duration) -> io::Result<()> {
        self.sock.set_read_timeout(Some(time_out.max(TIME_OUT_MIN)))
    }
}
