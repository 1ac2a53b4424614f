//! Frames of another machine, in pieces of any length, and the first message in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_peer::frame::Decoder;
use plimsoll_peer::{Hello, Role};

/// Longest frame that is read.
const LONGEST: usize = 256;

fuzz_target!(|data: &[u8]| {
    let Some((&step, bytes)) = data.split_first() else {
        return;
    };
    let own = Hello::of_this_build(Role::Agent);
    let mut decoder = Decoder::new(LONGEST);
    for chunk in bytes.chunks(usize::from(step) + 1) {
        decoder.push(chunk);
        while let Ok(Some(frame)) = decoder.next_frame() {
            assert!(frame.len() <= LONGEST);
            if let Ok(other) = serde_json::from_slice::<Hello>(frame) {
                let _ = own.judge(&other);
            }
        }
    }
});
