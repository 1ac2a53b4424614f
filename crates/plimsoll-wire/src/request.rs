//! A request as bytes, built once and sent many times.

/// The bytes of a request's head. `body_len` adds a `Content-Length` unless the headers frame the body
/// themselves; `close` requests the end of the connection after the response.
///
/// Nothing is validated here: method, target and headers come from a validated plan.
pub fn encode(
    method: &str,
    target: &str,
    headers: &[(String, String)],
    body_len: usize,
    close: bool,
) -> Box<[u8]> {
    let mut head = Vec::with_capacity(256);
    for segment in [method, " ", target, " HTTP/1.1\r\n"] {
        head.extend_from_slice(segment.as_bytes());
    }
    for (name, value) in headers {
        if close && name.eq_ignore_ascii_case("connection") {
            continue;
        }
        put(&mut head, name, value);
    }
    let framed = has(headers, "content-length") || has(headers, "transfer-encoding");
    // A method that usually has a body states that it has none (RFC 9110, 8.6).
    if !framed && (body_len > 0 || matches!(method, "POST" | "PUT" | "PATCH")) {
        put(&mut head, "Content-Length", &body_len.to_string());
    }
    if close {
        put(&mut head, "Connection", "close");
    }
    head.extend_from_slice(b"\r\n");
    head.into_boxed_slice()
}

fn put(head: &mut Vec<u8>, name: &str, value: &str) {
    for segment in [name, ": ", value, "\r\n"] {
        head.extend_from_slice(segment.as_bytes());
    }
}

fn has(headers: &[(String, String)], wanted: &str) -> bool {
    headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

/// Whether a request of this method is idempotent
/// (RFC 9110, 9.2.2).
pub fn is_idempotent(method: &str) -> bool {
    matches!(
        method,
        "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn a_get_is_written_as_the_grammar_says() {
        let bytes = encode(
            "GET",
            "/a?b=c",
            &headers(&[("Host", "x.example"), ("Accept", "*/*")]),
            0,
            false,
        );
        assert_eq!(
            &*bytes,
            b"GET /a?b=c HTTP/1.1\r\nHost: x.example\r\nAccept: */*\r\n\r\n"
        );
    }

    #[test]
    fn a_body_is_framed_once() {
        let plain = encode("POST", "/", &headers(&[("Host", "x")]), 5, false);
        assert_eq!(
            &*plain,
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
        );
        let own = encode("POST", "/", &headers(&[("content-length", "5")]), 5, false);
        assert_eq!(&*own, b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\n");
        let empty = encode("POST", "/", &[], 0, false);
        assert_eq!(&*empty, b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    }

    #[test]
    fn the_last_request_of_a_connection_says_so() {
        let bytes = encode(
            "GET",
            "/",
            &headers(&[("Connection", "keep-alive")]),
            0,
            true,
        );
        assert_eq!(&*bytes, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    }
}
