//! Pages that are put together from fragments: what is read of a page, and how requests within the edge are carried.
//!
//! A page and each of its fragments are requests of their own through the same edge: a connection whose client is the
//! assembly ([`pipe`]) instead of a socket, as a stream of HTTP/2 is one. What is read of a page is kept with its copy
//! ([`Mosaic`]), so that a hit takes nothing apart. Decision 0164 tells the road of such a request.

pub(crate) mod head;
pub(crate) mod incoming;
pub(crate) mod nesting;
pub(crate) mod pipe;
pub(crate) mod request;

use bytes::Bytes;
use plimsoll_cache::fields::lines;
use plimsoll_cache::fragments::{EsiTemplate, requests_assembly};
use plimsoll_config::edge::{FragmentPages, Fragments};
use plimsoll_wire::head::Header;

use crate::compress::decompress;

/// The name by which answers speak to this edge.
pub(crate) const DEVICE: &str = "plimsoll";
/// What a server is told that the edge can do.
pub(crate) const CAPABILITY: &str = "plimsoll=\"ESI/1.0\"";

/// A body that may hold tags, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    /// The coding it comes in; empty for none.
    coding: Box<[u8]>,
    /// The longest that is looked through, bytes.
    pub(crate) len_max: u64,
}

impl Draft {
    /// Of an answer; `None` when it goes on as it is.
    pub(crate) fn of(config: &Fragments, status: u16, headers: &[Header<'_>]) -> Option<Self> {
        if matches!(status, 0..200 | 204 | 205 | 304) {
            return None;
        }
        let is_wanted = config.pages == FragmentPages::Html && is_html(headers)
            || requests_assembly(headers, DEVICE);
        is_wanted.then(|| Self {
            coding: coding(headers).into_boxed_slice(),
            len_max: config.len_max,
        })
    }

    /// Takes a body apart. `None` when it goes on as it is: it is too long, cannot be read, or holds no tag and is
    /// compressed already.
    pub(crate) fn mosaic(&self, body: &Bytes) -> Option<Mosaic> {
        if body.len() as u64 > self.len_max {
            return None;
        }
        if self.coding.is_empty() {
            return Some(Mosaic {
                pieces: EsiTemplate::parse(body),
                text: body.clone(),
            });
        }
        let text = Bytes::from(decompress(&self.coding, body, self.len_max)?);
        let pieces = EsiTemplate::parse(&text);
        (!pieces.is_plain()).then_some(Mosaic { text, pieces })
    }
}

/// A page taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Mosaic {
    /// What its pieces lie in.
    pub(crate) text: Bytes,
    pub(crate) pieces: EsiTemplate,
}

impl Mosaic {
    /// Memory that it takes besides the body that it was read from.
    pub(crate) fn heap_bytes(&self, body: &Bytes) -> usize {
        let is_own = self.text.as_ptr() != body.as_ptr();
        let text = if is_own { self.text.len() } else { 0 };
        size_of::<Self>() + self.pieces.heap_bytes() + text
    }
}

fn is_html(headers: &[Header<'_>]) -> bool {
    lines(headers, "content-type").any(|line| {
        let essence = line.split(|&byte| byte == b';').next().unwrap_or_default();
        let essence = essence.trim_ascii();
        essence.eq_ignore_ascii_case(b"text/html")
            || essence.eq_ignore_ascii_case(b"application/xhtml+xml")
    })
}

/// The coding that is said of a body; empty for none.
pub(crate) fn coding(headers: &[Header<'_>]) -> Vec<u8> {
    let all = lines(headers, "content-encoding").collect::<Vec<_>>();
    let coding = all.join(&b", "[..]).to_ascii_lowercase();
    if coding == b"identity" {
        return Vec::new();
    }
    coding
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// A fresh copy.
    Hit,
    /// A stale copy.
    Stale,
    /// It came with the fetch of another.
    Collapsed,
    /// A server answered.
    Fetched,
    /// The page's other address for it.
    Alt,
    /// It failed, and the page says that it is right without.
    LeftOut,
    /// It failed: there is a gap.
    Failed,
    /// It was not asked for: a loop, too deep, too many, or nothing of this edge's.
    Refused,
}

impl Served {
    pub(crate) const COUNT: usize = 8;

    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::Hit,
        Self::Stale,
        Self::Collapsed,
        Self::Fetched,
        Self::Alt,
        Self::LeftOut,
        Self::Failed,
        Self::Refused,
    ];

    /// As it is written in headers and metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Collapsed => "collapsed",
            Self::Fetched => "fetched",
            Self::Alt => "alt",
            Self::LeftOut => "left-out",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }

    /// What the log would say of the request.
    pub(crate) fn of_reason(reason: Option<&str>) -> Self {
        match reason {
            Some("hit") => Self::Hit,
            Some("stale") => Self::Stale,
            Some("collapsed") => Self::Collapsed,
            _ => Self::Fetched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pages: FragmentPages, status: u16, lines: &[(&str, &str)]) -> Option<Draft> {
        let config = Fragments {
            pages,
            len_max: 100,
            ..Fragments::default()
        };
        let headers: Vec<Header<'_>> = lines
            .iter()
            .map(|(name, value)| Header {
                name,
                value: value.as_bytes(),
            })
            .collect();
        Draft::of(&config, status, &headers)
    }

    #[test]
    fn pages_are_looked_through_by_type_or_by_order() {
        use FragmentPages::{Html, Said};
        let html = [("Content-Type", "Text/HTML; charset=utf-8")];
        let surrogate = [("Surrogate-Control", "content=\"ESI/1.0\"")];
        assert!(of(Html, 200, &html).is_some());
        assert!(of(Html, 404, &html).is_some());
        assert!(of(Html, 304, &html).is_none());
        assert!(of(Said, 200, &html).is_none());
        assert!(of(Said, 200, &surrogate).is_some());
        assert!(of(Html, 200, &surrogate).is_some());
        assert!(of(Html, 200, &[("Content-Type", "text/css")]).is_none());
    }

    #[test]
    fn what_cannot_be_read_stays() {
        let html = ("Content-Type", "text/html");
        let plain = of(FragmentPages::Html, 200, &[html]).unwrap();
        let tag = Bytes::from_static(b"a<esi:include src=\"/b\"/>");
        assert_eq!(plain.mosaic(&tag).unwrap().pieces.includes(), 1);
        assert!(plain.mosaic(&Bytes::from(vec![b'a'; 101])).is_none());
        assert!(
            plain
                .mosaic(&Bytes::from_static(b"a"))
                .unwrap()
                .pieces
                .is_plain()
        );
        let gzip = [html, ("Content-Encoding", "gzip")];
        let gzip = of(FragmentPages::Html, 200, &gzip).unwrap();
        assert!(gzip.mosaic(&tag).is_none());
        let mut coder =
            crate::compress::Coder::new(plimsoll_config::edge::CompressCoding::Gzip, 4, None)
                .unwrap();
        coder.feed(&tag).unwrap();
        let packed = Bytes::from(coder.finish().unwrap());
        let mosaic = gzip.mosaic(&packed).unwrap();
        assert_eq!((mosaic.text, mosaic.pieces.includes()), (tag, 1));
    }
}
