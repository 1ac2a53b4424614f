//! Arbitrary lines in any format: a plan or an error, never a panic; every line is read or counted as unreadable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_import::log::{Format, LogTally, Options, Replay, ReplayRows};

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (format, with_unsafe, text) = input;
    let names = Format::names();
    // One number more than there are names: detected.
    let name = names.get(usize::from(format) % (names.len() + 1));
    let mut tally = LogTally::new(Options {
        format: name.and_then(|name| Format::parse(name).ok()),
        with_unsafe,
        ..Options::default()
    });
    let mut lines = text.split_inclusive(|b| *b == b'\n');
    if lines.try_for_each(|line| tally.take(line)).is_err() || tally.end().is_err() {
        return;
    }
    let replay = Replay {
        speed: 3.0,
        rows: None,
    };
    if let Ok(mut rows) = ReplayRows::new(&tally, replay) {
        let mut out = String::new();
        for line in text.split_inclusive(|b| *b == b'\n') {
            rows.take(line, &mut out);
        }
        let _ = rows.finish(&mut out);
    }
    let _ = tally.finish();
});
