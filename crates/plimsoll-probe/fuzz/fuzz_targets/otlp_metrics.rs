//! Messages of metrics from untrusted senders: the parser returns well-formed points or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_probe::otlp::metrics::{
    LABELS_LEN_MAX, LABELS_MAX, NAME_LEN_MAX, POINTS_MAX, from_json, from_protobuf,
};

fuzz_target!(|bytes: &[u8]| {
    for message in [from_protobuf(bytes), from_json(bytes)]
        .into_iter()
        .flatten()
    {
        assert!(message.points.len() <= POINTS_MAX);
        for point in message.points {
            assert!((1..=NAME_LEN_MAX).contains(&point.name.len()));
            let labels = point.labels.iter();
            let len: usize = labels.map(|(name, value)| name.len() + value.len()).sum();
            assert!(len <= LABELS_LEN_MAX && point.labels.len() <= LABELS_MAX);
            assert!(point.labels.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
});
