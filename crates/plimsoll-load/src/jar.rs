//! Cookies of one user (RFC 6265).
//!
//! Deviations: without a public suffix list, only a domain without a dot is refused; `HttpOnly` and `SameSite`
//! have no effect, because a user runs no scripts and follows only the plan.

mod cookie_date;

use std::borrow::Cow;

use cookie::Cookie as Parsed;

use crate::clock::SECOND_NS;

/// Most cookies per user; the oldest is evicted for a new one.
pub(crate) const COOKIES_MAX: usize = 180;

/// Longest cookie kept, name and value, bytes.
const COOKIE_LEN_MAX: usize = 4096;

/// Stored until the user leaves.
const SESSION: u64 = u64::MAX;

/// The destination of a request, as far as cookies need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CookieSite<'a> {
    /// Lower case.
    pub(crate) host: &'a str,
    /// Path and query.
    pub(crate) target: &'a [u8],
    pub(crate) secure: bool,
}

impl<'a> CookieSite<'a> {
    fn path(&self) -> &'a [u8] {
        let end = self.target.iter().position(|&byte| byte == b'?');
        &self.target[..end.unwrap_or(self.target.len())]
    }
}

#[derive(Clone, Debug)]
struct Cookie {
    name: Box<[u8]>,
    value: Box<[u8]>,
    domain: Box<str>,
    path: Box<[u8]>,
    host_only: bool,
    secure: bool,
    /// Run time, ns.
    expires: u64,
    /// Order in which cookies were first set.
    seq: u32,
}

/// The cookies of one user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar {
    /// Longer paths first, then older ones: the order in which they are sent.
    cookies: Vec<Cookie>,
    seq: u32,
}

impl Jar {
    /// Stores the value of one `Set-Cookie`. `unix_ns` is the Unix time of the run time `now`.
    pub(crate) fn store(&mut self, header: &[u8], site: CookieSite<'_>, now: u64, unix_ns: u64) {
        let text = HeaderText::of(header);
        let Ok(parsed) = Parsed::parse(text.as_str()) else {
            return;
        };
        if parsed.name().len() + parsed.value().len() > COOKIE_LEN_MAX || has_control(&parsed) {
            return;
        }
        let domain = parsed.domain().unwrap_or_default().to_ascii_lowercase();
        let host_only = domain.is_empty() || domain == site.host;
        if !host_only && (!domain.contains('.') || !belongs(site.host, &domain)) {
            return;
        }
        let path = match parsed.path() {
            Some(path) if path.starts_with('/') => text.bytes(path),
            _ => Cow::Borrowed(default_path(site.path())),
        };
        let cookie = Cookie {
            name: text.bytes(parsed.name()).into_owned().into(),
            value: text.bytes(parsed.value()).into_owned().into(),
            // A Domain attribute that names a registered host itself is valid for its subdomains.
            host_only: domain.is_empty() || is_address(site.host),
            domain: if domain.is_empty() {
                site.host.into()
            } else {
                domain.into()
            },
            path: path.into_owned().into(),
            secure: parsed.secure().unwrap_or(false),
            expires: expiry(header, now, unix_ns),
            seq: 0,
        };
        self.put(cookie, now);
    }

    fn put(&mut self, mut cookie: Cookie, now: u64) {
        let same = self.cookies.iter().position(|other| {
            other.name == cookie.name && other.domain == cookie.domain && other.path == cookie.path
        });
        self.seq += 1;
        cookie.seq = self.seq;
        if let Some(index) = same {
            if cookie.expires > now {
                cookie.seq = self.cookies[index].seq;
                self.cookies[index] = cookie;
            } else {
                self.cookies.remove(index);
            }
            return;
        }
        if cookie.expires <= now {
            return;
        }
        if self.cookies.len() >= COOKIES_MAX {
            self.cookies.retain(|other| other.expires > now);
        }
        if self.cookies.len() >= COOKIES_MAX {
            let oldest = (0..self.cookies.len()).min_by_key(|&index| self.cookies[index].seq);
            self.cookies
                .remove(oldest.expect("a full jar is not empty"));
        }
        let longer = |other: &Cookie| other.path.len() >= cookie.path.len();
        let place = self.cookies.partition_point(longer);
        self.cookies.insert(place, cookie);
    }

    /// Whether a cookie expired between a moment and `now`.
    pub(crate) fn has_expired(&self, after: u64, now: u64) -> bool {
        let mut expiries = self.cookies.iter().map(|cookie| cookie.expires);
        expiries.any(|expires| after < expires && expires <= now)
    }

    /// Appends the `Cookie` value of a request to `site`, as `name=value; name=value`. Returns whether there is any.
    pub(crate) fn write(&self, site: CookieSite<'_>, now: u64, out: &mut Vec<u8>) -> bool {
        let path = site.path();
        let mut any = false;
        for cookie in &self.cookies {
            let domain = if cookie.host_only {
                *cookie.domain == *site.host
            } else {
                belongs(site.host, &cookie.domain)
            };
            if !domain
                || cookie.expires <= now
                || (cookie.secure && !site.secure)
                || !path_matches(path, &cookie.path)
            {
                continue;
            }
            if any {
                out.extend_from_slice(b"; ");
            }
            any = true;
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
        any
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// The value of a cookie, for any domain and path.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        let named = |cookie: &&Cookie| *cookie.name == *name.as_bytes();
        self.cookies.iter().find(named).map(|cookie| &*cookie.value)
    }
}

/// A header as text, and the bytes that a part of it stands for: cookies are sent as they came, in any encoding.
struct HeaderText<'a> {
    text: Cow<'a, str>,
}

impl<'a> HeaderText<'a> {
    fn of(header: &'a [u8]) -> Self {
        let text = match std::str::from_utf8(header) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(header.iter().copied().map(char::from).collect()),
        };
        Self { text }
    }

    fn as_str(&self) -> &str {
        &self.text
    }

    fn bytes<'t>(&self, part: &'t str) -> Cow<'t, [u8]> {
        match self.text {
            Cow::Borrowed(_) => Cow::Borrowed(part.as_bytes()),
            // Each character stands for the byte of its number.
            Cow::Owned(_) => part.chars().filter_map(|c| u8::try_from(c).ok()).collect(),
        }
    }
}

fn has_control(parsed: &Parsed<'_>) -> bool {
    let mut bytes = parsed.name().bytes().chain(parsed.value().bytes());
    bytes.any(|byte| byte.is_ascii_control())
}

/// When a cookie expires: `Max-Age` before `Expires` (5.3).
fn expiry(header: &[u8], now: u64, unix_ns: u64) -> u64 {
    if let Some(seconds) = max_age(header) {
        return match seconds {
            0 => 0,
            seconds => now.saturating_add(seconds.saturating_mul(SECOND_NS)),
        };
    }
    let Some(moment) = expires(header) else {
        return SESSION;
    };
    let moment = u64::try_from(moment).unwrap_or(0);
    let left = moment.saturating_mul(SECOND_NS).saturating_sub(unix_ns);
    match left {
        0 => 0,
        left => now.saturating_add(left),
    }
}

/// Unix time of the last `Expires` that is a date, seconds. The parser of the rest of the header knows a few forms of
/// dates only.
fn expires(header: &[u8]) -> Option<i64> {
    attributes(header, b"expires")
        .filter_map(cookie_date::parse)
        .last()
}

/// Seconds of the last `Max-Age` that is a number; 0 for a negative one. The parser of the rest takes an empty one for the
/// end of time.
fn max_age(header: &[u8]) -> Option<u64> {
    let seconds = |value: &[u8]| {
        let digits = value.strip_prefix(b"-").unwrap_or(value);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let is_negative = digits.len() < value.len();
        let number = std::str::from_utf8(digits).ok()?.parse();
        Some(if is_negative {
            0
        } else {
            number.unwrap_or(u64::MAX)
        })
    };
    attributes(header, b"max-age").filter_map(seconds).last()
}

/// Values of the attributes of a name (5.2).
fn attributes<'h>(header: &'h [u8], name: &'h [u8]) -> impl Iterator<Item = &'h [u8]> {
    let attributes = header.split(|&byte| byte == b';').skip(1);
    attributes.filter_map(move |attribute| {
        let equals = memchr::memchr(b'=', attribute)?;
        let is_named = attribute[..equals].trim_ascii().eq_ignore_ascii_case(name);
        is_named.then(|| attribute[equals + 1..].trim_ascii())
    })
}

/// Whether a host equals a domain or is a subdomain of it (5.1.3).
fn belongs(host: &str, domain: &str) -> bool {
    host == domain
        || (host.len() > domain.len()
            && host.ends_with(domain)
            && host.as_bytes()[host.len() - domain.len() - 1] == b'.'
            && !is_address(host))
}

fn is_address(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_ok()
}

/// 5.1.4
fn default_path(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        None | Some(0) => b"/",
        Some(slash) => &path[..slash],
    }
}

/// 5.1.4
fn path_matches(path: &[u8], cookie: &[u8]) -> bool {
    path.starts_with(cookie)
        && (path.len() == cookie.len()
            || cookie.last() == Some(&b'/')
            || path[cookie.len()] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2021-06-09T10:18:14Z, the date of the RFC's examples, before which they expire.
    const UNIX_NS: u64 = 1_623_233_894 * SECOND_NS;

    fn site<'a>(host: &'a str, target: &'a str, secure: bool) -> CookieSite<'a> {
        CookieSite {
            host,
            target: target.as_bytes(),
            secure,
        }
    }

    fn sent(jar: &Jar, host: &str, target: &str, secure: bool, now: u64) -> String {
        let mut out = Vec::new();
        let any = jar.write(site(host, target, secure), now, &mut out);
        assert_eq!(any, !out.is_empty());
        String::from_utf8(out).unwrap()
    }

    fn jar(headers: &[&str]) -> Jar {
        let mut jar = Jar::default();
        let from = site("www.example.com", "/acme/login?x", true);
        for header in headers {
            jar.store(header.as_bytes(), from, 0, UNIX_NS);
        }
        jar
    }

    #[test]
    fn the_examples_of_the_rfc_hold() {
        // 3.1: a cookie without attributes is sent to its host only.
        let plain = jar(&["SID=31d4d96e407aad42; Path=/"]);
        assert_eq!(
            sent(&plain, "www.example.com", "/", false, 1),
            "SID=31d4d96e407aad42"
        );
        assert_eq!(sent(&plain, "example.com", "/", false, 1), "");
        // Path and Domain.
        let shared = jar(&["SID=31d4d96e407aad42; Path=/; Domain=example.com"]);
        assert_eq!(
            sent(&shared, "site.example.com", "/", false, 1),
            "SID=31d4d96e407aad42"
        );
        assert_eq!(sent(&shared, "badexample.com", "/", false, 1), "");
        // Two cookies, one Secure and HttpOnly.
        let two = jar(&[
            "SID=31d4d96e407aad42; Path=/; Secure; HttpOnly",
            "lang=en-US; Path=/; Domain=example.com",
        ]);
        assert_eq!(
            sent(&two, "www.example.com", "/", true, 1),
            "SID=31d4d96e407aad42; lang=en-US"
        );
        assert_eq!(sent(&two, "www.example.com", "/", false, 1), "lang=en-US");
        // Expiry, and removal by an expiry in the past.
        let kept = jar(&["lang=en-US; Path=/; Expires=Wed, 09 Jun 2021 10:18:24 GMT"]);
        assert_eq!(
            sent(&kept, "www.example.com", "/", false, 9 * SECOND_NS),
            "lang=en-US"
        );
        assert_eq!(
            sent(&kept, "www.example.com", "/", false, 10 * SECOND_NS),
            ""
        );
        let gone = jar(&[
            "lang=en-US; Path=/",
            "lang=; Path=/; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
        ]);
        assert!(gone.is_empty());
    }

    #[test]
    fn paths_match_by_their_parts() {
        let jar = jar(&[
            "a=1",
            "b=2; Path=/acme/",
            "c=3; Path=/",
            "d=4; Path=relative",
        ]);
        let check = |target, expected| {
            assert_eq!(
                sent(&jar, "www.example.com", target, false, 1),
                expected,
                "{target}"
            );
        };
        check("/acme", "a=1; d=4; c=3");
        check("/acme/x", "b=2; a=1; d=4; c=3");
        check("/acmeother", "c=3");
        check("/?/acme/", "c=3");
    }

    #[test]
    fn a_foreign_domain_is_refused() {
        let jar = jar(&[
            "a=1; Domain=other.com",
            "b=2; Domain=com",
            "c=3; Domain=.example.com",
        ]);
        assert_eq!(sent(&jar, "www.example.com", "/acme", false, 1), "c=3");
        let mut jar = Jar::default();
        let address = site("127.0.0.1", "/", false);
        jar.store(b"a=1; Domain=0.0.1", address, 0, 0);
        jar.store(b"b=2; Domain=127.0.0.1", address, 0, 0);
        assert_eq!(sent(&jar, "127.0.0.1", "/", false, 1), "b=2");
    }

    #[test]
    fn max_age_stands_before_expires_and_a_change_keeps_its_place() {
        let aged = jar(&["a=1; Max-Age=5; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Path=/"]);
        assert_eq!(
            sent(&aged, "www.example.com", "/", false, 4 * SECOND_NS),
            "a=1"
        );
        assert_eq!(
            sent(&aged, "www.example.com", "/", false, 5 * SECOND_NS),
            ""
        );
        let changed = jar(&["a=1", "b=2", "a=3"]);
        assert_eq!(
            sent(&changed, "www.example.com", "/acme/", false, 1),
            "a=3; b=2"
        );
        assert_eq!(changed.get("a"), Some(&b"3"[..]));
        let ended = jar(&["a=1", "a=; Max-Age=0"]);
        assert_eq!(ended.get("a"), None);
    }

    #[test]
    fn any_date_in_the_past_deletes_and_no_date_keeps() {
        let check = |date: &str, expected: &str| {
            let header = format!("a=; Path=/; Expires={date}");
            let jar = jar(&["a=1; Path=/", &header]);
            let sent = sent(&jar, "www.example.com", "/", false, 1);
            assert_eq!(sent, expected, "{date}");
        };
        check("Thu Jan 01 1970 00:00:00 GMT+0000 (UTC)", "");
        check("thu, 1 jan 1970 0:00:00", "");
        check("Thu, 01 Jan 1970 00:00:00 GMT; Expires=never", "");
        check("Sun, 31 Feb 1999 00:00:00 GMT", "a=");
        check(
            "Thu, 01 Jan 2099 00:00:00 GMT; expires=01 Jan 1970 00:00:00",
            "",
        );
        check("01 Jan 1970 00:00:00; Max-Age=5", "a=");
        check("01 Jan 1970 00:00:00; Max-Age=five", "");
        check("01 Jan 1970 00:00:00; Max-Age=", "");
        check("01 Jan 1970 00:00:00; Max-Age=99999999999999999999", "a=");
        check("01 Jan 2099 00:00:00; max-age=-1", "");
        check("01 Jan 2099 00:00:00; Max-Age=5; Max-Age=0", "");
    }

    #[test]
    fn a_value_is_sent_as_the_bytes_that_came() {
        let mut jar = Jar::default();
        let from = site("a.example", "/", false);
        jar.store(b"name=caf\xe9 au lait; Path=/", from, 0, UNIX_NS);
        jar.store("other=café; Path=/".as_bytes(), from, 0, UNIX_NS);
        let mut out = Vec::new();
        jar.write(from, 1, &mut out);
        assert_eq!(
            out,
            [&b"name=caf\xe9 au lait; other="[..], "café".as_bytes()].concat()
        );
        assert_eq!(jar.get("name"), Some(&b"caf\xe9 au lait"[..]));
    }

    #[test]
    fn a_jar_has_a_limit() {
        let mut jar = Jar::default();
        for number in 0..1000 {
            let header = format!("c{number}=x");
            jar.store(header.as_bytes(), site("a.example", "/", false), 0, 0);
        }
        assert_eq!(jar.cookies.len(), COOKIES_MAX);
        assert_eq!(jar.get("c999"), Some(&b"x"[..]));
        assert_eq!(jar.get("c0"), None);
        jar.store(
            format!("big={}", "x".repeat(5000)).as_bytes(),
            site("a.example", "/", false),
            0,
            0,
        );
        assert_eq!(jar.get("big"), None);
    }
}
