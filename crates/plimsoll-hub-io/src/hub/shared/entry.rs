//! An entry of the shared stream: one message with its offset. Pure.

use crate::hub::redis::value::RespValue;

/// An entry of the shared stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OrderEntry<'a> {
    pub(super) place: u64,
    pub(super) epoch: u64,
    /// When it received its offset, ms since 1970.
    pub(super) at_ms: u64,
    pub(super) channel: &'a str,
    pub(super) data: &'a str,
}

/// Parses the reply to `XREAD`; `None` if it is malformed.
pub(super) fn entries(answer: &RespValue) -> Option<Vec<OrderEntry<'_>>> {
    if *answer == RespValue::Nothing {
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

fn entry(value: &RespValue) -> Option<OrderEntry<'_>> {
    let [id, fields] = value.list()? else {
        return None;
    };
    let [_, epoch, _, at_ms, _, channel, _, data] = fields.list()? else {
        return None;
    };
    Some(OrderEntry {
        place: id.text()?.strip_suffix("-1")?.parse().ok()?,
        epoch: epoch.number()?,
        at_ms: at_ms.number()?,
        channel: channel.text()?,
        data: data.text()?,
    })
}

/// Encoding in NATS: the channel as JSON, a line feed, the data.
pub(super) fn for_nats(channel: &str, data: &str) -> String {
    let channel = serde_json::Value::from(channel);
    format!("{channel}\n{data}")
}

/// The same, parsed: offset, time in ms, channel and data; `None` if it is malformed. The reply subject of a delivered
/// message holds offset and time: `$JS.ACK.stream.consumer.times.OFFSET.number.NS.left`, with a domain and an account
/// before the stream's name where servers have these.
pub(super) fn of_nats<'a>(reply: &[u8], data: &'a [u8]) -> Option<(u64, u64, String, &'a str)> {
    let reply = std::str::from_utf8(reply).ok()?.strip_prefix("$JS.ACK.")?;
    let tokens: Vec<&str> = reply.split('.').take(16).collect();
    let before = if tokens.len() == 7 { 0 } else { 2 };
    let number = |at: usize| tokens.get(before + at)?.parse::<u64>().ok();
    let (place, ns) = (number(3)?, number(5)?);
    let (channel, data) = std::str::from_utf8(data).ok()?.split_once('\n')?;
    let channel = serde_json::from_str(channel).ok()?;
    Some((place, ns / 1_000_000, channel, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> RespValue {
        RespValue::Text(text.as_bytes().to_vec())
    }

    fn stream(id: &str, fields: &[&str]) -> RespValue {
        let fields = fields.iter().map(|field| text(field)).collect();
        let entry = RespValue::List(vec![text(id), RespValue::List(fields)]);
        let stream = RespValue::List(vec![text("log"), RespValue::List(vec![entry])]);
        RespValue::List(vec![stream])
    }

    #[test]
    fn messages_of_nats_are_read_and_strangers_are_not() {
        for channel in ["game-1", "a \"b\"", "a\nb"] {
            let written = for_nats(channel, "{\"x\":\n1}");
            for reply in [
                "$JS.ACK.live.c1.1.7.3.1700000000123456789.0",
                "$JS.ACK._.hash.live.c1.1.7.3.1700000000123456789.0",
                "$JS.ACK._.hash.live.c1.1.7.3.1700000000123456789.0.token",
            ] {
                let read = of_nats(reply.as_bytes(), written.as_bytes());
                let expected = (7, 1_700_000_000_123, channel.to_owned(), "{\"x\":\n1}");
                assert_eq!(read, Some(expected), "{reply}");
            }
        }
        for (reply, data) in [
            ("_INBOX.1", "\"a\"\n1"),
            ("$JS.ACK.live.c1.1.x.3.1.0", "\"a\"\n1"),
            ("$JS.ACK.live.c1", "\"a\"\n1"),
            ("$JS.ACK.live.c1.1.7.3.1.0", "\"a\" 1"),
            ("$JS.ACK.live.c1.1.7.3.1.0", "a\n1"),
        ] {
            assert_eq!(
                of_nats(reply.as_bytes(), data.as_bytes()),
                None,
                "{reply} {data}"
            );
        }
    }

    #[test]
    fn messages_are_read_and_strangers_are_not() {
        let fields = ["e", "5", "t", "6", "c", "a", "d", "{}"];
        let read = stream("7-1", &fields);
        let expected = OrderEntry {
            place: 7,
            epoch: 5,
            at_ms: 6,
            channel: "a",
            data: "{}",
        };
        assert_eq!(entries(&read), Some(vec![expected]));
        assert_eq!(entries(&RespValue::Nothing), Some(Vec::new()));
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
