//! The head that a server sent, as it is stored.

use plimsoll_cache::OriginResponse;
use plimsoll_cache::storing::Terms;
use plimsoll_wire::head::{BodyLength, Head, Header};

use super::{Exchange, Side};
use crate::lookup::keyed_request::ParsedRequest;
use crate::message::compress::Coded;
use crate::respond::forwarded::{self, Answering, Framing};
use crate::respond::head::ConnectionHeader;

/// The head of the server's response, and how it would be sent to a client.
pub(super) struct ReceivedHead<'a> {
    bytes: &'a [u8],
    head: &'a Head,
    headers: &'a [Header<'a>],
    coded: Coded,
    length: BodyLength,
}

impl<'a> ReceivedHead<'a> {
    pub(super) fn new(
        bytes: &'a [u8],
        head: &'a Head,
        headers: &'a [Header<'a>],
        coded: Coded,
        length: BodyLength,
    ) -> Self {
        Self {
            bytes,
            head,
            headers,
            coded,
            length,
        }
    }

    pub(super) fn head(&self) -> &'a Head {
        self.head
    }

    pub(super) fn headers(&self) -> &'a [Header<'a>] {
        self.headers
    }

    /// How the route's compression treats it.
    pub(super) fn coded(&self) -> Coded {
        self.coded
    }

    /// The reason phrase.
    fn reason(&self) -> &str {
        let line = self.bytes.split(|&byte| byte == b'\r' || byte == b'\n');
        let line = line.clone().next().unwrap_or_default();
        let reason = line.get(13..).unwrap_or_default();
        std::str::from_utf8(reason).unwrap_or_default()
    }

    /// Length of the body as it is stored, if known yet.
    pub(super) fn stored_len(&self) -> Option<u64> {
        match self.length {
            BodyLength::Sized(len) if !matches!(self.coded, Coded::As(_)) => Some(len),
            _ => None,
        }
    }

    pub(super) fn answer<'h>(&'h self, headers: &'h [Header<'h>]) -> OriginResponse<'h, 'h> {
        OriginResponse {
            status: self.head.status,
            reason: self.reason(),
            headers,
        }
    }
}

impl Exchange {
    /// The head of a response as it is stored.
    pub(super) fn shown(&self, received: &ReceivedHead<'_>, side: &Side<'_>) -> Vec<u8> {
        let settings = self.settings.as_ref();
        let route = settings.map(|settings| &settings.routes.get(self.facts.route).config);
        let fallback = route.and_then(|route| route.learned_fallback.as_ref());
        let date = side.event_loop.date.borrow();
        let answering = Answering {
            framing: Framing::Nothing,
            connection: ConnectionHeader::Omitted,
            date: &date,
            edits: route.map_or(&[][..], |route| &route.answer_headers),
            cookies: [None, None],
            cache_status: None,
            coded: received.coded,
            dropped: fallback.and_then(|fallback| fallback.header.as_deref()),
        };
        let mut shown = Vec::with_capacity(received.bytes.len() + 128);
        forwarded::write(
            &mut shown,
            received.bytes,
            received.head,
            received.headers,
            &answering,
        );
        shown
    }
}

/// Whether requests of the same class may be served a response stored on these terms.
pub(super) fn is_fresh(parsed: &ParsedRequest<'_, '_>, terms: &Terms) -> bool {
    terms.is_fresh(parsed.semantics.class, terms.received_at)
}
