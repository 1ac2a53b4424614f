//! Purge journal and hash seed of the cache on disk: written before a purge is confirmed.
//!
//! A purge is a numbered record, and a stored response has the number of the last purge when it was requested. So a
//! purge of everything costs one record whatever the disk holds, and a stored response is compared with the records
//! when it is read. When there are too many records, or they are unreadable, all earlier responses count as
//! hard-purged.

use std::collections::HashMap;

use twox_hash::XxHash3_64;

use super::{ByteCursor, Damage, put_bytes};
use crate::key::Seed;
use crate::moment::Moment;
use crate::store::How;

const MAGIC: [u8; 8] = *b"plimpurg";
const VERSION: u32 = 1;
/// Length of the header.
const START_LEN: usize = 52;

/// Maximum number of prefixes, and of keys and tags, that are recorded.
const PREFIXES_MAX: usize = 256;
const HASHES_MAX: usize = 65_536;

/// Longest journal that is read.
pub const JOURNAL_LEN_MAX: u64 = 64 << 20;

/// Scope of a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About<'a> {
    /// Everything.
    Everything,
    /// Keys with this prefix.
    Prefix(&'a [u8]),
    /// Keys with this hash.
    Key(u64),
    /// Responses with this tag.
    Tag(u64),
}

/// The numbers of the last soft and the last hard purge, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Last {
    soft: u64,
    hard: u64,
}

impl Last {
    fn note(&mut self, number: u64, how: How) {
        let last = match how {
            How::Soft => &mut self.soft,
            How::Hard => &mut self.hard,
        };
        *last = number.max(*last);
    }

    fn join(&mut self, other: Self) {
        self.note(other.soft, How::Soft);
        self.note(other.hard, How::Hard);
    }
}

/// The purges in force.
#[derive(Clone, Debug)]
pub struct Journal {
    seed: Seed,
    last: u64,
    /// Time of the last soft purge.
    softly_at: Moment,
    everything: Last,
    prefixes: Vec<(Box<[u8]>, Last)>,
    keys: HashMap<u64, Last>,
    tags: HashMap<u64, Last>,
}

impl Journal {
    /// An empty journal with a random hash seed.
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            last: 0,
            softly_at: Moment::default(),
            everything: Last::default(),
            prefixes: Vec::new(),
            keys: HashMap::new(),
            tags: HashMap::new(),
        }
    }

    /// The hash seed.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The number of the last purge.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Time of the last soft purge.
    pub fn softly_at(&self) -> Moment {
        self.softly_at
    }

    /// Records a purge; returns the bytes to append to the file.
    pub fn record(&mut self, about: About<'_>, how: How, now: Moment) -> Vec<u8> {
        let number = self.last + 1;
        let mut bytes = Vec::new();
        put_record(&mut bytes, number, now, how, about);
        self.note(about, number, how, now);
        if self.is_full() {
            put_record(&mut bytes, number, now, How::Hard, About::Everything);
            self.note(About::Everything, number, How::Hard, now);
        }
        bytes
    }

    fn is_full(&self) -> bool {
        self.prefixes.len() > PREFIXES_MAX
            || self.keys.len() > HASHES_MAX
            || self.tags.len() > HASHES_MAX
    }

    fn note(&mut self, about: About<'_>, number: u64, how: How, at: Moment) {
        self.last = self.last.max(number);
        if how == How::Soft {
            self.softly_at = self.softly_at.max(at);
        }
        match about {
            About::Everything => {
                self.everything.note(number, how);
                if how == How::Hard {
                    // What is hard-purged cannot be purged again.
                    let keep = |last: &Last| last.soft.max(last.hard) > number;
                    self.prefixes.retain(|(_, last)| keep(last));
                    self.keys.retain(|_, last| keep(last));
                    self.tags.retain(|_, last| keep(last));
                }
            }
            About::Prefix(prefix) => {
                let mut known = self.prefixes.iter_mut();
                if let Some((_, last)) = known.find(|(known, _)| **known == *prefix) {
                    last.note(number, how);
                } else {
                    let mut last = Last::default();
                    last.note(number, how);
                    self.prefixes.push((prefix.into(), last));
                }
            }
            About::Key(hash) => self.keys.entry(hash).or_default().note(number, how),
            About::Tag(tag) => self.tags.entry(tag).or_default().note(number, how),
        }
    }

    /// Effect of the purges after number `since` on a stored response.
    pub fn met(&self, since: u64, hash: u64, key: &[u8], tags: &[u64]) -> Option<How> {
        if self.last <= since {
            return None;
        }
        let mut last = self.everything;
        for (prefix, purged) in &self.prefixes {
            if key.starts_with(prefix) {
                last.join(*purged);
            }
        }
        last.join(self.keys.get(&hash).copied().unwrap_or_default());
        for tag in tags {
            last.join(self.tags.get(tag).copied().unwrap_or_default());
        }
        if last.hard > since {
            Some(How::Hard)
        } else {
            (last.soft > since).then_some(How::Soft)
        }
    }

    /// Encodes the whole file.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::from(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        for number in [self.seed.0, self.seed.1, self.last, self.softly_at.ms()] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let sum = XxHash3_64::oneshot(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        let mut put = |about, last: &Last| {
            for (number, how) in [(last.soft, How::Soft), (last.hard, How::Hard)] {
                if number > 0 {
                    put_record(&mut out, number, self.softly_at, how, about);
                }
            }
        };
        put(About::Everything, &self.everything);
        for (prefix, last) in &self.prefixes {
            put(About::Prefix(prefix), last);
        }
        for (hash, last) in &self.keys {
            put(About::Key(*hash), last);
        }
        for (tag, last) in &self.tags {
            put(About::Tag(*tag), last);
        }
        out
    }

    /// Parses a file. When only its records are damaged, all earlier responses count as purged.
    ///
    /// # Errors
    /// When its header is unreadable: nothing is known about the files beside it.
    pub fn read(bytes: &[u8]) -> Result<Self, Damage> {
        let (start, sum) = bytes
            .get(..START_LEN)
            .and_then(|start| start.split_at_checked(START_LEN - 8))
            .ok_or(Damage::Short)?;
        if start[..8] != MAGIC {
            return Err(Damage::Magic);
        }
        let mut fields = ByteCursor(&start[8..]);
        if fields.u32()? != VERSION {
            return Err(Damage::Version);
        }
        if sum != XxHash3_64::oneshot(start).to_le_bytes() {
            return Err(Damage::Sum);
        }
        let mut journal = Self::new(Seed(fields.u64()?, fields.u64()?));
        journal.last = fields.u64()?;
        journal.softly_at = Moment::from_ms(fields.u64()?);
        let mut records = ByteCursor(&bytes[START_LEN..]);
        while !records.0.is_empty() {
            if journal.read_record(&mut records).is_err() || journal.is_full() {
                // The missing purges are unknown, and so are their numbers: this one is above them all.
                let above = journal.last + bytes.len() as u64;
                let at = journal.softly_at;
                journal.note(About::Everything, above, How::Hard, at);
                break;
            }
        }
        Ok(journal)
    }

    fn read_record(&mut self, records: &mut ByteCursor<'_>) -> Result<(), Damage> {
        let record = records.bytes()?;
        let (record, sum) = record.split_last_chunk::<8>().ok_or(Damage::Short)?;
        if XxHash3_64::oneshot(record).to_le_bytes() != *sum {
            return Err(Damage::Sum);
        }
        let mut fields = ByteCursor(record);
        let (number, at) = (fields.u64()?, Moment::from_ms(fields.u64()?));
        let how = match fields.u8()? {
            0 => How::Soft,
            1 => How::Hard,
            _ => return Err(Damage::Nonsense),
        };
        let about = match fields.u8()? {
            0 => About::Everything,
            1 => About::Prefix(fields.0),
            2 => About::Key(fields.u64()?),
            3 => About::Tag(fields.u64()?),
            _ => return Err(Damage::Nonsense),
        };
        self.note(about, number, how, at);
        Ok(())
    }
}

fn put_record(out: &mut Vec<u8>, number: u64, at: Moment, how: How, about: About<'_>) {
    let mut record = Vec::with_capacity(64);
    record.extend_from_slice(&number.to_le_bytes());
    record.extend_from_slice(&at.ms().to_le_bytes());
    record.push(u8::from(how == How::Hard));
    match about {
        About::Everything => record.push(0),
        About::Prefix(prefix) => {
            record.push(1);
            record.extend_from_slice(prefix);
        }
        About::Key(hash) => {
            record.push(2);
            record.extend_from_slice(&hash.to_le_bytes());
        }
        About::Tag(tag) => {
            record.push(3);
            record.extend_from_slice(&tag.to_le_bytes());
        }
    }
    let sum = XxHash3_64::oneshot(&record);
    record.extend_from_slice(&sum.to_le_bytes());
    put_bytes(out, &record);
}
