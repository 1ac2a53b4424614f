//! nginx and Apache: `common`, `combined`, with or without a leading host and further fields.

use std::borrow::Cow;

use super::moment;
use crate::log::line::{self, LineError, LogEntry};

/// Parses `ADDRESS - USER [MOMENT] "REQUEST" STATUS BYTES "REFERRER" "AGENT" …`, also with a leading `HOST:PORT `.
pub(super) fn read(text: &str) -> Result<LogEntry<'_>, LineError> {
    let (front, rest) = text
        .split_once('[')
        .ok_or(LineError::Missing("timestamp in brackets"))?;
    let (when, rest) = rest
        .split_once(']')
        .ok_or(LineError::Missing("timestamp in brackets"))?;
    let at_ms = moment::common(when)
        .or_else(|| moment::iso(when))
        .ok_or_else(|| LineError::invalid("the timestamp", when))?;
    let (host, address) = front_fields(front)?;
    let rest = rest.trim_start();
    let (request, rest) =
        quoted(rest).ok_or(LineError::Missing("request in quotes after the timestamp"))?;
    let (method, path, absolute) = line::request_line(request)?;
    let mut words = rest.trim_start().splitn(3, ' ');
    let status = line::status(words.next().unwrap_or_default())?;
    let _bytes = words.next();
    let rest = words.next().unwrap_or_default();
    let (agent, rest) = behind(rest);
    Ok(LogEntry {
        at_ms,
        is_end: true,
        lasted_ms: request_time(rest),
        address: Cow::Borrowed(address),
        agent: Cow::Borrowed(agent),
        method: Cow::Borrowed(method),
        path: Cow::Borrowed(path),
        status,
        host: absolute.or(host).map(Cow::Borrowed),
    })
}

/// Host, if it leads, and address.
fn front_fields(front: &str) -> Result<(Option<&str>, &str), LineError> {
    let words: Vec<&str> = front.split_whitespace().take(5).collect();
    match words.as_slice() {
        [] => Err(LineError::Missing("address at the start")),
        // A user name may contain spaces; the host and the address never do.
        [first, second, ..] if words.len() >= 4 && is_host(first) && is_address(second) => {
            let (host, port) = first.rsplit_once(':').unwrap_or((first, ""));
            let host = if port.is_empty() || port == "80" || port == "443" {
                host
            } else {
                first
            };
            Ok((Some(host), second))
        }
        [first, ..] => Ok((None, first)),
    }
}

fn is_host(text: &str) -> bool {
    text.contains(['.', ':']) || text == "localhost"
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// A quoted text and the rest after it; a backslash escapes a quote.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, b) in inner.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some((&inner[..at], &inner[at + 1..])),
            _ => {}
        }
    }
    None
}

/// The agent after the referrer, and the rest.
fn behind(text: &str) -> (&str, &str) {
    let Some((_, rest)) = quoted(text.trim_start()) else {
        return ("", text);
    };
    match quoted(rest.trim_start()) {
        Some(("-", rest)) => ("", rest),
        Some((agent, rest)) => (agent, rest),
        None => ("", rest),
    }
}

/// The duration of the request, where it follows the agent: seconds with a fraction (nginx), or whole
/// microseconds (Apache's `%D`).
fn request_time(rest: &str) -> Option<f64> {
    for word in rest.split([' ', '\t', '"']) {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => (key, value),
            None => ("", word),
        };
        let is_named = matches!(key, "rt" | "request_time" | "");
        if !is_named {
            continue;
        }
        let Ok(number) = value.parse::<f64>() else {
            continue;
        };
        if !number.is_finite() || number < 0.0 {
            continue;
        }
        if value.contains('.') {
            return Some(number * 1e3);
        }
        if key.is_empty() && value.len() >= 2 {
            return Some(number / 1e3);
        }
    }
    None
}
