//! What container runtimes and syslog write around each line of a log.
//!
//! A wrapper is recognized by its whole form, so that nothing is cut off a line that only looks similar; a line without it is
//! handed on as it is. Runtimes split long lines, whose pieces are joined again here.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::json::scan::{JsonValue, Members, Nested, Scanner};
use crate::entry::{LINE_LEN_MAX, LineError};
use crate::value::{Escape, Value};

/// Length at which Docker splits lines.
const DOCKER_PIECE_LEN: usize = 16 << 10;
/// Longest name of a host, a program or a container.
const NAME_LEN_MAX: usize = 255;

/// A known wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapper {
    /// `{"log":"…\n","stream":"stdout","time":"…"}`: Docker's json-file.
    Docker,
    /// `2026-11-22T01:43:45.123456789Z stdout F …`: Kubernetes (CRI) and Podman.
    Cri,
    /// `web-1  | …`: `docker compose logs`, also with `--timestamps`.
    Compose,
    /// `<190>Nov 22 01:43:45 web nginx[7]: …` (RFC 3164), `<190>1 2026-11-22T01:43:45Z web nginx 7 - - …` (RFC 5424), with
    /// or without a priority.
    Syslog,
}

/// What is in a wrapper.
#[derive(Debug, PartialEq)]
struct Content<'a> {
    text: Value<'a>,
    /// Whether the line goes on in a later one of the same stream.
    is_piece: bool,
    is_stderr: bool,
}

impl<'a> Content<'a> {
    fn whole(text: &'a [u8]) -> Self {
        Self {
            text: Cow::Borrowed(text),
            is_piece: false,
            is_stderr: false,
        }
    }
}

impl Wrapper {
    /// The wrapper of most of these lines.
    pub(crate) fn of(sample: &[&[u8]]) -> Option<Self> {
        [Self::Docker, Self::Cri, Self::Compose, Self::Syslog]
            .into_iter()
            .find(|wrapper| {
                let wrapped = sample.iter().filter(|line| wrapper.open(line).is_some());
                wrapped.count() * 2 > sample.len()
            })
    }

    /// What it is, for people.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Docker => "Docker's JSON",
            Self::Cri => "the prefix of a container runtime (CRI)",
            Self::Compose => "the prefix of docker compose",
            Self::Syslog => "a syslog header",
        }
    }

    fn open(self, line: &[u8]) -> Option<Content<'_>> {
        match self {
            Self::Docker => docker(line),
            Self::Cri => cri(line),
            Self::Compose => compose(line).map(Content::whole),
            Self::Syslog => syslog(line).map(Content::whole),
        }
    }
}

/// Takes lines out of their wrapper.
#[derive(Debug, Default)]
pub struct Unwrapper {
    wrapper: Option<Wrapper>,
    /// Pieces of a line that is not complete, of stdout and stderr.
    pieces: [Vec<u8>; 2],
    whole: Vec<u8>,
}

impl Unwrapper {
    pub(crate) fn new(wrapper: Option<Wrapper>) -> Self {
        Self {
            wrapper,
            ..Self::default()
        }
    }

    /// The line without its wrapper; `None` while it goes on in a later one. A line without a wrapper stays as it is.
    pub fn line<'a>(&'a mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let Some(wrapper) = self.wrapper else {
            return Some(line);
        };
        // The end of a line is none of its pieces'.
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
        let bare = bare.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bare);
        let Some(content) = wrapper.open(bare) else {
            return Some(line);
        };
        let pieces = &mut self.pieces[usize::from(content.is_stderr)];
        if content.is_piece || !pieces.is_empty() {
            // A byte more than a line may have is enough to be refused for its length.
            let room = (LINE_LEN_MAX + 1).saturating_sub(pieces.len());
            pieces.extend_from_slice(&content.text[..content.text.len().min(room)]);
            if content.is_piece {
                return None;
            }
            self.whole.clear();
            self.whole.append(pieces);
            return Some(&self.whole);
        }
        match content.text {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(text) => {
                self.whole = text;
                Some(&self.whole)
            }
        }
    }
}

/// Members of an object of Docker.
#[derive(Default)]
struct DockerFields<'a> {
    log: Option<&'a [u8]>,
    stream: Option<&'a [u8]>,
    has_time: bool,
}

impl<'a> Members<'a> for DockerFields<'a> {
    type Scope = ();

    fn nested(&mut self, (): (), _key: &'a [u8]) -> Nested<()> {
        Nested::Skip
    }

    fn take(&mut self, (): (), key: &'a [u8], value: JsonValue<'a>) {
        let JsonValue::Text(text) = value else {
            return;
        };
        match key {
            b"log" => self.log = Some(text),
            b"stream" => self.stream = Some(text),
            b"time" => self.has_time = true,
            _ => {}
        }
    }
}

fn docker(line: &[u8]) -> Option<Content<'_>> {
    let line = line.trim_ascii_start();
    if !line.starts_with(b"{") {
        return None;
    }
    let mut fields = DockerFields::default();
    let scanned: Result<(), LineError> = Scanner::object(line, (), &mut fields);
    scanned.ok()?;
    let is_stderr = stream(fields.stream?)?;
    let text = Escape::Json.undo(fields.log?);
    // Shippers cut the end of the line off: only a long one without it is a piece.
    let is_piece = fields.has_time && !text.ends_with(b"\n") && text.len() >= DOCKER_PIECE_LEN;
    fields.has_time.then_some(Content {
        text,
        is_piece,
        is_stderr,
    })
}

/// Whether it is stderr.
fn stream(name: &[u8]) -> Option<bool> {
    match name {
        b"stdout" => Some(false),
        b"stderr" => Some(true),
        _ => None,
    }
}

fn cri(line: &[u8]) -> Option<Content<'_>> {
    let (moment, rest) = word(line)?;
    let (name, rest) = word(rest)?;
    // An empty line ends behind its tags.
    let (tags, text) = word(rest).unwrap_or((rest, b""));
    let is_stderr = stream(name)?;
    // Tags are separated by colons; the first tells whether the line is complete.
    let tag = tags.split(|byte| *byte == b':').next()?;
    if !is_iso(moment) || !matches!(tag, b"F" | b"P") {
        return None;
    }
    Some(Content {
        text: Cow::Borrowed(text),
        is_piece: tag == b"P",
        is_stderr,
    })
}

fn compose(line: &[u8]) -> Option<&[u8]> {
    let bar = memchr(b'|', line)?;
    let (front, text) = (line[..bar].strip_suffix(b" ")?, &line[bar + 1..]);
    let name = front.trim_ascii_end();
    if !is_name(name) || !(text.is_empty() || text.starts_with(b" ")) {
        return None;
    }
    let text = text.strip_prefix(b" ").unwrap_or(text);
    // `--timestamps`: nanoseconds, as no server writes them.
    let stamped = word(text).filter(|(moment, _)| is_iso(moment) && moment.len() >= 30);
    Some(stamped.map_or(text, |(_, rest)| rest))
}

fn syslog(line: &[u8]) -> Option<&[u8]> {
    let (has_priority, rest) = match priority(line) {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    if has_priority && let Some(rest) = rest.strip_prefix(b"1 ") {
        return rfc5424(rest);
    }
    let rest = match traditional_moment(rest) {
        Some(rest) => rest,
        // Files of rsyslog and journals have an ISO moment in front of the traditional host and tag.
        None => word(rest).filter(|(moment, _)| is_iso(moment))?.1,
    };
    let (host, rest) = word(rest.trim_ascii_start())?;
    let rest = rest.trim_ascii_start();
    let tag_end = memmem::find(rest, b": ")?;
    let tag = &rest[..tag_end];
    (is_name(host.split(|byte| *byte == b':').next()?) && is_tag(tag)).then(|| &rest[tag_end + 2..])
}

/// What is behind `<190>`.
fn priority(line: &[u8]) -> Option<&[u8]> {
    let inner = line.strip_prefix(b"<")?;
    let end = memchr(b'>', &inner[..inner.len().min(4)])?;
    (end > 0 && inner[..end].iter().all(u8::is_ascii_digit)).then(|| &inner[end + 1..])
}

/// What is behind `TIME HOST APP PROCID MSGID STRUCTURED-DATA` (RFC 5424, section 6).
fn rfc5424(rest: &[u8]) -> Option<&[u8]> {
    let (moment, mut rest) = word(rest)?;
    if moment != b"-" && !is_iso(moment) {
        return None;
    }
    for _ in 0..4 {
        rest = word(rest)?.1;
    }
    let rest = match rest.strip_prefix(b"-") {
        Some(rest) => rest,
        None => structured_data(rest)?,
    };
    let text = rest.strip_prefix(b" ")?;
    Some(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text))
}

/// What is behind `[id name="value" …][…]`; quotes and brackets in values are escaped.
fn structured_data(text: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut elements) = (text, 0);
    while let Some(inner) = rest.strip_prefix(b"[") {
        let (mut is_quoted, mut is_escaped) = (false, false);
        let end = inner.iter().position(|byte| {
            let was_escaped = std::mem::take(&mut is_escaped);
            match byte {
                b'\\' if is_quoted && !was_escaped => is_escaped = true,
                b'"' if !was_escaped => is_quoted = !is_quoted,
                b']' => return !is_quoted,
                _ => {}
            }
            false
        })?;
        rest = &inner[end + 1..];
        elements += 1;
    }
    (elements > 0).then_some(rest)
}

/// What is behind `Nov 22 01:43:45 `.
fn traditional_moment(text: &[u8]) -> Option<&[u8]> {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let (moment, rest) = text.split_at_checked(15)?;
    let is_month = MONTHS.chunks(3).any(|month| moment.starts_with(month));
    let is_form = moment
        .iter()
        .zip(b"MMM dd 00:00:00")
        .skip(3)
        .all(|(byte, form)| match form {
            b'd' => matches!(byte, b' ' | b'0'..=b'9'),
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        });
    let rest = rest.strip_prefix(b" ")?;
    (is_month && is_form).then_some(rest)
}

/// `2026-11-22T01:43:45`, and anything behind it.
fn is_iso(text: &[u8]) -> bool {
    let form = b"0000-00-00T00:00:00";
    text.len() >= form.len()
        && text.iter().zip(form).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

/// A name of a host, a service or a container.
fn is_name(text: &[u8]) -> bool {
    !text.is_empty()
        && text.len() <= NAME_LEN_MAX
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

/// `nginx`, `nginx[7]`, `docker/web[7]`.
fn is_tag(text: &[u8]) -> bool {
    !text.is_empty()
        && text.len() <= NAME_LEN_MAX
        && !text
            .iter()
            .any(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'{' | b'='))
}

/// The text up to a blank, and what is behind it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b' ', text)?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests;
