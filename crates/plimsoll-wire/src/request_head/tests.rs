use super::*;

fn read<T>(head: &str, inspect: impl FnOnce(&RequestHead<'_, '_>) -> T) -> Result<T, RequestError> {
    let bytes = head.as_bytes();
    let end = find_end(bytes, 0, 64 * 1024)?.expect("the head is complete");
    assert_eq!(end, bytes.len());
    let mut room = header_buffer();
    parse(bytes, &mut room).map(|head| inspect(&head))
}

fn with<T>(
    headers: &str,
    inspect: impl FnOnce(&RequestHead<'_, '_>) -> T,
) -> Result<T, RequestError> {
    read(
        &format!("GET / HTTP/1.1\r\nHost: a.example\r\n{headers}\r\n"),
        inspect,
    )
}

#[track_caller]
fn refused(headers: &str, error: RequestError) {
    assert_eq!(with(headers, |_| ()), Err(error), "{headers:?}");
}

#[track_caller]
fn refused_line(line: &str, error: RequestError) {
    let head = format!("{line}\r\nHost: a.example\r\n\r\n");
    assert_eq!(read(&head, |_| ()), Err(error), "{line:?}");
}

#[test]
fn a_usual_head_is_understood() {
    let head = "POST /a/b?c=d HTTP/1.1\r\nhost: a.example:8080\r\nContent-Length: 5\r\nCookie: x=y\r\n\r\n";
    read(head, |head| {
        assert_eq!(
            (head.method, head.target, head.host),
            ("POST", "/a/b?c=d", Some("a.example:8080"))
        );
        assert_eq!(head.length, BodyLength::Sized(5));
        assert!(head.is_1_1 && head.keep_alive && !head.upgrade && !head.expects_continue);
        assert_eq!(head.headers.len(), 3);
    })
    .unwrap();
}

#[test]
fn what_could_be_framed_in_two_ways_is_refused() {
    use RequestError as F;
    refused(
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        F::TwoFramings,
    );
    refused(
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
        F::TwoFramings,
    );
    refused(
        "Content-Length: 1\r\nContent-Length: 1\r\n",
        F::ContentLength,
    );
    refused("Content-Length: 1, 1\r\n", F::ContentLength);
    for length in ["+1", "-1", "0x10", "", "1 2", "18446744073709551616"] {
        refused(&format!("Content-Length: {length}\r\n"), F::ContentLength);
    }
    refused("Transfer-Encoding: gzip, chunked\r\n", F::UnknownCoding);
    refused("Transfer-Encoding: identity\r\n", F::UnknownCoding);
    refused("Transfer-Encoding: xchunked\r\n", F::UnknownCoding);
    refused("Transfer-Encoding:\r\n", F::TransferEncoding);
    refused(
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        F::TransferEncoding,
    );
    assert_eq!(
        read(
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            |_| ()
        ),
        Err(F::TransferEncoding)
    );
}

#[test]
fn a_lax_grammar_is_refused() {
    for headers in [
        "A: b\r\n folded\r\n",
        "A: b\r\n\tfolded\r\n",
        "Content-Length : 5\r\n",
        "A b: c\r\n",
        ": c\r\n",
        "A: b\rc\r\n",
        "A: b\0c\r\n",
        "no colon\r\n",
    ] {
        assert!(
            matches!(with(headers, |_| ()), Err(RequestError::Head(_))),
            "{headers:?}"
        );
    }
    assert_eq!(with("A: b\n", |_| ()), Err(RequestError::BareLineFeed));
    for line in [
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ",
        " GET / HTTP/1.1",
        "GET /",
    ] {
        let head = format!("{line}\r\nHost: a\r\n\r\n");
        assert!(read(&head, |_| ()).is_err(), "{line:?}");
    }
    assert_eq!(
        find_end(b"\x16\x03\x01", 0, 4096),
        Err(RequestError::NotHttp)
    );
    assert_eq!(
        find_end(b"GET / HTTP/1.1\n", 0, 4096),
        Err(RequestError::BareLineFeed)
    );
}

#[test]
fn targets_are_taken_in_the_forms_of_a_server() {
    let target = |line: &str| {
        read(&format!("{line}\r\nHost: a.example\r\n\r\n"), |head| {
            (head.target.to_owned(), head.host.map(str::to_owned))
        })
    };
    let host = Some("a.example".to_owned());
    assert_eq!(
        target("GET http://a.example/x?y HTTP/1.1"),
        Ok(("/x?y".to_owned(), host.clone()))
    );
    assert_eq!(
        target("GET HTTP://A.example HTTP/1.1"),
        Ok((String::new(), Some("A.example".to_owned())))
    );
    assert_eq!(target("OPTIONS * HTTP/1.1"), Ok(("*".to_owned(), host)));
    refused_line("GET http://b.example/ HTTP/1.1", RequestError::HostsDiffer);
    refused_line("GET http://u@a.example/ HTTP/1.1", RequestError::Target);
    refused_line("GET ftp://a.example/ HTTP/1.1", RequestError::Target);
    refused_line("GET * HTTP/1.1", RequestError::Target);
    refused_line("GET a.example HTTP/1.1", RequestError::Target);
    refused_line("GET /a#b HTTP/1.1", RequestError::Target);
    refused_line("GET /a\\b HTTP/1.1", RequestError::Target);
    refused_line("GET http://a/x\\y?z HTTP/1.1", RequestError::Target);
    refused_line("GET http://a.example?x HTTP/1.1", RequestError::Target);
    // What browsers send raw, which other servers take too.
    for line in ["/a|b[1]^~'x;p=1", "/q?f={a:[1|2]}^`&b=\\x", "//x//?\\\\"] {
        let observed = target(&format!("GET {line} HTTP/1.1")).map(|(target, _)| target);
        assert_eq!(observed.as_deref(), Ok(line));
    }
    refused_line("CONNECT a.example:443 HTTP/1.1", RequestError::Method);
    refused_line("TRACE / HTTP/1.1", RequestError::Method);
    refused_line("GET / HTTP/2.0", RequestError::Version);
}

#[test]
fn there_is_one_valid_host() {
    let host = |host: &str| {
        read(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), |head| {
            head.host.map(str::to_owned)
        })
    };
    for valid in [
        "a.example",
        "a.example:80",
        "[::1]:8080",
        "10.0.0.1",
        "a_b.example",
    ] {
        assert_eq!(host(valid), Ok(Some(valid.to_owned())));
    }
    for wrong in [
        "", "a b", "a/b", "u@a", "a:80:80", "a:x", "[::g]", "[::1]x", "a,b c", "a\"b",
    ] {
        assert_eq!(host(wrong), Err(RequestError::Host), "{wrong:?}");
    }
    refused("Host: a.example\r\n", RequestError::Host);
    assert_eq!(
        read("GET / HTTP/1.1\r\n\r\n", |_| ()),
        Err(RequestError::Host)
    );
    assert_eq!(
        read("GET / HTTP/1.0\r\n\r\n", |head| head.host.is_none()),
        Ok(true)
    );
}

#[test]
fn the_connection_is_kept_as_version_and_header_say() {
    let keeps = |version: &str, header: &str| {
        let head = format!("GET / HTTP/{version}\r\nHost: a\r\n{header}\r\n");
        read(&head, |head| head.keep_alive).unwrap()
    };
    assert!(keeps("1.1", ""));
    assert!(!keeps("1.1", "Connection: Close\r\n"));
    assert!(!keeps("1.0", ""));
    assert!(keeps("1.0", "Connection: Keep-Alive\r\n"));
    let upgrade = |headers: &str| with(headers, |head| head.upgrade).unwrap();
    assert!(upgrade(
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    ));
    assert!(!upgrade("Upgrade: websocket\r\n"));
    for barred in ["h2c", "H2C", "websocket, h2c", "HTTP/2.0", "h2"] {
        assert!(!upgrade(&format!(
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {barred}\r\nHTTP2-Settings: AAMAAABk\r\n"
        )));
    }
    assert!(!upgrade(
        "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n"
    ));
    assert!(with("Connection: x-private\r\n", |head| head.names_hop_headers).unwrap());
    assert_eq!(
        with("Expect: 100-continue\r\n", |head| head.expects_continue),
        Ok(true)
    );
    refused("Expect: miracles\r\n", RequestError::Expectation);
}

#[test]
fn what_is_not_http_is_told_from_what_is_of_another_version() {
    let error_of = |line: &str| read(&format!("{line}\r\nHost: a\r\n\r\n"), |_| ()).unwrap_err();
    assert_eq!(error_of("GET / HTTP/3.0"), RequestError::Version);
    assert_eq!(
        error_of("GET / HTTP/1.10"),
        RequestError::Head(httparse::Error::NewLine)
    );
    assert_eq!(
        error_of("INVALID CONNECTION PREFACE"),
        RequestError::Foreign
    );
    assert_eq!(error_of("GET / SIP/2.0"), RequestError::Foreign);
}

#[test]
fn heads_have_limits() {
    let line = format!("GET /{} HTTP/1.1\r\n", "x".repeat(LINE_LEN_MAX));
    assert_eq!(
        find_end(line.as_bytes(), 0, 64 * 1024),
        Err(RequestError::LineTooLong)
    );
    let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(5000));
    assert_eq!(
        find_end(long.as_bytes(), 0, 4096),
        Err(RequestError::HeadTooLong)
    );
    refused(
        &"A: b\r\n".repeat(HEADERS_MAX),
        RequestError::TooManyHeaders,
    );
    let tags = (0..300).map(|n| format!("X-Tag-{n}: v\r\n"));
    let tags = tags.collect::<Vec<_>>().concat();
    let observed = with(&tags, |head| {
        let last = head.headers.last().unwrap();
        (head.headers.len(), last.name.to_owned())
    });
    assert_eq!(observed, Ok((301, "X-Tag-299".to_owned())));
    assert_eq!(skip_empty_lines(b"\r\n\r\nGET"), Ok(4));
    assert_eq!(
        skip_empty_lines(&b"\r\n".repeat(9)),
        Err(RequestError::NotHttp)
    );
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, tail in "[ -~\r\n]{0,80}") {
        for input in [bytes, format!("GET /{tail}\r\n\r\n").into_bytes()] {
            if let Ok(Some(end)) = find_end(&input, 0, 4096) {
                let mut room = header_buffer();
                let _ = parse(&input[..end], &mut room);
            }
        }
    }
}
