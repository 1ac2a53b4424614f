//! One JSON object a line, and `key=value` pairs, with the field names of common servers.

pub(crate) mod keys;
pub(crate) mod scan;

use std::borrow::Cow;

use keys::{Dialect, Scope, Slot};
use scan::{JsonValue, Members, Nested, Scanner};

use crate::client;
use crate::draft::{self, Draft};
use crate::entry::{LineError, LogEntry, UpstreamTimes};
use crate::moment::{MomentForm, MomentReader};
use crate::value::{self, Escape, Value};

/// Fields of a structured line, each from the best of its names.
#[derive(Debug)]
pub(crate) struct Structured<'a> {
    draft: Draft<'a>,
    /// How good the name of each field was.
    ranks: [u8; RANKS],
    began: Option<Value<'a>>,
    moment: Option<Value<'a>>,
    /// A duration without a unit.
    bare_duration: Option<Value<'a>>,
    upstream: UpstreamTimes<'a>,
    dialect: Dialect,
    is_dialect_given: bool,
    signs: u8,
    /// Whether what would be sent again has half a surrogate pair.
    has_lone_surrogate: bool,
}

/// Whether a value is part of what is sent again.
fn is_sent(slot: Option<Slot>) -> bool {
    matches!(
        slot,
        Some(Slot::Path(_) | Slot::Query(_) | Slot::RequestLine)
    )
}

const RANKS: usize = 10;
/// All names that lines of Plimsoll's edge have together.
const SIGNS_OF_PLIMSOLL: u8 = 0b1111;

/// The object that a line is, or that follows a header of syslog or of a container: `web_1  | {"time":…}`.
pub(crate) fn object_of(line: &[u8]) -> Option<&[u8]> {
    if line.first() == Some(&b'{') {
        return Some(line);
    }
    if line.last() != Some(&b'}') {
        return None;
    }
    let head = &line[..line.len().min(client::HEADER_LEN_MAX)];
    let start = memchr::memchr(b'"', head)?.checked_sub(1)?;
    let (header, object) = line.split_at(start);
    let is_behind = header.ends_with(b" ") || header.ends_with(b"\t");
    (is_behind && object.starts_with(b"{")).then_some(object)
}

/// Parses a line of JSON.
///
/// # Errors
/// When it is no JSON object, or lacks the moment, the request or the status.
pub(crate) fn read<'a>(
    moments: &mut MomentReader,
    dialect: Dialect,
    line: &'a [u8],
) -> Result<LogEntry<'a>, LineError> {
    let mut fields = Structured::new(dialect);
    Scanner::object(line, Scope::Root, &mut fields)?;
    fields.finish(moments)
}

impl<'a> Members<'a> for Structured<'a> {
    type Scope = Scope;

    fn nested(&mut self, scope: Scope, key: &'a [u8]) -> Nested<Scope> {
        self.observe(scope, key);
        keys::opened(scope, key).map_or(Nested::Skip, Nested::Enter)
    }

    fn take(&mut self, scope: Scope, key: &'a [u8], found: JsonValue<'a>) {
        self.observe(scope, key);
        match found {
            JsonValue::Text(text) => {
                if is_sent(keys::slot(scope, key)) {
                    self.has_lone_surrogate |= value::has_lone_surrogate(text);
                }
                self.set(scope, key, Escape::Json.undo(text));
            }
            JsonValue::Number(text) => self.set(scope, key, Cow::Borrowed(text)),
            JsonValue::Other => {}
        }
    }
}

impl<'a> Structured<'a> {
    /// `Dialect::Unknown` finds it out.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            draft: Draft::default(),
            ranks: [u8::MAX; RANKS],
            began: None,
            moment: None,
            bare_duration: None,
            upstream: UpstreamTimes::default(),
            dialect,
            is_dialect_given: dialect != Dialect::Unknown,
            signs: 0,
            has_lone_surrogate: false,
        }
    }

    fn observe(&mut self, scope: Scope, key: &[u8]) {
        if scope == Scope::Root {
            self.signs |= Dialect::sign_of_plimsoll(key);
        }
        if !self.is_dialect_given && self.dialect == Dialect::Unknown {
            self.dialect = Dialect::of(scope, key).unwrap_or_default();
        }
    }

    /// Takes a field whose escapes are undone.
    pub(crate) fn set(&mut self, scope: Scope, key: &[u8], value: Value<'a>) {
        let Some(slot) = keys::slot(scope, key) else {
            return;
        };
        if value::is_absent(&value) {
            return;
        }
        let draft = &mut self.draft;
        let (rank, index, place) = match slot {
            Slot::Began(rank) => (rank, 0, &mut self.began),
            Slot::Moment(rank) => (rank, 1, &mut self.moment),
            Slot::Address(rank) => (rank, 2, &mut draft.address),
            Slot::Forwarded(rank) => (rank, 3, &mut draft.forwarded),
            Slot::Method(rank) => (rank, 4, &mut draft.method),
            Slot::Path(rank) => (rank, 5, &mut draft.path),
            Slot::Query(rank) => (rank, 6, &mut draft.query),
            Slot::Status(rank) => (rank, 7, &mut draft.status),
            Slot::Host(rank) => (rank, 8, &mut draft.host),
            Slot::Agent(rank) => (rank, 9, &mut draft.agent),
            other => return self.set_other(other, value),
        };
        if rank < self.ranks[index] {
            self.ranks[index] = rank;
            *place = Some(value);
        }
    }

    fn set_other(&mut self, slot: Slot, value: Value<'a>) {
        let draft = &mut self.draft;
        match slot {
            // Filters of Logstash and some formats of Apache name the path so.
            Slot::RequestLine if !value.contains(&b' ') => {
                draft.path = draft.path.take().or(Some(value));
            }
            Slot::RequestLine => draft.request = Some(value),
            Slot::Referer => draft.referer = Some(value),
            Slot::Bytes(_) => draft.bytes = draft.bytes.or(value::whole(&value)),
            Slot::Lasted(unit) => {
                // A text may tell another unit than the name.
                let lasted = value::duration_with_unit(&value).or_else(|| unit.read(&value));
                draft.lasted_ms = draft.lasted_ms.or(lasted);
            }
            Slot::LastedSomehow => match value::duration_with_unit(&value) {
                Some(ms) => draft.lasted_ms = draft.lasted_ms.or(Some(ms)),
                None => self.bare_duration = self.bare_duration.take().or(Some(value)),
            },
            Slot::Cache => draft.cache = draft::cache_outcome(&value),
            Slot::UpstreamAddress => {
                if let Some((server, tries)) = draft::upstream_servers(&value) {
                    self.upstream.address =
                        Some(Cow::Owned(String::from_utf8_lossy(server).into_owned()));
                    self.upstream.tries = tries;
                }
            }
            Slot::UpstreamResponse(unit) => {
                self.upstream.response_ms = draft::upstream_times(&value, unit);
            }
            Slot::UpstreamConnect(unit) => {
                self.upstream.connect_ms = draft::upstream_times(&value, unit);
            }
            Slot::UpstreamHeader(unit) => {
                self.upstream.header_ms = draft::upstream_times(&value, unit);
            }
            _ => {}
        }
    }

    /// Who wrote the line, as far as its names tell.
    pub(crate) fn found_dialect(&self) -> Dialect {
        if self.dialect == Dialect::Unknown && self.signs == SIGNS_OF_PLIMSOLL {
            Dialect::Plimsoll
        } else {
            self.dialect
        }
    }

    /// Whether a duration is there whose unit nobody tells.
    pub(crate) fn has_unknown_unit(&self) -> bool {
        self.bare_duration.is_some()
            && self.draft.lasted_ms.is_none()
            && self.found_dialect().duration_unit().is_none()
    }

    /// # Errors
    /// When the moment, the request or the status is missing or invalid.
    pub(crate) fn finish(mut self, moments: &mut MomentReader) -> Result<LogEntry<'a>, LineError> {
        self.dialect = self.found_dialect();
        self.set_moments(moments)?;
        if let Some(bare) = &self.bare_duration
            && self.draft.lasted_ms.is_none()
        {
            self.draft.lasted_ms = self
                .dialect
                .duration_unit()
                .and_then(|unit| unit.read(bare));
        }
        if self.upstream != UpstreamTimes::default() {
            self.upstream.tries = self.upstream.tries.max(1);
            self.draft.upstream = Some(std::mem::take(&mut self.upstream));
        }
        if self.draft.request.is_none() {
            let missing = if self.draft.method.is_none() {
                "method (`method`, `request_method`)"
            } else {
                "path (`path`, `uri`, `request_uri`, `url`)"
            };
            if self.draft.method.is_none() || self.draft.path.is_none() {
                return Err(LineError::Missing(missing));
            }
        }
        // Elastic's schema had methods in small letters (http.request.method before 1.6).
        if let Some(method) = &mut self.draft.method
            && method.iter().all(u8::is_ascii_lowercase)
        {
            method.to_mut().make_ascii_uppercase();
        }
        if self.has_lone_surrogate {
            return Err(LineError::NotText("the path"));
        }
        if self.draft.status.is_none() {
            return Err(LineError::Missing("status (`status`, `status_code`)"));
        }
        if self.dialect == Dialect::Plimsoll {
            self.draft.path = self.draft.path.map(bytes_of_latin1);
            self.draft.agent = self.draft.agent.map(bytes_of_latin1);
        }
        self.draft.finish()
    }

    fn set_moments(&mut self, moments: &mut MomentReader) -> Result<(), LineError> {
        let (text, is_begin) = match (&self.began, &self.moment) {
            (Some(text), _) => (text, true),
            (None, Some(text)) => (text, self.dialect.moment_is_begin()),
            (None, None) => {
                return Err(LineError::Missing(
                    "timestamp (`time`, `timestamp`, `@timestamp`, `ts`)",
                ));
            }
        };
        let at = moments
            .read(&MomentForm::Any, text)
            .ok_or_else(|| LineError::invalid("the timestamp", text))?;
        if is_begin {
            self.draft.began_ms = Some(at);
        } else {
            self.draft.ended_ms = Some(at);
        }
        Ok(())
    }
}

/// The edge writes each byte outside of ASCII as the character of its number.
fn bytes_of_latin1(value: Value<'_>) -> Value<'_> {
    if value.is_ascii() {
        return value;
    }
    let characters = String::from_utf8_lossy(&value);
    let bytes: Option<Vec<u8>> = characters.chars().map(|c| u8::try_from(c).ok()).collect();
    bytes.map_or(value, Cow::Owned)
}

/// Parses a line of `key=value` pairs.
///
/// # Errors
/// When it lacks the moment, the request or the status.
pub(crate) fn read_logfmt<'a>(
    moments: &mut MomentReader,
    line: &'a [u8],
) -> Result<LogEntry<'a>, LineError> {
    logfmt_fields(line).finish(moments)
}

/// Pairs of a line. A value with blanks is in quotes; a key without a value is a flag.
pub(crate) fn logfmt_fields(line: &[u8]) -> Structured<'_> {
    let mut fields = Structured::new(Dialect::Unknown);
    let mut rest = line.trim_ascii();
    while let Some(equals) = memchr::memchr2(b'=', b' ', rest) {
        let key = &rest[..equals];
        let after = &rest[equals + 1..];
        if rest[equals] == b' ' {
            rest = after.trim_ascii_start();
            continue;
        }
        let (text, escape, after) = if let Some((text, after)) = super::tail::quoted(after) {
            (text, Escape::Json, after)
        } else {
            let end = memchr::memchr(b' ', after).unwrap_or(after.len());
            (&after[..end], Escape::None, &after[end..])
        };
        fields.observe(Scope::Root, key);
        fields.set_pair(key, escape.undo(text));
        rest = after.trim_ascii_start();
    }
    fields
}

impl<'a> Structured<'a> {
    /// Sets a pair, whose key may name an object: `req.method`.
    fn set_pair(&mut self, key: &[u8], value: Value<'a>) {
        let dot = memchr::memrchr(b'.', key);
        let nested = dot.and_then(|dot| {
            let scope = keys::opened(Scope::Root, &key[..dot])?;
            Some((scope, &key[dot + 1..]))
        });
        match nested {
            Some((scope, key)) => self.set(scope, key, value),
            None => self.set(Scope::Root, key, value),
        }
    }
}
