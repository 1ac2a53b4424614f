//! Finds the end of a request in a buffer; extracts only what a response depends on.

/// Largest request head and body an origin accepts, in bytes.
pub(crate) const REQUEST_SIZE_MAX: usize = 64 * 1024;

/// Headers of one request at most.
const HEADER_COUNT_MAX: usize = 64;

/// The bytes at the front of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// The request is not complete yet.
    Incomplete,
    /// A whole request of `size` bytes, body included.
    Request {
        size: usize,
        /// `HEAD`: the response has no body.
        head_only: bool,
        /// The client keeps the connection alive.
        keep_alive: bool,
        path: String,
    },
    /// Not HTTP, too large, or a body whose length is not given in advance.
    Unreadable,
}

/// Reads the first request of `bytes`.
pub(crate) fn front(bytes: &[u8]) -> Front {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_COUNT_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head_size = match request.parse(bytes) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) if bytes.len() < REQUEST_SIZE_MAX => {
            return Front::Incomplete;
        }
        Ok(httparse::Status::Partial) | Err(_) => return Front::Unreadable,
    };
    let mut keep_alive = request.version == Some(1);
    let mut body_size = 0_usize;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let Some(size) = std::str::from_utf8(header.value)
                .ok()
                .and_then(|v| v.trim().parse().ok())
            else {
                return Front::Unreadable;
            };
            body_size = size;
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Front::Unreadable;
        } else if header.name.eq_ignore_ascii_case("connection") {
            // HTTP/1.0 clients that request keep-alive expect it confirmed, which no origin does.
            keep_alive &= !header.value.eq_ignore_ascii_case(b"close");
        }
    }
    let size = head_size.saturating_add(body_size);
    if size > REQUEST_SIZE_MAX {
        Front::Unreadable
    } else if size > bytes.len() {
        Front::Incomplete
    } else {
        Front::Request {
            size,
            head_only: request.method == Some("HEAD"),
            keep_alive,
            path: request.path.unwrap_or("/").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, expected: &Front) {
        assert_eq!(&front(bytes.as_bytes()), expected, "{bytes:?}");
    }

    fn request(size: usize, head_only: bool, keep_alive: bool) -> Front {
        Front::Request {
            size,
            head_only,
            keep_alive,
            path: "/a".to_owned(),
        }
    }

    #[test]
    fn finds_the_end_of_a_request() {
        let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
        check(get, &request(get.len(), false, true));
        check(&format!("{get}GET /b"), &request(get.len(), false, true));
        check(&get[..get.len() - 1], &Front::Incomplete);
        let post = "POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
        check(post, &Front::Incomplete);
        check(&format!("{post}abc"), &request(post.len() + 3, false, true));
    }

    #[test]
    fn knows_what_the_answer_depends_on() {
        let head = "HEAD /a HTTP/1.1\r\n\r\n";
        check(head, &request(head.len(), true, true));
        let old = "GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
        check(old, &request(old.len(), false, false));
        let close = "GET /a HTTP/1.1\r\nConnection: Close\r\n\r\n";
        check(close, &request(close.len(), false, false));
    }

    #[test]
    fn refuses_what_it_cannot_bound() {
        check("\u{1}\u{2}\r\n\r\n", &Front::Unreadable);
        check(
            "POST /a HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
            &Front::Unreadable,
        );
        check(
            "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            &Front::Unreadable,
        );
    }
}
