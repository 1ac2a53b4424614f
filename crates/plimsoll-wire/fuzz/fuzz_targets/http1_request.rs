//! Arbitrary bytes of a client, split anywhere, read as they do in one piece.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::BodyLength;
use plimsoll_wire::request_head::{find_end, header_buffer, parse, skip_empty_lines};

/// How many heads were accepted, the content of their bodies, and whether all was.
type ReadOutcome = (u32, Vec<u8>, bool);

fn read(bytes: &[u8], piece: usize) -> ReadOutcome {
    let mut held = Vec::new();
    let mut body: Option<BodyReader> = None;
    let mut reading = (0, Vec::new(), true);
    for input in bytes.chunks(piece) {
        let mut scanned = held.len();
        held.extend_from_slice(input);
        loop {
            if let Some(mut reader) = body.take() {
                let Ok(taken) = reader.take(&held, |piece| reading.1.extend_from_slice(piece)) else {
                    return (reading.0, reading.1, false);
                };
                assert!(taken <= held.len());
                held.drain(..taken);
                if !reader.is_complete() {
                    body = Some(reader);
                    break;
                }
            }
            let end = skip_empty_lines(&held).and_then(|skip| {
                let end = find_end(&held[skip..], scanned.saturating_sub(skip), 4096)?;
                Ok(end.map(|end| (skip, skip + end)))
            });
            scanned = 0;
            match end {
                Ok(None) => break,
                Ok(Some((skip, end))) => {
                    let bytes: Vec<u8> = held.drain(..end).collect();
                    let mut buffer = header_buffer();
                    let Ok(head) = parse(&bytes[skip..], &mut buffer) else {
                        return (reading.0, reading.1, false);
                    };
                    reading.0 += 1;
                    body = Some(BodyReader::new(
                        match head.length {
                            BodyLength::Unspecified => BodyLength::Sized(0),
                            length => length,
                        },
                        1000,
                    ));
                }
                Err(_) => return (reading.0, reading.1, false),
            }
        }
    }
    reading
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, usize::from(piece).max(1)));
});
