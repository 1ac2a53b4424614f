//! The output of `varnishstat -j`.

use std::collections::BTreeMap;

use serde_json::Value;

/// Counters of the main process by name without `MAIN.`; `None` when the text holds none. Since Varnish 6.5 they
/// are below `counters`, before that beside the timestamp.
pub(crate) fn counters(text: &str) -> Option<BTreeMap<String, u64>> {
    let json: Value = serde_json::from_str(text).ok()?;
    let all = json.get("counters").unwrap_or(&json).as_object()?;
    let own = all.iter().filter_map(|(name, counter)| {
        let name = name.strip_prefix("MAIN.")?;
        Some((name.to_owned(), counter.get("value")?.as_u64()?))
    });
    let own: BTreeMap<String, u64> = own.collect();
    (!own.is_empty()).then_some(own)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEW: &str = "{\"version\": 1, \"timestamp\": \"2026-11-23T07:00:00\", \"counters\": {\"MGT.uptime\": {\"value\": 9},\
        \"MAIN.threads\": {\"description\": \"Total number of threads\", \"flag\": \"g\", \"format\": \"i\", \"value\": 10},\
        \"MAIN.odd\": {\"value\": -1}}}";
    const OLD: &str = "{\"timestamp\": \"2020-01-01T00:00:00\", \"MAIN.threads\": {\"flag\": \"g\", \"value\": 10}}";

    #[test]
    fn both_forms_are_read() {
        for text in [NEW, OLD] {
            let read: Vec<_> = counters(text).unwrap().into_iter().collect();
            assert_eq!(read, [("threads".to_owned(), 10)]);
        }
        assert_eq!(counters("{}"), None);
        assert_eq!(counters("Could not get hold of varnishd"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,100}", at in 0_usize..200) {
            let _ = counters(&text);
            let _ = counters(&format!("{}{text}", NEW.get(..at).unwrap_or(NEW)));
        }
    }
}
