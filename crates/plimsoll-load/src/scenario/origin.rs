//! The origins of a plan, and URLs relative to them. Nothing is sent to any other origin.

use plimsoll_model::plan::{Plan, Target};
use url::Url;

/// One origin.
#[derive(Clone, Debug)]
pub(crate) struct RequestOrigin {
    pub(crate) tls: bool,
    /// Name without port and brackets, lower case: the cookie domain.
    pub(crate) host: String,
    /// `Host: name\r\n`.
    pub(crate) host_line: Box<[u8]>,
    /// Its root URL.
    root: Url,
    /// Root URL by the name in the plan's `Host` header, when that differs.
    named: Option<Url>,
}

impl RequestOrigin {
    /// `named` is the `Host` header that the plan sets for it.
    fn new(target: &Target, named: Option<&str>) -> Option<Self> {
        let scheme = if target.tls { "https" } else { "http" };
        let host = if target.host.contains(':') && !target.host.starts_with('[') {
            format!("[{}]", target.host)
        } else {
            target.host.clone()
        };
        let root = Url::parse(&format!("{scheme}://{host}:{}/", target.port)).ok()?;
        let default = &root[url::Position::BeforeHost..url::Position::AfterPort];
        let host_line = format!("Host: {}\r\n", named.unwrap_or(default));
        let named = named
            .and_then(|named| Url::parse(&format!("{scheme}://{named}/")).ok())
            .filter(|named| named.origin() != root.origin());
        // A site sets cookies for the name in its Host header.
        let called = named.as_ref().unwrap_or(&root);
        let host = called.host_str().unwrap_or_default();
        Some(Self {
            tls: target.tls,
            host: host.trim_matches(['[', ']']).to_ascii_lowercase(),
            host_line: host_line.into_bytes().into(),
            root,
            named,
        })
    }

    fn is(&self, url: &Url) -> bool {
        let origin = url.origin();
        let is_named = |named: &Url| named.origin() == origin;
        self.root.origin() == origin || self.named.as_ref().is_some_and(is_named)
    }
}

/// All origins of a plan; the first is its target.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    list: Vec<RequestOrigin>,
}

impl Origins {
    /// `None` when a host cannot be part of a URL.
    pub(crate) fn new(plan: &Plan, others: &[Target]) -> Option<Self> {
        let headers = &plan.request.headers;
        let named = headers
            .iter()
            .rfind(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, value)| value.as_str());
        let mut list = vec![RequestOrigin::new(&plan.target, named)?];
        for other in others {
            list.push(RequestOrigin::new(other, None)?);
        }
        Some(Self { list })
    }

    pub(crate) fn get(&self, index: u16) -> &RequestOrigin {
        &self.list[usize::from(index)]
    }

    /// Origin and path with query of `location`, relative to `path` on the origin `from`.
    pub(crate) fn resolve(
        &self,
        from: u16,
        path: &[u8],
        location: &[u8],
    ) -> Option<(u16, Vec<u8>)> {
        let base = self
            .get(from)
            .root
            .join(std::str::from_utf8(path).ok()?)
            .ok()?;
        let url = base.join(String::from_utf8_lossy(location).trim()).ok()?;
        let index = if self.get(from).is(&url) {
            from
        } else {
            let index = self.list.iter().position(|origin| origin.is(&url))?;
            u16::try_from(index).ok()?
        };
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        Some((index, target.as_bytes().to_vec()))
    }

    /// The origin that `url` starts with, and the rest of it from the path on.
    pub(crate) fn strip<'a>(&self, url: &'a str) -> Option<(u16, &'a str)> {
        let after = url.find("://")? + 3;
        let end = url[after..].find(['/', '?', '#'])? + after;
        let root = Url::parse(&url[..end]).ok()?;
        let index = self.list.iter().position(|origin| origin.is(&root))?;
        Some((u16::try_from(index).ok()?, &url[end..]))
    }
}

/// Makes a path with query that was built from texts valid in a request line: characters that browsers do not send raw are
/// percent-encoded, a fragment is removed, and it starts with a slash.
pub(crate) fn tidy(target: &mut Vec<u8>) {
    let query = memchr::memchr(b'?', target).unwrap_or(target.len());
    let is_fit = |at: usize, byte: u8| {
        let barred: &[u8] = if at < query { b"\"<>#\\`{}" } else { b"\"<>#" };
        byte.is_ascii_graphic() && !barred.contains(&byte)
    };
    let all_fit = || {
        target
            .iter()
            .enumerate()
            .all(|(at, &byte)| is_fit(at, byte))
    };
    if target.first() == Some(&b'/') && all_fit() {
        return;
    }
    let mut fit = Vec::with_capacity(target.len() + 16);
    if target.first() != Some(&b'/') {
        fit.push(b'/');
    }
    let sent = target.iter().take_while(|&&byte| byte != b'#');
    for (at, &byte) in sent.enumerate() {
        if is_fit(at, byte) {
            fit.push(byte);
        } else {
            fit.push(b'%');
            fit.push(hex(byte >> 4));
            fit.push(hex(byte & 15));
        }
    }
    *target = fit;
}

fn hex(digit: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(digit)]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn target(url: &str) -> Target {
        let url = Url::parse(url).unwrap();
        Target {
            url: url.to_string(),
            tls: url.scheme() == "https",
            host: url.host_str().unwrap().to_owned(),
            port: url.port_or_known_default().unwrap(),
            addresses: vec!["127.0.0.1:1".parse().unwrap()],
            unix_socket: None,
        }
    }

    fn origins() -> Origins {
        let list = ["http://shop.example/", "https://pay.example:8443/"];
        let named = [Some("www.shop.example"), None];
        let list = list
            .iter()
            .zip(named)
            .map(|(url, named)| RequestOrigin::new(&target(url), named));
        Origins {
            list: list.map(Option::unwrap).collect(),
        }
    }

    #[test]
    fn a_url_is_resolved_among_the_origins_of_the_plan_only() {
        let check = |location: &str| {
            let found = origins().resolve(0, b"/a/b?c", location.as_bytes());
            found.map(|(index, target)| (index, String::from_utf8(target).unwrap()))
        };
        let at = |index: u16, target: &str| Some((index, target.to_owned()));
        assert_eq!(check("d?e=f#g"), at(0, "/a/d?e=f"));
        assert_eq!(check("/home"), at(0, "/home"));
        assert_eq!(check("?page=2"), at(0, "/a/b?page=2"));
        assert_eq!(check("http://www.shop.example/x"), at(0, "/x"));
        assert_eq!(check("http://shop.example:80"), at(0, "/"));
        assert_eq!(check("https://pay.example:8443/x"), at(1, "/x"));
        assert_eq!(check("https://shop.example/"), None);
        assert_eq!(check("//pay.example/"), None);
        assert_eq!(check("javascript:void(0)"), None);
    }

    #[test]
    fn an_origin_is_called_by_its_name() {
        let origins = origins();
        assert_eq!(origins.get(0).host, "www.shop.example");
        assert_eq!(&*origins.get(0).host_line, b"Host: www.shop.example\r\n");
        assert_eq!(&*origins.get(1).host_line, b"Host: pay.example:8443\r\n");
        assert_eq!(
            origins.strip("https://pay.example:8443/a?b"),
            Some((1, "/a?b"))
        );
        assert_eq!(origins.strip("https://pay.example"), None);
        assert_eq!(origins.strip("https://evil.example/"), None);
    }

    #[test]
    fn a_target_is_made_fit_for_its_line() {
        let check = |target: &str, expected: &str| {
            let mut bytes = target.as_bytes().to_vec();
            tidy(&mut bytes);
            assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        };
        check("/a?b=c%20d", "/a?b=c%20d");
        check("/a b\r\nX: y", "/a%20b%0D%0AX:%20y");
        check("a#b", "/a");
        check("", "/");
        check("/ü", "/%C3%BC");
        // As browsers send them (WHATWG URL).
        check("/a|b[1]^~'x?f={a:[1|2]}^`\\", "/a|b[1]^~'x?f={a:[1|2]}^`\\");
        check("/a{b}`\\", "/a%7Bb%7D%60%5C");
    }
}
