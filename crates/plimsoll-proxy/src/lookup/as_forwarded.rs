//! The request as it is forwarded upstream, which is what the cache works on.
//!
//! A key is made from what a client sent, a response from what the edge forwards. Wherever the two differ, one client
//! can control what another receives (cache poisoning). So everything that is not forwarded is removed before the cache
//! uses the request: key, `Vary` and fetch are made from the same bytes. Most requests need no change.

use plimsoll_cache::{CachePolicy, KeyRef};
use plimsoll_wire::head::Header;
use plimsoll_wire::request_head::RequestHead;

use super::address::Address;
use crate::message::upstream_request::Dropping;

/// Reduces a request to what is forwarded; `None` when nothing is to be removed.
///
/// `is_bare` requests (`GET` and `HEAD` without a body) also lose what their key leaves out: query parameters and
/// cookies. Idempotent.
pub(crate) fn as_forwarded(
    head: &RequestHead<'_, '_>,
    address: &Address<'_>,
    dropping: &Dropping<'_>,
    policy: &CachePolicy,
    is_bare: bool,
) -> Option<Vec<u8>> {
    let key = KeyRef::new(address.secure, address.host, head.target, &policy.key);
    let target = if is_bare { key.target() } else { None };
    let host = key.host();
    // A target in absolute form may spell the host differently from this `Host` line, which is forwarded.
    let written = head
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("host"))
        .map_or(address.host.as_bytes(), |header| header.value.trim_ascii());
    let has_host_changed = written != host.as_bytes() || has_capitals(host);
    let ignored: &[String] = if is_bare {
        &policy.cookies_ignored
    } else {
        &[]
    };
    let goes = |header: &Header<'_>| dropping.drops(header, head) || address.is_redundant(header);
    let is_changed = target.is_some()
        || has_host_changed
        || head
            .headers
            .iter()
            .any(|header| goes(header) || has_cookie(header, ignored));
    if !is_changed {
        return None;
    }
    let mut out = Vec::with_capacity(512);
    let mut put = |pieces: &[&[u8]]| pieces.iter().for_each(|piece| out.extend_from_slice(piece));
    let target = target.as_deref().unwrap_or(head.target);
    let version = if head.is_1_1 {
        " HTTP/1.1\r\n"
    } else {
        " HTTP/1.0\r\n"
    };
    let start = if target.is_empty() { "/" } else { target };
    put(&[
        head.method.as_bytes(),
        b" ",
        start.as_bytes(),
        version.as_bytes(),
    ]);
    put(&[b"Host: ", host.to_ascii_lowercase().as_bytes(), b"\r\n"]);
    for header in head.headers {
        let (name, value) = (header.name.as_bytes(), header.value);
        if header.name.eq_ignore_ascii_case("host") || goes(header) {
            continue;
        }
        if has_cookie(header, ignored) {
            let kept = cookies(value, ignored);
            if !kept.is_empty() {
                put(&[name, b": ", &kept, b"\r\n"]);
            }
            continue;
        }
        put(&[name, b": ", value, b"\r\n"]);
    }
    put(&[b"\r\n"]);
    Some(out)
}

fn has_capitals(host: &str) -> bool {
    host.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Whether a `Cookie` line contains an ignored cookie.
fn has_cookie(header: &Header<'_>, ignored: &[String]) -> bool {
    !ignored.is_empty()
        && header.name.eq_ignore_ascii_case("cookie")
        && pairs(header.value).any(|pair| is_ignored(pair, ignored))
}

fn pairs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b';').map(<[u8]>::trim_ascii)
}

fn is_ignored(pair: &[u8], ignored: &[String]) -> bool {
    let name = pair.split(|&byte| byte == b'=').next().unwrap_or_default();
    let name = name.trim_ascii();
    ignored.iter().any(|ignored| ignored.as_bytes() == name)
}

/// The cookies that are not ignored.
fn cookies(value: &[u8], ignored: &[String]) -> Vec<u8> {
    let kept = pairs(value).filter(|pair| !pair.is_empty() && !is_ignored(pair, ignored));
    kept.collect::<Vec<_>>().join(&b"; "[..])
}
