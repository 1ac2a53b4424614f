//! Edge-side includes: tags of a page that stand for fragments with lifetimes of their own.
//!
//! The language is the subset of the ESI Language Specification 1.0 (W3C note, August 2001) that Varnish, Fastly and
//! Akamai share: `<esi:include src alt onerror="continue"/>`, `<esi:remove>…</esi:remove>`, `<esi:comment/>` and
//! `<!--esi … -->`. A page is parsed once, when it is stored; everything but these tags is text and stays unchanged,
//! byte for byte, and so does a tag that is unclosed, too long or without an address. As with Varnish, tags in ordinary
//! comments are text. Decision 0163 has the reasons.

pub mod address;
mod tag;

use std::ops::Range;

use httparse::Header;
use memchr::memmem::Finder;

use crate::fields::{lines, members};
use tag::Tag;

/// Maximum number of tags parsed in one page; the rest is text.
pub const TAGS_MAX: usize = 1024;
/// Longest tag, bytes.
pub const TAG_LEN_MAX: usize = 4096;

const OPEN: &[u8] = b"<!--esi";
const CLOSE: &[u8] = b"-->";
const REMOVED: &[u8] = b"</esi:remove>";

/// A fragment that a page includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// Its address, as the page writes it, with entities resolved.
    pub src: Box<str>,
    /// Alternative address.
    pub alt: Option<Box<str>>,
    /// The page is valid without it: `onerror="continue"`.
    pub may_fail: bool,
}

/// A piece of a page, in page order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EsiSegment {
    /// Bytes of the page.
    Text(Range<usize>),
    /// An included fragment.
    Include(Include),
}

/// A parsed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EsiTemplate {
    pieces: Box<[EsiSegment]>,
    includes: usize,
    tags: usize,
}

impl EsiTemplate {
    /// Parses a page.
    pub fn parse(page: &[u8]) -> Self {
        let mut reader = EsiParser::new(page);
        reader.read();
        reader.finish()
    }

    /// Its pieces.
    pub fn pieces(&self) -> &[EsiSegment] {
        &self.pieces
    }

    /// Number of included fragments.
    pub fn includes(&self) -> usize {
        self.includes
    }

    /// Whether it has no tag at all: it is all text.
    pub fn is_plain(&self) -> bool {
        self.tags == 0
    }

    /// The included fragments.
    pub fn include_tags(&self) -> impl Iterator<Item = &Include> {
        self.pieces.iter().filter_map(|piece| match piece {
            EsiSegment::Include(include) => Some(include),
            EsiSegment::Text(_) => None,
        })
    }

    /// Heap memory, bytes.
    pub fn heap_bytes(&self) -> usize {
        let texts = self
            .include_tags()
            .map(|include| include.src.len() + include.alt.as_ref().map_or(0, |alt| alt.len()));
        size_of_val(&*self.pieces) + texts.sum::<usize>()
    }
}

/// Scans a page from tag to tag.
struct EsiParser<'a> {
    page: &'a [u8],
    at: usize,
    /// Start of text that is not yet a piece.
    text: usize,
    pieces: Vec<EsiSegment>,
    includes: usize,
    tags: usize,
    /// Within `<!--esi … -->`.
    is_open: bool,
    /// Positions of the last `-->` and the last `</esi:remove>`: tags opened behind them are never closed. Searched
    /// once, so that a page of nothing but openings costs no more than any other.
    last_close: Option<usize>,
    last_removed: Option<usize>,
}

impl<'a> EsiParser<'a> {
    fn new(page: &'a [u8]) -> Self {
        Self {
            page,
            at: 0,
            text: 0,
            pieces: Vec::new(),
            includes: 0,
            tags: 0,
            is_open: false,
            last_close: memchr::memmem::rfind(page, CLOSE),
            last_removed: memchr::memmem::rfind(page, REMOVED),
        }
    }

    fn read(&mut self) {
        let close = Finder::new(CLOSE);
        let removed = Finder::new(REMOVED);
        while self.tags < TAGS_MAX {
            let rest = &self.page[self.at..];
            let found = if self.is_open {
                memchr::memchr2(b'<', b'-', rest)
            } else {
                memchr::memchr(b'<', rest)
            };
            let Some(found) = found else {
                return;
            };
            self.at += found;
            self.consume_tag(&close, &removed);
        }
    }

    /// Handles the tag at the current position and advances behind it.
    fn consume_tag(&mut self, close: &Finder<'_>, removed: &Finder<'_>) {
        let rest = &self.page[self.at..];
        if self.is_open && rest.starts_with(CLOSE) {
            self.is_open = false;
            return self.drop_to(self.at + CLOSE.len());
        }
        if !self.is_open && rest.starts_with(b"<!--") {
            return self.comment(rest, close);
        }
        match Tag::parse(&rest[..rest.len().min(TAG_LEN_MAX)]) {
            Some((Tag::Include(include), len)) => {
                self.drop_to(self.at + len);
                self.pieces.push(EsiSegment::Include(include));
                self.includes += 1;
            }
            Some((Tag::Comment, len)) => self.drop_to(self.at + len),
            Some((Tag::Remove, _)) if self.last_removed.is_some_and(|last| last > self.at) => {
                let end = removed.find(rest).map_or(1, |at| at + REMOVED.len());
                self.drop_to(self.at + end);
            }
            Some((Tag::Remove, _)) | None => self.at += 1,
        }
    }

    fn comment(&mut self, rest: &[u8], close: &Finder<'_>) {
        if self.last_close.is_none_or(|last| last < self.at + 2) {
            self.at += 1;
        } else if rest.starts_with(OPEN) && self.last_close > Some(self.at + OPEN.len() - 1) {
            self.is_open = true;
            self.drop_to(self.at + OPEN.len());
        } else {
            // `<!-->` is a whole comment in HTML.
            let end = close.find(&rest[2..]).map_or(1, |at| 2 + at + CLOSE.len());
            self.at += end;
        }
    }

    /// Omits a range of the page.
    fn drop_to(&mut self, end: usize) {
        self.put_text();
        self.tags += 1;
        self.at = end;
        self.text = end;
    }

    fn put_text(&mut self) {
        if self.text < self.at {
            self.pieces.push(EsiSegment::Text(self.text..self.at));
        }
    }

    fn finish(mut self) -> EsiTemplate {
        self.at = self.page.len();
        self.put_text();
        EsiTemplate {
            pieces: self.pieces.into_boxed_slice(),
            includes: self.includes,
            tags: self.tags,
        }
    }
}

/// Whether a response requests assembly: `Surrogate-Control: content="ESI/1.0"` (Edge Architecture Specification 1.0,
/// W3C note, August 2001), for all surrogates or for this name.
pub fn requests_assembly(answer: &[Header<'_>], device: &str) -> bool {
    lines(answer, "surrogate-control")
        .flat_map(members)
        .any(|directive| {
            let mut parameters = directive
                .split(|&byte| byte == b';')
                .map(<[u8]>::trim_ascii);
            let Some(content) = parameters
                .next()
                .and_then(|parameter| argument(parameter, b"content="))
            else {
                return false;
            };
            let content = content.strip_prefix(b"\"").unwrap_or(content);
            let content = content.strip_suffix(b"\"").unwrap_or(content);
            let mut languages = content.split(u8::is_ascii_whitespace);
            languages.any(|language| language.eq_ignore_ascii_case(b"ESI/1.0"))
                && parameters
                    .next()
                    .is_none_or(|named| named == device.as_bytes())
        })
}

fn argument<'a>(directive: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (prefix, value) = directive.split_at_checked(name.len())?;
    prefix.eq_ignore_ascii_case(name).then_some(value)
}

#[cfg(test)]
mod tests;
