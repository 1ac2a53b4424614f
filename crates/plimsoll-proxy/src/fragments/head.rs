//! The head of an assembled page: headers that describe only the bytes of the page itself are replaced. Pure.

use plimsoll_cache::directives::Directives;
use plimsoll_cache::fields::{has, lines, members, only};
use plimsoll_config::edge::CompressCoding;
use plimsoll_net::fragment_outcome::FragmentOutcome;
use plimsoll_wire::head::Header;

use crate::message::compress;
use crate::respond::head::{ConnectionHeader, HeadWriter};

/// How long a response may be cached downstream, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FragmentLifetime {
    /// Not even by the client.
    no_store: bool,
    /// Seconds; `None` when it is private, or must be revalidated on every request.
    left: Option<u32>,
    must_revalidate: bool,
}

impl FragmentLifetime {
    /// Nothing is known: it may be private.
    pub(crate) const UNKNOWN: Self = Self {
        no_store: false,
        left: None,
        must_revalidate: false,
    };

    /// The lifetime for clients. Directives for shared caches only are ignored.
    pub(crate) fn of(headers: &[Header<'_>]) -> Self {
        let fields: Vec<Header<'_>> = headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("cache-control"))
            .copied()
            .collect();
        let directives = Directives::of(&fields);
        let is_somebodys = directives.private
            || directives.no_cache
            || directives.malformed
            || !directives.withheld.is_empty()
            || has(headers, "set-cookie")
            || lines(headers, "vary").flat_map(members).any(|name| {
                [&b"*"[..], b"cookie", b"authorization"]
                    .iter()
                    .any(|excluded| name.eq_ignore_ascii_case(excluded))
            });
        let age = only(headers, "age").and_then(|age| std::str::from_utf8(age).ok()?.parse().ok());
        let left = directives
            .max_age
            .map(|max_age| max_age.saturating_sub(age.unwrap_or(0)));
        Self {
            no_store: directives.no_store,
            left: left.filter(|_| !is_somebodys && !directives.no_store),
            must_revalidate: directives.must_revalidate || directives.proxy_revalidate,
        }
    }

    /// The stricter of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            no_store: self.no_store || other.no_store,
            left: self.left.zip(other.left).map(|(own, other)| own.min(other)),
            must_revalidate: self.must_revalidate || other.must_revalidate,
        }
    }

    fn line(self) -> String {
        match self.left {
            _ if self.no_store => "private, no-store".to_owned(),
            None => "private, no-cache".to_owned(),
            Some(left) if self.must_revalidate => format!("max-age={left}, must-revalidate"),
            Some(left) => format!("max-age={left}"),
        }
    }
}

/// What an assembled page adds to its own head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergedHead<'a> {
    /// `None` when nothing was inserted: only the coding changes.
    pub(crate) lifetime: Option<FragmentLifetime>,
    /// Time of assembly, from which the lifetime counts.
    pub(crate) date: &'a str,
    /// Outcomes of the fragments, for `Cache-Status`.
    pub(crate) fragments: &'a str,
    pub(crate) coding: Option<CompressCoding>,
    /// The response may be compressed, depending on the client.
    pub(crate) varies: bool,
    pub(crate) framing: Framing,
    pub(crate) connection: ConnectionHeader,
}

/// How the end of an assembled page is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Sized(u64),
    Chunked,
    /// By the end of the connection; or there is no body.
    UntilClose,
}

/// Headers about the server's bytes, or about one connection.
const OF_ITS_BYTES: [&str; 13] = [
    "accept-ranges",
    "connection",
    "content-digest",
    "content-encoding",
    "content-length",
    "content-md5",
    "digest",
    "etag",
    "keep-alive",
    "repr-digest",
    "surrogate-control",
    "transfer-encoding",
    "trailer",
];

/// Headers about the lifetime or validity of the page alone.
const OF_ITS_LIFE: [&str; 9] = [
    "age",
    "cache-control",
    "cdn-cache-control",
    "content-location",
    "date",
    "expires",
    "last-modified",
    "pragma",
    "warning",
];

/// Writes the head of a response; `bytes` is the head of the page.
pub(crate) fn write(
    out: &mut Vec<u8>,
    bytes: &[u8],
    headers: &[Header<'_>],
    merged: &MergedHead<'_>,
) {
    let mut written = HeadWriter::forwarded(out, bytes);
    copy_fields(&mut written, headers, merged);
    if let Some(lifetime) = merged.lifetime {
        written
            .date(merged.date)
            .field("Cache-Control", &lifetime.line());
    }
    if let Some(coding) = merged.coding {
        written.field("Content-Encoding", compress::name(coding));
    }
    let is_declared = lines(headers, "vary").any(|line| {
        compress::holds_token(line, b"accept-encoding") || compress::holds_token(line, b"*")
    });
    if merged.varies && !is_declared {
        written.field("Vary", "Accept-Encoding");
    }
    match merged.framing {
        Framing::Sized(len) => written.length(len),
        Framing::Chunked => written.chunked(),
        Framing::UntilClose => &mut written,
    };
    written.connection(merged.connection);
    written.end();
}

/// Writes the page's own headers that are still true, and the outcomes of the fragments.
fn copy_fields(written: &mut HeadWriter<'_>, headers: &[Header<'_>], merged: &MergedHead<'_>) {
    let is_of = |names: &[&str], name: &str| {
        names
            .iter()
            .any(|candidate| name.eq_ignore_ascii_case(candidate))
    };
    let stays = |header: &Header<'_>| {
        let is_outlived = merged.lifetime.is_some() && is_of(&OF_ITS_LIFE, header.name);
        !is_outlived && !is_of(&OF_ITS_BYTES, header.name)
    };
    let fragments = merged.fragments.as_bytes();
    // The edge's own is the last.
    let ours = headers
        .iter()
        .rposition(|header| header.name.eq_ignore_ascii_case("cache-status"));
    let ours = ours.filter(|_| !fragments.is_empty());
    let all = headers.iter().enumerate();
    for (at, header) in all.filter(|(_, header)| stays(header)) {
        let value = header.value.trim_ascii();
        if ours == Some(at) {
            let outcomes = [value, b"; fragments=\"", fragments, b"\""];
            written.pieces(header.name, &outcomes);
        } else {
            written.pieces(header.name, &[value]);
        }
    }
    if ours.is_none() && !fragments.is_empty() {
        let outcomes = [&b"plimsoll; fwd=bypass; fragments=\""[..], fragments, b"\""];
        written.pieces("Cache-Status", &outcomes);
    }
}

/// Outcomes of the fragments as text: `2 hit, 1 fetched`.
pub(crate) fn describe(counts: &[u32; FragmentOutcome::COUNT], awaited: u32) -> String {
    let known = FragmentOutcome::ALL.iter().zip(counts);
    let known = known.map(|(served, count)| (served.name(), *count));
    let named = known.chain([("awaited", awaited)]);
    let items: Vec<String> = named
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::head::parse_with;

    use super::*;

    fn lifetime(lines: &str) -> FragmentLifetime {
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        parse_with(head.as_bytes(), |_, headers| FragmentLifetime::of(headers)).unwrap()
    }

    #[track_caller]
    fn check_lifetime(lines: &[&str], expected: &str) {
        let all = lines.iter().map(|lines| lifetime(lines));
        let merged = all.reduce(FragmentLifetime::and).unwrap();
        assert_eq!(merged.line(), expected, "{lines:?}");
    }

    #[test]
    fn the_most_restrictive_holds() {
        let minute = "Cache-Control: max-age=60\r\nAge: 20\r\n";
        check_lifetime(&[minute], "max-age=40");
        check_lifetime(
            &[minute, "Cache-Control: max-age=10, public\r\n"],
            "max-age=10",
        );
        let checked = "Cache-Control: max-age=50, must-revalidate\r\n";
        check_lifetime(&[minute, checked], "max-age=40, must-revalidate");
        for somebodys in [
            "",
            "Cache-Control: private, max-age=60\r\n",
            "Cache-Control: no-cache\r\n",
            "Cache-Control: s-maxage=60\r\n",
            "Cache-Control: max-age=60\r\nVary: Accept, Cookie\r\n",
            "Cache-Control: max-age=60\r\nSet-Cookie: a=b\r\n",
            "Cache-Control: max-age=60, private=\"x\"\r\n",
        ] {
            check_lifetime(&[minute, somebodys], "private, no-cache");
        }
        check_lifetime(
            &[minute, "Cache-Control: no-store\r\n", ""],
            "private, no-store",
        );
        assert_eq!(
            lifetime(minute).and(FragmentLifetime::UNKNOWN).line(),
            "private, no-cache"
        );
    }

    #[track_caller]
    fn check(head: &str, merged: &MergedHead<'_>, expected: &str) {
        let mut out = Vec::new();
        parse_with(head.as_bytes(), |_, headers| {
            write(&mut out, head.as_bytes(), headers, merged);
        })
        .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn what_was_true_of_the_page_alone_is_gone() {
        let head = "HTTP/1.1 404 Gone Home\r\nDate: x\r\nETag: \"a\"\r\nLast-Modified: y\r\nAge: 5\r\n\
                    Content-Length: 7\r\nContent-Encoding: gzip\r\nCache-Control: max-age=60\r\nVary: Accept\r\n\
                    CDN-Cache-Control: max-age=9\r\nCache-Status: plimsoll; hit; ttl=55\r\nX-Other: z\r\n\r\n";
        let mut counts = [0; FragmentOutcome::COUNT];
        counts[FragmentOutcome::Hit as usize] = 2;
        counts[FragmentOutcome::Failed as usize] = 1;
        let merged = MergedHead {
            lifetime: Some(lifetime("Cache-Control: max-age=60\r\nAge: 5\r\n")),
            date: "now",
            fragments: &describe(&counts, 1),
            coding: Some(CompressCoding::Gzip),
            varies: true,
            framing: Framing::Chunked,
            connection: ConnectionHeader::Omitted,
        };
        check(
            head,
            &merged,
            "HTTP/1.1 404 Gone Home\r\nVary: Accept\r\n\
             Cache-Status: plimsoll; hit; ttl=55; fragments=\"2 hit, 1 failed, 1 awaited\"\r\nX-Other: z\r\n\
             Date: now\r\nCache-Control: max-age=55\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
        );
        let plain = MergedHead {
            lifetime: None,
            fragments: "",
            coding: None,
            ..merged
        };
        check(
            "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\n\r\n",
            &plain,
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: Accept-Encoding\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
        );
        let whole = MergedHead {
            fragments: "1 hit",
            varies: false,
            framing: Framing::Sized(12),
            connection: ConnectionHeader::Close,
            ..plain
        };
        check(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nA:b\r\n\r\n",
            &whole,
            "HTTP/1.1 200 OK\r\nA: b\r\nCache-Status: plimsoll; fwd=bypass; fragments=\"1 hit\"\r\n\
             Content-Length: 12\r\nConnection: close\r\n\r\n",
        );
    }
}
