use super::*;
use crate::test_fixtures::{
    self, DAY_BEFORE, FieldLines, START, START_DATE, exchange, headers, store,
};

const FRESH: (&str, &str) = ("Cache-Control", "max-age=2");
const TAG: (&str, &str) = ("ETag", "\"a\"");
const LATER_DATE: &str = "Sun, 06 Nov 1994 08:49:47 GMT";

fn renewed(stored: &Stored, answer: FieldLines<'_>) -> Renewed {
    let policy = CachePolicy::default();
    let request = CacheRequest::read("GET", false, &[], &policy);
    let answer = headers(answer);
    let answer = OriginResponse {
        status: 304,
        reason: "Not Modified",
        headers: &answer,
    };
    renew(
        stored,
        &request,
        &test_fixtures::key(),
        &answer,
        &policy,
        &exchange(START.after(10_000)),
    )
}

fn copy(stored: &Stored, answer: FieldLines<'_>) -> Stored {
    match renewed(stored, answer) {
        Renewed::Copy(copy, _) => *copy,
        other => panic!("{other:?}"),
    }
}

fn head(stored: &Stored) -> String {
    String::from_utf8(stored.head().to_vec()).unwrap()
}

#[test]
fn a_304_takes_the_place_of_the_fields_that_it_names() {
    let lines = [
        ("Date", START_DATE),
        FRESH,
        TAG,
        ("Test-Header", "old"),
        ("Content-Foo", "old"),
        ("Content-Type", "text/plain"),
        ("Content-Encoding", "gzip"),
        ("Other", "kept"),
        ("Twice", "1"),
        ("Twice", "2"),
    ];
    let stored = store(&[], 200, &lines, &CachePolicy::default());
    let renewed = copy(
        &stored,
        &[
            ("Date", LATER_DATE),
            ("Cache-Control", "max-age=3600"),
            TAG,
            ("Test-Header", "new"),
            ("Content-Foo", "new"),
            ("Content-Type", "text/html"),
            ("Content-Encoding", "br"),
            ("Content-Length", "10"),
            ("Content-Range", "bytes 0-1/2"),
            ("Set-Cookie", "a=b"),
            ("Connection", "x-hop"),
            ("X-Hop", "1"),
            ("Twice", "3"),
        ],
    );
    assert_eq!(
        head(&renewed),
        format!(
            "HTTP/1.1 200 Said\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nOther: kept\r\n\
             Date: {LATER_DATE}\r\nCache-Control: max-age=3600\r\nETag: \"a\"\r\nTest-Header: new\r\n\
             Content-Foo: new\r\nTwice: 3\r\n"
        )
    );
    assert_eq!(renewed.terms().fresh_until, START.after(10_000 + 3_600_000));
    assert_eq!(renewed.age(START.after(12_000)), 2);
}

#[test]
fn a_304_without_news_renews_the_copy_as_it_is() {
    let stored = store(
        &[],
        200,
        &[("Date", START_DATE), FRESH, ("Last-Modified", DAY_BEFORE)],
        &CachePolicy::default(),
    );
    let renewed = copy(
        &stored,
        &[("Date", LATER_DATE), ("Last-Modified", DAY_BEFORE)],
    );
    assert!(head(&renewed).contains("max-age=2"));
    assert_eq!(renewed.terms().fresh_until, START.after(12_000));
    // The age restarts when the 304 has no date of its own.
    let undated = copy(&stored, &[("Last-Modified", DAY_BEFORE)]);
    assert!(head(&undated).contains(LATER_DATE) && undated.age(START.after(10_000)) == 0);
}

#[test]
fn a_304_about_something_else_renews_nothing() {
    let stored = store(
        &[],
        200,
        &[FRESH, TAG, ("Last-Modified", DAY_BEFORE)],
        &CachePolicy::default(),
    );
    for answer in [
        [("ETag", "\"b\"")],
        [("ETag", "W/\"b\"")],
        [("Last-Modified", START_DATE)],
    ] {
        assert!(
            matches!(renewed(&stored, &answer), Renewed::Mismatch),
            "{answer:?}"
        );
    }
    copy(&stored, &[("ETag", "W/\"a\"")]);
    let weak = store(
        &[],
        200,
        &[FRESH, ("ETag", "W/\"a\"")],
        &CachePolicy::default(),
    );
    copy(&weak, &[("ETag", "W/\"a\"")]);
    let untagged = store(&[], 200, &[FRESH], &CachePolicy::default());
    assert!(matches!(renewed(&untagged, &[TAG]), Renewed::Mismatch));
}

#[test]
fn a_304_may_forbid_to_keep_the_copy() {
    let stored = store(&[], 200, &[FRESH, TAG], &CachePolicy::default());
    let answer = [TAG, ("Cache-Control", "no-store")];
    assert!(matches!(
        renewed(&stored, &answer),
        Renewed::Once(_, UncacheableReason::NoStore)
    ));
}

fn effect(stored: &Stored, status: u16, answer: FieldLines<'_>) -> HeadEffect {
    let policy = CachePolicy::default();
    let request = CacheRequest::read("HEAD", false, &[], &policy);
    let answer = headers(answer);
    let answer = OriginResponse {
        status,
        reason: "",
        headers: &answer,
    };
    head_effect(
        stored,
        Some(10),
        &request,
        &test_fixtures::key(),
        &answer,
        &policy,
        &exchange(START.after(5_000)),
    )
}

#[test]
fn a_head_says_whether_a_get_would_bring_the_same() {
    let stored = store(&[], 200, &[FRESH, TAG], &CachePolicy::default());
    let fresh = ("Cache-Control", "max-age=1000");
    let HeadEffect::Copy(copy, _) = effect(&stored, 200, &[TAG, fresh, ("Content-Length", "10")])
    else {
        panic!("the copy goes on");
    };
    assert_eq!(copy.terms().fresh_until, START.after(1_005_000));
    assert!(matches!(
        effect(&stored, 200, &[("ETag", "\"b\"")]),
        HeadEffect::Stale
    ));
    assert!(matches!(
        effect(&stored, 200, &[TAG, ("Content-Length", "11")]),
        HeadEffect::Stale
    ));
    assert!(matches!(
        effect(&stored, 200, &[fresh]),
        HeadEffect::Nothing
    ));
    assert!(matches!(effect(&stored, 410, &[TAG]), HeadEffect::Nothing));
}
