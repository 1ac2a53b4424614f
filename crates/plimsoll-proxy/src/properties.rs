//! Properties that hold for any bytes: tested with bytes that resemble requests, fuzzed with any. Each function panics
//! where its property is violated.

mod keys;
mod paths;
mod servers;

use std::sync::Arc;

use plimsoll_config::edge::{HeaderEdit, PathMatch, Rewrite, RouteConfig as Config, RouteMatch};
use plimsoll_wire::head::{self, BodyLength, Head, Header};
use plimsoll_wire::request_head::{self, HeaderBuffer, RequestHead, find_end, header_buffer};

pub use keys::{CacheRule, Sender, equal_keys_mean_equal_requests};
pub use paths::no_spelling_gets_past_a_guard;

use crate::accept::proxy_header;
use crate::admission::route::shared::RouteShared;
use crate::admission::route::{CompiledRoute, Routes};
use crate::message::compress::Coded;
use crate::message::upstream_request::{self, UpstreamRequest};
use crate::respond::forwarded::{self, Answering, Framing};
use crate::respond::head::ConnectionHeader;

/// Longest head that is tried.
const HEAD_LEN_MAX: usize = 32 * 1024;

/// Properties of a request that decide where it ends and who answers it.
#[derive(Debug, PartialEq, Eq)]
struct RequestMeaning {
    method: String,
    target: String,
    host: Option<String>,
    length: BodyLength,
    upgrade: bool,
}

impl RequestMeaning {
    fn of(head: &RequestHead<'_, '_>) -> Self {
        Self {
            method: head.method.to_owned(),
            target: match head.target {
                "" => "/".to_owned(),
                target => target.to_owned(),
            },
            host: head.host.map(str::to_ascii_lowercase),
            length: head.length,
            upgrade: head.upgrade,
        }
    }
}

/// An accepted request is forwarded as one that means the same, without anything that the client must not send.
///
/// # Panics
/// When it does not.
pub fn request_goes_on_as_it_was_meant(bytes: &[u8], trusted: bool) {
    let Ok(Some(end)) = find_end(bytes, 0, HEAD_LEN_MAX) else {
        return;
    };
    let bytes = &bytes[..end];
    let mut room = header_buffer();
    let Ok(head) = request_head::parse(bytes, &mut room) else {
        return;
    };
    let edits = [
        HeaderEdit {
            name: "X-Set".to_owned(),
            value: Some("ours".to_owned()),
        },
        HeaderEdit {
            name: "X-Drop".to_owned(),
            value: None,
        },
    ];
    let upstream_request = UpstreamRequest {
        peer: "192.0.2.7",
        secure: false,
        trusted,
        target: None,
        default_host: "server",
        trace: None,
        cached: None,
        edits: &edits,
        steering: &[],
    };
    let mut out = Vec::new();
    upstream_request::write_head(&mut out, bytes, &head, &upstream_request);
    assert_eq!(find_end(&out, 0, usize::MAX), Ok(Some(out.len())));
    // The forwarded request is longer, so it may exceed the header limit; any other error is a bug.
    let mut room = header_buffer();
    let again = match request_head::parse(&out, &mut room) {
        Ok(again) => again,
        Err(request_head::RequestError::TooManyHeaders) => return,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&out)),
    };
    let mut meant = RequestMeaning::of(&head);
    meant.host.get_or_insert_with(|| "server".to_owned());
    assert_eq!(RequestMeaning::of(&again), meant);
    let count = |name: &str| {
        let headers = again.headers.iter();
        headers
            .filter(|header| header.name.replace('_', "-").eq_ignore_ascii_case(name))
            .count()
    };
    assert_eq!(count("x-set"), 1);
    assert_eq!(count("x-drop"), 0);
    assert_eq!(count("host"), 1);
    assert!(count("content-length") + count("transfer-encoding") <= 1);
    for gone in ["te", "trailer", "keep-alive", "proxy-connection", "proxy"] {
        assert_eq!(count(gone), 0, "{gone}");
    }
    if !trusted {
        for ours in [
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-proto",
            "forwarded",
        ] {
            assert_eq!(count(ours), 1, "{ours}");
        }
        assert_eq!(count("x-real-ip"), 0);
    }
}

/// The head of an accepted response is forwarded as one with the same body framing; that of an upgrade too.
///
/// # Panics
/// When it does not.
pub fn answer_goes_on_as_it_was_meant(bytes: &[u8]) {
    let Ok(Some(end)) = head::find_end(bytes, 0) else {
        return;
    };
    let bytes = &bytes[..end];
    let _ = head::parse_with(bytes, |head, headers| {
        let framings = match (head.status, head.length) {
            (101, _) => vec![(Framing::Nothing, ConnectionHeader::Upgrade)],
            (100..=199 | 204, _) => vec![(Framing::Nothing, ConnectionHeader::Omitted)],
            (_, BodyLength::Sized(_)) => vec![
                (Framing::AsIs, ConnectionHeader::Omitted),
                (Framing::AsIs, ConnectionHeader::Close),
            ],
            _ => vec![
                (Framing::Chunked, ConnectionHeader::Omitted),
                (Framing::AsIs, ConnectionHeader::Close),
            ],
        };
        for (framing, connection) in framings {
            check_answer(bytes, head, headers, framing, connection);
        }
    });
}

fn check_answer(
    bytes: &[u8],
    head: &Head,
    headers: &[Header<'_>],
    framing: Framing,
    connection: ConnectionHeader,
) {
    let answering = Answering {
        framing,
        connection,
        date: "Sun, 22 Nov 2026 08:00:00 GMT",
        edits: &[],
        cookies: [None, None],
        coded: Coded::default(),
        dropped: None,
        cache_status: None,
    };
    let mut out = Vec::new();
    forwarded::write(&mut out, bytes, head, headers, &answering);
    if out.len() > head::HEAD_LEN_MAX {
        return;
    }
    assert_eq!(head::find_end(&out, 0), Ok(Some(out.len())));
    let again = head::parse_with(&out, |again, _| *again);
    let again = match again {
        Ok(again) => again,
        Err(plimsoll_wire::error::Http1Error::TooManyHeaders(_)) => return,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&out)),
    };
    assert_eq!(again.status, head.status);
    let length = match framing {
        Framing::Chunked => BodyLength::Chunked,
        Framing::AsIs if matches!(head.length, BodyLength::Sized(_)) => head.length,
        Framing::AsIs | Framing::Nothing => BodyLength::Unspecified,
    };
    assert_eq!(again.length, length, "{}", String::from_utf8_lossy(&out));
}

/// A PROXY header is parsed or rejected, and its length is bounded before anything is buffered.
///
/// # Panics
/// When it is not.
pub fn proxy_header_is_read_or_refused(bytes: &[u8]) {
    let Some((start, _)) = bytes.split_first_chunk() else {
        return;
    };
    match proxy_header::version(*start) {
        Ok(proxy_header::Version::Line) => {
            let most = bytes.len().min(proxy_header::LINE_LEN_MAX);
            let line = bytes[..most].split_inclusive(|&byte| byte == b'\n').next();
            let _ = proxy_header::line(line.unwrap_or_default());
        }
        Ok(proxy_header::Version::Binary) => {
            let Some((fixed, rest)) = bytes.split_first_chunk() else {
                return;
            };
            let Ok(len) = proxy_header::addresses_len(*fixed) else {
                return;
            };
            assert!(len <= 2048);
            let _ = proxy_header::binary(*fixed, &rest[..len.min(rest.len())]);
        }
        Err(_) => {}
    }
}

/// A request for a target.
fn request_to(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes()
}

/// The head that the bytes form, to the last byte; for other input nothing is checked.
fn whole<'h, 'b>(bytes: &'b [u8], room: &'h mut HeaderBuffer<'b>) -> Option<RequestHead<'h, 'b>> {
    if find_end(bytes, 0, HEAD_LEN_MAX) != Ok(Some(bytes.len())) {
        return None;
    }
    request_head::parse(bytes, room).ok()
}

/// A rewritten target is one that a server reads as written, and its path leads to its route.
///
/// # Panics
/// When it is not.
pub fn target_is_rewritten_safely(target: &str) {
    let bytes = request_to(target);
    let mut room = header_buffer();
    let Some(head) = whole(&bytes, &mut room) else {
        return;
    };
    for (path, rewrite) in [
        (
            PathMatch::Prefix("/old/".to_owned()),
            Rewrite::Prefix("/new/".to_owned()),
        ),
        (
            PathMatch::Prefix("/".to_owned()),
            Rewrite::Prefix("/below".to_owned()),
        ),
        (
            PathMatch::Any,
            Rewrite::Regex("^/(.*)/([^/]*)$".to_owned(), "/$2/$1".to_owned()),
        ),
    ] {
        let config = Config {
            matches: RouteMatch {
                path,
                ..RouteMatch::default()
            },
            rewrite: Some(rewrite.clone()),
            ..Config::everything(0)
        };
        let Ok(shared) = RouteShared::new(&config, &[], 1) else {
            panic!("the route is valid");
        };
        let Ok(routes) = Routes::new(&[config], &[Arc::new(shared)], &[]) else {
            panic!("the route is valid");
        };
        let Ok(Some(index)) = routes.find(&head, 0.0) else {
            continue;
        };
        let route: &CompiledRoute = routes.get(index);
        let Ok(Some(new)) = route.rewritten(head.target) else {
            continue;
        };
        let bytes = request_to(&new);
        let mut room = header_buffer();
        let again = request_head::parse(&bytes, &mut room).expect("a valid target");
        assert_eq!(again.target, new);
        assert!(new.starts_with('/'));
        if let Rewrite::Prefix(prefix) = rewrite {
            assert!(new.starts_with(&prefix), "{new}");
            let path = new.split('?').next().unwrap_or_default();
            let area = prefix.trim_matches('/').as_bytes();
            for (server, model) in servers::MODELS {
                for segments in model(path.as_bytes()) {
                    let first = segments.first().map_or(&[][..], Vec::as_slice);
                    assert!(first.starts_with(area), "{server} reads {new} elsewhere");
                }
            }
        }
        let query = |target: &str| target.split_once('?').map(|(_, query)| query.to_owned());
        assert_eq!(query(&new), query(head.target));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            prop::sample::select(vec![
                "Host",
                "Content-Length",
                "Content_Length",
                "Transfer-Encoding",
                "Transfer_Encoding",
                "Connection",
                "Upgrade",
                "X-Set",
                "x_set",
                "X-Drop",
                "X_Drop",
                "X-Forwarded-For",
                "X_Forwarded_Host",
                "Forwarded",
                "X-Real-IP",
                "Proxy",
                "TE",
                "Trailer",
                "Keep-Alive",
                "Date",
                "Expect",
            ])
            .prop_map(str::to_owned),
            "[A-Za-z_-]{1,12}",
        ];
        let value = prop_oneof![
            prop::sample::select(vec![
                "a.example",
                "5",
                "5, 5",
                "chunked",
                "close",
                "Upgrade",
                "keep-alive, X-Set",
                "Host, Content-Length, Transfer-Encoding",
                "websocket",
                "h2c",
                "192.0.2.1",
                "",
            ])
            .prop_map(str::to_owned),
            "[ -~]{0,20}",
        ];
        (name, value).prop_map(|(name, value)| format!("{name}: {value}\r\n"))
    }

    fn request() -> impl Strategy<Value = String> {
        let start = prop_oneof![
            Just("GET / HTTP/1.1\r\nHost: a\r\n"),
            Just("POST /x?y HTTP/1.1\r\nHost: a.example:80\r\n"),
            Just("GET / HTTP/1.1\r\n"),
            Just("GET http://a.example HTTP/1.0\r\n"),
            Just("OPTIONS * HTTP/1.1\r\nHost: a\r\n"),
        ];
        (start, prop::collection::vec(header(), 0..6))
            .prop_map(|(start, headers)| format!("{start}{}\r\n", headers.concat()))
    }

    fn answer() -> impl Strategy<Value = String> {
        let start = prop_oneof![
            Just("HTTP/1.1 200 OK\r\n"),
            Just("HTTP/1.0 200 OK\r\n"),
            Just("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"),
            Just("HTTP/1.1 204 No Content\r\n"),
            Just("HTTP/1.1 304 \r\n"),
            Just("HTTP/1.1 100 Continue\r\n"),
        ];
        (start, prop::collection::vec(header(), 0..6))
            .prop_map(|(start, headers)| format!("{start}{}\r\n", headers.concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn requests_go_on_as_they_were_meant(request in request(), trusted: bool) {
            request_goes_on_as_it_was_meant(request.as_bytes(), trusted);
        }

        #[test]
        fn answers_go_on_as_they_were_meant(answer in answer()) {
            answer_goes_on_as_it_was_meant(answer.as_bytes());
        }

        #[test]
        fn proxy_headers_are_read_or_refused(
            start in prop_oneof![
                Just(&b"PROXY "[..]),
                Just(&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00"[..]),
                Just(&b""[..]),
            ],
            rest: Vec<u8>,
        ) {
            proxy_header_is_read_or_refused(&[start, &rest].concat());
        }

        #[test]
        fn targets_are_rewritten_safely(
            target in "/(old|new|%6fld|\\.\\.|)?[/a-z%0-9.\\$?&=]{0,30}",
        ) {
            target_is_rewritten_safely(&target);
        }
    }
}
