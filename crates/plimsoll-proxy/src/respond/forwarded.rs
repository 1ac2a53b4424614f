//! The head of a server's response as its client receives it: hop-by-hop headers are removed, the edge's own are added.
//!
//! Forwarded lines are copied unchanged, adjacent ones together; a head is walked once.

use plimsoll_cache::CacheStatus;
use plimsoll_cache::steering::merge;
use plimsoll_config::edge::HeaderEdit;
use plimsoll_wire::head::{BodyLength, Head, Header};

use super::head::{ConnectionHeader, HeadWriter};
use crate::message::compress::{Coded, holds_token, name};
use crate::message::header_lines::{is_edited, is_named_by_connection, names_others};

/// How a response is changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answering<'a> {
    /// Framing of the body.
    pub(crate) framing: Framing,
    /// The `Connection` header.
    pub(crate) connection: ConnectionHeader,
    /// `Date`, for a response without one.
    pub(crate) date: &'a str,
    /// Headers set or removed by the route.
    pub(crate) edits: &'a [HeaderEdit],
    /// Cookies of the edge: stickiness, and admission past the waiting room.
    pub(crate) cookies: [Option<&'a str>; 2],
    /// Compression of the body.
    pub(crate) coded: Coded,
    /// A header that is not forwarded.
    pub(crate) dropped: Option<&'a str>,
    /// The `Cache-Status` of the edge.
    pub(crate) cache_status: Option<CacheStatus>,
}

/// Framing of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// With the length in the head, or without a body, or up to the end of the connection.
    AsIs,
    /// No body, and no length is permitted (1xx, 204).
    Nothing,
    /// Chunked by the edge.
    Chunked,
}

/// Writes the head of a response as sent to the client.
pub(crate) fn write(
    out: &mut Vec<u8>,
    bytes: &[u8],
    head: &Head,
    headers: &[Header<'_>],
    answering: &Answering<'_>,
) {
    let names_hop_headers = headers
        .iter()
        .any(|header| header.name.eq_ignore_ascii_case("connection") && names_others(header.value));
    let mut lengths = 0;
    let mut has_date = false;
    let sized = matches!(head.length, BodyLength::Sized(_)) && answering.framing == Framing::AsIs;
    let keeps = |header: &Header<'_>| {
        let name = header.name;
        match name.len() {
            4 if name.eq_ignore_ascii_case("date") => has_date = true,
            14 if name.eq_ignore_ascii_case("content-length") => {
                lengths += 1;
                return sized && lengths == 1 && !header.value.contains(&b',');
            }
            2 | 7 | 10 | 16 | 17 if stays_at_the_edge(name) => {
                return answering.connection == ConnectionHeader::Upgrade
                    && name.eq_ignore_ascii_case("upgrade");
            }
            _ => {}
        }
        let ends = names_hop_headers && is_named_by_connection(name, headers)
            || answering.coded != Coded::Plain && is_recoded(name, answering.coded)
            || answering
                .dropped
                .is_some_and(|dropped| dropped.eq_ignore_ascii_case(name));
        !(ends || is_edited(name, answering.edits))
    };
    let mut written = HeadWriter::forwarded(out, bytes);
    written.copied(bytes, headers, keeps);
    if answering.coded != Coded::Plain {
        recoded(&mut written, headers, answering.coded);
    }
    if let (true, BodyLength::Sized(length)) = (sized, head.length)
        && has_listed_length(headers)
    {
        written.length(length);
    }
    if !has_date && head.status >= 200 {
        written.date(answering.date);
    }
    if answering.framing == Framing::Chunked {
        written.chunked();
    }
    written.connection(answering.connection);
    if let Some(status) = &answering.cache_status {
        written.cache_status(status);
    }
    for cookie in answering.cookies.into_iter().flatten() {
        written.cookie(cookie);
    }
    written.edits(answering.edits);
    written.end();
}

/// Whether compression invalidates or replaces a header.
fn is_recoded(name: &str, coded: Coded) -> bool {
    match coded {
        Coded::Plain | Coded::Varies => false,
        Coded::Weakened => name.eq_ignore_ascii_case("etag"),
        Coded::As(_) => [
            "etag",
            "accept-ranges",
            "content-encoding",
            "content-md5",
            "digest",
            "content-digest",
            "repr-digest",
        ]
        .iter()
        .any(|listed| name.eq_ignore_ascii_case(listed)),
    }
}

/// Headers of a response that is compressed for some clients.
fn recoded(written: &mut HeadWriter<'_>, headers: &[Header<'_>], coded: Coded) {
    if let Coded::As(coding) = coded {
        written.field("Content-Encoding", name(coding));
    }
    let named = |wanted: &'static str| {
        headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(wanted))
    };
    if coded != Coded::Varies {
        // Same content in other bytes: a strong `ETag` would be wrong.
        for header in named("etag") {
            let value = header.value.trim_ascii();
            let weak: &[u8] = if value.starts_with(b"W/") { b"" } else { b"W/" };
            written.pieces("ETag", &[weak, value]);
        }
    }
    let is_declared = named("vary").any(|header| {
        holds_token(header.value, b"accept-encoding") || holds_token(header.value, b"*")
    });
    if !is_declared {
        written.field("Vary", "Accept-Encoding");
    }
}

fn has_listed_length(headers: &[Header<'_>]) -> bool {
    headers.iter().any(|header| {
        header.name.len() == 14
            && header.value.contains(&b',')
            && header.name.eq_ignore_ascii_case("content-length")
    })
}

/// Whether a response header is not forwarded.
fn stays_at_the_edge(name: &str) -> bool {
    match name.len() {
        2 => merge(name, "te"),
        7 => merge(name, "upgrade") || merge(name, "trailer"),
        // The last is reserved for the edge.
        10 => merge(name, "connection") || merge(name, "keep-alive") || merge(name, "x-plimsoll"),
        16 => merge(name, "proxy-connection"),
        17 => merge(name, "transfer-encoding"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
