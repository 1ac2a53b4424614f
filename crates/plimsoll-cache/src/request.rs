//! Properties of a request that a cache needs, found in one pass over its head.

use httparse::Header;

use crate::directives::RequestDirectives;
use crate::fields::{is, lines};
use crate::policy::CachePolicy;
use crate::steering::{is_plain, merge, steers_unvalidated};

/// Methods as a cache distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: answered from the response to a GET.
    Head,
    /// `POST`: its response may serve a GET that follows, and it invalidates.
    Post,
    /// Another safe method.
    Safe,
    /// An unsafe or unknown method.
    Unsafe,
}

impl Method {
    /// Parses a method.
    pub fn of(method: &str) -> Self {
        match method {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "OPTIONS" | "TRACE" | "PROPFIND" | "REPORT" | "SEARCH" | "QUERY" => Self::Safe,
            _ => Self::Unsafe,
        }
    }

    /// Whether a successful response invalidates stored ones (RFC 9111, 4.4).
    pub fn invalidates(self) -> bool {
        matches!(self, Self::Post | Self::Unsafe)
    }
}

/// Fetch class of a request on a miss. Requests of two classes never wait for the same fetch, and an uncacheable
/// response is remembered for its class alone: so nobody can make the cache forget pages for others by odd requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Anonymous: neither `Authorization` nor a significant cookie.
    Plain,
    /// Identified: with `Authorization` or a significant cookie.
    Named,
    /// Alone: it is neither answered from the cache, nor waits, nor is waited for.
    Alone(Passing),
}

/// Why a request bypasses the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passing {
    /// Its method is neither GET nor HEAD.
    Method,
    /// It has a body, which is not part of the key.
    Body,
    /// It has a field that steers some origins elsewhere, or one whose name some servers merge with another (`X_Foo`):
    /// neither is part of the key.
    Steering,
    /// A condition that only the origin can evaluate: `If-Match`, `If-Unmodified-Since`.
    Condition,
    /// A cookie that makes the route bypass the cache.
    Cookie,
}

impl Passing {
    /// Its word in `Cache-Status`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Body => "body",
            Self::Steering => "steering-field",
            Self::Condition => "condition",
            Self::Cookie => "bypass-cookie",
        }
    }

    /// Explanation.
    pub fn text(self) -> &'static str {
        match self {
            Self::Method => "its method is neither GET nor HEAD",
            Self::Body => "it has a body, which is not part of the cache key",
            Self::Steering => "it has a header that makes some origins send a different response",
            Self::Condition => {
                "it has If-Match or If-Unmodified-Since, which only the origin can evaluate"
            }
            Self::Cookie => "it has a cookie that makes the route bypass the cache",
        }
    }
}

/// A request as the cache evaluates it.
#[derive(Clone, Copy, Debug)]
pub struct CacheRequest<'h, 'b> {
    /// All its fields.
    pub headers: &'h [Header<'b>],
    /// Its method.
    pub method: Method,
    /// Its fetch class.
    pub class: Class,
    /// Whether it has `Authorization`.
    pub authorized: bool,
    /// Whether it has a condition that a stored response can answer: `If-None-Match` or `If-Modified-Since`.
    pub conditional: bool,
    /// The requested range.
    pub range: Option<&'b [u8]>,
    /// Whether it has `If-Range`.
    pub if_range: bool,
    /// Its directives; `None` with neither `Cache-Control` nor `Pragma`.
    pub cache_control: Option<RequestDirectives>,
}

impl<'h, 'b> CacheRequest<'h, 'b> {
    /// Parses a request without allocation.
    pub fn read(
        method: &str,
        has_body: bool,
        headers: &'h [Header<'b>],
        policy: &CachePolicy,
    ) -> Self {
        let method = Method::of(method);
        let mut request = Self {
            headers,
            method,
            class: Class::Plain,
            authorized: false,
            conditional: false,
            range: None,
            if_range: false,
            cache_control: None,
        };
        let mut has_cache_control = false;
        let mut passing = None;
        for header in headers {
            let name = header.name;
            match name.len() {
                5 if is(name, "range") => request.range = Some(header.value.trim_ascii()),
                6 if is(name, "pragma") => has_cache_control = true,
                6 if is(name, "cookie") => {
                    request.cookie(header.value, policy, &mut passing);
                }
                8 if is(name, "if-range") => request.if_range = true,
                8 if is(name, "if-match") => passing = Some(Passing::Condition),
                13 if is(name, "authorization") => {
                    request.authorized = true;
                    request.class = Class::Named;
                }
                13 if is(name, "cache-control") => has_cache_control = true,
                13 if is(name, "if-none-match") => request.conditional = true,
                17 if is(name, "if-modified-since") => request.conditional = true,
                19 if is(name, "if-unmodified-since") => passing = Some(Passing::Condition),
                _ => {}
            }
            if is_unkeyed(name, policy) {
                passing = Some(Passing::Steering);
            }
        }
        if has_body {
            passing = Some(Passing::Body);
        }
        if !matches!(method, Method::Get | Method::Head) {
            passing = Some(Passing::Method);
        }
        if has_cache_control {
            request.cache_control = Some(RequestDirectives::of(headers));
        }
        if request.method != Method::Get {
            request.range = None;
        }
        if let Some(passing) = passing {
            request.class = Class::Alone(passing);
        }
        request
    }

    /// Whether a stored response can answer it whole, by its times alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.class == Class::Plain
            && !self.conditional
            && self.range.is_none()
            && self.cache_control.is_none()
    }

    /// Whether a field of this request is removed from a fetch for the cache: conditions and ranges are answered from
    /// the complete stored response, and the edge adds conditions of its own.
    pub fn stays_behind(name: &str) -> bool {
        match name.len() {
            5 => is(name, "range"),
            8 => is(name, "if-range"),
            13 => is(name, "if-none-match"),
            17 => is(name, "if-modified-since"),
            _ => false,
        }
    }

    fn cookie(&mut self, value: &[u8], policy: &CachePolicy, passing: &mut Option<Passing>) {
        for name in cookie_names(value) {
            let is_in = |names: &[String]| names.iter().any(|other| other.as_bytes() == name);
            if is_in(&policy.cookies_bypass) {
                *passing = Some(Passing::Cookie);
            } else if !is_in(&policy.cookies_ignored) && self.class == Class::Plain {
                self.class = Class::Named;
            }
        }
    }

    /// All lines of a field.
    pub fn lines(&self, name: &'h str) -> impl Iterator<Item = &'b [u8]> + use<'h, 'b> {
        lines(self.headers, name)
    }
}

/// The names in a line of `Cookie`; empty for a cookie without a name.
fn cookie_names(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b';')
        .map(<[u8]>::trim_ascii)
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split(|&byte| byte == b'=').next().unwrap_or_default())
        .map(<[u8]>::trim_ascii_end)
}

/// Whether a field may change the response and is in no key: it steers some origins, or is merged with one that does.
#[inline]
fn is_unkeyed(name: &str, policy: &CachePolicy) -> bool {
    (!is_plain(name) || steers_unvalidated(name))
        && !policy.fields_keyed.iter().any(|keyed| merge(name, keyed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::headers;

    #[track_caller]
    fn check(method: &str, lines: &[(&str, &str)], expected: Class) {
        let policy = CachePolicy {
            cookies_ignored: vec!["_ga".into(), "theme".into()],
            cookies_bypass: vec!["preview".into()],
            ..CachePolicy::default()
        };
        let headers = headers(lines);
        let request = CacheRequest::read(method, false, &headers, &policy);
        assert_eq!(request.class, expected, "{method} {lines:?}");
    }

    #[test]
    fn requests_are_of_one_class() {
        check("GET", &[("Accept", "*/*")], Class::Plain);
        check("HEAD", &[("cookie", "_ga=1; theme=dark")], Class::Plain);
        check("GET", &[("Cookie", "_ga=1; session=2")], Class::Named);
        check("GET", &[("Cookie", "_ga=1"), ("Cookie", "a")], Class::Named);
        check("GET", &[("Cookie", "=1")], Class::Named);
        check("GET", &[("Cookie", " ; ")], Class::Plain);
        check("GET", &[("Authorization", "x")], Class::Named);
        let alone = |passing| Class::Alone(passing);
        check("get", &[], alone(Passing::Method));
        check("POST", &[], alone(Passing::Method));
        check(
            "GET",
            &[("Cookie", "a=1; preview=1")],
            alone(Passing::Cookie),
        );
        check("GET", &[("If-Match", "\"a\"")], alone(Passing::Condition));
        check(
            "GET",
            &[("X-Original-URL", "/admin")],
            alone(Passing::Steering),
        );
        check(
            "GET",
            &[("x_http_method_override", "DELETE")],
            alone(Passing::Steering),
        );
    }

    #[test]
    fn a_body_is_no_part_of_a_key() {
        let request = CacheRequest::read("GET", true, &[], &CachePolicy::default());
        assert_eq!(request.class, Class::Alone(Passing::Body));
    }

    #[test]
    fn methods_that_are_not_known_may_change_anything() {
        for (method, invalidates) in [
            ("GET", false),
            ("HEAD", false),
            ("OPTIONS", false),
            ("POST", true),
            ("PUT", true),
            ("DELETE", true),
            ("M-SEARCH", true),
            ("get", true),
        ] {
            assert_eq!(Method::of(method).invalidates(), invalidates, "{method}");
        }
    }
}
