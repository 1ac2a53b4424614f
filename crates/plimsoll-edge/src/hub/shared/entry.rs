//! What stands in the order: one message with its place. Pure.

use crate::hub::redis::value::Value;

/// A message of the order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) place: u64,
    pub(super) epoch: u64,
    /// When Redis took it, ms since 1970.
    pub(super) at_ms: u64,
    pub(super) channel: &'a str,
    pub(super) data: &'a str,
}

/// The entries of a piece of the stream (the answer to `XREAD`); `None` if it is none.
pub(super) fn entries(answer: &Value) -> Option<Vec<Entry<'_>>> {
    if *answer == Value::Nothing {
        return Some(Vec::new());
    }
    let [stream] = answer.list()? else {
        return None;
    };
    let [_, entries] = stream.list()? else {
        return None;
    };
    entries.list()?.iter().map(entry).collect()
}

fn entry(value: &Value) -> Option<Entry<'_>> {
    let [id, fields] = value.list()? else {
        return None;
    };
    let [_, epoch, _, at_ms, _, channel, _, data] = fields.list()? else {
        return None;
    };
    Some(Entry {
        place: id.text()?.strip_suffix("-1")?.parse().ok()?,
        epoch: epoch.number()?,
        at_ms: at_ms.number()?,
        channel: channel.text()?,
        data: data.text()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    fn stream(id: &str, fields: &[&str]) -> Value {
        let fields = fields.iter().map(|field| text(field)).collect();
        let entry = Value::List(vec![text(id), Value::List(fields)]);
        let stream = Value::List(vec![text("log"), Value::List(vec![entry])]);
        Value::List(vec![stream])
    }

    #[test]
    fn messages_are_read_and_strangers_are_not() {
        let fields = ["e", "5", "t", "6", "c", "a", "d", "{}"];
        let read = stream("7-1", &fields);
        let expected = Entry {
            place: 7,
            epoch: 5,
            at_ms: 6,
            channel: "a",
            data: "{}",
        };
        assert_eq!(entries(&read), Some(vec![expected]));
        assert_eq!(entries(&Value::Nothing), Some(Vec::new()));
        for (id, fields) in [
            ("7-0", &fields[..]),
            ("7-1", &fields[..6]),
            ("7-1", &["e", "x", "t", "6", "c", "a", "d", "1"]),
        ] {
            assert_eq!(entries(&stream(id, fields)), None, "{id} {fields:?}");
        }
        assert_eq!(entries(&text("x")), None);
    }
}
