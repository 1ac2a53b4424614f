//! The common and combined formats, with what servers write in front of them and behind them.
//!
//! `ADDRESS IDENT USER [MOMENT] "REQUEST" STATUS BYTES "REFERER" "AGENT" …`: only the part up to the agent is the same
//! everywhere. What follows is read if its form is known; a number in an unknown place is never taken for a duration.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use super::tail::{self, Tail};
use crate::client;
use crate::draft::Draft;
use crate::entry::{LineError, LogEntry};
use crate::moment::MomentReader;
use crate::value::{self, Escape};

/// Lines of the combined family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Combined {
    pub(crate) tail: Tail,
    /// Whether the moment is that of the beginning: Apache's `%t` ("time the request was received", `mod_log_config`)
    /// and Traefik's, which is `StartUTC`. nginx' `$time_local` is that of writing the line, after the answer
    /// (`ngx_http_log_module`: requests are logged at the end of processing).
    pub(crate) is_begin: bool,
}

/// The fields up to the agent, and what follows it.
#[derive(Debug)]
pub(crate) struct Split<'a> {
    front: &'a [u8],
    moment_ms: i64,
    request: &'a [u8],
    status: &'a [u8],
    bytes: &'a [u8],
    referer: &'a [u8],
    agent: &'a [u8],
    /// Whether there were referer and agent.
    pub(crate) is_combined: bool,
    pub(crate) rest: &'a [u8],
}

impl Combined {
    pub(crate) fn read<'a>(
        self,
        moments: &mut MomentReader,
        line: &'a [u8],
    ) -> Result<LogEntry<'a>, LineError> {
        let split = split(moments, line)?;
        let (host, address) = front_fields(split.front)?;
        let mut draft = Draft {
            address: Some(Cow::Borrowed(address)),
            request: Some(Escape::Backslash.undo(split.request)),
            status: Some(Cow::Borrowed(split.status)),
            bytes: value::whole(split.bytes),
            referer: Some(Escape::Backslash.undo(split.referer)),
            agent: Some(Escape::Backslash.undo(split.agent)),
            host: host.map(Cow::Borrowed),
            ..Draft::default()
        };
        if self.is_begin || self.tail == Tail::Plimsoll {
            draft.began_ms = Some(split.moment_ms);
        } else {
            draft.ended_ms = Some(split.moment_ms);
        }
        self.tail.read(split.rest, &mut draft);
        draft.finish()
    }
}

/// Takes a line apart.
pub(crate) fn split<'a>(
    moments: &mut MomentReader,
    line: &'a [u8],
) -> Result<Split<'a>, LineError> {
    let (front, moment_ms, rest) = around_moment(moments, line)?;
    let (request, rest) = tail::quoted(rest.trim_ascii_start())
        .ok_or(LineError::Missing("request in quotes after the timestamp"))?;
    let (status, rest) = tail::word(rest);
    let (bytes, rest) = tail::word(rest);
    let mut split = Split {
        front,
        moment_ms,
        request,
        status,
        bytes,
        referer: b"-",
        agent: b"-",
        is_combined: false,
        rest: rest.trim_ascii(),
    };
    if let Some((referer, after)) = tail::quoted(split.rest)
        && let Some((agent, after)) = tail::quoted(after.trim_ascii_start())
    {
        split.referer = referer;
        split.agent = agent;
        split.is_combined = true;
        split.rest = after.trim_ascii();
    }
    Ok(split)
}

/// What is in front of the bracketed moment, the moment, and what follows. Earlier brackets hold other things.
fn around_moment<'a>(
    moments: &mut MomentReader,
    line: &'a [u8],
) -> Result<(&'a [u8], i64, &'a [u8]), LineError> {
    const MISSING: LineError = LineError::Missing("timestamp in brackets");
    let mut from = 0;
    let mut first: Option<&[u8]> = None;
    while let Some(open) = memchr(b'[', &line[from..]) {
        let open = from + open;
        let inner = &line[open + 1..];
        let Some(close) = memchr(b']', inner) else {
            break;
        };
        let text = &inner[..close];
        let moment = moments.common(text).or_else(|| moments.iso(text));
        if let Some(ms) = moment {
            return Ok((&line[..open], ms, &inner[close + 1..]));
        }
        // A request in quotes ends the front: what is in brackets behind it is its own.
        if memchr(b'"', &line[from..open]).is_some() {
            break;
        }
        first.get_or_insert(text);
        from = open + 1;
    }
    match first {
        Some(text) => Err(LineError::invalid("the timestamp", text)),
        None => Err(MISSING),
    }
}

/// Host, if it leads, and address, `-` if the log has none.
fn front_fields(front: &[u8]) -> Result<(Option<&[u8]>, &[u8]), LineError> {
    let front = front.trim_ascii();
    if let Some(address) = leading_address(front) {
        return Ok(of_addresses(front, address));
    }
    let front = client::without_header(front);
    if let Some(address) = leading_address(front) {
        return Ok(of_addresses(front, address));
    }
    let (first, rest) = next_word(front);
    if first.is_empty() {
        return Err(LineError::Missing("address at the start"));
    }
    let address = client::bare(first);
    // What is in front of the first address is a host, or a client that a proxy did not know.
    let (second, _) = next_word(rest);
    let second = client::bare(second);
    if client::is_address(second) {
        let host = (!value::is_absent(first) && is_host(first)).then_some(first);
        return Ok((host, second));
    }
    let words = front
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    if words.take(4).count() >= 4 && first.contains(&b'.') && second.contains(&b'.') {
        // Host and client, both by name.
        return Ok((is_host(first).then_some(first), second));
    }
    Ok((None, address))
}

/// Host and client of a text that begins with an address. Of two addresses, with only a blank between them, the first is
/// the client, unless it has the port of a service, or it is the private one of a proxy and the other is public.
fn of_addresses<'a>(front: &'a [u8], first: &'a [u8]) -> (Option<&'a [u8]>, &'a [u8]) {
    let (written, rest) = next_word(front);
    let second = client::bare(next_word(rest).0);
    if front[written.len()..].starts_with(b",") || !client::is_address(second) {
        return (None, first);
    }
    let has_port = written.len() > first.len();
    let is_service = has_port && (written.ends_with(b":80") || written.ends_with(b":443"));
    if is_service {
        return (Some(written), second);
    }
    let is_proxy = client::is_private(first) && !client::is_private(second);
    (None, if is_proxy { second } else { first })
}

/// The address that the text begins with, as in most lines.
fn leading_address(front: &[u8]) -> Option<&[u8]> {
    let address = client::bare(next_word(front).0);
    client::is_address(address).then_some(address)
}

/// The next item of blanks and commas, and the rest.
fn next_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = memchr2(b' ', b',', text).unwrap_or(text.len());
    let rest = &text[end..];
    (&text[..end], rest.strip_prefix(b",").unwrap_or(rest))
}

fn is_host(text: &[u8]) -> bool {
    text.contains(&b'.') || text.contains(&b':') || text == b"localhost"
}
