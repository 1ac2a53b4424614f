use proptest::prelude::*;

use super::*;
use crate::key::Seed;
use crate::moment::Moment;
use crate::policy::CachePolicy;
use crate::properties::file_is_read_or_refused;
use crate::store::How;
use crate::test_fixtures::store;

const FILE_ID: u64 = 77;

/// A cache file with a body of `len` bytes.
fn file(len: usize) -> (CacheFileHeader, Vec<u8>) {
    let stored = store(
        &[],
        200,
        &[
            ("Cache-Control", "max-age=60, stale-if-error=9"),
            ("ETag", "\"a\""),
            ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ],
        &CachePolicy::default(),
    );
    let copy = CopyRef {
        key: b"https://a.example/page",
        tags: &[1, 2, u64::MAX],
        space: 9,
        names: "accept-language",
        values: b"de\n",
        stored: &stored,
    };
    let meta = copy.write();
    let start = CacheFileHeader {
        file_id: FILE_ID,
        purges: 3,
        hash: 4,
        meta_len: u32::try_from(meta.len()).unwrap(),
        body_len: len as u64,
        meta_sum: meta_sum(FILE_ID, &meta),
    };
    let mut bytes = Vec::from(start.write());
    bytes.extend_from_slice(&meta);
    let body: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
    for (index, block) in body.chunks(BLOCK_LEN).enumerate() {
        bytes.extend_from_slice(block);
        bytes.extend_from_slice(&block_sum(FILE_ID, index as u64, block));
    }
    (start, bytes)
}

/// Reads a whole file: metadata and body.
fn read(bytes: &[u8]) -> Result<(Copy, Vec<u8>), Damage> {
    let start = CacheFileHeader::read(bytes)?;
    if start.file_len() != bytes.len() as u64 {
        return Err(Damage::Short);
    }
    let place = |at: u64| usize::try_from(at).unwrap();
    let copy = start.read_meta(&bytes[START_LEN..place(start.body_at())])?;
    let mut body = Vec::new();
    for index in 0..start.blocks() {
        let (at, len) = start.block(index);
        let block = &bytes[place(at)..place(at) + len + SUM_LEN];
        body.extend_from_slice(start.check_block(index, block)?);
    }
    Ok((copy, body))
}

#[test]
fn what_is_read_was_written() {
    for len in [0, 1, BLOCK_LEN - 1, BLOCK_LEN, BLOCK_LEN + 1, 3 * BLOCK_LEN] {
        let (start, bytes) = file(len);
        assert_eq!(CacheFileHeader::read(&bytes), Ok(start));
        let (copy, body) = read(&bytes).unwrap();
        assert_eq!(body.len(), len);
        assert_eq!(copy.stored.etag(), Some(&b"\"a\""[..]));
        assert_eq!(copy.stored.terms().stale_if_error, 9);
        assert_eq!(
            (&*copy.names, &*copy.values),
            ("accept-language", &b"de\n"[..])
        );
        assert_eq!(copy.borrowed().write(), bytes[START_LEN..place(&start)]);
        file_is_read_or_refused(&bytes);
    }
}

fn place(start: &CacheFileHeader) -> usize {
    usize::try_from(start.body_at()).unwrap()
}

#[test]
fn a_copy_that_is_read_decides_as_the_one_that_was_written() {
    let stored = store(
        &[],
        404,
        &[("Cache-Control", "max-age=60"), ("Age", "7"), ("X", "")],
        &CachePolicy::default(),
    );
    let again = crate::Stored::from_head(stored.head().into(), *stored.terms()).unwrap();
    assert_eq!(format!("{again:?}"), format!("{stored:?}"));
}

#[test]
fn a_byte_that_changed_anywhere_is_found() {
    let (_, bytes) = file(BLOCK_LEN + 100);
    let beginning = 0..START_LEN + 400;
    let end = bytes.len() - 150..bytes.len();
    let middle = [5000, BLOCK_LEN, BLOCK_LEN + 300];
    for at in beginning.chain(middle).chain(end) {
        for change in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            assert!(read(&changed).is_err(), "byte {at} ^ {change}");
        }
    }
}

#[test]
fn a_file_that_is_cut_off_or_too_long_is_found() {
    let (_, bytes) = file(300);
    for len in 0..bytes.len() {
        assert!(read(&bytes[..len]).is_err(), "{len} bytes");
    }
    assert!(read(&[&bytes[..], b"x"].concat()).is_err());
}

#[test]
fn blocks_do_not_change_places_or_files() {
    let (start, bytes) = file(2 * BLOCK_LEN);
    let block = |index| {
        let (at, len) = start.block(index);
        let at = usize::try_from(at).unwrap();
        &bytes[at..at + len + SUM_LEN]
    };
    assert!(start.check_block(0, block(0)).is_ok());
    assert_eq!(start.check_block(1, block(0)), Err(Damage::Sum));
    let other = CacheFileHeader {
        file_id: 78,
        ..start
    };
    assert_eq!(other.check_block(0, block(0)), Err(Damage::Sum));
}

#[test]
fn another_version_is_refused_by_its_name() {
    let (_, mut bytes) = file(0);
    bytes[8] = 2;
    assert_eq!(CacheFileHeader::read(&bytes), Err(Damage::Version));
    bytes[0] = b'x';
    assert_eq!(CacheFileHeader::read(&bytes), Err(Damage::Magic));
}

const NOW: Moment = Moment::from_ms(1_795_348_800_000);

#[track_caller]
fn check_met(journal: &Journal, since: u64, key: &[u8], tags: &[u64], expected: Option<How>) {
    assert_eq!(journal.met(since, 5, key, tags), expected);
    // It is the same after a restart.
    let again = Journal::read(&journal.write()).unwrap();
    assert_eq!(again.met(since, 5, key, tags), expected);
    assert_eq!(again.last(), journal.last());
}

#[test]
fn purges_meet_what_was_there_before_them() {
    let mut journal = Journal::new(Seed(1, 2));
    check_met(&journal, 0, b"http://a/x", &[7], None);
    journal.record(About::Tag(7), How::Soft, NOW);
    check_met(&journal, 0, b"http://a/x", &[6, 7], Some(How::Soft));
    check_met(&journal, 0, b"http://a/x", &[6], None);
    check_met(&journal, 1, b"http://a/x", &[7], None);
    journal.record(About::Prefix(b"http://a/"), How::Hard, NOW);
    check_met(&journal, 1, b"http://a/x", &[], Some(How::Hard));
    check_met(&journal, 1, b"http://b/x", &[], None);
    journal.record(About::Key(5), How::Soft, NOW);
    check_met(&journal, 2, b"http://b/x", &[], Some(How::Soft));
    journal.record(About::Everything, How::Hard, NOW);
    check_met(&journal, 3, b"", &[], Some(How::Hard));
    check_met(&journal, 4, b"", &[7], None);
    assert_eq!(journal.softly_at(), NOW);
}

#[test]
fn records_that_are_appended_are_read() {
    let mut journal = Journal::new(Seed(1, 2));
    let mut bytes = journal.write();
    bytes.extend(journal.record(About::Tag(7), How::Soft, NOW));
    bytes.extend(journal.record(About::Prefix(b"http://a/"), How::Hard, NOW));
    let again = Journal::read(&bytes).unwrap();
    assert_eq!(again.met(0, 1, b"http://b/", &[7]), Some(How::Soft));
    assert_eq!(again.met(0, 1, b"http://a/", &[]), Some(How::Hard));
    assert_eq!((again.last(), again.softly_at()), (2, NOW));
}

#[test]
fn a_damaged_journal_purges_what_was_there() {
    let mut journal = Journal::new(Seed(1, 2));
    let start = journal.write().len();
    let mut bytes = journal.write();
    bytes.extend(journal.record(About::Tag(7), How::Soft, NOW));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        match Journal::read(&changed) {
            Ok(read) => {
                assert!(at >= start, "byte {at}");
                assert_eq!(read.met(1, 1, b"", &[]), Some(How::Hard), "byte {at}");
            }
            Err(_) => assert!(at < start, "byte {at}"),
        }
    }
    for len in start + 1..bytes.len() {
        let read = Journal::read(&bytes[..len]).unwrap();
        assert_eq!(read.met(0, 1, b"", &[]), Some(How::Hard), "{len} bytes");
    }
}

#[test]
fn a_flood_of_purges_ends_in_one_of_everything() {
    let mut journal = Journal::new(Seed(1, 2));
    for tag in 0..70_000 {
        journal.record(About::Tag(tag), How::Soft, NOW);
    }
    assert_eq!(journal.met(60_000, 1, b"", &[]), Some(How::Hard));
    assert_eq!(journal.met(69_999, 1, b"", &[69_999]), Some(How::Soft));
    assert!(journal.write().len() < 4 << 20);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        file_is_read_or_refused(&bytes);
        let _ = Journal::read(&bytes);
    }

    #[test]
    fn any_description_under_a_true_sum_is_read_or_refused(
        at in 0_usize..400,
        with in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let (start, bytes) = file(0);
        let mut meta = bytes[START_LEN..place(&start)].to_vec();
        let from = at.min(meta.len());
        let to = (from + with.len() / 2).min(meta.len());
        meta.splice(from..to, with);
        let start = CacheFileHeader {
            meta_len: u32::try_from(meta.len()).unwrap(),
            meta_sum: meta_sum(FILE_ID, &meta),
            ..start
        };
        file_is_read_or_refused(&[&start.write()[..], &meta].concat());
    }
}
