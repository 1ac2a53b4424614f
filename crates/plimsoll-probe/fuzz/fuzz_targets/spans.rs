//! Span messages from untrusted senders: the parser returns well-formed spans or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_probe::otlp::{SPANS_MAX, TEXT_LEN_MAX, from_json, from_protobuf};

fuzz_target!(|bytes: &[u8]| {
    for spans in [from_protobuf(bytes), from_json(bytes)]
        .into_iter()
        .flatten()
    {
        assert!(spans.len() <= SPANS_MAX);
        for span in spans {
            assert!(span.trace != 0 && span.id != 0 && span.start_ns <= span.end_ns);
            let mut texts = span.attributes.iter();
            assert!(texts.all(|(_, text)| text.len() <= TEXT_LEN_MAX));
        }
    }
});
