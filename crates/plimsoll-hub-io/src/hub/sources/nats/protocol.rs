//! Parser of what a NATS server sends to a subscriber, as far as needed. Pure.

/// Longest line, bytes.
const LINE_LEN_MAX: usize = 64 * 1024;
/// Longest message, bytes: longer than any message of the hub may be.
const DATA_LEN_MAX: usize = 32 << 20;

/// A protocol message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hub) enum NatsOp<'a> {
    /// INFO, as JSON.
    Info(&'a [u8]),
    /// A message of a subject.
    Message {
        subject: &'a [u8],
        /// Reply subject; empty without one.
        reply: &'a [u8],
        data: &'a [u8],
    },
    /// A ping of the server.
    Ping,
    Pong,
    Ok,
    /// An error of the server.
    Error(&'a [u8]),
}

/// Malformed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hub) struct MalformedNats;

/// The message at the start of `bytes`, and its length; `None` while it is incomplete.
///
/// # Errors
/// When it is malformed, or longer than allowed.
pub(in crate::hub) fn read(bytes: &[u8]) -> Result<Option<(usize, NatsOp<'_>)>, MalformedNats> {
    let prefix = &bytes[..bytes.len().min(LINE_LEN_MAX)];
    let Some(end) = memchr::memchr(b'\n', prefix) else {
        return if bytes.len() > LINE_LEN_MAX {
            Err(MalformedNats)
        } else {
            Ok(None)
        };
    };
    let line = bytes[..end].strip_suffix(b"\r").ok_or(MalformedNats)?;
    let after = end + 1;
    let (word, rest) = match line.iter().position(|byte| b" \t".contains(byte)) {
        Some(at) => (&line[..at], line[at + 1..].trim_ascii()),
        None => (line, &b""[..]),
    };
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let op = if is("MSG") {
        return message(bytes, rest, after);
    } else if is("PING") {
        NatsOp::Ping
    } else if is("PONG") {
        NatsOp::Pong
    } else if is("INFO") {
        NatsOp::Info(rest)
    } else if is("+OK") {
        NatsOp::Ok
    } else if is("-ERR") {
        NatsOp::Error(rest)
    } else {
        return Err(MalformedNats);
    };
    Ok(Some((after, op)))
}

/// `MSG subject sid [reply] length`, and that many bytes behind it.
fn message<'a>(
    bytes: &'a [u8],
    words: &'a [u8],
    begin: usize,
) -> Result<Option<(usize, NatsOp<'a>)>, MalformedNats> {
    let words = words.split(|byte| b" \t".contains(byte));
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).take(5).collect();
    let (subject, reply, len) = match words[..] {
        [subject, _, len] => (subject, &b""[..], len),
        [subject, _, reply, len] => (subject, reply, len),
        _ => return Err(MalformedNats),
    };
    let is_number = !len.is_empty() && len.len() <= 9 && len.iter().all(u8::is_ascii_digit);
    let len = std::str::from_utf8(len).ok().filter(|_| is_number);
    let len: usize = len.and_then(|len| len.parse().ok()).ok_or(MalformedNats)?;
    if len > DATA_LEN_MAX {
        return Err(MalformedNats);
    }
    let end = begin + len;
    match bytes.get(end..end + 2) {
        Some(b"\r\n") => {
            let data = &bytes[begin..end];
            let message = NatsOp::Message {
                subject,
                reply,
                data,
            };
            Ok(Some((end + 2, message)))
        }
        Some(_) => Err(MalformedNats),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_subscriber_is_told_is_understood() {
        let answered = |subject, reply, data| NatsOp::Message {
            subject,
            reply,
            data,
        };
        let message = |subject, data| answered(subject, b"", data);
        for (bytes, expected) in [
            (
                &b"INFO {\"tls_required\":false} \r\n"[..],
                NatsOp::Info(b"{\"tls_required\":false}"),
            ),
            (
                b"MSG game.1 9 5\r\n[1,\r\n\r\n",
                message(b"game.1", b"[1,\r\n"),
            ),
            (
                b"MSG a 9 _INBOX.1 0\r\n\r\n",
                answered(b"a", b"_INBOX.1", b""),
            ),
            (b"msg\ta  9 1\r\nx\r\n", message(b"a", b"x")),
            (b"PING\r\n", NatsOp::Ping),
            (b"PONG\r\n", NatsOp::Pong),
            (b"+OK\r\n", NatsOp::Ok),
            (
                b"-ERR 'Authorization Violation'\r\n",
                NatsOp::Error(b"'Authorization Violation'"),
            ),
        ] {
            let more = [bytes, b"PING"].concat();
            assert_eq!(read(&more), Ok(Some((bytes.len(), expected))));
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Ok(None), "{expected:?} {end}");
            }
        }
    }

    #[test]
    fn what_no_server_says_is_refused() {
        let long = vec![b'I'; 70_000];
        for bytes in [
            &b"HTTP/1.1 400\r\n"[..],
            b"MSG a 1\r\n",
            b"MSG a 1 2 3 4\r\n",
            b"MSG a 1 x\r\n",
            b"MSG a 1 99999999\r\n",
            b"MSG a 1 1\r\nabc",
            b"PING\n",
            b"\r\n",
            &long,
        ] {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(read(bytes), Err(MalformedNats), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in "(MSG a 1|PING|INFO|[ 0-9a\r\n]){0,8}") {
            if let Ok(Some((len, _))) = read(bytes.as_bytes()) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
