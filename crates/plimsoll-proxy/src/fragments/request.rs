//! The request for a fragment: derived from the client's request, for another URL. Pure.

use plimsoll_cache::fragments::address::Address;
use plimsoll_wire::head::Header;
use plimsoll_wire::request_head::RequestHead;

/// Headers that concern only the page: its body, its conditions, and its transport.
const OF_THE_PAGE: [&str; 22] = [
    "accept-encoding",
    "cache-control",
    "expect",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "pragma",
    "proxy-connection",
    "range",
    "surrogate-capability",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

/// Headers for the page's host only.
const OF_THE_HOST: [&str; 9] = [
    "authorization",
    "cookie",
    "forwarded",
    "origin",
    "proxy-authorization",
    "referer",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-server",
];

/// Writes the request for a fragment of the page that `head` requests. It comes from the same client, so it carries its
/// cookies and its language; another host gets no credentials.
pub(crate) fn write(head: &RequestHead<'_, '_>, address: &Address, trace: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let mut put = |pieces: &[&[u8]]| pieces.iter().for_each(|piece| out.extend_from_slice(piece));
    put(&[
        b"GET ",
        address.target.as_bytes(),
        b" HTTP/1.1\r\nHost: ",
        address.host.as_bytes(),
        b"\r\nAccept-Encoding: identity\r\n",
    ]);
    let goes_along = |header: &&Header<'_>| {
        let is_of = |names: &[&str]| names.iter().any(|name| alike(header.name, name));
        let is_of_body = header
            .name
            .get(..8)
            .is_some_and(|start| alike(start, "content-"));
        let is_traced = trace.is_some() && alike(header.name, "traceparent");
        !(is_of_body
            || is_traced
            || is_of(&OF_THE_PAGE)
            || !address.is_same_host && is_of(&OF_THE_HOST))
    };
    for header in head.headers.iter().filter(goes_along) {
        put(&[
            header.name.as_bytes(),
            b": ",
            header.value.trim_ascii(),
            b"\r\n",
        ]);
    }
    if let Some(trace) = trace {
        put(&[b"traceparent: ", trace.as_bytes(), b"\r\n"]);
    }
    put(&[b"\r\n"]);
    out
}

/// The request for the whole page, from a range request.
pub(crate) fn without_range(bytes: &[u8]) -> Vec<u8> {
    let is_range = |line: &[u8]| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        name.eq_ignore_ascii_case(b"range") || name.eq_ignore_ascii_case(b"if-range")
    };
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    lines
        .filter(|line| !is_range(line))
        .flatten()
        .copied()
        .collect()
}

/// Servers that pass headers on as environment variables do not distinguish `_` from `-`.
fn alike(name: &str, ours: &str) -> bool {
    let plain = |byte: u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    name.len() == ours.len() && name.bytes().map(plain).eq(ours.bytes())
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::request_head::{header_buffer, parse};

    use super::*;

    #[track_caller]
    fn check(reference: &str, expected: &str) {
        let page = "POST /news HTTP/1.1\r\nHost: a.example\r\nCookie: u=1\r\nAccept-Language: de\r\n\
                    Content-Length: 3\r\nContent_Type: x\r\nIf-None-Match: \"a\"\r\nRange: bytes=0-1\r\n\
                    Accept-Encoding: br\r\ntraceparent: old\r\nConnection: close\r\n\r\n";
        let mut room = header_buffer();
        let head = parse(page.as_bytes(), &mut room).unwrap();
        let address = Address::resolve("a.example", "/news", reference).unwrap();
        let bytes = write(&head, &address, Some("new"));
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn fragments_are_asked_for_in_the_name_of_the_client() {
        check(
            "/box?a",
            "GET /box?a HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: identity\r\nCookie: u=1\r\n\
             Accept-Language: de\r\nConnection: close\r\ntraceparent: new\r\n\r\n",
        );
        check(
            "//b.example/",
            "GET / HTTP/1.1\r\nHost: b.example\r\nAccept-Encoding: identity\r\n\
             Accept-Language: de\r\nConnection: close\r\ntraceparent: new\r\n\r\n",
        );
    }

    #[test]
    fn parts_become_whole() {
        let partial = b"GET / HTTP/1.1\r\nRange: bytes=0-1\r\nA: b\r\nif-range: x\r\n\r\n";
        assert_eq!(without_range(partial), b"GET / HTTP/1.1\r\nA: b\r\n\r\n");
    }
}
