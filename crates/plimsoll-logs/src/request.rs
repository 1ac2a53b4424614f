//! Request lines, methods, targets and status codes.

use std::borrow::Cow;

use memchr::{memchr, memrchr};

use crate::client;
use crate::entry::LineError;
use crate::value::{self, Value};

/// Method, path and host of a request.
#[derive(Debug)]
pub(crate) struct RequestTarget<'a> {
    pub(crate) method: Cow<'a, str>,
    /// As a client sends it.
    pub(crate) path: Cow<'a, str>,
    /// Proxies receive whole URLs.
    pub(crate) host: Option<Value<'a>>,
}

/// Of `GET /home HTTP/1.1`; the version may be missing, as `HAProxy` cuts long requests.
///
/// # Errors
/// When it is no request line.
pub(crate) fn of_line<'a>(line: &Value<'a>) -> Result<RequestTarget<'a>, LineError> {
    let invalid = || LineError::invalid("the request", line);
    let first = memchr(b' ', line).ok_or_else(invalid)?;
    let end = match memrchr(b' ', line) {
        Some(last) if last > first && line[last + 1..].starts_with(b"HTTP/") => last,
        // A blank in a target would make it two requests for a server.
        Some(last) if last > first => return Err(invalid()),
        _ => line.len(),
    };
    if memchr(b' ', &line[first + 1..end]).is_some() && line[first + 1] == b' ' {
        return Err(invalid());
    }
    let (method, path) = match line {
        &Cow::Borrowed(line) => (
            Cow::Borrowed(&line[..first]),
            Cow::Borrowed(&line[first + 1..end]),
        ),
        Cow::Owned(line) => (
            Cow::Owned(line[..first].to_vec()),
            Cow::Owned(line[first + 1..end].to_vec()),
        ),
    };
    if !is_method(&method) {
        return Err(invalid());
    }
    target(method, path).ok_or_else(invalid)
}

/// Of a method, and a path or URL.
///
/// # Errors
/// When either is invalid.
pub(crate) fn of_parts<'a>(
    method: Value<'a>,
    path: Value<'a>,
) -> Result<RequestTarget<'a>, LineError> {
    if !is_method(&method) {
        return Err(LineError::invalid("the method", &method));
    }
    let shown = path[..path.len().min(160)].to_vec();
    target(method, path).ok_or_else(|| LineError::invalid("the path", &shown))
}

fn target<'a>(method: Value<'a>, target: Value<'a>) -> Option<RequestTarget<'a>> {
    let method = value::text(method);
    if target.starts_with(b"/") {
        return Some(RequestTarget {
            method,
            path: value::path(target),
            host: None,
        });
    }
    if target.as_ref() == b"*" {
        return Some(RequestTarget {
            method,
            path: Cow::Borrowed("/"),
            host: None,
        });
    }
    let schemes: [&[u8]; 4] = [b"http://", b"https://", b"ws://", b"wss://"];
    let scheme = schemes.iter().find(|scheme| {
        let start = target.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })?;
    let (host, path) = match target {
        Cow::Borrowed(url) => {
            let (host, path) = split_host(&url[scheme.len()..]);
            (Cow::Borrowed(host), value::path(Cow::Borrowed(path)))
        }
        Cow::Owned(url) => {
            let (host, path) = split_host(&url[scheme.len()..]);
            let path = value::path(Cow::Owned(path.to_vec())).into_owned();
            (Cow::Owned(host.to_vec()), Cow::Owned(path))
        }
    };
    // `http://?x` has no path: a client asks for `/?x`.
    let path = if path.starts_with('/') {
        path
    } else {
        Cow::Owned(format!("/{path}"))
    };
    let is_named = !host.is_empty();
    Some(RequestTarget {
        method,
        path,
        host: is_named.then(|| client::without_default_port(host)),
    })
}

/// Host and path of `shop.example/list?q`.
fn split_host(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| matches!(byte, b'/' | b'?'));
    text.split_at(end.unwrap_or(text.len()))
}

pub(crate) fn is_method(text: &[u8]) -> bool {
    (3..=20).contains(&text.len())
        && text
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'))
}

/// A status code; 0 where there was no answer.
///
/// # Errors
/// When it is no number that a status can be.
pub(crate) fn status(text: &[u8]) -> Result<u16, LineError> {
    let text = text.strip_suffix(b".0").unwrap_or(text);
    if matches!(text, b"-" | b"-1" | b"0" | b"000") {
        return Ok(0);
    }
    value::whole(text)
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (100..=999).contains(status))
        .ok_or_else(|| LineError::invalid("the status", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Option<(String, Option<String>)> {
        let target = of_line(&Cow::Borrowed(line.as_bytes())).ok()?;
        let host = target.host.map(|host| value::text(host).into_owned());
        Some((format!("{} {}", target.method, target.path), host))
    }

    #[test]
    fn request_lines() {
        let found = |text: &str| Some((text.to_owned(), None));
        assert_eq!(check("GET /a?b HTTP/1.1"), found("GET /a?b"));
        assert_eq!(check("GET /long-and-cut"), found("GET /long-and-cut"));
        assert_eq!(check("OPTIONS * HTTP/1.1"), found("OPTIONS /"));
        let whole = check("GET https://shop.example:443?a HTTP/2.0");
        assert_eq!(
            whole,
            Some(("GET /?a".to_owned(), Some("shop.example".to_owned())))
        );
        for line in [
            "",
            "-",
            "GET",
            "GET  / HTTP/1.1",
            "get / HTTP/1.1",
            "GET / a b",
            "\u{16}\u{3}\u{1} x",
            "CONNECT a:443 HTTP/1.1",
        ] {
            assert_eq!(check(line), None, "{line}");
        }
    }

    #[test]
    fn blanks_in_a_target_are_encoded() {
        let found = check("GET /a b HTTP/1.1");
        assert_eq!(found, Some(("GET /a%20b".to_owned(), None)));
    }
}
