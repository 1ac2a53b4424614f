//! The bytes of a response.

/// A whole response; `headers` are lines without their ends.
pub(super) fn whole(status: u16, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} {}\r\n", reason(status)).into_bytes();
    for header in headers {
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    // A 204 and a 304 have no body and no length (RFC 9110, 6.4.1).
    if matches!(status, 204 | 304) {
        bytes.extend_from_slice(b"\r\n");
    } else {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(body);
    }
    bytes
}

/// The usual reason phrase of a status code; an empty one is legal for the others.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "",
    }
}
