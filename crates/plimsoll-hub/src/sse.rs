//! The hub's messages as Server-Sent Events (WHATWG HTML, 9.2).

use crate::position::{Position, Since};

/// A comment, which keeps proxies from closing an idle connection.
pub const HEARTBEAT: &str = ":\n\n";

/// The id that stands for all that is remembered (draft-dunglas-mercure-07).
pub const EARLIEST: &str = "earliest";

/// Most channels in one request.
pub const CHANNELS_MAX: usize = 100;

/// An event with this text. The id, an epoch and an offset, is returned in `Last-Event-ID` when a browser reconnects.
pub fn event(id: Option<(u64, u64)>, text: &str) -> String {
    let mut event = match id {
        Some((epoch, offset)) => format!("id: {epoch}:{offset}\n"),
        None => String::new(),
    };
    // JSON contains line ends only where whitespace is allowed, so splitting there does not change its meaning.
    for line in text.split(['\n', '\r']) {
        event.extend(["data: ", line, "\n"]);
    }
    event.push('\n');
    event
}

/// An event for Mercure: only the published data. The id is a fragment, as Mercure requires of ids that the hub
/// assigns.
pub fn update(id: (u64, u64), data: &str) -> String {
    let mut event = format!("id: {}\n", update_id(id));
    put_data(&mut event, data);
    event
}

/// The id of an update, by its epoch and its offset.
pub fn update_id((epoch, offset): (u64, u64)) -> String {
    format!("#{epoch}:{offset}")
}

/// An event about a Mercure subscription. Its type distinguishes it from an update.
pub fn aside(text: &str) -> String {
    let mut event = "event: plimsoll\n".to_owned();
    put_data(&mut event, text);
    event
}

fn put_data(event: &mut String, data: &str) {
    // Three line endings are valid (9.2.6).
    let data = data.replace("\r\n", "\n");
    for line in data.split(['\n', '\r']) {
        event.extend(["data: ", line, "\n"]);
    }
    event.push('\n');
}

/// From where a reader continues that names its last event: an id of the hub, or `earliest`. An empty value is none.
pub fn since(value: &str) -> Since {
    match value.trim() {
        "" => Since::Now,
        EARLIEST => Since::Earliest,
        id => last_event_id(id).map_or(Since::Unknown, |(epoch, offset)| {
            Since::After(Position { epoch, offset })
        }),
    }
}

/// The epoch and the offset of an id, with or without `#`.
fn last_event_id(value: &str) -> Option<(u64, u64)> {
    let value = value.trim();
    let (epoch, offset) = value.strip_prefix('#').unwrap_or(value).split_once(':')?;
    Some((epoch.parse().ok()?, offset.parse().ok()?))
}

/// The channels in a query (`channel=a&channel=b`), at most one more than [`CHANNELS_MAX`].
pub fn channels(query: &str) -> Vec<String> {
    values(query, "channel").take(CHANNELS_MAX + 1).collect()
}

/// All values of a name in a query or form.
pub fn values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let values = query
        .split('&')
        .filter_map(move |pair| pair.strip_prefix(name)?.strip_prefix('='));
    values.map(decoded)
}

/// The value of `token=…` in a query: a slice, so that its location is known.
pub fn token(query: &str) -> Option<&str> {
    let mut pairs = query.split('&');
    pairs.find_map(|pair| pair.strip_prefix("token="))
}

/// The value of `authorization=…` in a query, as in Mercure: a slice, so that its location is known.
pub fn authorization(query: &str) -> Option<&str> {
    let mut pairs = query.split('&');
    pairs.find_map(|pair| pair.strip_prefix("authorization="))
}

/// Decodes a query value (`application/x-www-form-urlencoded`). Invalid escapes are kept.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = match after {
            [high, low, ..] if first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        rest = after;
        bytes.push(match (first, escaped) {
            (_, Some((high, low))) => {
                rest = &after[2..];
                high << 4 | low
            }
            (b'+', None) => b' ',
            (other, None) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_in_json_do_not_end_the_event() {
        assert_eq!(
            event(Some((7, 5)), "{\n\"a\":1\r\n}"),
            "id: 7:5\ndata: {\ndata: \"a\":1\ndata: \ndata: }\n\n"
        );
        assert_eq!(event(None, "{}"), "data: {}\n\n");
        assert_eq!(
            update((7, 5), "a\r\nb\r\n"),
            "id: #7:5\ndata: a\ndata: b\ndata: \n\n"
        );
        assert_eq!(aside("{}"), "event: plimsoll\ndata: {}\n\n");
    }

    #[test]
    fn an_id_comes_back() {
        assert_eq!(last_event_id("7:5"), Some((7, 5)));
        assert_eq!(last_event_id("#7:5"), Some((7, 5)));
        for wrong in ["", "7", "7:", ":5", "a:b", "-1:2", "7:5:1"] {
            assert_eq!(last_event_id(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_reader_continues_where_its_id_says() {
        let position = Position {
            epoch: 7,
            offset: 5,
        };
        for (value, expected) in [
            ("", Since::Now),
            (" ", Since::Now),
            ("earliest", Since::Earliest),
            (" #7:5", Since::After(position)),
            ("7:5", Since::After(position)),
            ("Earliest", Since::Unknown),
            (
                "urn:uuid:e1ee88e2-532a-4d6f-ba70-f0f8bd584022",
                Since::Unknown,
            ),
            ("#7", Since::Unknown),
        ] {
            assert_eq!(since(value), expected, "{value}");
        }
    }

    #[test]
    fn a_query_names_channels() {
        assert_eq!(
            channels("channel=game-1&x=y&channel=a+b%2Fc%zz%C3%A4"),
            ["game-1", "a b/c%zzä"]
        );
        assert_eq!(channels(""), [""; 0]);
        assert_eq!(channels(&"channel=a&".repeat(500)).len(), CHANNELS_MAX + 1);
    }
}
