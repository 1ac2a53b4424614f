//! `Cache-Status` (RFC 9211): what the cache did with a request.

use crate::response::digits;

/// Why a request was forwarded to the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The route does not use the cache, or the request bypasses it.
    Bypass,
    /// Stored responses do not answer its method.
    Method,
    /// Nothing was stored under the key.
    UriMiss,
    /// Variants were stored, but none that it selects.
    VaryMiss,
    /// A variant was stored, but the request requires a newer one or is authenticated.
    Request,
    /// A variant was stored, but stale.
    Stale,
}

impl Forward {
    fn word(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::Method => "method",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss => "vary-miss",
            Self::Request => "request",
            Self::Stale => "stale",
        }
    }
}

impl From<crate::reuse::Reason> for Forward {
    fn from(reason: crate::reuse::Reason) -> Self {
        use crate::request::Passing;
        use crate::reuse::Reason;
        match reason {
            Reason::Stale | Reason::Purged | Reason::NoCache => Self::Stale,
            Reason::Passing(Passing::Method) => Self::Method,
            Reason::Passing(Passing::Cookie) => Self::Bypass,
            Reason::RequestDirective | Reason::Authorized | Reason::Named | Reason::Passing(_) => {
                Self::Request
            }
        }
    }
}

/// Parameters of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// Why the request was forwarded; `None` for a hit.
    pub forward: Option<Forward>,
    /// Status of the origin, where the client receives another.
    pub forward_status: Option<u16>,
    /// Remaining freshness, seconds; negative when it is stale.
    pub ttl: Option<i64>,
    /// Whether the response was stored.
    pub stored: bool,
    /// Whether the request waited for the fetch of another.
    pub collapsed: bool,
    /// Additional detail, a token of RFC 9110.
    pub detail: Option<&'static str>,
}

impl CacheStatus {
    /// Writes the line. It follows those of caches nearer to the origin.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
        put("Cache-Status: plimsoll; ");
        match self.forward {
            None => put("hit"),
            Some(forward) => {
                put("fwd=");
                put(forward.word());
            }
        }
        if let Some(status) = self.forward_status {
            put("; fwd-status=");
            digits(out, status.into());
        }
        if let Some(ttl) = self.ttl {
            out.extend_from_slice(b"; ttl=");
            if ttl < 0 {
                out.push(b'-');
            }
            digits(out, ttl.unsigned_abs());
        }
        let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
        if self.stored {
            put("; stored");
        }
        if self.collapsed {
            put("; collapsed");
        }
        if let Some(detail) = self.detail {
            put("; detail=");
            put(detail);
        }
        put("\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: CacheStatus, expected: &str) {
        let mut out = Vec::new();
        status.write(&mut out);
        let line = String::from_utf8(out).unwrap();
        assert_eq!(line, format!("Cache-Status: plimsoll; {expected}\r\n"));
        // It is a structured-field list (RFC 9211, 2), verified by another parser.
        let value = line.trim_end().trim_start_matches("Cache-Status: ");
        let list: sfv::List = sfv::Parser::new(value).parse().expect("a valid list");
        assert_eq!(list.len(), 1);
    }

    #[test]
    fn lines_are_those_of_the_standard() {
        let hit = CacheStatus::default();
        check(hit, "hit");
        check(
            CacheStatus {
                ttl: Some(376),
                ..hit
            },
            "hit; ttl=376",
        );
        let stale = CacheStatus {
            ttl: Some(-5),
            detail: Some("stale-while-revalidate"),
            ..hit
        };
        check(stale, "hit; ttl=-5; detail=stale-while-revalidate");
        let miss = CacheStatus {
            forward: Some(Forward::UriMiss),
            stored: true,
            collapsed: true,
            ..hit
        };
        check(miss, "fwd=uri-miss; stored; collapsed");
        let renewed = CacheStatus {
            forward: Some(Forward::Stale),
            forward_status: Some(304),
            ..hit
        };
        check(renewed, "fwd=stale; fwd-status=304");
        let bypass = CacheStatus {
            forward: Some(Forward::Bypass),
            ..hit
        };
        check(bypass, "fwd=bypass");
    }
}
