//! `HAProxy`: `option httplog` and `option httpslog`, with or without a syslog header.
//!
//! The moment is `%tr`, "the date and time of the start of the first HTTP request byte" (`HAProxy` manual, 8.2.3), or
//! the accept date in older versions: a beginning in both.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr};

use crate::client;
use crate::draft::{self, Draft};
use crate::entry::{HaproxyDetails, LineError, LogEntry};
use crate::moment::MomentReader;
use crate::value::{self, Escape, Unit};

/// Parses `… CLIENT:PORT [MOMENT] FRONTEND BACKEND/SERVER TR/TW/TC/TR/TA STATUS BYTES … "REQUEST"`.
pub(crate) fn read<'a>(
    moments: &mut MomentReader,
    line: &'a [u8],
) -> Result<LogEntry<'a>, LineError> {
    let head = Head::of(moments, line)?;
    let mut words = head
        .rest
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    let mut next = |what| words.next().ok_or(LineError::Missing(what));
    let frontend = next("frontend")?;
    let server = next("backend and server")?;
    let timers = next("timers")?;
    if !frontend.ends_with(b":") && !is_timers(timers, 3) {
        return Err(LineError::invalid("the timers", timers));
    }
    if frontend.ends_with(b":") || frontend.contains(&b'/') && !server.contains(&b'/') {
        return Err(LineError::NotHttp("a connection that was not served"));
    }
    let slash = memchr(b'/', server).ok_or_else(|| LineError::invalid("the server", server))?;
    let timer_count = timers.split(|byte| *byte == b'/').count();
    if timer_count < 5 && memchr(b'"', head.rest).is_none() {
        // Three timers and bytes instead of a status: `option tcplog`.
        return Err(LineError::NotHttp(
            "a connection of TCP mode, as `option tcplog` writes it",
        ));
    }
    let status = next("status")?;
    let bytes = next("bytes")?;
    let _request_cookie = next("request cookie")?;
    let _response_cookie = next("response cookie")?;
    let termination = next("termination state")?;
    let connections = next("connections")?;
    let queues = next("queues")?;
    let (front, request, behind) = head.request()?;
    let captures = Captures::of(front);
    let mut details = HaproxyDetails {
        frontend: name(frontend.strip_suffix(b"~").unwrap_or(frontend)),
        backend: name(&server[..slash]),
        server: name(&server[slash + 1..]),
        termination: name(termination),
        ..HaproxyDetails::default()
    };
    details.set_timers(timers);
    details.set_counts(connections, queues);
    let draft = Draft {
        began_ms: Some(head.moment_ms),
        lasted_ms: details.total_ms,
        address: Some(Cow::Borrowed(head.client)),
        forwarded: captures.forwarded.map(Cow::Borrowed),
        request: Some(Escape::Hash.undo(request)),
        status: Some(Cow::Borrowed(status)),
        bytes: value::whole(bytes.strip_prefix(b"+").unwrap_or(bytes)),
        referer: captures.referer.map(|text| Escape::Hash.undo(text)),
        agent: captures.agent.map(|text| Escape::Hash.undo(text)),
        host: captures
            .host
            .or_else(|| server_name(behind))
            .map(Cow::Borrowed),
        haproxy: Some(details),
        ..Draft::default()
    };
    draft.finish()
}

/// Where a blank and this byte stand. A search for two bytes would be made ready anew for each line.
fn after_blank(line: &[u8], byte: u8) -> Option<usize> {
    memchr_iter(byte, line)
        .filter_map(|at| at.checked_sub(1))
        .find(|at| line[*at] == b' ')
}

/// What is in front of the request, the request, and what follows it.
type AroundRequest<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// What begins each line.
#[derive(Debug)]
struct Head<'a> {
    client: &'a [u8],
    moment_ms: i64,
    rest: &'a [u8],
}

impl<'a> Head<'a> {
    fn of(moments: &mut MomentReader, line: &'a [u8]) -> Result<Self, LineError> {
        const MISSING: LineError = LineError::Missing("timestamp in brackets");
        // The syslog header may have the process id in brackets: `haproxy[123]: `.
        let open = after_blank(line, b'[').ok_or(MISSING)?;
        let after = &line[open + 2..];
        let close = memchr(b']', after).ok_or(MISSING)?;
        let when = &after[..close];
        let moment_ms = moments
            .common(when)
            .ok_or_else(|| LineError::invalid("the timestamp", when))?;
        let front = &line[..open];
        let client = &front[memrchr(b' ', front).map_or(0, |blank| blank + 1)..];
        if client.starts_with(b"unix:") {
            return Ok(Self {
                client: b"-",
                moment_ms,
                rest: &after[close + 1..],
            });
        }
        let colon = memrchr(b':', client).ok_or(LineError::Missing("client with its port"))?;
        let (address, port) = (&client[..colon], &client[colon + 1..]);
        let port = value::whole(port).filter(|port| *port <= 65_535);
        if port.is_none() || !(client::is_address(client::bare(address)) || address == b"-") {
            return Err(LineError::invalid("the client", client));
        }
        Ok(Self {
            client: client::bare(address),
            moment_ms,
            rest: &after[close + 1..],
        })
    }

    /// What is in front of the request, the request, and what follows it.
    fn request(&self) -> Result<AroundRequest<'a>, LineError> {
        const MISSING: LineError = LineError::Missing("request in quotes");
        let start = after_blank(self.rest, b'"').ok_or(MISSING)?;
        let inner = &self.rest[start + 2..];
        // Quotes of the request are escaped. A line that was cut has no second one.
        let end = memchr(b'"', inner).unwrap_or(inner.len());
        let (request, behind) = inner.split_at(end);
        if request.starts_with(b"<BADREQ>") {
            return Err(LineError::NotHttp(
                "a request that HAProxy refused (`<BADREQ>`)",
            ));
        }
        Ok((
            &self.rest[..start],
            request,
            behind.get(1..).unwrap_or_default(),
        ))
    }
}

impl HaproxyDetails<'_> {
    /// `TR/Tw/Tc/Tr/Ta`. A `+` marks a line that was written before the end (`option logasap`): its total is unknown.
    fn set_timers(&mut self, timers: &[u8]) {
        let read = |item: &[u8]| Unit::Milliseconds.read(item).filter(|_| item[0] != b'+');
        let mut items = timers.split(|byte| *byte == b'/').map(read);
        let mut next = || items.next().flatten();
        self.request_ms = next();
        self.queue_ms = next();
        self.connect_ms = next();
        self.response_ms = next();
        self.total_ms = next();
    }

    /// `ac/fc/bc/sc/retries` and `server queue/backend queue`. A `+` marks a request that was given to another server.
    fn set_counts(&mut self, connections: &[u8], queues: &[u8]) {
        let retries = &connections[memrchr(b'/', connections).map_or(0, |slash| slash + 1)..];
        self.retries = count(retries.strip_prefix(b"+").unwrap_or(retries));
        let slash = memchr(b'/', queues).unwrap_or(queues.len());
        self.server_queue = count(&queues[..slash]);
        self.backend_queue = count(queues.get(slash + 1..).unwrap_or_default());
    }
}

pub(crate) fn count(text: &[u8]) -> u32 {
    value::whole(text)
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or_default()
}

pub(crate) fn name(text: &[u8]) -> &str {
    std::str::from_utf8(text).unwrap_or("?")
}

fn is_timers(text: &[u8], numbers: usize) -> bool {
    let items = || text.split(|byte| *byte == b'/');
    items().count() >= numbers
        && items().all(|item| {
            let digits = item.strip_prefix(b"+").unwrap_or(item);
            digits == b"-1" || value::whole(digits).is_some()
        })
}

/// Captured headers, by what they look like: the log does not name them.
#[derive(Debug, Default)]
pub(crate) struct Captures<'a> {
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) agent: Option<&'a [u8]>,
    pub(crate) referer: Option<&'a [u8]>,
    pub(crate) forwarded: Option<&'a [u8]>,
}

impl<'a> Captures<'a> {
    /// Of the first braces, which hold headers of the request: `{shop.example|Mozilla/5.0}`.
    pub(crate) fn of(front: &'a [u8]) -> Self {
        let mut captures = Self::default();
        let fields = memchr(b'{', front).and_then(|open| {
            let inner = &front[open + 1..];
            Some(&inner[..memchr(b'}', inner)?])
        });
        for field in fields.unwrap_or_default().split(|byte| *byte == b'|') {
            let items = || field.split(|byte| *byte == b',').map(client::bare);
            let is_url = field.starts_with(b"http://") || field.starts_with(b"https://");
            if field.contains(&b',') && items().all(client::is_address) {
                captures.forwarded.get_or_insert(field);
            } else if is_url {
                captures.referer.get_or_insert(field);
            } else if field.contains(&b'/') {
                captures.agent.get_or_insert(field);
            } else if is_host(field) {
                captures.host.get_or_insert(field);
            }
        }
        captures
    }
}

fn is_host(field: &[u8]) -> bool {
    field.contains(&b'.')
        && field
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':'))
}

/// The name that a client of TLS asked for: `option httpslog` ends with `SNI/VERSION/CIPHER`.
fn server_name(behind: &[u8]) -> Option<&[u8]> {
    let last = &behind[memrchr(b' ', behind)? + 1..];
    let (name, rest) = last.split_at(memchr(b'/', last)?);
    let is_tls = rest.starts_with(b"/TLS") || rest.starts_with(b"/SSL");
    (is_tls && is_host(name) && draft::present(Cow::Borrowed(name)).is_some()).then_some(name)
}
