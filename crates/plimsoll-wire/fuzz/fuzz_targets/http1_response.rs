//! Arbitrary bytes, split anywhere, read as they do in one piece; the reader never panics or takes more than it gets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::head::HeadLimits;
use plimsoll_wire::head::HeadMemo;
use plimsoll_wire::response::{Expected, Progress, ResponseReader};

fn read(bytes: &[u8], piece: usize, expected: Expected) -> Result<Option<usize>, Http1Error> {
    let mut reader = ResponseReader::default();
    let mut memo = HeadMemo::default();
    reader.begin();
    let mut at = 0;
    for input in bytes.chunks(piece) {
        match reader.feed(input, expected, &mut memo)? {
            Progress::More => at += input.len(),
            Progress::Complete(taken) => {
                assert!(taken <= input.len());
                return Ok(Some(at + taken));
            }
        }
    }
    Ok(None)
}

fuzz_target!(|input: (u8, bool, u16, &[u8])| {
    let (piece, no_body, body_len_max, bytes) = input;
    let expected = Expected {
        head: HeadLimits::DEFAULT,
        no_body,
        keep_location: true,
        body_len_max: u64::from(body_len_max),
    };
    let whole = read(bytes, bytes.len().max(1), expected);
    assert_eq!(whole, read(bytes, usize::from(piece).max(1), expected));
});
