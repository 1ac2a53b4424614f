//! What was asked for, kept beyond its head: a fetch ends long after the bytes of its request are gone.

use plimsoll_cache::store::RawKey;
use plimsoll_cache::{CachePolicy, CacheRequest, KeyRef};
use plimsoll_wire::head::BodyLength;
use plimsoll_wire::request_head::{RequestHead, header_buffer, parse};

use super::address::Address;
use super::{Cache, HashedKey, RouteCache, Space};

/// A request that the cache has a part in.
#[derive(Clone, Debug)]
pub(crate) struct KeyedRequest {
    /// Its head, as its server will get it but for what the edge adds.
    pub(crate) bytes: Vec<u8>,
    /// Whether that is not what the client sent.
    pub(crate) is_cut: bool,
    /// Whether the client came by TLS.
    secure: bool,
    /// The host, for a client that named none.
    default_host: String,
    pub(crate) hash: u64,
    pub(crate) space: Space,
}

/// Its parts, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParsedRequest<'h, 'b> {
    pub(crate) head: &'h RequestHead<'h, 'b>,
    pub(crate) semantics: CacheRequest<'h, 'b>,
    pub(crate) key: KeyRef<'h>,
    pub(crate) hashed_key: HashedKey<'h>,
}

impl KeyedRequest {
    pub(crate) fn new(
        (bytes, is_cut): (&[u8], bool),
        secure: bool,
        default_host: &str,
        hash: u64,
        space: Space,
    ) -> Self {
        Self {
            bytes: bytes.to_vec(),
            is_cut,
            secure,
            default_host: default_host.to_owned(),
            hash,
            space,
        }
    }

    /// Hands out its parts again.
    pub(crate) fn with<T>(
        &self,
        policy: &CachePolicy,
        use_it: impl FnOnce(&ParsedRequest<'_, '_>) -> T,
    ) -> Option<T> {
        let mut room = header_buffer();
        // It was read once: it can be read again.
        let head = parse(&self.bytes, &mut room).ok()?;
        let semantics = cache_semantics(&head, policy);
        let host = head.host.unwrap_or(&self.default_host);
        let key = KeyRef::new(self.secure, host, head.target, &policy.key);
        Some(use_it(&ParsedRequest {
            head: &head,
            semantics,
            key,
            hashed_key: HashedKey::hashed(key, self.hash),
        }))
    }

    /// Its hash, for those who ask by nothing else.
    pub(crate) fn named(&self) -> RawKey<'static> {
        RawKey {
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

/// Whether a request is all in its head, and asks for what is there.
pub(crate) fn is_bare(head: &RequestHead<'_, '_>) -> bool {
    matches!(head.method, "GET" | "HEAD") && !has_body(head)
}

fn has_body(head: &RequestHead<'_, '_>) -> bool {
    !matches!(head.length, BodyLength::Unspecified | BodyLength::Sized(0))
}

/// A request as the cache sees it.
pub(crate) fn cache_semantics<'h, 'b>(
    head: &RequestHead<'h, 'b>,
    policy: &CachePolicy,
) -> CacheRequest<'h, 'b> {
    CacheRequest::read(head.method, has_body(head), head.headers, policy)
}

/// The key of a request on this route, hashed.
pub(crate) fn hash_key<'h>(
    target: &'h str,
    address: &Address<'h>,
    cache: &Cache,
    route: &'h RouteCache,
) -> HashedKey<'h> {
    let key = KeyRef::new(address.secure, address.host, target, &route.policy.key);
    HashedKey::new(key, cache.seed)
}
