//! Why a response was not stored.

use plimsoll_cache::{Moment, UncacheableReason};
use plimsoll_wire::head::{Header, headers};

/// Longest header line that is remembered, bytes.
const LINE_LEN_MAX: usize = 200;

/// The rule that rejected a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreRejection {
    /// A rule of the standard, or of the route.
    Refused(UncacheableReason),
    /// Its announced length exceeds the limit of one response.
    TooLarge,
    /// It has more tags than a purge supports.
    TooManyTags,
    /// The request's values of the `Vary` fields are too long.
    VaryTooLarge,
}

impl StoreRejection {
    /// The detail in `Cache-Status`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.word(),
            Self::TooLarge => "too-large",
            Self::TooManyTags => "too-many-tags",
            Self::VaryTooLarge => "vary",
        }
    }

    /// The explanation for people.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Refused(refusal) => refusal.to_string(),
            Self::TooLarge => "the response is longer than an eighth of the cache".to_owned(),
            Self::TooManyTags => "the response has more than 1024 tags".to_owned(),
            Self::VaryTooLarge => "the request's values of the Vary fields are too long".to_owned(),
        }
    }

    /// Whether the next request of this kind is expected to be rejected too.
    pub(crate) fn is_remembered(self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.is_remembered(),
            _ => true,
        }
    }

    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Refused(refusal) => refusal.fields(),
            Self::TooLarge => &["content-length"],
            Self::TooManyTags => &["cache-tag", "surrogate-key", "cache-groups"],
            Self::VaryTooLarge => &["vary"],
        }
    }

    /// The response header that decided; of a cookie only its name.
    pub(crate) fn header(self, headers: &[Header<'_>]) -> Box<str> {
        let lines: Vec<_> = headers
            .iter()
            .map(|header| (header.name.as_bytes(), header.value))
            .collect();
        line(&lines, self.fields()).unwrap_or_default().into()
    }
}

/// A rejected response.
#[derive(Clone, Debug)]
pub(crate) struct RejectedResponse {
    pub(crate) hash: u64,
    pub(crate) rule: StoreRejection,
    pub(crate) header: Box<str>,
    pub(crate) at: Moment,
}

/// The header in a stored head that comes first in a list of names.
pub(crate) fn line_of_head(head: &[u8], names: &[&str]) -> Option<String> {
    let lines: Vec<_> = headers(head).collect();
    line(&lines, names)
}

fn line(lines: &[(&[u8], &[u8])], names: &[&str]) -> Option<String> {
    let &(name, value) = names.iter().find_map(|wanted| {
        let mut lines = lines.iter();
        lines.find(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()))
    })?;
    let is_cookie = name.eq_ignore_ascii_case(b"set-cookie");
    let end = match value.iter().position(|&byte| is_cookie && byte == b'=') {
        Some(equals) => equals,
        None => value.len().min(LINE_LEN_MAX),
    };
    let cut = if end < value.len() { "…" } else { "" };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(format!("{}: {}{cut}", text(name), text(&value[..end])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: StoreRejection, lines: &[(&str, &str)], expected: &str) {
        let headers: Vec<_> = lines
            .iter()
            .map(|(name, value)| Header {
                name,
                value: value.as_bytes(),
            })
            .collect();
        assert_eq!(&*rule.header(&headers), expected, "{rule:?}");
    }

    #[test]
    fn the_header_that_says_so_is_named() {
        let control = ("Cache-Control", "private, max-age=60");
        let private = StoreRejection::Refused(UncacheableReason::Private);
        check(
            private,
            &[("Date", "now"), control],
            "Cache-Control: private, max-age=60",
        );
        let targeted = ("CDN-Cache-Control", "private");
        check(private, &[control, targeted], "CDN-Cache-Control: private");
        // The value of a cookie is private.
        let cookie = ("Set-Cookie", "session=secret; Path=/");
        check(
            StoreRejection::Refused(UncacheableReason::SetCookie),
            &[cookie],
            "Set-Cookie: session…",
        );
        check(
            StoreRejection::Refused(UncacheableReason::NoLifetime),
            &[control],
            "",
        );
        let long = "x".repeat(1000);
        let short = format!("Vary: {}…", "x".repeat(200));
        check(StoreRejection::VaryTooLarge, &[("Vary", &long)], &short);
    }

    #[test]
    fn a_head_is_read_again() {
        let head = b"HTTP/1.1 200 OK\r\nDate: now\r\nexpires: later\r\n";
        assert_eq!(
            line_of_head(head, &["expires"]).as_deref(),
            Some("expires: later")
        );
        assert_eq!(line_of_head(head, &["etag"]), None);
    }
}
