//! Test fixtures: one page, requested, stored, and requested again.

use httparse::Header;

use crate::answer::{OriginExchange, OriginResponse};
use crate::key::{KeyRef, KeyRule};
use crate::moment::Moment;
use crate::policy::CachePolicy;
use crate::request::CacheRequest;
use crate::response::Stored;
use crate::reuse::{self, Decision};
use crate::storing::{self, Simple, Storable, Terms, UncacheableReason};

pub(crate) type FieldLines<'a> = &'a [(&'a str, &'a str)];

/// 1994-11-06 08:49:37 UTC.
pub(crate) const START: Moment = Moment::from_ms(784_111_777_000);
/// The same as a field.
pub(crate) const START_DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// A day before.
pub(crate) const DAY_BEFORE: &str = "Sat, 05 Nov 1994 08:49:37 GMT";

const RULE: &KeyRule = &KeyRule {
    query: crate::key::Query::All,
    sorted: false,
};

pub(crate) fn headers<'a>(lines: &[(&'a str, &'a str)]) -> Vec<Header<'a>> {
    lines
        .iter()
        .map(|(name, value)| Header {
            name,
            value: value.as_bytes(),
        })
        .collect()
}

pub(crate) fn key() -> KeyRef<'static> {
    KeyRef::new(true, "a.example", "/page?q", RULE)
}

pub(crate) fn exchange(at: Moment) -> OriginExchange {
    OriginExchange {
        requested_at: at,
        received_at: at,
        chance: 0,
    }
}

/// The terms on which the response to this method is stored.
pub(crate) fn evaluate(
    method: &str,
    request: FieldLines<'_>,
    status: u16,
    answer: FieldLines<'_>,
    policy: &CachePolicy,
) -> Result<Terms, UncacheableReason> {
    evaluate_storable(method, request, status, answer, policy).map(|storable| storable.terms)
}

fn evaluate_storable(
    method: &str,
    request: FieldLines<'_>,
    status: u16,
    answer: FieldLines<'_>,
    policy: &CachePolicy,
) -> Result<Storable, UncacheableReason> {
    let request = headers(request);
    let answer = headers(answer);
    let cache_request = CacheRequest::read(method, false, &request, policy);
    let answer = OriginResponse {
        status,
        reason: "Said",
        headers: &answer,
    };
    let verdict = storing::evaluate(&cache_request, &key(), &answer, policy, &exchange(START));
    if let Some(simple) = Simple::of(&cache_request) {
        // The simple evaluation gives the same result.
        let simple_verdict = storing::evaluate_simple(simple, &answer, policy, &exchange(START));
        assert_eq!(simple_verdict, verdict, "{cache_request:?} {answer:?}");
    }
    verdict
}

/// Stores a response that arrived at the start.
pub(crate) fn store(
    request: FieldLines<'_>,
    status: u16,
    answer: FieldLines<'_>,
    policy: &CachePolicy,
) -> Stored {
    let storable = evaluate_storable("GET", request, status, answer, policy).expect("it is stored");
    let answer = headers(answer);
    let answer = OriginResponse {
        status,
        reason: "Said",
        headers: &answer,
    };
    Stored::new(&answer, &storable)
}

/// Decides for a GET so many seconds after the start, of a body of 10 bytes.
pub(crate) fn decide(
    stored: &Stored,
    request: FieldLines<'_>,
    seconds: u64,
    policy: &CachePolicy,
) -> Decision {
    let request = headers(request);
    let cache_request = CacheRequest::read("GET", false, &request, policy);
    reuse::decide(
        &cache_request,
        stored,
        None,
        Some(10),
        START.after(seconds * 1000),
        policy,
    )
}
