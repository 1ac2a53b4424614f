//! What of a request matters to a cache, found in one walk over its head.

use httparse::Header;

use crate::directives::RequestDirectives;
use crate::fields::{is, lines};
use crate::policy::CachePolicy;
use crate::steering::{is_plain, merge, steers_unvalidated};

/// What a method means to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: answered from the copy of a GET.
    Head,
    /// `POST`: its answer may be a copy for a GET that follows, and it makes copies invalid.
    Post,
    /// Another one that changes nothing.
    Safe,
    /// One that may change what was copied, or that is not known.
    Unsafe,
}

impl Method {
    /// Of a method as it is written.
    pub fn of(method: &str) -> Self {
        match method {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "OPTIONS" | "TRACE" | "PROPFIND" | "REPORT" | "SEARCH" | "QUERY" => Self::Safe,
            _ => Self::Unsafe,
        }
    }

    /// Whether a successful answer makes copies invalid (RFC 9111, 4.4).
    pub fn invalidates(self) -> bool {
        matches!(self, Self::Post | Self::Unsafe)
    }
}

/// In whose company a request is fetched when there is no copy. Requests of two classes never wait for one fetch, and
/// that one's answer could not be stored is remembered for its class alone: so nobody can make the cache forget pages
/// for others by asking for them in an odd way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Of nobody in particular: neither `Authorization` nor a cookie that counts.
    Plain,
    /// Of somebody: with `Authorization` or a cookie that counts.
    Named,
    /// By itself: it is neither answered from the cache, nor waits, nor is waited for.
    Alone(Passing),
}

/// Why a request passes the cache by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passing {
    /// Its method is neither GET nor HEAD.
    Method,
    /// It has a body, which no copy is keyed by.
    Body,
    /// It has a field that steers some origins elsewhere, or one with a name that some servers merge with another's
    /// (`X_Foo`): no copy is keyed by it.
    Steering,
    /// A condition that only the origin can judge: `If-Match`, `If-Unmodified-Since`.
    Condition,
    /// A cookie with which the route passes the cache by.
    Cookie,
}

impl Passing {
    /// A word for `Cache-Status`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Body => "body",
            Self::Steering => "steering-field",
            Self::Condition => "condition",
            Self::Cookie => "bypass-cookie",
        }
    }

    /// What it is, where a decision is explained.
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

/// A request, as a cache sees it.
#[derive(Clone, Copy, Debug)]
pub struct CacheRequest<'h, 'b> {
    /// All its fields.
    pub headers: &'h [Header<'b>],
    /// What its method means.
    pub method: Method,
    /// In whose company it is fetched.
    pub class: Class,
    /// Whether it proves who asks.
    pub authorized: bool,
    /// Whether it is conditional in a way that a copy can answer: `If-None-Match` or `If-Modified-Since`.
    pub conditional: bool,
    /// The range that it asks for.
    pub range: Option<&'b [u8]>,
    /// Whether it says under which condition a range is wanted.
    pub if_range: bool,
    /// What it wishes; `None` when neither `Cache-Control` nor `Pragma` is there.
    pub cache_control: Option<RequestDirectives>,
}

impl<'h, 'b> CacheRequest<'h, 'b> {
    /// Reads a request. Nothing is allocated.
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

    /// Whether a copy can be answered whole and at once, without looking at anything but its times.
    pub(crate) fn is_plain(&self) -> bool {
        self.class == Class::Plain
            && !self.conditional
            && self.range.is_none()
            && self.cache_control.is_none()
    }

    /// Whether a field of this request stays behind when a copy is fetched: conditions and ranges are answered from the
    /// copy, whole, and the edge adds conditions of its own.
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

/// The names in a line of `Cookie`; that of a cookie without one is empty.
fn cookie_names(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b';')
        .map(<[u8]>::trim_ascii)
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split(|&byte| byte == b'=').next().unwrap_or_default())
        .map(<[u8]>::trim_ascii_end)
}

/// Whether a field may change the answer and is in no key: it steers some origins, or they may take it for another.
#[inline]
fn is_unkeyed(name: &str, policy: &CachePolicy) -> bool {
    (!is_plain(name) || steers_unvalidated(name))
        && !policy.fields_keyed.iter().any(|keyed| merge(name, keyed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, lines: &[(&str, &str)], expected: Class) {
        let policy = CachePolicy {
            cookies_ignored: vec!["_ga".into(), "theme".into()],
            cookies_bypass: vec!["preview".into()],
            ..CachePolicy::default()
        };
        let headers: Vec<_> = lines
            .iter()
            .map(|(name, value)| Header {
                name,
                value: value.as_bytes(),
            })
            .collect();
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
