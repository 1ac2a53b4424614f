//! One line of the access log. The request is written when it begins, its outcome when it ends. Pure.

use std::time::{Duration, SystemTime};

use plimsoll_config::edge::LogFormat;
use plimsoll_model::redact;
use plimsoll_net::clock::Nanoseconds;
use plimsoll_wire::request_head::RequestHead;

use crate::decimal;
use crate::telemetry::moments::Moments;

/// Longest prefix of a header value that is logged, bytes.
const VALUE_LEN_MAX: usize = 512;

/// The outcome of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestOutcome<'a> {
    /// 499 when the client disconnected before a response.
    pub status: u16,
    /// Bytes sent to the client, heads included.
    pub bytes: u64,
    /// Reason of a synthetic response; `None` when an upstream server answered.
    pub(crate) reason: Option<&'static str>,
    /// The limit of heads that the request or its response exceeded, in words without quotes.
    pub(crate) limit: Option<&'a str>,
    /// The upstream server that answered.
    pub server: Option<&'a str>,
    pub(crate) moments: Moments,
    pub(crate) ended: Nanoseconds,
    /// Wall-clock time now.
    pub(crate) wall: SystemTime,
}

/// Writes the fields that are known when a request begins.
pub fn begin(line: &mut Vec<u8>, format: LogFormat, client: &str, head: &RequestHead<'_, '_>) {
    let value = |name: &str| {
        let mut headers = head.headers.iter();
        let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
        found.map_or(&b""[..], |header| {
            &header.value[..header.value.len().min(VALUE_LEN_MAX)]
        })
    };
    // Logs are read by more people than requests are: secrets are redacted.
    let target = redact::target(&head.target[..head.target.len().min(4 * VALUE_LEN_MAX)]);
    match format {
        LogFormat::Json => {
            put(line, "{\"client\":\"");
            put(line, client);
            put(line, "\",\"method\":\"");
            escape(line, head.method.as_bytes());
            put(line, "\",\"host\":\"");
            escape(line, head.host.unwrap_or_default().as_bytes());
            put(line, "\",\"target\":\"");
            escape(line, target.as_bytes());
            put(line, "\",\"agent\":\"");
            escape(line, value("user-agent"));
        }
        LogFormat::Combined => {
            // The time is filled in at the end; the fields keep their conventional order.
            put(line, client);
            put(line, " - - [");
            line.push(0);
            put(line, "] \"");
            escape(line, head.method.as_bytes());
            put(line, " ");
            escape(line, target.as_bytes());
            put(
                line,
                if head.is_1_1 {
                    " HTTP/1.1\" "
                } else {
                    " HTTP/1.0\" "
                },
            );
            line.push(0);
            put(line, " \"");
            let referer = String::from_utf8_lossy(value("referer"));
            escape_or_dash(line, redact::url(&referer).as_bytes());
            put(line, "\" \"");
            escape_or_dash(line, value("user-agent"));
        }
    }
}

/// Writes the beginning of a line for input that was not a valid request.
pub(crate) fn begin_unread(line: &mut Vec<u8>, format: LogFormat, client: &str) {
    match format {
        LogFormat::Json => {
            put(line, "{\"client\":\"");
            put(line, client);
            put(
                line,
                "\",\"method\":\"\",\"host\":\"\",\"target\":\"\",\"agent\":\"",
            );
        }
        LogFormat::Combined => {
            put(line, client);
            put(line, " - - [");
            line.push(0);
            put(line, "] \"-\" ");
            line.push(0);
            put(line, " \"-\" \"-");
        }
    }
}

/// Writes the complete line from `begun`, the output of [`begin`].
pub(crate) fn end(
    out: &mut Vec<u8>,
    format: LogFormat,
    begun: &[u8],
    outcome: &RequestOutcome<'_>,
) {
    let lasted = outcome.ended.saturating_sub(outcome.moments.began);
    let began_at = outcome.wall - Duration::from_nanos(lasted);
    match format {
        LogFormat::Json => {
            out.extend_from_slice(begun);
            put(out, "\",\"time\":\"");
            write_rfc3339(out, began_at);
            put(out, "\",\"status\":");
            decimal::append(out, u64::from(outcome.status));
            put(out, ",\"bytes\":");
            decimal::append(out, outcome.bytes);
            put(out, ",\"total_ms\":");
            milliseconds(out, lasted);
            phases(out, outcome, [",\"", "\":"]);
            if let Some(server) = outcome.server {
                put(out, ",\"server\":\"");
                escape(out, server.as_bytes());
                put(out, "\"");
            }
            if let Some(limit) = outcome.limit {
                put(out, ",\"limit\":\"");
                put(out, limit);
                put(out, "\"");
            }
            put(out, ",\"reason\":\"");
            put(out, outcome.reason.unwrap_or("origin"));
            put(out, "\"}\n");
        }
        LogFormat::Combined => {
            let mut segments = begun.split(|&byte| byte == 0);
            out.extend_from_slice(segments.next().unwrap_or_default());
            write_common_time(out, began_at);
            out.extend_from_slice(segments.next().unwrap_or_default());
            decimal::append(out, u64::from(outcome.status));
            put(out, " ");
            decimal::append(out, outcome.bytes);
            out.extend_from_slice(segments.next().unwrap_or_default());
            // Appended after the conventional fields, where log parsers stop reading.
            put(out, "\" reason=");
            put(out, outcome.reason.unwrap_or("origin"));
            if let Some(limit) = outcome.limit {
                put(out, " limit=\"");
                put(out, limit);
                put(out, "\"");
            }
            put(out, " total_ms=");
            milliseconds(out, lasted);
            phases(out, outcome, [" ", "="]);
            put(out, "\n");
        }
    }
}

/// Duration of each phase that the request reached.
fn phases(out: &mut Vec<u8>, outcome: &RequestOutcome<'_>, around: [&str; 2]) {
    let moments = &outcome.moments;
    let steps = [
        ("wait_ms", moments.began, moments.admitted),
        ("connect_ms", moments.admitted, moments.connected),
        ("first_byte_ms", moments.connected, moments.first_byte),
        ("transfer_ms", moments.first_byte, outcome.ended),
    ];
    for (name, from, to) in steps {
        if to == 0 || from == 0 {
            return;
        }
        put(out, around[0]);
        put(out, name);
        put(out, around[1]);
        milliseconds(out, to.saturating_sub(from));
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Milliseconds with three decimals.
fn milliseconds(out: &mut Vec<u8>, time: Nanoseconds) {
    let us = time / 1000;
    decimal::append(out, us / 1000);
    out.push(b'.');
    let places = us % 1000;
    for divisor in [100, 10, 1] {
        out.push(b'0' + u8::try_from(places / divisor % 10).unwrap_or(0));
    }
}

/// Escapes quotes, line ends and non-ASCII bytes, so that a client cannot break out of its field.
fn escape(out: &mut Vec<u8>, text: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, 0x20..0x7f) && !matches!(byte, b'"' | b'\\');
    if text.iter().all(is_plain) {
        // The common case: nothing to escape.
        return out.extend_from_slice(text);
    }
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x20..0x7f => out.push(byte),
            _ => {
                put(out, "\\u00");
                for nibble in [byte >> 4, byte & 15] {
                    out.push(b"0123456789abcdef"[usize::from(nibble)]);
                }
            }
        }
    }
}

fn escape_or_dash(out: &mut Vec<u8>, text: &[u8]) {
    if text.is_empty() {
        out.push(b'-');
    } else {
        escape(out, text);
    }
}

/// Year, month and day from days since 1970 (proleptic civil calendar).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

fn since_1970(time: SystemTime) -> (u64, u32) {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    (since.as_secs(), since.subsec_millis())
}

/// A time as RFC 3339 writes it, in UTC.
pub fn rfc3339(time: SystemTime) -> String {
    let mut text = Vec::new();
    write_rfc3339(&mut text, time);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_rfc3339(out: &mut Vec<u8>, time: SystemTime) {
    let (seconds, ms) = since_1970(time);
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = clock_of(seconds);
    for (number, width, after) in [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (hour, 2, b':'),
        (minute, 2, b':'),
        (second, 2, b'.'),
        (ms.into(), 3, b'Z'),
    ] {
        padded(out, number, width);
        out.push(after);
    }
}

/// Writes the last `width` digits of a number. Avoids the formatter: every line has seven such numbers.
fn padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let start = out.len();
    out.resize(start + width, b'0');
    let mut left = number;
    for digit in out[start..].iter_mut().rev() {
        *digit += u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
    }
}

fn write_common_time(out: &mut Vec<u8>, time: SystemTime) {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (seconds, _) = since_1970(time);
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = clock_of(seconds);
    padded(out, day, 2);
    put(out, "/");
    put(out, MONTHS[usize::try_from(month).unwrap_or(1) - 1]);
    put(out, "/");
    padded(out, year, 4);
    for number in [hour, minute, second] {
        put(out, ":");
        padded(out, number, 2);
    }
    put(out, " +0000");
}

fn clock_of(seconds: u64) -> (u64, u64, u64) {
    (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::request_head::{header_buffer, parse};

    use super::*;

    fn line(format: LogFormat) -> String {
        let request =
            b"GET /a\"b HTTP/1.1\r\nHost: x\r\nUser-Agent: A\xffB\tC\r\nReferer: http://y/\r\n\r\n";
        let mut room = header_buffer();
        let head = parse(request, &mut room).unwrap();
        let mut begun = Vec::new();
        begin(&mut begun, format, "192.0.2.7", &head);
        let outcome = RequestOutcome {
            status: 200,
            bytes: 1234,
            reason: None,
            limit: None,
            server: Some("app-1"),
            moments: Moments {
                began: 1_000_000,
                admitted: 3_500_000,
                connected: 3_600_000,
                first_byte: 13_600_000,
            },
            ended: 15_000_000,
            wall: SystemTime::UNIX_EPOCH + Duration::from_millis(951_782_400_014),
        };
        let mut out = Vec::new();
        end(&mut out, format, &begun, &outcome);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_json_line_tells_phases_and_reason() {
        let line = line(LogFormat::Json);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let expected = serde_json::json!({
            "client": "192.0.2.7", "method": "GET", "host": "x", "target": "/a\"b", "agent": "A\u{ff}B\tC",
            "time": "2000-02-29T00:00:00.000Z", "status": 200, "bytes": 1234, "total_ms": 14.0, "wait_ms": 2.5,
            "connect_ms": 0.1, "first_byte_ms": 10.0, "transfer_ms": 1.4, "server": "app-1", "reason": "origin",
        });
        assert_eq!(value, expected);
        assert_eq!(line.matches('\n').count(), 1);
    }

    #[test]
    fn a_combined_line_is_as_web_servers_write_it() {
        assert_eq!(
            line(LogFormat::Combined),
            "192.0.2.7 - - [29/Feb/2000:00:00:00 +0000] \"GET /a\\\"b HTTP/1.1\" 200 1234 \"http://y/\" \
             \"A\\u00ffB\\u0009C\" reason=origin total_ms=14.000 wait_ms=2.500 connect_ms=0.100 \
             first_byte_ms=10.000 transfer_ms=1.400\n"
        );
    }

    #[test]
    fn what_was_no_request_has_a_line_too() {
        for (format, expected) in [
            (
                LogFormat::Combined,
                "192.0.2.7 - - [01/Jan/1970:00:00:00 +0000] \"-\" 400 9 \"-\" \"-\" reason=bad-request total_ms=0.000\n",
            ),
            (
                LogFormat::Json,
                "{\"client\":\"192.0.2.7\",\"method\":\"\",\"host\":\"\",\"target\":\"\",\"agent\":\"\",\
                 \"time\":\"1970-01-01T00:00:00.000Z\",\"status\":400,\"bytes\":9,\"total_ms\":0.000,\
                 \"reason\":\"bad-request\"}\n",
            ),
        ] {
            let (mut begun, mut out) = (Vec::new(), Vec::new());
            begin_unread(&mut begun, format, "192.0.2.7");
            let outcome = RequestOutcome {
                status: 400,
                bytes: 9,
                reason: Some("bad-request"),
                limit: None,
                server: None,
                moments: Moments::default(),
                ended: 0,
                wall: SystemTime::UNIX_EPOCH,
            };
            end(&mut out, format, &begun, &outcome);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
