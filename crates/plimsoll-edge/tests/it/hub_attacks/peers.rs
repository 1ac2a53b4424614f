//! Impersonated programs with scripted replies that no real program would send.

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

/// Sends each connection its script, and then the last one repeatedly; when a connection ends, reports how many bytes
/// were accepted, and what was received.
pub(super) fn scripted_peer(speeches: Vec<Speech>) -> (SocketAddr, Receiver<(usize, Vec<u8>)>) {
    let (sender, ended) = sync_channel(1000);
    let server = Scripted::start(move |connection| {
        let (first, more) = speeches[connection.number.min(speeches.len() - 1)];
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
        let _ = sender.send((taken, received));
    });
    (server.address, ended)
}

/// Waits for the end of a connection of [`scripted_peer`] that accepted no more than kernel buffers; what was received on
/// it.
#[track_caller]
pub(super) fn received_to_end(ended: &Receiver<(usize, Vec<u8>)>, number: usize) -> Vec<u8> {
    let (taken, received) = ended.recv_timeout(PATIENCE).unwrap();
    assert!(taken < KERNEL_MAX, "{number}: {taken} bytes");
    received
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
