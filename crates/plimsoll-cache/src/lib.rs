//! A shared HTTP cache without I/O: what may be stored, what may be reused, and where it is kept.
//!
//! The rules are those of RFC 9111 for a shared cache, with stale answers (RFC 5861), `Cache-Status` (RFC 9211),
//! `CDN-Cache-Control` (RFC 9213) and cache groups (RFC 9875), and over them the policy of a route. Nothing here reads a
//! clock or a socket or rolls dice: heads come as slices of fields, moments and chance are handed in, and answers are
//! data. Decision 0140 says why the rules are our own.
//!
//! # The road of a request
//!
//! A request is read once ([`Asked`]), and its key is borrowed from it ([`KeyRef`]). The store is looked up by hash and
//! compared byte for byte; of the copies under one key [`Variants`] finds the one that the request selects, and
//! [`reuse::decide`] says what becomes of it. On the road of a plain fresh hit nothing is allocated.
//!
//! An answer that came is judged ([`storing::judge`]) and kept ([`Stored`]), or the reason is named. A 304 renews a copy
//! ([`update::renew`]), a change makes copies invalid ([`invalidate::invalidated`]), and when the origin is ill
//! [`stale::may_serve`] says whether a copy stands in for it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use httparse::Header;
//! use plimsoll_cache::{
//!     Answer, Asked, CacheStatus, Decision, Exchange, KeyRef, Moment, Policy, Seed, Stored, Variants,
//!     reuse, storing,
//! };
//!
//! let policy = Policy::default();
//! let request = [Header { name: "Accept", value: b"*/*" }];
//! let asked = Asked::read("GET", false, &request, &policy);
//! let key = KeyRef::new(true, "www.example", "/news?page=2", &policy.key);
//! let hash = key.hash(Seed(1, 2));
//! # let _ = hash;
//!
//! // The store knows nothing yet, so the origin was asked. Its answer is judged and kept.
//! let fields = [Header { name: "Cache-Control", value: b"max-age=60" }];
//! let answer = Answer { status: 200, reason: "OK", headers: &fields };
//! let start = Moment::from_ms(1_795_348_800_000);
//! let exchange = Exchange { asked_at: start, received_at: start, chance: 0 };
//! let storable = storing::judge(&asked, &key, &answer, &policy, &exchange)?;
//! let copy = Arc::new(Stored::new(&answer, &storable));
//! let variants = Variants::default().with(&storable.vary, asked.headers, &policy, copy);
//! let owned = key.to_key();
//!
//! // Twenty seconds later the same is asked for. `room` and `out` are the loop's, and used again and again.
//! let (mut room, mut out) = (Vec::new(), Vec::new());
//! let now = start.after(20_000);
//! assert!(key.is(&owned));
//! let copy = variants.find(asked.headers, &policy, &mut room).expect("the copy");
//! let Decision::Serve(serve) = reuse::decide(&asked, copy, None, Some(5), now, &policy) else {
//!     panic!("it is fresh");
//! };
//! copy.write_head(&mut out, serve.shape, Some(5), now);
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
//! # What is left to whoever fetches
//!
//! - A fetch that may fill the cache is sent without the fields of [`Asked::stays_behind`], with
//!   [`vary::Codings`] for the client's `Accept-Encoding` where it has one, and with
//!   [`Stored::write_conditions`] where there is a copy to renew. What the client asked for is then cut from the copy
//!   ([`reuse::shape`]). A request with a `Range` that nothing is there for goes on as it is, and so does a HEAD that no
//!   fresh copy answers; what its answer means for a copy, [`update::head_effect`] says.
//! - Only requests of one [`Class`] wait for one fetch, and take only what is fresh for them when it comes
//!   ([`Terms::is_fresh`]). A refusal is remembered for its class when [`Refusal::is_remembered`] says so.
//! - A copy is complete when its body is; one that broke off is dropped.

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
