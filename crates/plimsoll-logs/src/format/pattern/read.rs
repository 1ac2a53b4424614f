//! Reads a line by a compiled format.

use std::borrow::Cow;

use memchr::memmem;

use super::{Field, HaproxyField, Pattern, Piece};
use crate::client;
use crate::draft::{self, Draft};
use crate::entry::{HaproxyDetails, LineError, LogEntry, UpstreamTimes};
use crate::format::haproxy::{self, Captures};
use crate::format::tail;
use crate::moment::{MomentForm, MomentReader};
use crate::value::{self, Escape, Unit};

impl Pattern {
    /// # Errors
    /// When the line does not have this form, or lacks the moment, the request or the status.
    pub(crate) fn read<'a>(
        &self,
        moments: &mut MomentReader,
        line: &'a [u8],
    ) -> Result<LogEntry<'a>, LineError> {
        let mut draft = Draft {
            haproxy: self.has_haproxy.then(HaproxyDetails::default),
            ..Draft::default()
        };
        let is_address_first = matches!(
            self.pieces.first(),
            Some(Piece::Field {
                field: Field::Address | Field::Forwarded,
                ..
            })
        );
        let mut rest = if is_address_first {
            client::without_header(line)
        } else {
            line
        };
        let mut is_left_out = false;
        for (index, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Literal(text) => {
                    let blank: &[u8] = if is_left_out { b" " } else { b"" };
                    let text = text.strip_prefix(blank).unwrap_or(text);
                    rest = after_literal(rest, text, index == 0)?;
                    is_left_out = false;
                }
                Piece::Field { field, .. } if field.is_captures() && !rest.starts_with(b"{") => {
                    is_left_out = true;
                }
                Piece::Field {
                    field,
                    end,
                    is_quoted,
                } => {
                    let end = match end {
                        None => rest.len(),
                        Some(end) => self
                            .end_of(field, rest, end, *is_quoted)
                            .ok_or_else(|| mismatch(rest))?,
                    };
                    let (text, after) = rest.split_at(end);
                    rest = after;
                    if !value::is_absent(text) {
                        self.set(field, text, moments, &mut draft)?;
                    }
                }
            }
        }
        if rest.trim_ascii().is_empty() {
            draft.finish()
        } else {
            Err(mismatch(rest))
        }
    }

    /// Where a field ends. A quote that the log escaped does not end it.
    fn end_of(
        &self,
        field: &Field,
        text: &[u8],
        end: &memmem::Finder<'_>,
        is_quoted: bool,
    ) -> Option<usize> {
        match field {
            Field::Began(form) | Field::Ended(form) => return end_of_moment(form, text, end),
            // The port of an address of IPv6 is behind the last of its colons.
            Field::Address if end.needle() == b":" => {
                let word = &text[..memchr::memchr(b' ', text).unwrap_or(text.len())];
                return memchr::memrchr(b':', word);
            }
            // A request has blanks itself; its protocol is the last of its words.
            Field::Request if end.needle().starts_with(b" ") => {
                let protocol = memmem::find(text, b" HTTP/").map_or(0, |at| at + 1);
                return Some(protocol + end.find(&text[protocol..])?);
            }
            // Braces within captured headers are escaped.
            field if field.is_captures() => {
                return memchr::memchr(b'}', text).map(|at| at + 1);
            }
            field if field.is_list() && end.needle().starts_with(b" ") => {
                return end_of_list(text, end);
            }
            _ => {}
        }
        if !is_quoted || !matches!(self.escape, Escape::Backslash | Escape::Json) {
            return end.find(text);
        }
        let mut from = 0;
        loop {
            let at = from + end.find(text.get(from..)?)?;
            let backslashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\');
            if backslashes.count() % 2 == 0 {
                return Some(at);
            }
            from = at + 1;
        }
    }

    fn set<'a>(
        &self,
        field: &Field,
        text: &'a [u8],
        moments: &mut MomentReader,
        draft: &mut Draft<'a>,
    ) -> Result<(), LineError> {
        match field {
            Field::Unused | Field::UnusedList => {}
            Field::Began(form) | Field::Ended(form) => {
                let at = moments.read(form, text);
                let at = at.ok_or_else(|| LineError::invalid("the timestamp", text))?;
                let place = if matches!(field, Field::Began(_)) {
                    &mut draft.began_ms
                } else {
                    &mut draft.ended_ms
                };
                // The same moment in whole seconds does not replace a finer one.
                *place = place
                    .filter(|finer| finer.div_euclid(1000) * 1000 == at)
                    .or(Some(at));
            }
            Field::HostAndPath => set_url(self.escape.undo(text), draft),
            Field::Bytes => draft.bytes = value::whole(text.strip_prefix(b"+").unwrap_or(text)),
            Field::Lasted(unit) => set_lasted(*unit, text, draft)?,
            Field::LastedPart(unit) => {
                // A part that did not happen (`-1`) leaves the whole unknown.
                draft.lasted_ms = match (draft.lasted_ms, unit.read(text)) {
                    (sum, Some(ms)) => Some(sum.unwrap_or(0.0) + ms),
                    (_, None) => None,
                };
            }
            Field::Cache => draft.cache = draft::cache_outcome(text),
            Field::CompressionRatio => draft.compression_ratio = tail::ratio(text),
            Field::UpstreamAddress
            | Field::UpstreamConnect(_)
            | Field::UpstreamHeader(_)
            | Field::UpstreamResponse(_) => set_upstream(field, text, draft),
            Field::Haproxy(field) => set_haproxy(*field, text, draft),
            _ => self.set_text(field, text, draft),
        }
        Ok(())
    }

    fn set_text<'a>(&self, field: &Field, text: &'a [u8], draft: &mut Draft<'a>) {
        let value = self.escape.undo(text);
        match field {
            Field::Address => draft.address = draft.address.take().or(Some(value)),
            Field::Forwarded => draft.forwarded = Some(value),
            Field::Request => draft.request = Some(value),
            Field::Method => draft.method = Some(value),
            Field::Path => draft.path = draft.path.take().or(Some(value)),
            Field::Query => draft.query = Some(value),
            Field::Host => draft.host = Some(value),
            Field::ServerName => draft.host = draft.host.take().or(Some(value)),
            Field::Status => draft.status = draft.status.take().or(Some(value)),
            Field::Referer => draft.referer = Some(value),
            Field::Agent => draft.agent = Some(value),
            _ => {}
        }
    }
}

/// Where a moment ends that may contain what ends it: `22/Nov/2026:01:43:45 +0000 200`.
fn end_of_moment(form: &MomentForm, text: &[u8], end: &memmem::Finder<'_>) -> Option<usize> {
    let inside = match form {
        MomentForm::Custom(format) => memmem::find_iter(format.as_bytes(), end.needle()).count(),
        MomentForm::Common => {
            let offset = text.get(20..22);
            usize::from(end.needle() == b" " && matches!(offset, Some(b" +" | b" -")))
        }
        _ => 0,
    };
    end.find_iter(text).nth(inside)
}

/// Where a list of nginx ends, whose items have blanks between them: `0.5, 0.2 : 0.1 200`.
fn end_of_list(text: &[u8], end: &memmem::Finder<'_>) -> Option<usize> {
    let is_colon_end = end.needle().starts_with(b" :");
    end.find_iter(text).find(|at| {
        let (before, after) = text.split_at(*at);
        let goes_on = before.ends_with(b",")
            || before.ends_with(b" :")
            || (after.starts_with(b" : ") && !is_colon_end);
        !goes_on
    })
}

/// The rest behind a literal. A header of syslog may be in front of the first.
fn after_literal<'a>(rest: &'a [u8], text: &[u8], is_first: bool) -> Result<&'a [u8], LineError> {
    if let Some(after) = rest.strip_prefix(text) {
        return Ok(after);
    }
    // A literal at the end may lack its blanks.
    if rest == text.trim_ascii_end() {
        return Ok(b"");
    }
    if is_first {
        let start = &rest[..rest.len().min(client::HEADER_LEN_MAX)];
        if let Some(at) = memmem::find(start, text) {
            return Ok(&rest[at + text.len()..]);
        }
    }
    Err(mismatch(rest))
}

fn mismatch(rest: &[u8]) -> LineError {
    if rest.is_empty() {
        LineError::Missing("a field of the format at the end of the line")
    } else {
        LineError::invalid("for the format, the line from", rest)
    }
}

/// `shop.example/list?q`, `https://shop.example/list?q`
fn set_url<'a>(url: value::Value<'a>, draft: &mut Draft<'a>) {
    let start = memmem::find(&url, b"://").map_or(0, |at| at + 3);
    let slash = memchr::memchr(b'/', &url[start..]).map_or(url.len(), |at| start + at);
    match url {
        Cow::Borrowed(url) => {
            draft.host = Some(Cow::Borrowed(&url[start..slash]));
            draft.path = Some(Cow::Borrowed(&url[slash..]));
        }
        Cow::Owned(url) => {
            draft.host = Some(Cow::Owned(url[start..slash].to_vec()));
            draft.path = Some(Cow::Owned(url[slash..].to_vec()));
        }
    }
}

/// Whole seconds do not replace a finer time of the same request.
///
/// # Errors
/// When it is no number: the fields are then others than those of the format.
fn set_lasted(unit: Unit, text: &[u8], draft: &mut Draft<'_>) -> Result<(), LineError> {
    if value::number(text).is_none() {
        return Err(LineError::invalid("the duration", text));
    }
    let is_coarse = unit == Unit::Seconds && !text.contains(&b'.');
    if let Some(ms) = unit.read(text)
        && !(is_coarse && draft.lasted_ms.is_some())
    {
        draft.lasted_ms = Some(ms);
    }
    Ok(())
}

fn set_upstream<'a>(field: &Field, text: &'a [u8], draft: &mut Draft<'a>) {
    let upstream = draft.upstream.get_or_insert_with(|| UpstreamTimes {
        tries: 1,
        ..UpstreamTimes::default()
    });
    match field {
        Field::UpstreamAddress => {
            if let Some((server, tries)) = draft::upstream_servers(text) {
                upstream.address = Some(value::text(Cow::Borrowed(server)));
                upstream.tries = tries;
            }
        }
        Field::UpstreamConnect(unit) => upstream.connect_ms = draft::upstream_times(text, *unit),
        Field::UpstreamHeader(unit) => upstream.header_ms = draft::upstream_times(text, *unit),
        Field::UpstreamResponse(unit) => upstream.response_ms = draft::upstream_times(text, *unit),
        _ => {}
    }
}

fn set_haproxy<'a>(field: HaproxyField, text: &'a [u8], draft: &mut Draft<'a>) {
    if field == HaproxyField::Captures {
        let captures = Captures::of(text);
        draft.forwarded = captures
            .forwarded
            .map(Cow::Borrowed)
            .or(draft.forwarded.take());
        draft.agent = captures
            .agent
            .map(|text| Escape::Hash.undo(text))
            .or(draft.agent.take());
        draft.host = captures.host.map(Cow::Borrowed).or(draft.host.take());
        return;
    }
    let Some(details) = &mut draft.haproxy else {
        return;
    };
    let ms = Unit::Milliseconds.read(text);
    match field {
        HaproxyField::Frontend => {
            details.frontend = haproxy::name(text.strip_suffix(b"~").unwrap_or(text));
        }
        HaproxyField::Backend => details.backend = haproxy::name(text),
        HaproxyField::Server => details.server = haproxy::name(text),
        HaproxyField::Termination => details.termination = haproxy::name(text),
        HaproxyField::RequestTime => details.request_ms = ms,
        HaproxyField::QueueTime => details.queue_ms = ms,
        HaproxyField::ConnectTime => details.connect_ms = ms,
        HaproxyField::ResponseTime => details.response_ms = ms,
        HaproxyField::TotalTime => {
            details.total_ms = ms;
            draft.lasted_ms = ms;
        }
        HaproxyField::Retries => {
            details.retries = haproxy::count(text.strip_prefix(b"+").unwrap_or(text));
        }
        HaproxyField::ServerQueue => details.server_queue = haproxy::count(text),
        HaproxyField::BackendQueue => details.backend_queue = haproxy::count(text),
        HaproxyField::Captures | HaproxyField::ResponseCaptures => {}
    }
}
