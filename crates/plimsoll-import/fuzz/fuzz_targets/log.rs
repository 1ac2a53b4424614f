//! Arbitrary lines in any format: a plan or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_import::log::{Format, LogTally, Options, Replay, ReplayRows};
use plimsoll_logs::{LogEntry, LogReader, detect};

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (format, with_unsafe, text) = input;
    let names = Format::names();
    // One number more than there are names: detected.
    let name = names.get(usize::from(format) % (names.len() + 1));
    let wanted = name.and_then(|name| Format::parse(name).ok());
    let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let Ok(detected) = detect(&lines, wanted.as_ref()) else {
        return;
    };
    let mut tally = LogTally::new(Options {
        with_unsafe,
        ..Options::default()
    });
    let each = |take: &mut dyn FnMut(&LogEntry<'_>, usize)| {
        let mut unwrapper = detected.format.unwrapper();
        let mut reader = LogReader::new(detected.format.clone());
        for (index, line) in lines.iter().enumerate() {
            if let Some(line) = unwrapper.line(line)
                && let Ok(Some(entry)) = reader.read(line)
            {
                take(&entry, index + 1);
            }
        }
    };
    each(&mut |entry, number| tally.take(entry, number));
    let replay = Replay {
        speed: 3.0,
        rows: None,
    };
    if let Ok(mut rows) = ReplayRows::new(&tally, replay) {
        let mut out = String::new();
        each(&mut |entry, _| rows.take(entry, &mut out));
        let _ = rows.finish(&mut out);
    }
    let _ = tally.finish();
});
