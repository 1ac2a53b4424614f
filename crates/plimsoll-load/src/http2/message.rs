//! Converts heads between HTTP/1.1 and HTTP/2, so that the code around them handles one form only.

use http::header::{CONTENT_ENCODING, LOCATION, SET_COOKIE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::head::{ContentCoding, HeadLimits};

/// Connection headers of HTTP/1.1, which are forbidden in HTTP/2 (RFC 9113, 8.2.2).
const OF_CONNECTION: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// The request for `head` in the form of HTTP/1.1; `None` when it is not valid in HTTP/2.
pub(crate) fn request(head: &[u8], is_tls: bool) -> Option<Request<()>> {
    let mut lines = head
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty());
    let mut start = lines.next()?.splitn(3, |&byte| byte == b' ');
    let (method, target) = (start.next()?, start.next()?);
    let (mut headers, mut authority) = (HeaderMap::with_capacity(8), None);
    for line in lines {
        let colon = memchr::memchr(b':', line)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"host") {
            authority = Some(Authority::try_from(value).ok()?);
            continue;
        }
        let name = HeaderName::from_bytes(name).ok()?;
        let is_trailers = || value.eq_ignore_ascii_case(b"trailers");
        if OF_CONNECTION.contains(&name.as_str()) || (name == "te" && !is_trailers()) {
            continue;
        }
        headers.append(name, HeaderValue::from_bytes(value).ok()?);
    }
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(if is_tls { Scheme::HTTPS } else { Scheme::HTTP });
    parts.authority = Some(authority?);
    parts.path_and_query = Some(PathAndQuery::try_from(target).ok()?);
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(method).ok()?;
    *request.uri_mut() = Uri::from_parts(parts).ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// The relevant parts of a response head.
#[derive(Debug, Default)]
pub(crate) struct AnswerHead {
    pub(crate) status: u16,
    pub(crate) coding: ContentCoding,
    /// Value of `Location` of a redirect.
    pub(crate) location: Option<Box<[u8]>>,
    pub(crate) sets_cookie: bool,
    /// Length of the body as transferred, once it is complete.
    pub(crate) body_len: u64,
}

impl AnswerHead {
    /// The relevant parts of a head within its limits.
    pub(super) fn new(
        status: u16,
        headers: &HeaderMap,
        limits: HeadLimits,
    ) -> Result<Self, Http1Error> {
        if headers.len() > limits.headers {
            return Err(Http1Error::TooManyHeaders(limits.headers));
        }
        if written_len(headers) > limits.len as u64 {
            return Err(Http1Error::HeadTooLong(limits.len));
        }
        let value = |name: HeaderName| headers.get(name).map(HeaderValue::as_bytes);
        let location = value(LOCATION).filter(|_| (300..400).contains(&status));
        Ok(Self {
            status,
            coding: value(CONTENT_ENCODING).map_or(ContentCoding::Other, ContentCoding::named),
            location: location.map(Into::into),
            sets_cookie: headers.contains_key(SET_COOKIE),
            body_len: 0,
        })
    }
}

/// Appends a response head in the form of HTTP/1.1.
pub(super) fn write(status: u16, headers: &HeaderMap, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("HTTP/2 {status}\r\n").as_bytes());
    for (name, value) in headers {
        for segment in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            out.extend_from_slice(segment);
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// Length of a head in the form of HTTP/1.1: its compressed length depends on earlier heads.
pub(super) fn written_len(headers: &HeaderMap) -> u64 {
    let line = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    "HTTP/2 200\r\n\r\n".len() as u64 + headers.iter().map(line).sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_said_in_http2() {
        let head =
            b"POST /a/b?c=d%20e HTTP/1.1\r\nHost: shop.example:8443\r\nAccept: */*\r\nTE: gzip\r\n\
                     Connection: keep-alive\r\nX-Two: a\r\nX-Two:  b \r\nContent-Length: 3\r\n\r\n";
        let request = request(head, true).unwrap();
        assert_eq!(request.method(), "POST");
        assert_eq!(
            request.uri().to_string(),
            "https://shop.example:8443/a/b?c=d%20e"
        );
        let headers: Vec<_> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        let expected = [
            ("accept", "*/*"),
            ("x-two", "a"),
            ("x-two", "b"),
            ("content-length", "3"),
        ];
        assert_eq!(headers, expected);
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let check = |head: &[u8]| request(head, false).is_some();
        assert!(check(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(check(b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"));
        assert!(!check(b"GET / HTTP/1.1\r\n\r\n"), "nobody is asked");
        assert!(!check(b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"));
        assert!(!check(b"GET / HTTP/1.1\r\nHost: x\r\nA(b: c\r\n\r\n"));
    }

    #[test]
    fn an_answers_head_is_written_as_it_would_have_come() {
        let mut headers = HeaderMap::new();
        headers.append("content-encoding", HeaderValue::from_static("br"));
        headers.append("set-cookie", HeaderValue::from_static("a=b"));
        headers.append("location", HeaderValue::from_static("/next"));
        let mut out = Vec::new();
        write(302, &headers, &mut out);
        assert_eq!(out.len() as u64, written_len(&headers));
        let listed: Vec<_> = plimsoll_wire::head::headers(&out).collect();
        assert_eq!(listed[1], (&b"set-cookie"[..], &b"a=b"[..]));
        let new = |status, headers: &_| AnswerHead::new(status, headers, HeadLimits::DEFAULT);
        let answer = new(302, &headers).unwrap();
        assert_eq!(answer.location.as_deref(), Some(&b"/next"[..]));
        assert_eq!(answer.coding, ContentCoding::Brotli);
        assert!(answer.sets_cookie);
        assert!(new(200, &headers).unwrap().location.is_none());
        for number in 0..HeadLimits::DEFAULT.headers {
            let name = HeaderName::from_bytes(format!("x-{number}").as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_static(""));
        }
        let too_many = Http1Error::TooManyHeaders(HeadLimits::DEFAULT.headers);
        assert_eq!(new(200, &headers).unwrap_err(), too_many);
        let tight = HeadLimits {
            len: 100,
            headers: 20_000,
        };
        let too_long = Http1Error::HeadTooLong(100);
        assert_eq!(AnswerHead::new(200, &headers, tight).unwrap_err(), too_long);
    }
}
