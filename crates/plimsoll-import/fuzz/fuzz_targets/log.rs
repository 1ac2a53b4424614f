//! Arbitrary lines in any format: a plan or an error, never a panic; every line is read or counted as unreadable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_import::log::{LogFileFormat, LogTally, Options, Replay, ReplayRows};

const FORMATS: [Option<LogFileFormat>; 6] = [
    None,
    Some(LogFileFormat::Nginx),
    Some(LogFileFormat::Apache),
    Some(LogFileFormat::Haproxy),
    Some(LogFileFormat::Cloudfront),
    Some(LogFileFormat::Json),
];

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (format, with_unsafe, text) = input;
    let mut tally = LogTally::new(Options {
        format: FORMATS[usize::from(format) % FORMATS.len()],
        with_unsafe,
        ..Options::default()
    });
    text.split_inclusive(|b| *b == b'\n')
        .for_each(|line| tally.take(line));
    let replay = Replay {
        speed: 3.0,
        rows: None,
    };
    if let Ok(mut rows) = ReplayRows::new(&tally, replay) {
        text.split_inclusive(|b| *b == b'\n').for_each(|line| {
            rows.take(line);
        });
        let _ = rows.finish();
    }
    let _ = tally.finish();
});
