//! Programs that are not what they seem to be: what they say is written by hand, for no real one would say it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::support::{PATIENCE, Scripted};

/// Most bytes that the two kernels take between two programs here, of which one does not read any more.
pub(super) const KERNEL_MAX: usize = 16 << 20;

/// What is said to one connection, and again and again behind it if that is not nothing.
pub(super) type Speech = (&'static [u8], &'static [u8]);

/// A program that nobody was told of: nobody must come.
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

/// Says to each connection what stands for it in the list, and then the last again and again; for each that ended comes
/// out how many bytes were taken from it, and what was heard on it.
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

/// Waits for the end of a connection of [`speaking`], of which no more is taken than the kernels do; what was heard on it.
#[track_caller]
pub(super) fn received_to_end(ended: &Receiver<(usize, Vec<u8>)>, number: usize) -> Vec<u8> {
    let (taken, received) = ended.recv_timeout(PATIENCE).unwrap();
    assert!(taken < KERNEL_MAX, "{number}: {taken} bytes");
    received
}

/// Reads what is asked, as far as it has come, within a glance.
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
