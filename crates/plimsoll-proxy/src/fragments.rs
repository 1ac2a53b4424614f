//! Edge Side Includes: parsed pages, and the transport of subrequests.
//!
//! A page and each of its fragments are subrequests through the same edge: connections whose client is the assembly
//! ([`pipe`]) instead of a socket, similar to a stream of HTTP/2. The parsed form of a page ([`Mosaic`]) is stored with
//! its response, so a hit needs no parsing. Decision 0164 describes the path of such a request.

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

use crate::message::compress::decompress;

/// Device token of this edge in `Surrogate-Control`.
pub(crate) const DEVICE: &str = "plimsoll";
/// The `Surrogate-Capability` sent to servers.
pub(crate) const CAPABILITY: &str = "plimsoll=\"ESI/1.0\"";

/// How a body that may contain ESI tags is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    /// Its content coding; empty for none.
    coding: Box<[u8]>,
    /// The longest body that is parsed, bytes.
    pub(crate) len_max: u64,
}

impl Draft {
    /// `None` when the response is passed through.
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

    /// Parses a body. `None` when it is passed through: it is too long, cannot be decoded, or is compressed and
    /// contains no tag.
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

/// A parsed page.
#[derive(Clone, Debug)]
pub(crate) struct Mosaic {
    /// The buffer that its pieces refer to.
    pub(crate) text: Bytes,
    pub(crate) pieces: EsiTemplate,
}

impl Mosaic {
    /// Memory besides the body that it was parsed from.
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

/// The content coding; empty for none.
pub(crate) fn coding(headers: &[Header<'_>]) -> Vec<u8> {
    let all = lines(headers, "content-encoding").collect::<Vec<_>>();
    let coding = all.join(&b", "[..]).to_ascii_lowercase();
    if coding == b"identity" {
        return Vec::new();
    }
    coding
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
        let mut coder = crate::message::compress::Coder::new(
            plimsoll_config::edge::CompressCoding::Gzip,
            4,
            None,
        )
        .unwrap();
        coder.feed(&tag).unwrap();
        let packed = Bytes::from(coder.finish().unwrap());
        let mosaic = gzip.mosaic(&packed).unwrap();
        assert_eq!((mosaic.text, mosaic.pieces.includes()), (tag, 1));
    }
}
