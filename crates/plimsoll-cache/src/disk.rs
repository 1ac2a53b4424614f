//! Format of cache files: how they are written, and how they are read without trusting a byte.
//!
//! A file is a header of fixed length, the metadata of the stored response, and the body in blocks. Each has a
//! checksum, so that a range of a body is verified without reading the rest, and no unverified byte is served. All
//! numbers are little endian. Checksums are 64-bit xxh3, seeded with the file's own number: a block of another file, or
//! of an older one in the same place, does not pass. Decision 0160 has the reasons.

mod journal;
mod meta;
#[cfg(test)]
mod tests;

use thiserror::Error;
use twox_hash::XxHash3_64;

pub use self::journal::{About, JOURNAL_LEN_MAX, Journal};
pub use self::meta::{Copy, CopyRef};

/// Length of the header.
pub const START_LEN: usize = 64;

/// Length of a body block, except the last.
pub const BLOCK_LEN: usize = 64 * 1024;

/// Length of a checksum.
pub const SUM_LEN: usize = 8;

/// Longest metadata.
pub const META_LEN_MAX: usize = 4 << 20;

/// The longest body that a file can hold.
pub const BODY_LEN_MAX: u64 = 1 << 46;

const MAGIC: [u8; 8] = *b"plimcopy";

/// Version of the format; files of other versions are dropped.
const VERSION: u32 = 1;

/// Why a file, or a part of one, is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// It is shorter than its contents require.
    #[error("truncated")]
    Short,
    /// Wrong magic number.
    #[error("not a cache file")]
    Magic,
    /// Written in another format version.
    #[error("written in another format version")]
    Version,
    /// Checksum mismatch.
    #[error("checksum mismatch")]
    Sum,
    /// Checksums match, but a value is impossible.
    #[error("impossible value")]
    Nonsense,
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheFileHeader {
    /// The file's own number, which seeds its checksums.
    pub file_id: u64,
    /// Number of the last purge when the response was requested.
    pub purges: u64,
    /// The hash of its key.
    pub hash: u64,
    /// Length of the metadata.
    pub meta_len: u32,
    /// Length of the body.
    pub body_len: u64,
    /// Checksum of the metadata.
    pub meta_sum: u64,
}

impl CacheFileHeader {
    /// Encodes it.
    pub fn write(&self) -> [u8; START_LEN] {
        let mut bytes = [0; START_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.meta_len.to_le_bytes());
        let numbers = [
            self.body_len,
            self.file_id,
            self.purges,
            self.hash,
            self.meta_sum,
        ];
        for (place, number) in bytes[16..56].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = XxHash3_64::oneshot(&bytes[..56]);
        bytes[56..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Parses it.
    ///
    /// # Errors
    /// What is damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, Damage> {
        let bytes: &[u8; START_LEN] = bytes
            .get(..START_LEN)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(Damage::Short)?;
        if bytes[..8] != MAGIC {
            return Err(Damage::Magic);
        }
        let mut fields = ByteCursor(&bytes[8..]);
        if fields.u32()? != VERSION {
            return Err(Damage::Version);
        }
        let meta_len = fields.u32()?;
        let body_len = fields.u64()?;
        let start = Self {
            file_id: fields.u64()?,
            purges: fields.u64()?,
            hash: fields.u64()?,
            meta_len,
            body_len,
            meta_sum: fields.u64()?,
        };
        if fields.u64()? != XxHash3_64::oneshot(&bytes[..56]) {
            return Err(Damage::Sum);
        }
        if meta_len as usize > META_LEN_MAX || body_len > BODY_LEN_MAX {
            return Err(Damage::Nonsense);
        }
        Ok(start)
    }

    /// Offset of the body.
    pub fn body_at(&self) -> u64 {
        START_LEN as u64 + u64::from(self.meta_len)
    }

    /// Length of the whole file.
    pub fn file_len(&self) -> u64 {
        self.body_at() + self.body_len + self.blocks() * SUM_LEN as u64
    }

    /// Number of body blocks.
    pub fn blocks(&self) -> u64 {
        self.body_len.div_ceil(BLOCK_LEN as u64)
    }

    /// Offset of a block in the file, and its length without the checksum.
    pub fn block(&self, index: u64) -> (u64, usize) {
        let before = index * BLOCK_LEN as u64;
        let at = self.body_at() + before + index * SUM_LEN as u64;
        let left = self.body_len.saturating_sub(before);
        let len = usize::try_from(left).map_or(BLOCK_LEN, |left| left.min(BLOCK_LEN));
        (at, len)
    }

    /// The contents of a block, verified by the checksum behind it.
    ///
    /// # Errors
    /// When the checksum does not match.
    pub fn check_block<'b>(&self, index: u64, block: &'b [u8]) -> Result<&'b [u8], Damage> {
        let len = self.block(index).1;
        let (data, sum) = block.split_at_checked(len).ok_or(Damage::Short)?;
        if sum != block_sum(self.file_id, index, data) {
            return Err(Damage::Sum);
        }
        Ok(data)
    }

    /// Verifies the metadata and parses it.
    ///
    /// # Errors
    /// What is damaged.
    pub fn read_meta(&self, meta: &[u8]) -> Result<Copy, Damage> {
        if meta.len() != self.meta_len as usize {
            return Err(Damage::Short);
        }
        if meta_sum(self.file_id, meta) != self.meta_sum {
            return Err(Damage::Sum);
        }
        Copy::read(meta)
    }
}

/// Checksum of the metadata.
pub fn meta_sum(file_id: u64, meta: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(file_id, meta)
}

/// Checksum of a block.
pub fn block_sum(file_id: u64, index: u64, data: &[u8]) -> [u8; SUM_LEN] {
    // The position is included, so that blocks cannot be swapped.
    let seed = file_id ^ (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    XxHash3_64::oneshot_with_seed(seed, data).to_le_bytes()
}

/// Reads from the front of a byte slice.
struct ByteCursor<'a>(&'a [u8]);

impl<'a> ByteCursor<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Damage::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| Damage::Short)
    }

    fn u8(&mut self) -> Result<u8, Damage> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(u64::from_le_bytes)
    }

    /// Length-prefixed bytes.
    fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let len = self.u32()?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }
}

/// Writes length-prefixed bytes.
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}
