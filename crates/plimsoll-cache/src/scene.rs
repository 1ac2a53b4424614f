//! For the tests: one page, asked for and stored, and asked for again.

use httparse::Header;

use crate::answer::{Answer, Exchange};
use crate::key::{KeyRef, KeyRule};
use crate::moment::Moment;
use crate::policy::Policy;
use crate::request::Asked;
use crate::response::Stored;
use crate::reuse::{self, Decision};
use crate::storing::{self, Refusal, Simple, Storable, Terms};

pub(crate) type Lines<'a> = &'a [(&'a str, &'a str)];

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

pub(crate) fn headers(lines: Lines<'_>) -> Vec<Header<'_>> {
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

pub(crate) fn exchange(at: Moment) -> Exchange {
    Exchange {
        asked_at: at,
        received_at: at,
        chance: 0,
    }
}

/// The terms on which an answer to a request by this method is stored.
pub(crate) fn judge(
    method: &str,
    request: Lines<'_>,
    status: u16,
    answer: Lines<'_>,
    policy: &Policy,
) -> Result<Terms, Refusal> {
    judge_whole(method, request, status, answer, policy).map(|storable| storable.terms)
}

fn judge_whole(
    method: &str,
    request: Lines<'_>,
    status: u16,
    answer: Lines<'_>,
    policy: &Policy,
) -> Result<Storable, Refusal> {
    let request = headers(request);
    let answer = headers(answer);
    let asked = Asked::read(method, false, &request, policy);
    let answer = Answer {
        status,
        reason: "Said",
        headers: &answer,
    };
    let judged = storing::judge(&asked, &key(), &answer, policy, &exchange(START));
    if let Some(simple) = Simple::of(&asked) {
        // What needs no more of the request says the same.
        let simply = storing::judge_simple(simple, &answer, policy, &exchange(START));
        assert_eq!(simply, judged, "{asked:?} {answer:?}");
    }
    judged
}

/// Stores an answer that came at the start.
pub(crate) fn store(request: Lines<'_>, status: u16, answer: Lines<'_>, policy: &Policy) -> Stored {
    let storable = judge_whole("GET", request, status, answer, policy).expect("it is stored");
    let answer = headers(answer);
    let answer = Answer {
        status,
        reason: "Said",
        headers: &answer,
    };
    Stored::new(&answer, &storable)
}

/// Decides for a GET so many seconds after the start, of a body of 10 bytes.
pub(crate) fn decide(
    stored: &Stored,
    request: Lines<'_>,
    seconds: u64,
    policy: &Policy,
) -> Decision {
    let request = headers(request);
    let asked = Asked::read("GET", false, &request, policy);
    reuse::decide(
        &asked,
        stored,
        None,
        Some(10),
        START.after(seconds * 1000),
        policy,
    )
}
