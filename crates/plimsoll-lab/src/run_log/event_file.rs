//! The bytes of a run log: gzip members, each of which grows by an event at a time.
//!
//! An event is packed with what stood before it in its member, so that the names of series and all else that each second repeats
//! take a few bytes instead of a few kilobytes, and is flushed to a whole byte. Behind it stands what ends the member: the file is
//! complete after each event, and the next one is written over that end.

use std::fs::File;
use std::io::{self, Write as _};

use flate2::{Compress, Compression, Crc, FlushCompress};

/// Events of a member. From one to the next nothing is remembered, so that a damaged place spoils no more than these.
const EVENTS_MAX: u32 = 256;
/// What a member begins with (RFC 1952): deflate, no name, no time, from an unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// An empty last block (RFC 1951, 3.2.6); the length and the checksum of the text follow.
const LAST_BLOCK: [u8; 2] = [3, 0];
/// Bytes behind the last event of a member.
const END_LEN: usize = LAST_BLOCK.len() + 8;
/// Room for a packed event, bytes; most take less.
const PACKED_LEN: usize = 16 << 10;

/// A member that still takes events.
#[derive(Debug)]
struct Member {
    packer: Compress,
    checksum: Crc,
    events: u32,
}

impl Member {
    fn new() -> Self {
        Self {
            packer: Compress::new(Compression::fast(), false),
            checksum: Crc::new(),
            events: 0,
        }
    }

    /// The bytes of a line that goes on where the last one ended.
    fn pack(&mut self, line: &str) -> io::Result<Vec<u8>> {
        let text = [line, "\n"].concat();
        self.checksum.update(text.as_bytes());
        self.events += 1;
        let begin = self.packer.total_in();
        let mut packed = Vec::with_capacity(PACKED_LEN);
        loop {
            let taken = usize::try_from(self.packer.total_in() - begin).unwrap_or(usize::MAX);
            let rest = text.as_bytes().get(taken..).unwrap_or_default();
            self.packer
                .compress_vec(rest, &mut packed, FlushCompress::Sync)?;
            // Where there is room left, nothing waits inside for more.
            if packed.len() < packed.capacity() {
                return Ok(packed);
            }
            packed.reserve(packed.len());
        }
    }

    /// What would end it now.
    fn end(&self) -> [u8; END_LEN] {
        let mut end = [0; END_LEN];
        let (block, rest) = end.split_at_mut(LAST_BLOCK.len());
        let (checksum, length) = rest.split_at_mut(4);
        block.copy_from_slice(&LAST_BLOCK);
        checksum.copy_from_slice(&self.checksum.sum().to_le_bytes());
        length.copy_from_slice(&self.checksum.amount().to_le_bytes());
        end
    }
}

/// A file to which events are appended.
#[derive(Debug)]
pub(super) struct EventFile {
    /// Opened for appending: every write goes to its end.
    file: File,
    /// Length up to the last event that was written.
    events_len: u64,
    /// What ends the member behind that event; `None` in an empty file.
    end: Option<[u8; END_LEN]>,
    member: Option<Member>,
    /// A write failed, and something else than the end may stand behind the last event.
    is_torn: bool,
}

impl EventFile {
    /// Takes an empty file.
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            events_len: 0,
            end: None,
            member: None,
            is_torn: false,
        }
    }

    /// Appends an event, a line without its end. After an error the file is what it was before, as far as the disk allows; the next
    /// call puts it right first.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(super) fn append(&mut self, line: &str) -> io::Result<()> {
        let appended = self.try_append(line);
        if appended.is_err() {
            // The member remembers an event that the file does not have.
            self.member = None;
            self.is_torn = true;
            // Where the disk takes not even this, the file has no end, and is readable up to there.
            let _ = self.mend();
        }
        appended
    }

    /// Waits until the disk has it all.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn try_append(&mut self, line: &str) -> io::Result<()> {
        let (mut member, mut bytes, before) = if let Some(member) = self.member.take() {
            self.file.set_len(self.events_len)?;
            (member, Vec::new(), self.events_len)
        } else {
            self.mend()?;
            (Member::new(), HEAD.to_vec(), self.whole_len())
        };
        bytes.extend(member.pack(line)?);
        let events_len = before + bytes.len() as u64;
        let end = member.end();
        bytes.extend(end);
        self.file.write_all(&bytes)?;
        (self.events_len, self.end) = (events_len, Some(end));
        self.member = Some(member).filter(|member| member.events < EVENTS_MAX);
        Ok(())
    }

    /// Length with the end of the last member.
    fn whole_len(&self) -> u64 {
        self.events_len + self.end.map_or(0, |end| end.len() as u64)
    }

    /// Makes a torn file end with its last complete event and the end of its member.
    fn mend(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.events_len)?;
            if let Some(end) = self.end {
                self.file.write_all(&end)?;
            }
            self.is_torn = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::FileExt as _;
    use std::path::Path;

    use flate2::read::MultiGzDecoder;

    use super::*;
    use crate::output;

    fn text(path: &Path) -> io::Result<String> {
        let mut text = String::new();
        MultiGzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
        Ok(text)
    }

    /// A line as a second of readings is: long names, and numbers that change.
    fn line(second: u32) -> String {
        let name = |index: u128| index.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let series = (1..50).map(|index| format!("\"{:032x}\":{second}.5", name(index)));
        series.collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_file_is_complete_after_each_event_and_repeats_cost_little() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = EventFile::new(output::create_new(&path).unwrap());
        let mut expected = String::new();
        let mut lens = Vec::new();
        // Two members and a part of a third.
        for second in 0..2 * EVENTS_MAX + 10 {
            file.append(&line(second)).unwrap();
            expected.push_str(&line(second));
            expected.push('\n');
            let len = std::fs::metadata(&path).unwrap().len();
            assert_eq!(len, file.whole_len());
            lens.push(len);
            if second % 37 == 0 {
                assert_eq!(text(&path).unwrap(), expected);
            }
        }
        assert_eq!(text(&path).unwrap(), expected);
        let (first, second) = (lens[0], lens[1] - lens[0]);
        assert!(2 * second < first, "{first} and then {second} bytes");
    }

    #[test]
    fn what_a_disk_refused_in_part_is_cut_off_before_the_next_event() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = EventFile::new(output::create_new(&path).unwrap());
        file.append("one").unwrap();
        file.append("two").unwrap();
        // As a write leaves it that found no room: the end is gone, and a part of an event is there.
        let torn = File::options().write(true).open(&path).unwrap();
        torn.set_len(file.events_len).unwrap();
        torn.write_all_at(b"torn", file.events_len).unwrap();
        (file.member, file.is_torn) = (None, true);
        assert!(text(&path).is_err());
        file.append("three").unwrap();
        assert_eq!(text(&path).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_to_says_so_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = EventFile::new(output::create_new(&path).unwrap());
        file.append("one").unwrap();
        file.file = File::open(&path).unwrap();
        assert!(file.append("two").is_err() && file.append("three").is_err());
        file.file = File::options().append(true).open(&path).unwrap();
        file.append("four").unwrap();
        assert_eq!(text(&path).unwrap(), "one\nfour\n");
    }
}
