use proptest::prelude::*;

use super::*;
use crate::test_fixtures::{DAY_BEFORE, FieldLines, START, START_DATE, evaluate};

const FRESH: (&str, &str) = ("Cache-Control", "max-age=60");

#[track_caller]
fn check(
    request: FieldLines<'_>,
    status: u16,
    answer: FieldLines<'_>,
    expected: Result<(), UncacheableReason>,
) {
    let found = evaluate("GET", request, status, answer, &CachePolicy::default()).map(|_| ());
    assert_eq!(found, expected, "{request:?} {status} {answer:?}");
}

#[test]
fn an_answer_is_stored_where_nothing_speaks_against_it() {
    check(&[], 200, &[FRESH], Ok(()));
    for status in [
        203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599,
    ] {
        check(&[], status, &[FRESH], Ok(()));
    }
    check(&[], 200, &[("ETag", "\"a\"")], Ok(()));
    check(
        &[],
        200,
        &[("Cache-Control", "no-cache"), ("ETag", "\"a\"")],
        Ok(()),
    );
    check(&[], 200, &[("Last-Modified", DAY_BEFORE)], Ok(()));
    check(
        &[],
        200,
        &[
            ("CDN-Cache-Control", "max-age=5"),
            ("Cache-Control", "no-store"),
        ],
        Ok(()),
    );
    check(
        &[],
        200,
        &[("Cache-Control", "max-age=5, no-store, must-understand")],
        Ok(()),
    );
}

#[test]
fn an_answer_is_refused_for_its_reason() {
    let control = |value| [("Cache-Control", value)];
    check(&[], 200, &[], Err(UncacheableReason::NoLifetime));
    check(
        &[],
        200,
        &control("max-age=0"),
        Err(UncacheableReason::NoLifetime),
    );
    check(
        &[],
        302,
        &[("ETag", "\"a\"")],
        Err(UncacheableReason::NoLifetime),
    );
    check(
        &[],
        200,
        &control("max-age=5, no-store"),
        Err(UncacheableReason::NoStore),
    );
    check(
        &[],
        200,
        &control("max-age=5, private"),
        Err(UncacheableReason::Private),
    );
    check(
        &[],
        200,
        &control("max-age=5, x=\""),
        Err(UncacheableReason::Malformed),
    );
    check(
        &[],
        599,
        &control("max-age=5, no-store, must-understand"),
        Err(UncacheableReason::NotUnderstood),
    );
    check(
        &[],
        206,
        &[FRESH, ("Content-Range", "bytes 0-4/10")],
        Err(UncacheableReason::Partial),
    );
    check(&[], 304, &[FRESH], Err(UncacheableReason::Status));
    check(&[], 103, &[FRESH], Err(UncacheableReason::Status));
    check(
        &[],
        200,
        &[FRESH, ("Vary", "*")],
        Err(UncacheableReason::Varies),
    );
    check(
        &[],
        200,
        &[FRESH, ("CDN-Cache-Control", "private")],
        Err(UncacheableReason::Private),
    );
    check(
        &[("Cache-Control", "no-store")],
        200,
        &[FRESH],
        Err(UncacheableReason::RequestNoStore),
    );
    let post = evaluate("POST", &[], 200, &[FRESH], &CachePolicy::default());
    assert_eq!(post, Err(UncacheableReason::Passing(Passing::Method)));
    let head = evaluate("HEAD", &[], 200, &[FRESH], &CachePolicy::default());
    assert_eq!(head, Err(UncacheableReason::Passing(Passing::Method)));
}

#[test]
fn who_proves_who_they_are_shares_only_what_is_said_to_be_shared() {
    let authorized = [("Authorization", "Basic Zm9v")];
    check(
        &authorized,
        200,
        &[FRESH],
        Err(UncacheableReason::Authorized),
    );
    for value in [
        "max-age=60, public",
        "max-age=60, must-revalidate",
        "s-maxage=60",
    ] {
        check(&authorized, 200, &[("Cache-Control", value)], Ok(()));
    }
}

#[test]
fn one_persons_cookie_is_never_handed_to_another() {
    let answer = [FRESH, ("Set-Cookie", "session=1")];
    check(&[], 200, &answer, Err(UncacheableReason::SetCookie));
    let public = [
        ("Cache-Control", "public, s-maxage=60"),
        ("Set-Cookie", "session=1"),
    ];
    check(&[], 200, &public, Err(UncacheableReason::SetCookie));
    let withheld = [
        ("Cache-Control", "max-age=60, no-cache=\"Set-Cookie\""),
        ("Set-Cookie", "a=b"),
    ];
    check(&[], 200, &withheld, Ok(()));
    // An identified client may have received a personal page that was not marked as such.
    let named = [("Cookie", "session=1")];
    check(
        &named,
        200,
        &[("Last-Modified", DAY_BEFORE)],
        Err(UncacheableReason::Named),
    );
    check(
        &named,
        200,
        &[("ETag", "\"a\"")],
        Err(UncacheableReason::Named),
    );
    check(&named, 200, &[FRESH], Ok(()));
}

#[test]
fn what_was_posted_stands_for_a_page_when_it_is_named_so() {
    let lines = |location| [FRESH, ("Content-Location", location)];
    let post = |request: FieldLines<'_>, answer: FieldLines<'_>| {
        evaluate("POST", request, 200, answer, &CachePolicy::default())
    };
    assert!(post(&[], &lines("/page?q")).is_ok());
    assert!(post(&[], &lines("https://a.example/page?q")).is_ok());
    assert!(post(&[], &lines("/page")).is_err());
    assert!(post(&[("Cookie", "a=b")], &lines("/page?q")).is_err());
    assert!(post(&[], &[("ETag", "\"a\""), ("Content-Location", "/page?q")]).is_err());
}

fn newspaper() -> CachePolicy {
    CachePolicy {
        lifetime_min: 30,
        cookies_ignored: vec!["_ga".into()],
        ..CachePolicy::default()
    }
}

#[test]
fn the_least_lifetime_is_for_plain_pages_alone() {
    let plain = |request: FieldLines<'_>, status, answer: FieldLines<'_>| {
        evaluate("GET", request, status, answer, &newspaper()).map(|terms| {
            (
                terms.plain.seconds,
                terms.plain.source,
                terms.explicit.seconds,
            )
        })
    };
    let minimum = Ok((30, LifetimeSource::Minimum, 0));
    assert_eq!(plain(&[], 200, &[]), minimum);
    assert_eq!(plain(&[], 200, &[("Cache-Control", "max-age=0")]), minimum);
    assert_eq!(plain(&[("Cookie", "_ga=1")], 200, &[]), minimum);
    assert_eq!(
        plain(&[], 200, &[FRESH]),
        Ok((60, LifetimeSource::MaxAge, 60))
    );
    // A page is as old as it is, but the route's lifetime starts when it is fetched.
    let old = [FRESH, ("Age", "59")];
    assert_eq!(plain(&[], 200, &old), Ok((30, LifetimeSource::Minimum, 60)));
    assert_eq!(plain(&[], 404, &[]), Err(UncacheableReason::NoLifetime));
    assert_eq!(
        plain(&[], 200, &[("Set-Cookie", "a=b")]),
        Err(UncacheableReason::SetCookie)
    );
    assert_eq!(
        plain(&[], 200, &[("Cache-Control", "private")]),
        Err(UncacheableReason::Private)
    );
    assert_eq!(
        plain(&[], 200, &[("Cache-Control", "no-store")]),
        Err(UncacheableReason::NoStore)
    );
    assert_eq!(
        plain(&[], 200, &[("Cache-Control", "no-cache")]),
        Err(UncacheableReason::NoLifetime)
    );
    assert_eq!(
        plain(&[], 200, &[("Vary", "Cookie")]),
        Err(UncacheableReason::NoLifetime)
    );
    assert_eq!(
        plain(&[], 200, &[("Vary", "*")]),
        Err(UncacheableReason::Varies)
    );
    assert_eq!(
        plain(&[("Cookie", "session=1")], 200, &[]),
        Err(UncacheableReason::Named)
    );
    assert_eq!(
        plain(&[("Authorization", "x")], 200, &[]),
        Err(UncacheableReason::Authorized)
    );
}

#[test]
fn who_waits_takes_only_what_is_fresh_for_them() {
    let is_fresh = |answer: FieldLines<'_>, class| {
        let terms = evaluate("GET", &[], 200, answer, &newspaper()).unwrap();
        terms.is_fresh(class, START)
    };
    assert!(is_fresh(&[], Class::Plain) && !is_fresh(&[], Class::Named));
    assert!(is_fresh(&[FRESH], Class::Named));
    assert!(!is_fresh(
        &[("Cache-Control", "no-cache"), ("ETag", "\"a\"")],
        Class::Plain
    ));
}

#[test]
fn a_route_bounds_lifetimes() {
    let policy = CachePolicy {
        lifetime_max: 100,
        lifetimes_by_status: vec![(404, 10)],
        statuses: vec![200, 404],
        ..CachePolicy::default()
    };
    let until = |status, answer: FieldLines<'_>| {
        evaluate("GET", &[], status, answer, &policy).map(|terms| terms.plain_until.since(START))
    };
    assert_eq!(
        until(200, &[("Cache-Control", "max-age=3600")]),
        Ok(100_000)
    );
    assert_eq!(until(404, &[]), Ok(10_000));
    assert_eq!(until(404, &[("Cache-Control", "max-age=3")]), Ok(3_000));
    assert_eq!(until(301, &[FRESH]), Err(UncacheableReason::StatusOfRoute));
}

#[test]
fn stale_copies_are_for_those_who_may_be_stale() {
    let policy = CachePolicy {
        stale_while_revalidate: 5,
        stale_if_error: 50,
        ..CachePolicy::default()
    };
    let windows = |value| {
        let terms = evaluate("GET", &[], 200, &[("Cache-Control", value)], &policy).unwrap();
        (terms.stale_while_revalidate, terms.stale_if_error)
    };
    assert_eq!(windows("max-age=2"), (5, 50));
    assert_eq!(
        windows("max-age=2, stale-while-revalidate=7, stale-if-error=9"),
        (7, 9)
    );
    assert_eq!(
        windows("max-age=2, must-revalidate, stale-if-error=9"),
        (0, 0)
    );
    assert_eq!(windows("max-age=2, proxy-revalidate"), (0, 0));
    assert_eq!(windows("max-age=2, no-cache"), (0, 0));
    assert_eq!(windows("s-maxage=2"), (0, 0));
    assert_eq!(windows("s-maxage=2, stale-while-revalidate=7"), (7, 0));
}

#[test]
fn chance_only_shortens() {
    for (percent, chance, expected) in [
        (0, u32::MAX, 100_000),
        (10, 0, 100_000),
        (10, u32::MAX / 2, 95_001),
        (10, u32::MAX, 90_001),
        (255, u32::MAX, 1),
    ] {
        assert_eq!(
            jittered(100, percent, chance),
            expected,
            "{percent} {chance}"
        );
    }
}

fn line() -> impl Strategy<Value = (&'static str, String)> {
    let value = prop::sample::select(vec![
        "max-age=60",
        "max-age=0",
        "s-maxage=60",
        "public",
        "private",
        "no-store",
        "no-cache",
        "must-revalidate",
        "must-understand",
        "stale-if-error=60",
        "private=\"x\"",
        "max-age=x",
        "\"",
    ]);
    let control = prop::collection::vec(value, 0..4).prop_map(|values| values.join(", "));
    prop_oneof![
        control.clone().prop_map(|value| ("Cache-Control", value)),
        control.prop_map(|value| ("CDN-Cache-Control", value)),
        prop::sample::select(vec!["*", "Cookie", "Foo", "Accept-Encoding"])
            .prop_map(|value| ("Vary", value.to_owned())),
        Just(("Set-Cookie", "a=b".to_owned())),
        Just(("ETag", "\"a\"".to_owned())),
        Just(("Last-Modified", DAY_BEFORE.to_owned())),
        Just(("Expires", START_DATE.to_owned())),
        Just(("Age", "30".to_owned())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever directives a response has and the route adds: personal responses are not stored, and only anonymous
    /// requests get a lifetime that the response does not specify.
    #[test]
    fn nobody_gets_what_was_meant_for_another(
        answer in prop::collection::vec(line(), 0..6),
        cookie: bool,
        authorization: bool,
        status in prop::sample::select(vec![200_u16, 204, 206, 301, 304, 404, 500, 599]),
    ) {
        let answer: Vec<_> = answer.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut request = Vec::new();
        if cookie {
            request.push(("Cookie", "session=1"));
        }
        if authorization {
            request.push(("Authorization", "x"));
        }
        let Ok(terms) = evaluate("GET", &request, status, &answer, &newspaper()) else {
            return Ok(());
        };
        let has = |wanted: &str| answer.iter().any(|(name, _)| *name == wanted);
        let has_directive = |wanted: &str| {
            answer.iter().any(|(name, value)| {
                *name == "Cache-Control" && value.split(", ").any(|member| member == wanted)
            })
        };
        prop_assert!(!has("Set-Cookie"));
        prop_assert!(![206, 304].contains(&status));
        if !terms_are_targeted(&answer) {
            prop_assert!(!has_directive("private"));
            prop_assert!(!has_directive("no-store") || has_directive("must-understand"));
            prop_assert!(!authorization || has_directive("public") || has_directive("must-revalidate") || has_directive("s-maxage=60"));
        }
        if cookie || authorization {
            prop_assert_eq!(terms.plain_until, terms.fresh_until);
        }
        prop_assert!(terms.plain_until >= terms.fresh_until);
        if terms.no_cache || has_directive("must-revalidate") && !terms_are_targeted(&answer) {
            prop_assert_eq!((terms.stale_while_revalidate, terms.stale_if_error), (0, 0));
        }
    }
}

fn terms_are_targeted(answer: &[(&str, &str)]) -> bool {
    let headers = crate::test_fixtures::headers(answer);
    Directives::of(&headers).targeted
}
