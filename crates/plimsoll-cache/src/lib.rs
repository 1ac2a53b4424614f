//! A shared HTTP cache without I/O: what may be stored, what may be reused, and where it is kept.
//!
//! The rules are those of RFC 9111 for a shared cache, with stale responses (RFC 5861), `Cache-Status` (RFC 9211),
//! `CDN-Cache-Control` (RFC 9213) and cache groups (RFC 9875), and over them the policy of a route. Nothing here reads a
//! clock, a socket or a random number: heads are slices of fields, time and randomness are passed in, and decisions are
//! data. Decision 0140 explains why the rules are our own.
//!
//! # The path of a request
//!
//! A request is parsed once ([`CacheRequest`]), and its key is borrowed from it ([`KeyRef`]). The store is searched by
//! hash, keys are compared byte for byte; of the responses stored under one key [`Variants`] finds the one that the
//! request selects, and [`reuse::decide`] decides what happens with it. A plain fresh hit allocates nothing.
//!
//! A response of the origin is evaluated ([`storing::evaluate`]) and stored ([`Stored`]), or the reason is reported. A
//! 304 renews a stored response ([`update::renew`]), an unsafe request invalidates others
//! ([`invalidate::invalidated`]), and when the origin fails [`stale::may_serve`] decides whether a stored response may
//! replace its answer.
//!
//! ```
//! use std::sync::Arc;
//!
//! use httparse::Header;
//! use plimsoll_cache::{
//!     CachePolicy, CacheRequest, CacheStatus, Decision, KeyRef, Moment, OriginExchange, OriginResponse, Seed, Stored,
//!     Variants, reuse, storing,
//! };
//!
//! let policy = CachePolicy::default();
//! let fields = [Header { name: "Accept", value: b"*/*" }];
//! let request = CacheRequest::read("GET", false, &fields, &policy);
//! let key = KeyRef::new(true, "www.example", "/news?page=2", &policy.key);
//! let hash = key.hash(Seed(1, 2));
//! # let _ = hash;
//!
//! // The store is empty, so the request went to the origin. Its response is evaluated and stored.
//! let fields = [Header { name: "Cache-Control", value: b"max-age=60" }];
//! let response = OriginResponse { status: 200, reason: "OK", headers: &fields };
//! let start = Moment::from_ms(1_795_348_800_000);
//! let exchange = OriginExchange { requested_at: start, received_at: start, chance: 0 };
//! let storable = storing::evaluate(&request, &key, &response, &policy, &exchange)?;
//! let stored = Arc::new(Stored::new(&response, &storable));
//! let variants = Variants::default().with(&storable.vary, request.headers, &policy, stored);
//! let owned = key.to_key();
//!
//! // Twenty seconds later the same request arrives. `room` and `out` belong to the event loop and are reused.
//! let (mut room, mut out) = (Vec::new(), Vec::new());
//! let now = start.after(20_000);
//! assert!(key.is(&owned));
//! let stored = variants.find(request.headers, &policy, &mut room).expect("the stored response");
//! let Decision::Serve(serve) = reuse::decide(&request, stored, None, Some(5), now, &policy) else {
//!     panic!("it is fresh");
//! };
//! stored.write_head(&mut out, serve.shape, Some(5), now);
//! CacheStatus { ttl: Some(serve.ttl_ms / 1000), ..CacheStatus::default() }.write(&mut out);
//! out.extend_from_slice(b"\r\n");
//! assert_eq!(
//!     std::str::from_utf8(&out)?,
//!     "HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 12:00:00 GMT\r\nCache-Control: max-age=60\r\n\
//!      Content-Length: 5\r\nAge: 20\r\nCache-Status: plimsoll; hit; ttl=40\r\n\r\n",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Duties of the caller that fetches
//!
//! - A fetch that may fill the cache is sent without the fields of [`CacheRequest::stays_behind`], with
//!   [`vary::Codings`] for the client's `Accept-Encoding` where it has one, and with [`Stored::write_conditions`] where
//!   a stored response is to be renewed. The range that the client requested is then cut from the stored response
//!   ([`reuse::shape`]). A request with a `Range` for which nothing is stored is forwarded as it is, and so is a HEAD
//!   that no fresh stored response can answer; [`update::head_effect`] decides what its response means for the store.
//! - Only requests of one [`Class`] wait for the same fetch, and they use only a result that is fresh for them
//!   ([`Terms::is_fresh`]). A rejection is remembered for its class when [`UncacheableReason::is_remembered`] is true.
//! - A stored response is complete when its body is; a truncated one is dropped.

pub mod answer;
pub mod date;
pub mod directives;
pub mod disk;
pub mod etag;
pub mod fields;
pub mod fragments;
pub mod freshness;
pub mod invalidate;
pub mod key;
pub mod moment;
pub mod policy;
#[cfg(any(test, feature = "fuzz"))]
pub mod properties;
pub mod range;
pub mod request;
pub mod response;
pub mod reuse;
pub mod stale;
pub mod status;
pub mod steering;
pub mod store;
pub mod storing;
pub mod update;
pub mod vary;

pub use answer::{OriginExchange, OriginResponse};
pub use key::{CacheKey, KeyRef, KeyRule, Query, Seed};
pub use moment::Moment;
pub use policy::{CachePolicy, SetCookie};
pub use request::{CacheRequest, Class, Method, Passing};
pub use response::{Shape, Stored};
pub use reuse::{Decision, Reason, Renewal, Serve};
pub use status::{CacheStatus, Forward};
pub use storing::{Storable, Terms, UncacheableReason};
pub use vary::{Variants, Vary};

#[cfg(test)]
mod test_fixtures;
