//! `HAProxy`: `option httplog`, with or without a syslog header.

use std::borrow::Cow;

use super::moment;
use crate::log::line::{self, LineError, LogEntry};

/// Parses `… CLIENT:PORT [MOMENT] FRONTEND BACKEND/SERVER TQ/TW/TC/TR/TT STATUS BYTES … "REQUEST"`.
pub(super) fn read(text: &str) -> Result<LogEntry<'_>, LineError> {
    let (front, rest) = text
        .split_once(" [")
        .ok_or(LineError::Missing("timestamp in brackets"))?;
    // The syslog header may have the process id in brackets: `haproxy[123]: `.
    let client = front.rsplit(' ').next().unwrap_or_default();
    let (when, rest) = rest
        .split_once(']')
        .ok_or(LineError::Missing("timestamp in brackets"))?;
    let at_ms = moment::common(when).ok_or_else(|| LineError::invalid("the timestamp", when))?;
    let (address, port) = client
        .rsplit_once(':')
        .ok_or(LineError::Missing("client with its port"))?;
    if port.parse::<u16>().is_err() {
        return Err(LineError::invalid("the client", client));
    }
    let mut words = rest.split_whitespace();
    let _frontend = words.next();
    let backend = words
        .next()
        .ok_or(LineError::Missing("backend and server"))?;
    let timers = words.next().ok_or(LineError::Missing("timers"))?;
    if !backend.contains('/') || timers.matches('/').count() < 3 {
        return Err(LineError::invalid("the timers", timers));
    }
    let status = words.next().unwrap_or_default();
    // An invalid request has status -1.
    let status = if status == "-1" {
        0
    } else {
        line::status(status)?
    };
    let (head, request) = rest
        .split_once('"')
        .ok_or(LineError::Missing("request in quotes"))?;
    let request = request
        .rsplit_once('"')
        .map_or(request, |(request, _)| request);
    if request == "<BADREQ>" {
        return Err(LineError::invalid("the request", request));
    }
    let (method, path, host) = line::request_line(request)?;
    let (agent, captured_host) = captured(head);
    Ok(LogEntry {
        at_ms,
        is_end: false,
        lasted_ms: timers
            .rsplit('/')
            .next()
            .and_then(|total| total.trim_start_matches('+').parse().ok()),
        address: Cow::Borrowed(address.trim_start_matches("::ffff:")),
        agent: Cow::Borrowed(agent),
        method: Cow::Borrowed(method),
        path: Cow::Borrowed(path),
        status,
        host: host.or(captured_host).map(Cow::Borrowed),
    })
}

/// Agent and host among the captured headers, `{host|agent}`: a host has no space, an agent a slash.
fn captured(head: &str) -> (&str, Option<&str>) {
    let Some((_, rest)) = head.split_once('{') else {
        return ("", None);
    };
    let fields = rest.split('}').next().unwrap_or_default().split('|');
    let mut agent = "";
    let mut host = None;
    for field in fields {
        if field.contains('/') && agent.is_empty() {
            agent = field;
        } else if field.contains('.') && !field.contains(' ') && host.is_none() {
            host = Some(field);
        }
    }
    (agent, host)
}
