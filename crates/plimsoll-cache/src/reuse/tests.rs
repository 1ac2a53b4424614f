use proptest::prelude::*;

use super::*;
use crate::stale;
use crate::test_fixtures::{DAY_BEFORE, FieldLines, START, START_DATE, decide, store};

fn fresh(lines: FieldLines<'_>) -> Stored {
    let mut all = vec![("Cache-Control", "max-age=100"), ("Date", START_DATE)];
    all.extend_from_slice(lines);
    store(&[], 200, &all, &CachePolicy::default())
}

fn with(control: &str) -> Stored {
    store(
        &[],
        200,
        &[("Cache-Control", control), ("ETag", "\"a\"")],
        &CachePolicy::default(),
    )
}

#[track_caller]
fn check_shape(stored: &Stored, request: FieldLines<'_>, expected: Shape) {
    match decide(stored, request, 1, &CachePolicy::default()) {
        Decision::Serve(serve) => assert_eq!(serve.shape, expected, "{request:?}"),
        other => panic!("{request:?}: {other:?}"),
    }
}

#[track_caller]
fn check(
    stored: &Stored,
    request: FieldLines<'_>,
    seconds: u64,
    expected: Result<Option<Renewal>, Decision>,
) {
    let found = match decide(stored, request, seconds, &CachePolicy::default()) {
        Decision::Serve(serve) => Ok(serve.renew),
        other => Err(other),
    };
    assert_eq!(found, expected, "{request:?} after {seconds} s");
}

#[test]
fn a_copy_is_fresh_to_its_last_second() {
    let stored = fresh(&[]);
    check(&stored, &[], 0, Ok(None));
    check(&stored, &[], 89, Ok(None));
    check(&stored, &[], 90, Ok(Some(Renewal::Early)));
    check(&stored, &[], 99, Ok(Some(Renewal::Early)));
    check(&stored, &[], 100, Err(Decision::Revalidate(Reason::Stale)));
    let aged = fresh(&[("Age", "60")]);
    check(&aged, &[], 39, Ok(Some(Renewal::Early)));
    check(&aged, &[], 40, Err(Decision::Revalidate(Reason::Stale)));
    let Decision::Serve(serve) = decide(&aged, &[], 10, &CachePolicy::default()) else {
        panic!("a fresh copy answers");
    };
    assert_eq!(serve.ttl_ms, 30_000);
}

#[test]
fn a_stale_copy_answers_while_it_is_renewed_and_no_longer() {
    let stored = with("max-age=1, stale-while-revalidate=4");
    check(&stored, &[], 3, Ok(Some(Renewal::Stale)));
    check(&stored, &[], 4, Ok(Some(Renewal::Stale)));
    check(&stored, &[], 5, Err(Decision::Revalidate(Reason::Stale)));
    check(
        &with("no-cache"),
        &[],
        0,
        Err(Decision::Revalidate(Reason::NoCache)),
    );
    check(
        &with("max-age=100, no-cache"),
        &[],
        0,
        Err(Decision::Revalidate(Reason::NoCache)),
    );
}

#[test]
fn a_client_may_have_less_or_older() {
    let stored = fresh(&[]);
    let cache_control = |value| [("Cache-Control", value)];
    check(
        &stored,
        &cache_control("max-stale"),
        5_000,
        Ok(Some(Renewal::Stale)),
    );
    check(
        &stored,
        &cache_control("max-stale=10"),
        110,
        Ok(Some(Renewal::Stale)),
    );
    check(
        &stored,
        &cache_control("max-stale=10"),
        111,
        Err(Decision::Revalidate(Reason::Stale)),
    );
    check(
        &with("max-age=1, must-revalidate"),
        &cache_control("max-stale"),
        2,
        Err(Decision::Revalidate(Reason::Stale)),
    );
    check(&stored, &cache_control("only-if-cached"), 1, Ok(None));
    check(
        &stored,
        &cache_control("only-if-cached"),
        100,
        Err(Decision::Refuse),
    );
    let refused = |method| {
        let headers = crate::test_fixtures::headers(&[("Cache-Control", "only-if-cached")]);
        is_refused_without(&CacheRequest::read(
            method,
            false,
            &headers,
            &CachePolicy::default(),
        ))
    };
    assert!(refused("GET") && refused("HEAD") && !refused("POST"));
}

#[test]
fn a_wish_for_something_newer_is_granted_where_the_route_says_so() {
    let stored = fresh(&[("Age", "20")]);
    let values = ["no-cache", "max-age=0", "max-age=10", "min-fresh=90"];
    let granting = CachePolicy {
        reload_after: Some(22),
        ..CachePolicy::default()
    };
    for value in values {
        let request = [("Cache-Control", value)];
        check(&stored, &request, 1, Ok(None));
        let is_revalidated = |seconds| {
            decide(&stored, &request, seconds, &granting)
                == Decision::Revalidate(Reason::RequestDirective)
        };
        assert!(!is_revalidated(1) && is_revalidated(2), "{value}");
    }
    let all = CachePolicy {
        reload_after: Some(0),
        ..CachePolicy::default()
    };
    let pragma = decide(&stored, &[("Pragma", "no-cache")], 1, &all);
    assert_eq!(pragma, Decision::Revalidate(Reason::RequestDirective));
    let enough = decide(
        &stored,
        &[("Cache-Control", "max-age=30, min-fresh=10")],
        1,
        &all,
    );
    assert!(matches!(enough, Decision::Serve(_)));
}

#[test]
fn a_client_that_has_the_copy_is_told_so() {
    let stored = fresh(&[("ETag", "\"abcdef\""), ("Last-Modified", DAY_BEFORE)]);
    let none_match = |value| [("If-None-Match", value)];
    for value in [
        "\"abcdef\"",
        "W/\"abcdef\"",
        "\"1\", \"abcdef\", \"2\"",
        "*",
    ] {
        check_shape(&stored, &none_match(value), Shape::NotModified);
    }
    for value in ["\"abc\"", "abcdef", "", "\"1\", \"2\""] {
        check_shape(&stored, &none_match(value), Shape::Whole);
    }
    let since = |value| [("If-Modified-Since", value)];
    check_shape(&stored, &since(DAY_BEFORE), Shape::NotModified);
    check_shape(&stored, &since(START_DATE), Shape::NotModified);
    check_shape(
        &stored,
        &since("Saturday, 05-Nov-94 08:49:37 GMT"),
        Shape::NotModified,
    );
    check_shape(
        &stored,
        &since("Sat, 05 Nov 1994 08:49:36 GMT"),
        Shape::Whole,
    );
    check_shape(&stored, &since("yesterday"), Shape::Whole);
    // If-None-Match counts alone where both are there (RFC 9110, 13.1.3).
    let both = |tag| [("If-None-Match", tag), ("If-Modified-Since", START_DATE)];
    check_shape(&stored, &both("\"other\""), Shape::Whole);
    check_shape(&stored, &both("\"abcdef\""), Shape::NotModified);
    // Without Last-Modified, Date stands for it (RFC 9111, 4.3.2).
    check_shape(&fresh(&[]), &since(START_DATE), Shape::NotModified);
    check_shape(&fresh(&[]), &since(DAY_BEFORE), Shape::Whole);
    let gone = store(
        &[],
        404,
        &[("Cache-Control", "max-age=9"), ("ETag", "\"a\"")],
        &CachePolicy::default(),
    );
    check_shape(&gone, &none_match("\"a\""), Shape::Whole);
}

#[test]
fn ranges_are_cut_from_the_whole() {
    let stored = fresh(&[("ETag", "\"a\""), ("Last-Modified", DAY_BEFORE)]);
    let partial = Shape::Partial { first: 2, last: 4 };
    let range = ("Range", "bytes=2-4");
    check_shape(&stored, &[range], partial);
    check_shape(&stored, &[("Range", "bytes=10-")], Shape::Unsatisfiable);
    check_shape(&stored, &[("Range", "bytes=1-2,4-5")], Shape::Whole);
    check_shape(&stored, &[range, ("If-Range", "\"a\"")], partial);
    check_shape(&stored, &[range, ("If-Range", DAY_BEFORE)], partial);
    check_shape(&stored, &[range, ("If-Range", "W/\"a\"")], Shape::Whole);
    check_shape(&stored, &[range, ("If-Range", "\"b\"")], Shape::Whole);
    check_shape(&stored, &[range, ("If-Range", START_DATE)], Shape::Whole);
    check_shape(
        &stored,
        &[range, ("If-None-Match", "\"a\"")],
        Shape::NotModified,
    );
    let just_changed = fresh(&[("Last-Modified", START_DATE)]);
    check_shape(
        &just_changed,
        &[range, ("If-Range", START_DATE)],
        Shape::Whole,
    );
    let gone = store(
        &[],
        404,
        &[("Cache-Control", "max-age=9")],
        &CachePolicy::default(),
    );
    check_shape(&gone, &[range], Shape::Whole);
}

#[test]
fn who_is_somebody_gets_only_what_is_for_everybody() {
    let policy = CachePolicy {
        lifetime_min: 30,
        ..CachePolicy::default()
    };
    let cookie = [("Cookie", "session=1")];
    let authorization = [("Authorization", "x")];
    let guessed = store(&[], 200, &[], &policy);
    assert!(matches!(
        decide(&guessed, &[], 1, &policy),
        Decision::Serve(_)
    ));
    assert_eq!(
        decide(&guessed, &cookie, 1, &policy),
        Decision::Fetch(Reason::Named)
    );
    assert_eq!(
        decide(&guessed, &authorization, 1, &policy),
        Decision::Fetch(Reason::Authorized)
    );
    let explicit = fresh(&[]);
    check(&explicit, &cookie, 1, Ok(None));
    check(
        &explicit,
        &authorization,
        1,
        Err(Decision::Fetch(Reason::Authorized)),
    );
    check(&with("max-age=9, public"), &authorization, 1, Ok(None));
    let short = store(&[], 200, &[("Cache-Control", "max-age=5")], &policy);
    assert!(matches!(
        decide(&short, &[], 10, &policy),
        Decision::Serve(_)
    ));
    assert_eq!(
        decide(&short, &cookie, 10, &policy),
        Decision::Revalidate(Reason::Stale)
    );
}

#[test]
fn what_was_purged_softly_answers_for_a_while() {
    let stored = fresh(&[]);
    let purged = |seconds: u64| {
        let request = CacheRequest::read("GET", false, &[], &CachePolicy::default());
        let now = START.after(seconds * 1000);
        crate::reuse::decide(
            &request,
            &stored,
            Some(START),
            Some(10),
            now,
            &CachePolicy::default(),
        )
    };
    assert!(matches!(
        purged(59),
        Decision::Serve(Serve {
            renew: Some(Renewal::Purged),
            ..
        })
    ));
    assert_eq!(purged(60), Decision::Revalidate(Reason::Purged));
    assert_eq!(purged(100), Decision::Revalidate(Reason::Stale));
}

#[test]
fn a_failing_origin_is_stood_in_for_where_that_is_allowed() {
    let may = |stored: &Stored, seconds: u64| {
        let cache_request = CacheRequest::read("GET", false, &[], &CachePolicy::default());
        stale::may_serve(&cache_request, stored, START.after(seconds * 1000))
    };
    assert!(may(&with("max-age=2"), 3_601) && !may(&with("max-age=2"), 3_602));
    assert!(may(&with("max-age=2, stale-if-error=60"), 61));
    assert!(!may(&with("max-age=2, stale-if-error=60"), 62));
    for value in [
        "must-revalidate",
        "proxy-revalidate",
        "no-cache",
        "s-maxage=2",
    ] {
        assert!(!may(&with(&format!("max-age=2, {value}")), 3), "{value}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A response with an explicit lifetime and nothing else is never served after it.
    #[test]
    fn nothing_answers_after_its_time(
        lifetime in 1_u32..1_000,
        age in 0_u32..1_000,
        seconds in 0_u64..2_000,
        cookie: bool,
    ) {
        let (control, age_text) = (format!("max-age={lifetime}"), age.to_string());
        let stored = store(&[], 200, &[("Cache-Control", &control), ("Age", &age_text)], &CachePolicy::default());
        let request: &[(&str, &str)] = if cookie { &[("Cookie", "a=b")] } else { &[] };
        let is_served = matches!(decide(&stored, request, seconds, &CachePolicy::default()), Decision::Serve(_));
        prop_assert_eq!(is_served, u64::from(age) + seconds < u64::from(lifetime));
    }

    /// Any request gets a decision, and a part lies within the body.
    #[test]
    fn any_request_is_decided_for(
        name in prop::sample::select(vec!["range", "if-range", "if-none-match", "if-modified-since", "cache-control", "pragma", "cookie"]),
        value: Vec<u8>,
        seconds in 0_u64..200,
    ) {
        let headers = [httparse::Header { name, value: &value }];
        let policy = CachePolicy { reload_after: Some(0), ..CachePolicy::default() };
        let asked = CacheRequest::read("GET", false, &headers, &policy);
        let stored = fresh(&[("ETag", "\"a\"")]);
        let decision = crate::reuse::decide(&asked, &stored, None, Some(10), START.after(seconds * 1000), &policy);
        if let Decision::Serve(Serve { shape: Shape::Partial { first, last }, .. }) = decision {
            prop_assert!(first <= last && last < 10);
        }
    }
}
