//! The body of a stored response: in memory, or read from its file block by block while it is sent.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use plimsoll_cache::disk::{CacheFileHeader, SUM_LEN};
use plimsoll_net::lock::lock;

use super::DiskShared;
use super::index::FileId;

/// Blocks per read.
const BLOCKS: u64 = 4;

/// A body to be stored.
#[derive(Clone, Debug)]
pub(crate) enum CopyBody {
    Memory(Bytes),
    Disk(Arc<OnDisk>),
}

impl CopyBody {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Disk(file) => file.start.body_len,
        }
    }
}

/// A stored body, by location.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyRef<'a> {
    /// Next to its head, since it is short.
    Short(&'a [u8]),
    Long(&'a Bytes),
    Disk(&'a Arc<OnDisk>),
}

impl<'a> BodyRef<'a> {
    pub(crate) fn len(self) -> u64 {
        match self {
            Self::Short(bytes) => bytes.len() as u64,
            Self::Long(bytes) => bytes.len() as u64,
            Self::Disk(file) => file.start.body_len,
        }
    }

    /// The complete body, unless it is on disk.
    pub(crate) fn in_memory(self) -> Option<&'a [u8]> {
        match self {
            Self::Short(bytes) => Some(bytes),
            Self::Long(bytes) => Some(bytes),
            Self::Disk(_) => None,
        }
    }

    /// The part in memory of a byte range, and a reader for the rest.
    pub(crate) fn range(self, from: u64, to: u64) -> (Bytes, Option<DiskBodyReader>) {
        match self {
            Self::Short(bytes) => (
                Bytes::copy_from_slice(&bytes[within(bytes, from, to)]),
                None,
            ),
            Self::Long(bytes) => (bytes.slice(within(bytes, from, to)), None),
            Self::Disk(file) => {
                let reading = DiskBodyReader {
                    file: Arc::clone(file),
                    at: from,
                    end: to,
                    piece: None,
                };
                (Bytes::new(), Some(reading))
            }
        }
    }
}

/// A byte range, clamped to the length.
pub(crate) fn within(bytes: &[u8], from: u64, to: u64) -> Range<usize> {
    let place = |at: u64| usize::try_from(at).unwrap_or(bytes.len()).min(bytes.len());
    place(from)..place(to)
}

impl From<Bytes> for CopyBody {
    fn from(bytes: Bytes) -> Self {
        Self::Memory(bytes)
    }
}

/// A body in an open file: it can be read to its end even when the response is removed from disk meanwhile.
#[derive(Debug)]
pub(crate) struct OnDisk {
    pub(super) file: File,
    pub(super) start: CacheFileHeader,
    pub(super) name: FileId,
    pub(super) disk: Weak<DiskShared>,
}

impl OnDisk {
    /// Reads and verifies a block.
    pub(super) fn block(&self, index: u64, room: &mut Vec<u8>) -> Result<(), Unread> {
        let (at, len) = self.start.block(index);
        let mut block = vec![0; len + SUM_LEN];
        self.file.read_exact_at(&mut block, at)?;
        let data = self.start.check_block(index, &block);
        room.extend_from_slice(data.map_err(|_| Unread::Damaged)?);
        Ok(())
    }

    /// Reads a byte range, and verifies all its blocks.
    fn read(&self, from: u64, to: u64) -> Result<Bytes, Unread> {
        let (first, end) = (block_of(from), block_of(to - 1) + 1);
        let mut room = Vec::new();
        for index in first..end {
            self.block(index, &mut room)?;
        }
        let before = first * plimsoll_cache::disk::BLOCK_LEN as u64;
        let place = |at: u64| usize::try_from(at - before).unwrap_or(usize::MAX);
        let bytes = Bytes::from(room);
        Ok(bytes.slice(place(from)..place(to)))
    }
}

fn block_of(at: u64) -> u64 {
    at / plimsoll_cache::disk::BLOCK_LEN as u64
}

/// Why bytes of a file are unavailable.
#[derive(Debug)]
pub(super) enum Unread {
    /// A checksum does not match.
    Damaged,
    /// The file is gone.
    Gone,
    /// I/O error.
    System(io::Error),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Truncated, or not a regular file.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Self::Damaged,
            io::ErrorKind::NotFound => Self::Gone,
            _ => Self::System(error),
        }
    }
}

/// A requested piece.
#[derive(Debug, Default)]
pub(super) struct PieceRead {
    /// The result, and the task to wake.
    read: Mutex<(Option<NextPiece>, Option<Waker>)>,
}

impl PieceRead {
    fn bring(&self, next: NextPiece) {
        let mut read = lock(&self.read);
        read.0 = Some(next);
        let waker = read.1.take();
        drop(read);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A request to read a piece. The waiting task is woken even when the request is dropped.
#[derive(Debug)]
pub(super) struct ReadPiece {
    pub(super) file: Arc<OnDisk>,
    from: u64,
    to: u64,
    piece: Arc<PieceRead>,
}

impl ReadPiece {
    /// Reads the piece; the caller reports the error.
    pub(super) fn carry_out(&self) -> Result<(), Unread> {
        let bytes = self.file.read(self.from, self.to)?;
        self.piece.bring(NextPiece::Bytes(bytes));
        Ok(())
    }
}

impl Drop for ReadPiece {
    fn drop(&mut self) {
        let is_open = lock(&self.piece.read).0.is_none() && Arc::strong_count(&self.piece) > 1;
        if is_open {
            self.piece.bring(NextPiece::Broken);
        }
    }
}

/// A body that is read while it is sent.
#[derive(Debug)]
pub(crate) struct DiskBodyReader {
    file: Arc<OnDisk>,
    at: u64,
    end: u64,
    piece: Option<Arc<PieceRead>>,
}

/// The next piece of a body.
#[derive(Debug)]
pub(crate) enum NextPiece {
    Bytes(Bytes),
    End,
    /// It cannot be read.
    Broken,
}

impl DiskBodyReader {
    pub(crate) fn len(&self) -> u64 {
        self.end - self.at
    }

    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<NextPiece> {
        if self.at >= self.end {
            return Poll::Ready(NextPiece::End);
        }
        let piece = match &self.piece {
            Some(piece) => Arc::clone(piece),
            None => match self.request_piece() {
                Some(piece) => piece,
                None => return Poll::Ready(NextPiece::Broken),
            },
        };
        let mut read = lock(&piece.read);
        let Some(next) = read.0.take() else {
            read.1 = Some(cx.waker().clone());
            return Poll::Pending;
        };
        drop(read);
        self.piece = None;
        if let NextPiece::Bytes(bytes) = &next {
            self.at += bytes.len() as u64;
        }
        Poll::Ready(next)
    }

    fn request_piece(&mut self) -> Option<Arc<PieceRead>> {
        let disk = self.file.disk.upgrade()?;
        let block_len = plimsoll_cache::disk::BLOCK_LEN as u64;
        let to = (block_of(self.at) + BLOCKS) * block_len;
        let piece = Arc::new(PieceRead::default());
        disk.read(ReadPiece {
            file: Arc::clone(&self.file),
            from: self.at,
            to: to.min(self.end),
            piece: Arc::clone(&piece),
        });
        self.piece = Some(Arc::clone(&piece));
        Some(piece)
    }
}
