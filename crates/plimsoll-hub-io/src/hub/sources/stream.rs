//! Messages from Redis streams. A consumer group records how far this edge has read: entries added while the edge is
//! down arrive when it is back, and an entry whose acknowledgement was lost arrives again.

use std::convert::Infallible;

use plimsoll_config::edge::HubSource;
use serde_json::Map;

use super::super::redis::link::{RedisConnection, RedisEndpoint};
use super::super::redis::value::RespValue;
use super::SourceSession;

/// The name of this edge in its group.
const CONSUMER: &str = "edge";
/// Entries of each key that are read at once.
const READ_MAX: &str = "256";
/// How long Redis blocks, ms: shorter than the time limit of a reply.
const BLOCK_MS: &str = "2000";

/// An entry of a stream.
#[derive(Debug, PartialEq, Eq)]
struct StreamEntry<'a> {
    id: &'a str,
    /// Fields and values in turn; none when the entry was trimmed meanwhile.
    fields: Vec<(&'a [u8], &'a [u8])>,
}

/// One connection until it ends; returns why.
pub(super) async fn listen(
    session: &mut SourceSession,
    config: &HubSource,
    group: &str,
) -> Result<Infallible, String> {
    let place = RedisEndpoint {
        host: &config.host,
        port: config.port,
        user: config.user.as_deref(),
        password: config.password.as_deref(),
        tls: config.tls.as_ref(),
    };
    let mut link = RedisConnection::open(&place).await?;
    for key in &config.names {
        begin(&mut link, key, group).await?;
    }
    // First read again what was not acknowledged.
    while take(session, &mut link, config, group, "0").await? > 0 {}
    session.arrive();
    loop {
        take(session, &mut link, config, group, ">").await?;
    }
}

/// Creates the group if there is none: it begins with entries added from then on.
async fn begin(link: &mut RedisConnection, key: &str, group: &str) -> Result<(), String> {
    match link
        .query(&["XGROUP", "CREATE", key, group, "$", "MKSTREAM"])
        .await
    {
        Err(why) if !why.starts_with("BUSYGROUP") => Err(why),
        _ => Ok(()),
    }
}

/// Reads from all keys, publishes and acknowledges; returns the number of entries.
async fn take(
    session: &mut SourceSession,
    link: &mut RedisConnection,
    config: &HubSource,
    group: &str,
    from: &str,
) -> Result<usize, String> {
    let mut words = vec!["XREADGROUP", "GROUP", group, CONSUMER, "COUNT", READ_MAX];
    words.extend(["BLOCK", BLOCK_MS, "STREAMS"]);
    words.extend(config.names.iter().map(String::as_str));
    words.extend(config.names.iter().map(|_| from));
    let answer = link.query(&words).await?;
    let streams = streams(&answer).ok_or("malformed reply: expected stream entries")?;
    let mut count = 0;
    for &(key, ref entries) in &streams {
        for entry in entries.iter().filter(|entry| !entry.fields.is_empty()) {
            let (name, data) = message(key, entry);
            session.publish(&name, &data).await;
        }
        let mut words = vec!["XACK", key, group];
        words.extend(entries.iter().map(|entry| entry.id));
        if !entries.is_empty() {
            link.query(&words).await?;
        }
        count += entries.len();
    }
    Ok(count)
}

/// Name and data of an entry. Without a field `data`, all fields together are the data.
fn message(key: &str, entry: &StreamEntry<'_>) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let field = |name: &[u8]| {
        let mut fields = entry.fields.iter();
        let found = fields.find(|(field, _)| *field == name);
        found.map(|(_, value)| text(value))
    };
    let Some(data) = field(b"data") else {
        let fields = entry.fields.iter();
        let fields: Map<_, _> = fields
            .map(|(field, value)| (text(field), text(value).into()))
            .collect();
        return (
            key.to_owned(),
            serde_json::Value::Object(fields).to_string(),
        );
    };
    (field(b"channel").unwrap_or_else(|| key.to_owned()), data)
}

/// Parses the reply to XREADGROUP: keys with their entries; `None` if it is malformed.
fn streams(answer: &RespValue) -> Option<Vec<(&str, Vec<StreamEntry<'_>>)>> {
    if *answer == RespValue::Nothing {
        return Some(Vec::new());
    }
    let streams = answer.list()?.iter().map(|stream| {
        let [key, entries] = stream.list()? else {
            return None;
        };
        let entries: Option<Vec<_>> = entries.list()?.iter().map(entry).collect();
        Some((key.text()?, entries?))
    });
    streams.collect()
}

fn entry(value: &RespValue) -> Option<StreamEntry<'_>> {
    let [id, fields] = value.list()? else {
        return None;
    };
    let fields: &[RespValue] = if *fields == RespValue::Nothing {
        &[]
    } else {
        fields.list()?
    };
    let pairs = fields.chunks(2).map(|pair| match pair {
        [RespValue::Text(field), RespValue::Text(value)] => {
            Some((field.as_slice(), value.as_slice()))
        }
        _ => None,
    });
    Some(StreamEntry {
        id: id.text()?,
        fields: pairs.collect::<Option<Vec<_>>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> RespValue {
        RespValue::Text(text.as_bytes().to_vec())
    }

    fn answer(entries: Vec<RespValue>) -> RespValue {
        let stream = RespValue::List(vec![text("updates"), RespValue::List(entries)]);
        RespValue::List(vec![stream])
    }

    fn raw_entry(fields: &[&str]) -> RespValue {
        let fields = fields.iter().map(|field| text(field)).collect();
        RespValue::List(vec![text("5-0"), RespValue::List(fields)])
    }

    #[test]
    fn entries_say_what_goes_where() {
        for (fields, name, data) in [
            (&["data", "[1]"][..], "updates", "[1]"),
            (&["channel", "game-1", "data", "x"], "game-1", "x"),
            (&["a", "1", "b", "ä"], "updates", r#"{"a":"1","b":"ä"}"#),
        ] {
            let answer = answer(vec![raw_entry(fields)]);
            let read = streams(&answer).unwrap();
            let (key, entries) = &read[0];
            let expected = (name.to_owned(), data.to_owned());
            assert_eq!(message(key, &entries[0]), expected);
            assert_eq!(entries[0].id, "5-0");
        }
        let trimmed = answer(vec![RespValue::List(vec![text("5-0"), RespValue::Nothing])]);
        let read = streams(&trimmed).unwrap();
        assert!(read[0].1[0].fields.is_empty());
        assert_eq!(streams(&RespValue::Nothing), Some(Vec::new()));
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        for strange in [
            text("x"),
            RespValue::List(vec![text("x")]),
            answer(vec![text("x")]),
            answer(vec![raw_entry(&["a"])]),
        ] {
            assert_eq!(streams(&strange), None, "{strange:?}");
        }
    }
}
