//! The bytes of each kind of head that clients receive, to the letter.

use plimsoll_cache::{
    CachePolicy, CacheRequest, CacheStatus, KeyRef, Moment, OriginExchange, OriginResponse, Shape,
    Stored, storing,
};
use plimsoll_config::edge::{Compress, CompressCoding, HeaderEdit};
use plimsoll_hub_io::browser_client::File;
use plimsoll_net::reason::Reason;
use plimsoll_wire::head::{Header, parse_with};
use plimsoll_wire::websocket::deflate::agree;
use plimsoll_wire::websocket::handshake::UpgradeRequest;

use super::forwarded::{self, Answering, Framing};
use super::head::{CONTINUE, ConnectionHeader};
use super::hub;
use super::stored::{self, StoredHead};
use super::synthetic_response::{self, FallbackPage, ResponseOptions, WaitingPage};
use crate::message::compress::Coded;

const CLOSE: ResponseOptions<'_> = ResponseOptions {
    head_only: false,
    connection: ConnectionHeader::Close,
    date: "now",
};
const STAY: ResponseOptions<'_> = ResponseOptions {
    connection: ConnectionHeader::Omitted,
    ..CLOSE
};
const KEEP_ALIVE: ResponseOptions<'_> = ResponseOptions {
    connection: ConnectionHeader::KeepAlive,
    ..CLOSE
};
const HEAD_ONLY: ResponseOptions<'_> = ResponseOptions {
    head_only: true,
    ..CLOSE
};

#[track_caller]
fn check(write: impl FnOnce(&mut Vec<u8>), expected: &str) {
    // Output that is still pending comes first.
    let mut out = b"before".to_vec();
    write(&mut out);
    assert_eq!(String::from_utf8_lossy(&out[6..]), expected);
}

#[test]
fn rejections_and_redirects() {
    check(
        |out| synthetic_response::words(out, 429, Reason::RateLimited, "Retry-After: 3\r\n", STAY),
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 36\r\n\
         Cache-Control: no-store\r\nX-Plimsoll: rate-limited\r\nRetry-After: 3\r\nDate: now\r\n\r\n\
         429 Too Many Requests: rate-limited\n",
    );
    check(
        |out| {
            let extra = "Location: /new\r\n";
            synthetic_response::words(out, 308, Reason::Redirect, extra, HEAD_ONLY);
        },
        "HTTP/1.1 308 Permanent Redirect\r\nContent-Type: text/plain\r\nContent-Length: 33\r\n\
         Cache-Control: no-store\r\nX-Plimsoll: redirect\r\nLocation: /new\r\nDate: now\r\n\
         Connection: close\r\n\r\n",
    );
    check(
        |out| synthetic_response::words(out, 599, Reason::NoServer, "", KEEP_ALIVE),
        "HTTP/1.1 599 Error\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n\
         Cache-Control: no-store\r\nX-Plimsoll: no-server\r\nDate: now\r\nConnection: keep-alive\r\n\r\n\
         599 Error: no-server\n",
    );
    let why = ("use GET", "Allow: GET\r\n");
    check(
        |out| synthetic_response::explained(out, 405, Reason::Hub, why, STAY),
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 8\r\n\
         Cache-Control: no-store\r\nX-Plimsoll: hub\r\nAllow: GET\r\nDate: now\r\n\r\nuse GET\n",
    );
    check(
        |out| synthetic_response::text(out, "urn:1", "Vary: Origin\r\n", STAY),
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\
         Cache-Control: no-store\r\nX-Plimsoll: hub\r\nVary: Origin\r\nDate: now\r\n\r\nurn:1",
    );
}

#[test]
fn files_and_pages() {
    let file = File {
        media_type: "text/javascript",
        content: "let a;",
        tag: "\"f\"".to_owned(),
    };
    let common = "ETag: \"f\"\r\nCache-Control: public, max-age=3600\r\nAccess-Control-Allow-Origin: *\r\n\
                  X-Content-Type-Options: nosniff\r\nDate: now\r\n";
    check(
        |out| synthetic_response::file(out, &file, false, STAY),
        &format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nContent-Length: 6\r\n{common}\r\nlet a;"
        ),
    );
    check(
        |out| synthetic_response::file(out, &file, true, CLOSE),
        &format!("HTTP/1.1 304 Not Modified\r\n{common}Connection: close\r\n\r\n"),
    );
    let page = WaitingPage {
        content: "<p>".to_owned(),
        retry_s: 20,
        retries_itself: false,
        cookie: Some("n=1; Path=/".to_owned()),
    };
    let common = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html; charset=utf-8\r\n\
                  Content-Length: 3\r\nCache-Control: no-store\r\nX-Plimsoll: waiting\r\nRetry-After: 20\r\n";
    check(
        |out| synthetic_response::waiting(out, &page, STAY),
        &format!("{common}Refresh: 20\r\nSet-Cookie: n=1; Path=/\r\nDate: now\r\n\r\n<p>"),
    );
    let page = WaitingPage {
        retries_itself: true,
        cookie: None,
        ..page
    };
    check(
        |out| synthetic_response::waiting(out, &page, HEAD_ONLY),
        &format!("{common}Date: now\r\nConnection: close\r\n\r\n"),
    );
}

#[test]
fn fallbacks() {
    let common = "Cache-Control: no-store\r\nX-Plimsoll: fallback\r\n";
    let page = FallbackPage::new("text/html", b"<p>".to_vec());
    check(
        |out| synthetic_response::fallback(out, &page, Some(CompressCoding::Gzip), STAY),
        &format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n{common}Date: now\r\n\r\n<p>"
        ),
    );
    let page = FallbackPage::new("text/html", vec![b'x'; 2000]).packed(&Compress::default());
    check(
        |out| synthetic_response::fallback(out, &page, None, HEAD_ONLY),
        &format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2000\r\n{common}\
             Vary: Accept-Encoding\r\nDate: now\r\nConnection: close\r\n\r\n"
        ),
    );
    let mut whole = Vec::new();
    let manner = ResponseOptions {
        head_only: false,
        ..HEAD_ONLY
    };
    synthetic_response::fallback(&mut whole, &page, Some(CompressCoding::Gzip), manner);
    let end = whole
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .unwrap()
        + 4;
    check(
        |out| synthetic_response::fallback(out, &page, Some(CompressCoding::Gzip), HEAD_ONLY),
        &format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n{common}\
             Content-Encoding: gzip\r\nVary: Accept-Encoding\r\nDate: now\r\nConnection: close\r\n\r\n",
            whole.len() - end
        ),
    );
}

/// Writes the head that a client gets for a received one.
pub(super) fn forward(out: &mut Vec<u8>, input: &str, answering: &Answering<'_>) {
    parse_with(input.as_bytes(), |head, headers| {
        forwarded::write(out, input.as_bytes(), head, headers, answering);
    })
    .unwrap();
}

pub(super) const PLAIN: Answering<'_> = Answering {
    framing: Framing::Nothing,
    connection: ConnectionHeader::Omitted,
    date: "now",
    edits: &[],
    cookies: [None; 2],
    coded: Coded::Plain,
    dropped: None,
    cache_status: None,
};

#[test]
fn forwarded_with_changes() {
    let answering = Answering {
        framing: Framing::AsIs,
        connection: ConnectionHeader::KeepAlive,
        date: "now",
        edits: &[
            HeaderEdit {
                name: "Server".to_owned(),
                value: None,
            },
            HeaderEdit {
                name: "X-A".to_owned(),
                value: Some("1".to_owned()),
            },
        ],
        cookies: [Some("s=1"), Some("w=2")],
        coded: Coded::Weakened,
        dropped: Some("X-Shell"),
        cache_status: Some(CacheStatus {
            forward: Some(plimsoll_cache::Forward::UriMiss),
            ..CacheStatus::default()
        }),
    };
    check(
        |out| {
            forward(
                out,
                "HTTP/1.0 200 Fine\r\nServer: s\r\nA:b\r\nX-Shell: /\r\nETag: \"e\"\r\nContent-Length: 3\r\n\r\n",
                &answering,
            );
        },
        "HTTP/1.1 200 Fine\r\nA:b\r\nContent-Length: 3\r\nETag: W/\"e\"\r\nVary: Accept-Encoding\r\n\
         Date: now\r\nConnection: keep-alive\r\nCache-Status: plimsoll; fwd=uri-miss\r\nSet-Cookie: s=1\r\n\
         Set-Cookie: w=2\r\nX-A: 1\r\n\r\n",
    );
    check(
        |out| {
            let answering = Answering {
                framing: Framing::Chunked,
                connection: ConnectionHeader::Close,
                coded: Coded::As(CompressCoding::Gzip),
                ..PLAIN
            };
            forward(
                out,
                "HTTP/1.1 200 OK\r\nDate: then\r\nVary: accept-encoding\r\nContent-Length: 3\r\n\r\n",
                &answering,
            );
        },
        "HTTP/1.1 200 OK\r\nDate: then\r\nVary: accept-encoding\r\nContent-Encoding: gzip\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    );
}

#[test]
fn interim_and_switching() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    check(|out| forward(out, early, &PLAIN), early);
    check(
        |out| {
            let switching = Answering {
                connection: ConnectionHeader::Upgrade,
                ..PLAIN
            };
            let input = "HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: h\r\n\r\n";
            forward(out, input, &switching);
        },
        "HTTP/1.1 101 Go\r\nUpgrade: h\r\nConnection: upgrade\r\n\r\n",
    );
}

/// A response that was stored five seconds ago.
fn stored_page() -> (Stored, Moment) {
    let policy = CachePolicy::default();
    let request = CacheRequest::read("GET", false, &[], &policy);
    let key = KeyRef::new(true, "a.example", "/", &policy.key);
    let fields = [
        ("Content-Type", "text/html"),
        ("Cache-Control", "max-age=60"),
        ("ETag", "\"e\""),
    ]
    .map(|(name, value)| Header {
        name,
        value: value.as_bytes(),
    });
    let response = OriginResponse {
        status: 200,
        reason: "Fine",
        headers: &fields,
    };
    let start = Moment::from_ms(784_111_777_000);
    let exchange = OriginExchange {
        requested_at: start,
        received_at: start,
        chance: 0,
    };
    let storable = storing::evaluate(&request, &key, &response, &policy, &exchange).unwrap();
    (Stored::new(&response, &storable), start.after(5_000))
}

const DATE: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
const MEDIA_TYPE: &str = "Content-Type: text/html\r\n";
const TERMS: &str = "Cache-Control: max-age=60\r\nETag: \"e\"\r\n";
const AGE: &str = "Age: 5\r\nCache-Status: plimsoll; hit; ttl=55\r\n";

#[track_caller]
fn check_stored(change: impl FnOnce(&mut StoredHead<'_>), expected: &str) {
    let (page, now) = stored_page();
    let mut made = StoredHead {
        shape: Shape::Whole,
        body_len: Some(9),
        in_chunks: false,
        now,
        status: CacheStatus {
            ttl: Some(55),
            ..CacheStatus::default()
        },
        pass: None,
        connection: ConnectionHeader::Omitted,
    };
    change(&mut made);
    check(|out| stored::write(out, &page, &made), expected);
}

#[test]
fn whole_from_the_cache() {
    let start = format!("HTTP/1.1 200 Fine\r\n{DATE}{MEDIA_TYPE}{TERMS}");
    check_stored(|_| (), &format!("{start}Content-Length: 9\r\n{AGE}\r\n"));
    check_stored(
        |made| {
            made.pass = Some("w=2");
            made.connection = ConnectionHeader::KeepAlive;
        },
        &format!(
            "{start}Content-Length: 9\r\n{AGE}Set-Cookie: w=2\r\nConnection: keep-alive\r\n\r\n"
        ),
    );
    check_stored(
        |made| {
            made.pass = Some("w=2");
            made.body_len = None;
            made.in_chunks = true;
        },
        &format!("{start}{AGE}Set-Cookie: w=2\r\nTransfer-Encoding: chunked\r\n\r\n"),
    );
}

#[test]
fn shaped_from_the_cache() {
    check_stored(
        |made| made.shape = Shape::NotModified,
        &format!("HTTP/1.1 304 Not Modified\r\n{DATE}{TERMS}{AGE}\r\n"),
    );
    check_stored(
        |made| {
            made.shape = Shape::Partial { first: 2, last: 4 };
            made.connection = ConnectionHeader::Close;
        },
        &format!(
            "HTTP/1.1 206 Partial Content\r\n{DATE}{MEDIA_TYPE}{TERMS}Content-Range: bytes 2-4/9\r\n\
             Content-Length: 3\r\n{AGE}Connection: close\r\n\r\n"
        ),
    );
    check_stored(
        |made| made.shape = Shape::Unsatisfiable,
        &format!(
            "HTTP/1.1 416 Range Not Satisfiable\r\n{DATE}Content-Range: bytes */9\r\n\
             Content-Length: 0\r\n{AGE}\r\n"
        ),
    );
}

#[test]
fn of_the_hub() {
    let upgrade = UpgradeRequest {
        accept: "abc=".to_owned(),
        protocols: String::new(),
        deflate: None,
    };
    let common = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                  Sec-WebSocket-Accept: abc=\r\n";
    check(
        |out| out.extend(hub::websocket(&upgrade, None)),
        &format!("{common}\r\n"),
    );
    let deflate = agree("permessage-deflate; server_no_context_takeover").unwrap();
    check(
        |out| out.extend(hub::websocket(&upgrade, Some(deflate))),
        &format!(
            "{common}Sec-WebSocket-Extensions: {}\r\n\r\n",
            deflate.header()
        ),
    );
    check(
        |out| out.extend(hub::events("Vary: Origin\r\n", "now")),
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
         X-Accel-Buffering: no\r\nConnection: close\r\nVary: Origin\r\nDate: now\r\n\r\n",
    );
    check(|out| out.extend(CONTINUE), "HTTP/1.1 100 Continue\r\n\r\n");
}
