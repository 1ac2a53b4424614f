//! Copies as files: how one is written, and how it is read without trusting a byte of it.
//!
//! A file is a beginning of fixed length, what is known of the copy, and the body in blocks. Each of the three has its
//! sum, so that a part of a body is checked without reading the rest, and no byte is served that was not checked. All
//! numbers are little endian. Sums are xxh3 of 64 bits, begun with the file's own number: a block of another file, or of
//! an older one in the same place, does not pass. Decision 0160 says why.

mod journal;
mod meta;
#[cfg(test)]
mod tests;

use thiserror::Error;
use twox_hash::XxHash3_64;

pub use self::journal::{About, JOURNAL_LEN_MAX, Journal};
pub use self::meta::{Copy, CopyRef};

/// Length of a file's beginning.
pub const START_LEN: usize = 64;

/// Length of a body's blocks, but for the last.
pub const BLOCK_LEN: usize = 64 * 1024;

/// Length of a sum.
pub const SUM_LEN: usize = 8;

/// Longest description of a copy.
pub const META_LEN_MAX: usize = 4 << 20;

/// The longest body that a file can hold.
pub const BODY_LEN_MAX: u64 = 1 << 46;

const MAGIC: [u8; 8] = *b"plimcopy";

/// The version of the format; files of another are dropped.
const VERSION: u32 = 1;

/// Why a file, or a part of one, is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// It is shorter than what it should hold.
    #[error("truncated")]
    Short,
    /// It does not begin as files of copies do.
    #[error("not a cache file")]
    Magic,
    /// It was written in another format.
    #[error("written in another format version")]
    Version,
    /// A sum does not match.
    #[error("checksum mismatch")]
    Sum,
    /// Its sums match, and what it says is impossible.
    #[error("impossible value")]
    Nonsense,
}

/// The beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheFileHeader {
    /// The file's own number, which its sums begin with.
    pub file_id: u64,
    /// The number of the last purge when the copy was asked for.
    pub purges: u64,
    /// The hash of its key.
    pub hash: u64,
    /// Length of what is known of the copy.
    pub meta_len: u32,
    /// Length of the body.
    pub body_len: u64,
    /// The sum of what is known of the copy.
    pub meta_sum: u64,
}

impl CacheFileHeader {
    /// The bytes of it.
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

    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it.
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

    /// Where the body begins.
    pub fn body_at(&self) -> u64 {
        START_LEN as u64 + u64::from(self.meta_len)
    }

    /// How long the whole file is.
    pub fn file_len(&self) -> u64 {
        self.body_at() + self.body_len + self.blocks() * SUM_LEN as u64
    }

    /// How many blocks the body has.
    pub fn blocks(&self) -> u64 {
        self.body_len.div_ceil(BLOCK_LEN as u64)
    }

    /// Where a block begins in the file, and how long it is without its sum.
    pub fn block(&self, index: u64) -> (u64, usize) {
        let before = index * BLOCK_LEN as u64;
        let at = self.body_at() + before + index * SUM_LEN as u64;
        let left = self.body_len.saturating_sub(before);
        let len = usize::try_from(left).map_or(BLOCK_LEN, |left| left.min(BLOCK_LEN));
        (at, len)
    }

    /// What a block holds, when its sum, which stands behind it, says so.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_block<'b>(&self, index: u64, block: &'b [u8]) -> Result<&'b [u8], Damage> {
        let len = self.block(index).1;
        let (data, sum) = block.split_at_checked(len).ok_or(Damage::Short)?;
        if sum != block_sum(self.file_id, index, data) {
            return Err(Damage::Sum);
        }
        Ok(data)
    }

    /// Checks what is known of the copy against its sum, and reads it.
    ///
    /// # Errors
    /// What is wrong with it.
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

/// The sum of what is known of a copy.
pub fn meta_sum(file_id: u64, meta: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(file_id, meta)
}

/// The sum that stands behind a block.
pub fn block_sum(file_id: u64, index: u64, data: &[u8]) -> [u8; SUM_LEN] {
    // The place is part of it, so that blocks cannot change places.
    let seed = file_id ^ (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    XxHash3_64::oneshot_with_seed(seed, data).to_le_bytes()
}

/// Bytes that are read from the front.
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

    /// Bytes behind their length.
    fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let len = self.u32()?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }
}

/// Writes bytes behind their length.
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}
