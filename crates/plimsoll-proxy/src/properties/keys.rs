//! One key, one request: what servers receive for two requests that share a cached response differs in nothing that
//! they could read.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use plimsoll_cache::steering::{identifies_client, is_per_request, merge, steers};
use plimsoll_cache::vary::{Codings, write_selecting};
use plimsoll_cache::{CachePolicy, CacheRequest, Class, KeyRef, KeyRule, Query};
use plimsoll_config::edge::HeaderEdit;
use plimsoll_wire::head::Header;
use plimsoll_wire::request_head::{RequestHead, find_end, header_buffer, parse};

use super::HEAD_LEN_MAX;
use crate::lookup::address::Address;
use crate::lookup::as_forwarded::as_forwarded;
use crate::lookup::keyed_request;
use crate::message::upstream_request::{self, Cached, Dropping, UpstreamRequest};
use crate::peer::Peer;

/// Sender of a request.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Whether it is a trusted proxy.
    pub trusted: bool,
    /// Whether the connection is encrypted.
    pub secure: bool,
    /// The last number of its address.
    pub address: u8,
}

/// Cache settings of a route.
#[derive(Clone, Copy, Debug)]
pub struct CacheRule {
    /// Key parameters of the query: all, none, one, all but tracking parameters.
    pub query: u8,
    /// Whether parameters are sorted.
    pub sorted: bool,
    /// Whether a cookie is ignored, and a steering header is let through.
    pub lenient: bool,
}

/// The header that a lenient route lets through.
const STEERING: &str = "X-HTTP-Method-Override";

impl CacheRule {
    fn policy(self) -> CachePolicy {
        let query = match self.query % 4 {
            0 => Query::All,
            1 => Query::Ignore,
            2 => Query::Only(vec!["id".to_owned()]),
            _ => Query::Tracking,
        };
        let names = |name: &str| {
            let name = self.lenient.then(|| name.to_ascii_lowercase());
            name.into_iter().collect::<Vec<_>>()
        };
        CachePolicy {
            key: KeyRule {
                query,
                sorted: self.sorted,
            },
            cookies_ignored: names("theme"),
            fields_keyed: names(STEERING),
            ..CachePolicy::default()
        }
    }

    fn steering(self) -> Vec<String> {
        self.lenient
            .then(|| STEERING.to_owned())
            .into_iter()
            .collect()
    }
}

/// A request that may fill the cache: its key, its head, and what its server receives.
struct Fetch {
    key: Vec<u8>,
    head: Vec<u8>,
    forwarded: Vec<u8>,
}

impl Fetch {
    /// `None` when it is invalid or bypasses the cache.
    fn of(bytes: &[u8], sender: Sender, rule: CacheRule) -> Option<Self> {
        let end = find_end(bytes, 0, HEAD_LEN_MAX).ok()??;
        let bytes = &bytes[..end];
        let mut room = header_buffer();
        let head = parse(bytes, &mut room).ok()?;
        if head.upgrade {
            return None;
        }
        let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, sender.address));
        let mut peer = Peer::with_trust(address, sender.trusted);
        if sender.secure {
            peer.set_secure();
        }
        let (policy, steering) = (rule.policy(), rule.steering());
        let dropping = Dropping {
            trusted: sender.trusted,
            steering: &steering,
        };
        let cut = |head: &RequestHead<'_, '_>, address: &Address<'_>| {
            as_forwarded(
                head,
                address,
                &dropping,
                &policy,
                keyed_request::is_bare(head),
            )
        };
        let host = head.host.unwrap_or(DEFAULT_HOST);
        let address = Address::of(&head, host, &peer)?;
        let bytes = cut(&head, &address).unwrap_or_else(|| bytes.to_vec());
        let mut room = header_buffer();
        let head = parse(&bytes, &mut room).expect("what was cut is a request");
        let host = head.host.unwrap_or(DEFAULT_HOST);
        let address = Address::of(&head, host, &peer).expect("what was cut is for the same place");
        assert_eq!(cut(&head, &address), None, "it is cut once");
        if matches!(
            keyed_request::cache_semantics(&head, &policy).class,
            Class::Alone(_)
        ) {
            return None;
        }
        let key = KeyRef::new(address.secure, host, head.target, &policy.key).to_key();
        let mut forwarded = Vec::new();
        let upstream_request = UpstreamRequest {
            peer: peer.text(),
            secure: peer.is_secure(),
            trusted: peer.is_trusted(),
            target: None,
            default_host: DEFAULT_HOST,
            edits: &[HeaderEdit {
                name: "X-Drop".to_owned(),
                value: None,
            }],
            steering: &steering,
            trace: None,
            cached: Some(Cached {
                codings: Codings::of(head.headers).map(Codings::as_str),
                conditions: &[],
            }),
        };
        upstream_request::write_head(&mut forwarded, &bytes, &head, &upstream_request);
        Some(Self {
            key: key.as_bytes().to_vec(),
            head: bytes,
            forwarded,
        })
    }
}

const DEFAULT_HOST: &str = "server.example:8080";

/// Two requests of one key are forwarded alike: in method and target, host and scheme always; in every other field
/// where the rules of `Vary` find them equal. Only fields that [`is_per_request`] names may differ: the address of the
/// client, and the trace.
///
/// # Panics
/// When they are not.
pub fn equal_keys_mean_equal_requests(requests: [&[u8]; 2], senders: [Sender; 2], rule: CacheRule) {
    let fetches = [0, 1].map(|at| Fetch::of(requests[at], senders[at], rule));
    let [Some(fetch), Some(other)] = fetches else {
        return;
    };
    if fetch.key != other.key {
        return;
    }
    let (mut first, mut second) = (header_buffer(), header_buffer());
    let (mut third, mut fourth) = (header_buffer(), header_buffer());
    let parsed = [
        parse(&fetch.head, &mut first),
        parse(&other.head, &mut second),
    ];
    let sent = [
        parse(&fetch.forwarded, &mut third),
        parse(&other.forwarded, &mut fourth),
    ];
    let (Ok(original), Ok(other_original)) = (&parsed[0], &parsed[1]) else {
        panic!("what was parsed is parsed again");
    };
    // The edge's own headers may exceed the header limit.
    let (Ok(forwarded), Ok(other)) = (&sent[0], &sent[1]) else {
        return;
    };
    assert_eq!(forwarded.target, other.target);
    assert_eq!(forwarded.host, other.host);
    assert_eq!(scheme_and_host(forwarded), scheme_and_host(other));
    let policy = rule.policy();
    let names: BTreeSet<String> = [forwarded, other]
        .iter()
        .flat_map(|head| head.headers)
        .map(|header| header.name.to_ascii_lowercase())
        .collect();
    for name in names.iter().filter(|name| !is_per_request(name)) {
        let values = [forwarded, other].map(|head| values(head.headers, name));
        let is_always_alike = steers(name) && !merge(name, STEERING);
        if is_always_alike || varies_equally(original, other_original, name, &policy) {
            assert_eq!(values[0], values[1], "{name}");
        }
    }
    for (head, sender) in [forwarded, other].into_iter().zip(senders) {
        check_steering(head.headers, sender, rule);
    }
}

/// Whether a response stored for one request serves the other when it varies by this field.
fn varies_equally(
    head: &RequestHead<'_, '_>,
    other: &RequestHead<'_, '_>,
    name: &str,
    policy: &CachePolicy,
) -> bool {
    let selecting = [head, other].map(|head| {
        let mut out = Vec::new();
        write_selecting(&mut out, name, head.headers, policy).then_some(out)
    });
    selecting[0].is_some() && selecting[0] == selecting[1]
}

/// The members of all lines that a server may take for this field, in lower case.
fn values(headers: &[Header<'_>], name: &str) -> Vec<String> {
    let lines = headers.iter().filter(|header| merge(header.name, name));
    let text = lines.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase());
    let separator = if name == "cookie" { ';' } else { ',' };
    let members = text.flat_map(|text| {
        let members = text.split(separator).map(str::trim).map(str::to_owned);
        members.collect::<Vec<_>>()
    });
    members.filter(|member| !member.is_empty()).collect()
}

/// Scheme and host that the edge writes into `Forwarded`, without the client's address.
fn scheme_and_host(head: &RequestHead<'_, '_>) -> Option<String> {
    let mut lines = head
        .headers
        .iter()
        .filter(|header| merge(header.name, "forwarded"));
    let value = String::from_utf8_lossy(lines.next()?.value).into_owned();
    let (_, ours) = value.rsplit_once(";host=")?;
    Some(ours.to_owned())
}

/// No steering header of an untrusted peer is forwarded, except those that the route lets through.
fn check_steering(headers: &[Header<'_>], sender: Sender, rule: CacheRule) {
    for header in headers {
        let name = header.name;
        let is_ours = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]
            .iter()
            .any(|ours| merge(name, ours));
        let is_let_through = rule.lenient && merge(name, STEERING);
        let steers = steers(name) || identifies_client(name);
        assert!(
            sender.trusted || !steers || is_ours || is_let_through,
            "{name}"
        );
        assert!(!CacheRequest::stays_behind(name), "{name}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines relevant to keys, `Vary` and applications, in every spelling.
    const LINES: [&str; 56] = [
        "Connection: close",
        "Connection: close, origin",
        "Connection: accept-language, x-foo",
        "Connection: Cookie, X-Forwarded-Proto, host",
        "Connection: accept-encoding, transfer-encoding",
        "Connection: x-http-method-override, x-forwarded-host",
        "Origin: a",
        "Origin: b",
        "Accept-Language: de",
        "Accept-Language: DE",
        "accept_language: en",
        "Accept-Encoding: gzip",
        "Accept-Encoding: gzip, br;q=0.5",
        "Accept_Encoding: br",
        "Cookie: theme=dark; id=1",
        "Cookie: id=1",
        "Cookie: theme=light",
        "X-Foo: a",
        "X-Foo: b",
        "X_Foo: a",
        "x.foo: b",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Proto: http",
        "X-Forwarded-Proto: https, http",
        "X_Forwarded_Proto: http",
        "X-Forwarded-Host: a.example",
        "X-Forwarded-Host: A.example:80",
        "X-Forwarded-Host: b.example",
        "X-Forwarded-Port: 443",
        "X-Forwarded-Port: 80",
        "X-Forwarded-For: 192.0.2.1",
        "X-Forwarded-Ssl: on",
        "X-Forwarded-Prefix: /a",
        "X_Forwarded_Prefix: /b",
        "Front-End-Https: on",
        "X-HTTP-Method-Override: PUT",
        "X-HTTP-Method-Override: DELETE",
        "X_HTTP_Method_Override: PUT",
        "X-Original-URL: /admin",
        "X-Real-IP: 192.0.2.1",
        "CF-Visitor: {\"scheme\":\"https\"}",
        "CF-Visitor: {\"scheme\":\"http\"}",
        "Forwarded: for=192.0.2.1",
        "Forwarded: for=192.0.2.1;host=b.example",
        "Forwarded: for=192.0.2.1;proto=https, for=\"[::1]:80\"",
        "Forwarded: host=\"a.example\";proto=http",
        "Forwarded: secret=1",
        "Range: bytes=0-1",
        "If-None-Match: \"a\"",
        "If_None_Match: \"a\"",
        "X-Drop: a",
        "x_drop: b",
        "TE: trailers",
        "traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
        "Expect: 100-continue",
        "Upgrade: websocket",
    ];

    fn lines(most: usize) -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..most)
    }

    fn start() -> impl Strategy<Value = String> {
        let method = prop::sample::select(vec!["GET", "GET", "GET", "HEAD", "POST"]);
        let target = prop::sample::select(vec![
            "/",
            "/?id=1",
            "/?id=1&utm_source=a",
            "/?utm_source=b&id=1",
            "/?id=1&id=2&x=3",
            "/?x=3&id=1&id=2",
            "/?",
            "http://a.example/?id=1",
            "http://a.example:80/?id=1",
        ]);
        let host = prop::sample::select(vec![
            "Host: a.example\r\n",
            "Host: a.example\r\n",
            "Host: a.example:80\r\n",
            "Host: a.example:443\r\n",
            "Host: a.example:\r\n",
            "Host: A.Example\r\n",
            "",
        ]);
        let version = prop::sample::select(vec!["1.1", "1.1", "1.0"]);
        (method, target, host, version).prop_map(|(method, target, host, version)| {
            format!("{method} {target} HTTP/{version}\r\n{host}")
        })
    }

    /// Most pairs start alike and have lines in common: others seldom share a key.
    fn requests() -> impl Strategy<Value = [String; 2]> {
        let starts = prop_oneof![
            3 => start().prop_map(|start| [start.clone(), start]),
            1 => prop::array::uniform2(start()),
        ];
        let whole = |start: String, common: &[&str], own: &[&str]| {
            let lines: Vec<_> = own
                .iter()
                .chain(common)
                .flat_map(|line| [*line, "\r\n"])
                .collect();
            let lines = lines.concat();
            format!("{start}{lines}\r\n")
        };
        (starts, lines(4), lines(3), lines(3)).prop_map(
            move |([first, other], common, first_lines, of_other)| {
                [
                    whole(first, &common, &first_lines),
                    whole(other, &common, &of_other),
                ]
            },
        )
    }

    fn sender() -> impl Strategy<Value = Sender> {
        (any::<bool>(), any::<bool>(), 1..3_u8).prop_map(|(trusted, secure, address)| Sender {
            trusted,
            secure,
            address,
        })
    }

    fn rule() -> impl Strategy<Value = CacheRule> {
        (0..4_u8, any::<bool>(), any::<bool>()).prop_map(|(query, sorted, lenient)| CacheRule {
            query,
            sorted,
            lenient,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn two_requests_of_one_key_are_forwarded_alike(
            requests in requests(),
            senders in prop::array::uniform2(sender()),
            rule in rule(),
        ) {
            let requests = requests.each_ref().map(String::as_bytes);
            equal_keys_mean_equal_requests(requests, senders, rule);
        }
    }
}
