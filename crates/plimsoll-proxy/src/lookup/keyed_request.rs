//! A request copied for the cache: a fetch outlives the buffer of its request.

use plimsoll_cache::store::{HashedKey, RawKey};
use plimsoll_cache::{CachePolicy, CacheRequest, KeyRef};
use plimsoll_wire::head::BodyLength;
use plimsoll_wire::request_head::{RequestHead, header_buffer, parse};

use super::address::Address;
use super::{Cache, RouteCache, Space};

/// A request that the cache handles.
#[derive(Clone, Debug)]
pub(crate) struct KeyedRequest {
    /// Its head as forwarded, without what the edge adds.
    pub bytes: Vec<u8>,
    /// Whether it differs from what the client sent.
    pub(crate) is_cut: bool,
    /// Whether the client used TLS.
    secure: bool,
    /// The host, for a client that sent none.
    default_host: String,
    pub(crate) hash: u64,
    pub(crate) space: Space,
}

/// A borrowed view of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParsedRequest<'h, 'b> {
    pub(crate) head: &'h RequestHead<'h, 'b>,
    pub(crate) semantics: CacheRequest<'h, 'b>,
    pub key: KeyRef<'h>,
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

    /// Parses the head again and passes it on.
    pub(crate) fn with<T>(
        &self,
        policy: &CachePolicy,
        use_it: impl FnOnce(&ParsedRequest<'_, '_>) -> T,
    ) -> Option<T> {
        let mut room = header_buffer();
        // It was parsed once already, so it is valid.
        let head = parse(&self.bytes, &mut room).ok()?;
        let semantics = cache_semantics(&head, policy);
        let host = head.host.unwrap_or(&self.default_host);
        let key = KeyRef::new(self.secure, host, head.target, &policy.key);
        Some(use_it(&ParsedRequest {
            head: &head,
            semantics,
            key,
            hashed_key: HashedKey::with_hash(key, self.hash),
        }))
    }

    /// A lookup key with the hash only.
    pub(crate) fn named(&self) -> RawKey<'static> {
        RawKey {
            hash: self.hash,
            key: &[],
        }
    }

    /// Whether it is a GET request.
    pub(crate) fn is_get(&self) -> bool {
        self.bytes.starts_with(b"GET ")
    }

    /// The same as a GET request.
    pub(crate) fn as_get(&self) -> Self {
        let mut get = self.clone();
        if let Some(rest) = self.bytes.strip_prefix(b"HEAD ") {
            get.bytes = [b"GET ", rest].concat();
        }
        get
    }
}

/// Whether a request has no body, and reads.
pub(crate) fn is_bare(head: &RequestHead<'_, '_>) -> bool {
    matches!(head.method, "GET" | "HEAD") && !has_body(head)
}

fn has_body(head: &RequestHead<'_, '_>) -> bool {
    !matches!(head.length, BodyLength::Unspecified | BodyLength::Sized(0))
}

/// The request in the terms of the cache.
pub(crate) fn cache_semantics<'h, 'b>(
    head: &RequestHead<'h, 'b>,
    policy: &CachePolicy,
) -> CacheRequest<'h, 'b> {
    CacheRequest::read(head.method, has_body(head), head.headers, policy)
}

/// The hashed cache key of a request on this route.
pub(crate) fn hash_key<'h>(
    target: &'h str,
    address: &Address<'h>,
    cache: &Cache,
    route: &'h RouteCache,
) -> HashedKey<'h> {
    let key = KeyRef::new(address.secure, address.host, target, &route.policy.key);
    HashedKey::new(key, cache.seed)
}
