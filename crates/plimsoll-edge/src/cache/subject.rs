//! What was asked for, kept beyond its head: a fetch ends long after the bytes of its request are gone.

use plimsoll_cache::store::Named;
use plimsoll_cache::{Asked, KeyRef, Policy};
use plimsoll_wire::head::Length;
use plimsoll_wire::request_head::{RequestHead, header_room, parse};

use super::{Cache, RouteCache, Space, Wanted};
use crate::connection::Peer;

/// A request that the cache has a part in.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Its head, as the client sent it.
    pub(crate) bytes: Vec<u8>,
    /// Whether the client came by TLS.
    secure: bool,
    /// The host, for a client that named none.
    default_host: String,
    pub(crate) hash: u64,
    pub(crate) space: Space,
}

/// Its parts, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'h, 'b> {
    pub(crate) head: &'h RequestHead<'h, 'b>,
    pub(crate) asked: Asked<'h, 'b>,
    pub(crate) key: KeyRef<'h>,
    pub(crate) wanted: Wanted<'h>,
}

impl Subject {
    pub(crate) fn new(
        bytes: &[u8],
        secure: bool,
        default_host: &str,
        hash: u64,
        space: Space,
    ) -> Self {
        Self {
            bytes: bytes.to_vec(),
            secure,
            default_host: default_host.to_owned(),
            hash,
            space,
        }
    }

    /// Hands out its parts again.
    pub(crate) fn with<T>(
        &self,
        policy: &Policy,
        use_it: impl FnOnce(&Parts<'_, '_>) -> T,
    ) -> Option<T> {
        let mut room = header_room();
        // It was read once: it can be read again.
        let head = parse(&self.bytes, &mut room).ok()?;
        let asked = asked(&head, policy);
        let host = head.host.unwrap_or(&self.default_host);
        let key = KeyRef::new(self.secure, host, head.target, &policy.key);
        Some(use_it(&Parts {
            head: &head,
            asked,
            key,
            wanted: Wanted::hashed(key, self.hash),
        }))
    }

    /// Its hash, for those who ask by nothing else.
    pub(crate) fn named(&self) -> Named<'static> {
        Named {
            hash: self.hash,
            key: &[],
        }
    }

    /// Whether it is a GET.
    pub(crate) fn is_get(&self) -> bool {
        self.bytes.starts_with(b"GET ")
    }

    /// The same as a GET.
    pub(crate) fn as_get(&self) -> Self {
        let mut get = self.clone();
        if let Some(rest) = self.bytes.strip_prefix(b"HEAD ") {
            get.bytes = [b"GET ", rest].concat();
        }
        get
    }
}

/// A request as the cache sees it.
pub(crate) fn asked<'h, 'b>(head: &RequestHead<'h, 'b>, policy: &Policy) -> Asked<'h, 'b> {
    let has_body = !matches!(head.length, Length::Unsaid | Length::Sized(0));
    Asked::read(head.method, has_body, head.headers, policy)
}

/// The key of a request on this route, hashed; `None` when its target is no path, or a trusted peer says that another
/// host was asked for than the one in its head: servers may answer for either.
pub(crate) fn wanted<'h>(
    head: &RequestHead<'_, 'h>,
    peer: &Peer,
    default_host: &'h str,
    cache: &Cache,
    route: &'h RouteCache,
) -> Option<(KeyRef<'h>, Wanted<'h>, bool)> {
    if !(head.target.is_empty() || head.target.starts_with('/')) {
        return None;
    }
    let host = head.host.unwrap_or(default_host);
    let mut secure = peer.secure;
    if peer.trusted {
        for header in head.headers {
            let value = header.value.trim_ascii();
            if header.name.eq_ignore_ascii_case("x-forwarded-host")
                && !value.eq_ignore_ascii_case(host.as_bytes())
                || header.name.eq_ignore_ascii_case("x-forwarded-port")
            {
                return None;
            }
            if header.name.eq_ignore_ascii_case("x-forwarded-proto") {
                secure = match value {
                    b"https" => true,
                    b"http" => false,
                    _ => return None,
                };
            }
        }
    }
    let key = KeyRef::new(secure, host, head.target, &route.policy.key);
    Some((key, Wanted::new(key, cache.seed), secure))
}
