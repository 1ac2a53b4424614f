//! URLs as people write them: their scheme may be left out, and they may contain a login.

use percent_encoding::percent_decode_str;
use url::Url;

use super::Marks;

/// A URL in the parts that a plan treats differently. Each may have marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UrlParts {
    /// `https://host:port`, or an expression that has it.
    pub(crate) origin: String,
    /// Path and query, with a slash first.
    pub(crate) path: String,
    /// `user:password`, decoded.
    pub(crate) credentials: Option<String>,
}

/// Why a URL is no part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlError {
    /// A protocol other than HTTP.
    Protocol(String),
    /// No host, or one that is no name.
    Host(String),
}

/// The parts of a URL. `path_as_is` keeps the segments `.` and `..`.
pub(crate) fn parts(
    text: &str,
    default_scheme: Option<&str>,
    path_as_is: bool,
) -> Result<UrlParts, UrlError> {
    let text = text.trim();
    let text = text.split('#').next().unwrap_or_default();
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme.to_ascii_lowercase()), rest),
        // A value from outside may have the scheme itself.
        _ if Marks::are_in(&text.chars().take(1).collect::<String>()) => (None, text),
        _ => (Some(guessed(text, default_scheme)), text),
    };
    if let Some(other) = scheme
        .as_deref()
        .filter(|scheme| !matches!(*scheme, "http" | "https"))
    {
        return Err(UrlError::Protocol(other.to_owned()));
    }
    let rest = rest.trim_start_matches('/');
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (credentials, host) = match authority.rsplit_once('@') {
        Some((login, host)) => (Some(decoded(login)), host),
        None => (None, authority),
    };
    let origin = match &scheme {
        Some(scheme) => format!("{scheme}://{host}"),
        None => host.to_owned(),
    };
    let origin = if Marks::are_in(&origin) {
        origin
    } else {
        match Url::parse(&origin) {
            Ok(url) if url.host_str().is_some_and(|host| !host.is_empty()) => {
                url.origin().ascii_serialization()
            }
            _ => return Err(UrlError::Host(host.to_owned())),
        }
    };
    Ok(UrlParts {
        origin,
        path: sendable(path, path_as_is),
        credentials,
    })
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// The protocol of a URL without one: by the name of its host, else HTTP.
fn guessed(text: &str, default_scheme: Option<&str>) -> String {
    if let Some(scheme) = default_scheme {
        return scheme.trim_end_matches("://").to_ascii_lowercase();
    }
    let by_name = ["ftp", "dict", "ldap", "imap", "smtp", "pop3"]
        .into_iter()
        .find(|name| {
            text.to_ascii_lowercase()
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('.'))
        });
    by_name.unwrap_or("http").to_owned()
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Path and query with a slash first, without what no request line can have.
fn sendable(path: &str, path_as_is: bool) -> String {
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    let path = if path.is_empty() { "/" } else { path };
    let mut out = if path_as_is {
        path.to_owned()
    } else {
        without_dots(path)
    };
    if let Some(query) = query {
        out.push('?');
        out.push_str(query);
    }
    encoded(&out)
}

/// Blanks and control characters are percent-encoded; the rest is sent as it is.
pub(crate) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;

    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_whitespace() || c.is_control()) || c == '#' {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A path without the segments `.` and `..` (RFC 3986, 5.2.4).
fn without_dots(path: &str) -> String {
    if !path.contains("/.") {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            other => {
                kept.push(other);
                continue;
            }
        }
        if is_last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_curl_reads_them() {
        let check = |text: &str, origin: &str, path: &str, login: Option<&str>| {
            let parts = parts(text, None, false).unwrap();
            assert_eq!(
                (
                    parts.origin.as_str(),
                    parts.path.as_str(),
                    parts.credentials.as_deref()
                ),
                (origin, path, login),
                "{text}"
            );
        };
        check("example.com", "http://example.com", "/", None);
        check(
            "HTTPS://Example.com:443/a/../b?c=d#e",
            "https://example.com",
            "/b?c=d",
            None,
        );
        check("localhost:8080?a=1", "http://localhost:8080", "/?a=1", None);
        check("http://ada:p%40ss@a/x", "http://a", "/x", Some("ada:p@ss"));
        check("http://a/b c|d", "http://a", "/b%20c|d", None);
        check("http://a/b/./c/..", "http://a", "/b/", None);
        check("http://[::1]:81/", "http://[::1]:81", "/", None);
        assert_eq!(parts("http://a/../b", None, true).unwrap().path, "/../b");
        assert_eq!(
            parts("a/", Some("https"), false).unwrap().origin,
            "https://a"
        );
    }

    #[test]
    fn values_from_outside_stay() {
        let mut marks = Marks::default();
        let base = marks.mark("env('BASE')");
        let read = parts(&format!("{base}/a"), None, false).unwrap();
        assert_eq!(read.origin, base.to_string());
        let read = parts(&format!("http://{base}:80/{base}"), None, false).unwrap();
        assert_eq!(read.origin, format!("http://{base}:80"));
        assert_eq!(read.path, format!("/{base}"));
    }

    #[test]
    fn what_is_no_http_is_named() {
        let protocol = |text| parts(text, None, false).unwrap_err();
        assert_eq!(protocol("ftp://a/"), UrlError::Protocol("ftp".to_owned()));
        assert_eq!(
            protocol("ftp.a.org/x"),
            UrlError::Protocol("ftp".to_owned())
        );
        assert_eq!(
            protocol("http://<host>/"),
            UrlError::Host("<host>".to_owned())
        );
        assert_eq!(protocol("http:///"), UrlError::Host(String::new()));
    }
}
