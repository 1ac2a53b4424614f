//! Datagrams of StatsD from untrusted senders: the parser returns well-formed lines or errors.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_probe::statsd::{NAME_LEN_MAX, StatsdValue, TAGS_LEN_MAX, TAGS_MAX, lines};

fuzz_target!(|bytes: &[u8]| {
    for line in lines(bytes).filter_map(|(_, line)| line.ok()) {
        assert!((1..=NAME_LEN_MAX).contains(&line.name.len()));
        assert!(line.rate > 0.0 && line.rate <= 1.0 && !line.values.is_empty());
        for value in &line.values {
            match value {
                StatsdValue::Number(number) | StatsdValue::Change(number) => {
                    assert!(number.is_finite());
                }
                StatsdValue::Element(element) => assert!(!element.is_empty()),
            }
        }
        let tags = line.tags.iter();
        let len: usize = tags.map(|(tag, value)| tag.len() + value.len()).sum();
        assert!(len <= TAGS_LEN_MAX && line.tags.len() <= TAGS_MAX && line.tags.is_sorted());
        let mut texts = line.tags.iter().flat_map(|(tag, value)| [tag, value]);
        assert!(texts.all(|text| !text.contains(char::is_control)));
    }
});
