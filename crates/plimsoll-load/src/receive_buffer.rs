//! The buffer that all connections of a loop read into, with the kernel's arrival timestamps where they are wanted.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::clock::LoadClock;
use crate::prepared_load::PreparedLoad;
use crate::rx_timestamp::RxTimestampReader;
use crate::tls::TlsSession;

/// Size of the buffer, bytes.
pub(crate) const BUFFER_LEN: usize = 64 * 1024;

/// Size of the buffer for decrypted bytes: one TLS record.
const PLAIN_LEN: usize = 16 * 1024;

/// Received bytes of one loop.
pub(crate) struct ReceiveBuffer {
    bytes: Box<[u8]>,
    /// Decrypted bytes of the buffer; empty without TLS.
    plain: Box<[u8]>,
    /// Reads kernel timestamps of responses, when the loop does not wake for each of them.
    timestamps: Option<RxTimestampReader>,
    /// When the last bytes read arrived, ns of run time, if the kernel reported it.
    arrived: Option<u64>,
    clock: LoadClock,
}

/// The result of decrypting what was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decrypted {
    /// Length of the plaintext, bytes.
    pub(crate) len: u64,
    /// Whether all of it was valid TLS; nothing behind an invalid record was read.
    pub(crate) is_valid: bool,
}

impl ReceiveBuffer {
    pub(crate) fn new(prepared: &PreparedLoad, clock: LoadClock) -> Self {
        let plain_len = if prepared.uses_tls() { PLAIN_LEN } else { 0 };
        Self {
            bytes: vec![0; BUFFER_LEN].into_boxed_slice(),
            plain: vec![0; plain_len].into_boxed_slice(),
            timestamps: prepared
                .wants_rx_timestamps()
                .then(RxTimestampReader::default),
            arrived: None,
            clock,
        }
    }

    /// Whether the kernel's timestamps are read.
    #[inline]
    pub(crate) fn reads_timestamps(&self) -> bool {
        self.timestamps.is_some()
    }

    /// Reads at most `asked` bytes into the buffer, and keeps their arrival time where it is known.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        socket: &OwnedFd,
        asked: usize,
        flags: RecvFlags,
    ) -> Result<usize, Errno> {
        let buffer = &mut self.bytes[..asked];
        let Some(timestamps) = &mut self.timestamps else {
            return rustix::net::recv(socket, buffer, flags).map(|(_, count)| count);
        };
        let (count, timestamp) = timestamps.receive(socket, buffer, flags)?;
        self.arrived = timestamp.map(|timestamp_ns| self.clock.moment_of(timestamp_ns));
        Ok(count)
    }

    /// Fills the buffer. Returns the time of day at which the bytes arrived, ns, if the kernel reported it.
    #[inline]
    pub(crate) fn receive_stamped(
        &mut self,
        socket: &OwnedFd,
    ) -> Result<(usize, Option<u64>), Errno> {
        let (buffer, flags) = (&mut self.bytes[..], RecvFlags::empty());
        match &mut self.timestamps {
            Some(timestamps) => timestamps.receive(socket, buffer, flags),
            None => rustix::net::recv(socket, buffer, flags).map(|(_, count)| (count, None)),
        }
    }

    /// When the last bytes arrived, once.
    #[inline]
    pub(crate) fn take_arrival(&mut self) -> Option<u64> {
        self.arrived.take()
    }

    /// The first `count` bytes read.
    #[inline]
    pub(crate) fn received(&mut self, count: usize) -> &mut [u8] {
        &mut self.bytes[..count]
    }

    /// Decrypts the first `count` bytes read, and passes their plaintext to `each`.
    pub(crate) fn decrypt(
        &mut self,
        count: usize,
        session: &mut TlsSession,
        mut each: impl FnMut(&mut [u8]),
    ) -> Decrypted {
        let mut input = &self.bytes[..count];
        let mut len = 0;
        let mut is_valid = true;
        while !input.is_empty() && is_valid {
            let received = session.receive(&mut input, &mut self.plain, |bytes| {
                len += bytes.len() as u64;
                each(bytes);
            });
            is_valid = received.is_ok();
        }
        Decrypted { len, is_valid }
    }
}
