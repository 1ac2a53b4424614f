//! Effect of a 304, or of the response to a HEAD, on a stored response (RFC 9111, 3.2, 4.3.4 and 4.3.5).

use httparse::Header;

use crate::answer::{OriginExchange, OriginResponse};
use crate::date;
use crate::directives::Directives;
use crate::etag::ETag;
use crate::fields::{first, has, is};
use crate::key::KeyRef;
use crate::policy::{CachePolicy, SetCookie};
use crate::request::{CacheRequest, Class, Method};
use crate::response::{Stored, ends_with_connection, is_named_by_connection};
use crate::storing::{self, Storable, Terms, UncacheableReason};
use crate::vary::Vary;

/// Maximum number of fields of a renewed response: as many as one that has just arrived may have.
const FIELDS_MAX: usize = 1000;

/// Effect of a 304 on the revalidated response.
#[derive(Debug)]
pub enum Renewed {
    /// It is stored anew in this form, with this `Vary`.
    Copy(Box<Stored>, Vary),
    /// It serves the waiting requests and is then removed: it may no longer be stored.
    Once(Box<Stored>, UncacheableReason),
    /// The 304 is about another response: the origin is asked again, without conditions.
    Mismatch,
}

/// Renews a stored response by a 304 to a request with its conditions. `request` is the one on whose behalf it was
/// revalidated.
pub fn renew(
    stored: &Stored,
    request: &CacheRequest<'_, '_>,
    key: &KeyRef<'_>,
    answer: &OriginResponse<'_, '_>,
    policy: &CachePolicy,
    exchange: &OriginExchange,
) -> Renewed {
    if !is_about(stored, answer.headers) {
        return Renewed::Mismatch;
    }
    let request = CacheRequest {
        // A response stored for a POST is renewed by a GET; a HEAD renews like a GET.
        method: Method::Get,
        ..*request
    };
    let Some(headers) = merged(stored, answer.headers, policy) else {
        return Renewed::Mismatch;
    };
    let merged = OriginResponse {
        status: stored.status(),
        reason: stored.reason(),
        headers: &headers,
    };
    match storing::evaluate(&request, key, &merged, policy, exchange) {
        Ok(storable) => {
            let copy = Box::new(Stored::new(&merged, &storable));
            Renewed::Copy(copy, storable.vary)
        }
        Err(refusal) => {
            let storable = Storable {
                terms: Terms {
                    received_at: exchange.received_at,
                    age: 0,
                    ..*stored.terms()
                },
                vary: Vary::Everything,
                strips_cookies: policy.set_cookie != SetCookie::Keep,
                withheld: Directives::of(merged.headers).withheld,
            };
            Renewed::Once(Box::new(Stored::new(&merged, &storable)), refusal)
        }
    }
}

/// Effect of the response to a HEAD on the stored response to a GET.
#[derive(Debug)]
pub enum HeadEffect {
    /// A GET would return the same: it is stored anew in this form, with this `Vary`.
    Copy(Box<Stored>, Vary),
    /// A GET would return something else: it is stale from now on.
    Stale,
    /// No effect.
    Nothing,
}

/// Effect of the response to a HEAD on the stored response with a body of this length. Without a validator there is
/// none: a head alone does not prove that the body is the same.
pub fn head_effect(
    stored: &Stored,
    body_len: Option<u64>,
    request: &CacheRequest<'_, '_>,
    key: &KeyRef<'_>,
    answer: &OriginResponse<'_, '_>,
    policy: &CachePolicy,
    exchange: &OriginExchange,
) -> HeadEffect {
    if answer.status != 200 || stored.status() != 200 || matches!(request.class, Class::Alone(_)) {
        return HeadEffect::Nothing;
    }
    let announced_len = first(answer.headers, "content-length")
        .and_then(|line| std::str::from_utf8(line).ok())
        .and_then(|line| line.parse::<u64>().ok());
    let lengths_differ = announced_len.is_some() && body_len.is_some() && announced_len != body_len;
    let has_validator = has(answer.headers, "etag") || has(answer.headers, "last-modified");
    if lengths_differ || (has_validator && !is_about(stored, answer.headers)) {
        return HeadEffect::Stale;
    }
    if !has_validator || !stored.has_validator() {
        return HeadEffect::Nothing;
    }
    match renew(stored, request, key, answer, policy, exchange) {
        Renewed::Copy(copy, vary) => HeadEffect::Copy(copy, vary),
        Renewed::Once(..) => HeadEffect::Nothing,
        Renewed::Mismatch => HeadEffect::Stale,
    }
}

/// Whether the content fields of a response match the stored one (RFC 9111, 4.3.4).
fn is_about(stored: &Stored, answer: &[Header<'_>]) -> bool {
    let ours = stored.etag().map(ETag::of);
    if let Some(theirs) = first(answer, "etag").map(ETag::of) {
        return match ours {
            Some(ours) if theirs.is_strong() && ours.is_strong() => ours.matches_strongly(&theirs),
            Some(ours) => ours.matches_weakly(&theirs),
            None => !theirs.is_strong(),
        };
    }
    let received = stored.terms().received_at.seconds();
    let date = |line| date::parse(line, received);
    match (
        first(answer, "last-modified").and_then(date),
        stored.last_modified().and_then(date),
    ) {
        (Some(theirs), Some(ours)) => theirs == ours,
        _ => true,
    }
}

/// The stored fields, replaced by those of the update. The date is always the update's own: without one the current
/// time is used. `None` when there are too many.
fn merged<'b>(
    stored: &'b Stored,
    answer: &[Header<'b>],
    policy: &CachePolicy,
) -> Option<Vec<Header<'b>>> {
    let renews = |name: &str| is_renewed(name, policy) && !is_named_by_connection(answer, name);
    let is_replaced = |name: &str| is(name, "date") || (renews(name) && has(answer, name));
    let old = stored.fields().filter(|header| !is_replaced(header.name));
    let new = answer.iter().copied().filter(|header| renews(header.name));
    let fields: Vec<_> = old.chain(new).take(FIELDS_MAX + 1).collect();
    (fields.len() <= FIELDS_MAX).then_some(fields)
}

/// Whether a field of a 304 replaces the stored one (RFC 9111, 3.2). Coding, length and digest of the body stay as the
/// body does; a cookie is for the requester only.
fn is_renewed(name: &str, policy: &CachePolicy) -> bool {
    let describes_body = [
        "content-digest",
        "content-length",
        "content-encoding",
        "content-md5",
        "content-range",
        "content-type",
    ]
    .iter()
    .any(|field| is(name, field));
    let is_cookie = is(name, "set-cookie") && policy.set_cookie != SetCookie::Keep;
    !describes_body && !is_cookie && !ends_with_connection(name)
}

#[cfg(test)]
mod tests;
