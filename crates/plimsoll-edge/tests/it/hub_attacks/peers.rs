//! Impersonated programs with scripted replies that no real program would send.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::support::{PATIENCE, Scripted};

/// Maximum bytes buffered by both kernels between two local programs, one of which has stopped reading.
pub(super) const KERNEL_MAX: usize = 16 << 20;

/// Initial data for one connection, and data repeated behind it unless empty.
pub(super) type Speech = (&'static [u8], &'static [u8]);

/// A program that must receive no connection.
pub(super) struct Decoy(TcpListener);

impl Decoy {
    pub(super) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    #[track_caller]
    pub(super) fn nobody_came(&self) {
        assert!(self.0.accept().is_err(), "somebody came");
    }
}

/// The end of a connection of a [`scripted_peer`].
pub(super) struct EndedConnection {
    /// Number of earlier connections.
    number: usize,
    /// Bytes that were accepted.
    pub(super) taken: usize,
    pub(super) received: Vec<u8>,
}

/// Sends each connection its script, and then the last one repeatedly; reports each connection that ends. Their threads
/// report in any order.
pub(super) fn scripted_peer(speeches: Vec<Speech>) -> (SocketAddr, Receiver<EndedConnection>) {
    let (sender, ended) = sync_channel(1000);
    let server = Scripted::start(move |connection| {
        let number = connection.number;
        let (first, more) = speeches[number.min(speeches.len() - 1)];
        let mut stream = connection.stream;
        let mut taken = 0;
        let mut next = first;
        while taken < 4 * KERNEL_MAX && stream.write_all(next).is_ok() {
            taken += next.len();
            next = more;
            if next.is_empty() {
                break;
            }
        }
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received);
        let _ = sender.send(EndedConnection {
            number,
            taken,
            received,
        });
    });
    (server.address, ended)
}

/// Waits for the end of the first `count` connections of [`scripted_peer`], none of which accepted more than kernel
/// buffers; what was received on each.
#[track_caller]
pub(super) fn received_to_end(ended: &Receiver<EndedConnection>, count: usize) -> Vec<Vec<u8>> {
    let mut all = BTreeMap::new();
    while (0..count).any(|number| !all.contains_key(&number)) {
        let end = ended.recv_timeout(PATIENCE).unwrap();
        assert!(
            end.taken < KERNEL_MAX,
            "{}: {} bytes",
            end.number,
            end.taken
        );
        all.insert(end.number, end.received);
    }
    all.into_values().take(count).collect()
}

/// Reads what has arrived of a request, with a short time-out.
pub(super) fn glance(stream: &mut TcpStream) -> Option<Vec<u8>> {
    stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(0) => None,
        Ok(count) => Some(bytes[..count].to_vec()),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Some(Vec::new()),
        Err(_) => None,
    }
}
