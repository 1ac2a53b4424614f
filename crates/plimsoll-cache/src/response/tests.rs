use proptest::prelude::*;

use super::*;
use crate::policy::{CachePolicy, SetCookie};
use crate::test_fixtures::{DAY_BEFORE, FieldLines, START, START_DATE, store};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn sent(stored: &Stored, shape: Shape, body_len: Option<u64>, seconds: u64) -> String {
    let mut out = Vec::new();
    stored.write_head(&mut out, shape, body_len, START.after(seconds * 1000));
    text(out)
}

const FRESH: (&str, &str) = ("Cache-Control", "max-age=60");

#[test]
fn what_belongs_to_one_connection_or_sending_is_not_kept() {
    let lines = [
        ("Date", START_DATE),
        FRESH,
        ("Connection", "a, B"),
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("Keep-Alive", "x"),
        ("Proxy-Authenticate", "x"),
        ("Proxy-Authentication-Info", "x"),
        ("Proxy-Authorization", "x"),
        ("Proxy-Connection", "x"),
        ("TE", "x"),
        ("Trailer", "x"),
        ("Transfer-Encoding", "chunked"),
        ("Upgrade", "x"),
        ("X-Plimsoll", "x"),
        ("Content-Length", "7"),
        ("Age", "5"),
        ("Cache-Status", "near; hit"),
        ("Set-Cookie2", "a=b"),
    ];
    let stored = store(&[], 200, &lines, &CachePolicy::default());
    let head = format!(
        "HTTP/1.1 200 Said\r\nDate: {START_DATE}\r\nCache-Control: max-age=60\r\nc: 3\r\n\
         Cache-Status: near; hit\r\nSet-Cookie2: a=b\r\n"
    );
    assert_eq!(text(stored.head().to_vec()), head);
    assert_eq!(
        sent(&stored, Shape::Whole, Some(7), 3),
        format!("{head}Content-Length: 7\r\nAge: 8\r\n")
    );
    assert_eq!(
        sent(&stored, Shape::Whole, None, 3),
        format!("{head}Age: 8\r\n")
    );
}

#[test]
fn a_date_is_given_where_none_can_be_read() {
    for lines in [
        &[FRESH][..],
        &[FRESH, ("Date", "foo")],
        &[FRESH, ("Date", START_DATE), ("Date", START_DATE)],
    ] {
        let stored = store(&[], 200, lines, &CachePolicy::default());
        let head =
            format!("HTTP/1.1 200 Said\r\nDate: {START_DATE}\r\nCache-Control: max-age=60\r\n");
        assert_eq!(text(stored.head().to_vec()), head);
    }
}

#[test]
fn withheld_fields_and_cookies_are_not_kept() {
    let has = |lines: FieldLines<'_>, policy: &CachePolicy, name: &str| {
        text(store(&[], 200, lines, policy).head().to_vec()).contains(name)
    };
    let withheld = [
        ("Cache-Control", "max-age=9, private=\"X-User, x-b\""),
        ("x-user", "1"),
        ("c", "3"),
    ];
    assert!(!has(&withheld, &CachePolicy::default(), "x-user"));
    assert!(has(&withheld, &CachePolicy::default(), "c: 3"));
    let policy = |set_cookie| CachePolicy {
        set_cookie,
        ..CachePolicy::default()
    };
    let cookie = [FRESH, ("Set-Cookie", "a=b")];
    assert!(!has(&cookie, &policy(SetCookie::Strip), "Set-Cookie"));
    assert!(has(&cookie, &policy(SetCookie::Keep), "Set-Cookie: a=b"));
}

#[test]
fn each_shape_has_its_head() {
    let lines = [
        ("Date", START_DATE),
        FRESH,
        ("ETag", "\"a\""),
        ("Last-Modified", DAY_BEFORE),
        ("Content-Type", "text/html"),
        ("Vary", "Foo"),
    ];
    let stored = store(&[], 200, &lines, &CachePolicy::default());
    let common = format!(
        "Date: {START_DATE}\r\nCache-Control: max-age=60\r\nETag: \"a\"\r\nLast-Modified: {DAY_BEFORE}\r\n"
    );
    assert_eq!(
        sent(&stored, Shape::NotModified, Some(10), 0),
        format!("HTTP/1.1 304 Not Modified\r\n{common}Vary: Foo\r\nAge: 0\r\n")
    );
    assert_eq!(
        sent(&stored, Shape::Partial { first: 2, last: 4 }, Some(10), 0),
        format!(
            "HTTP/1.1 206 Partial Content\r\n{common}Content-Type: text/html\r\nVary: Foo\r\n\
             Content-Range: bytes 2-4/10\r\nContent-Length: 3\r\nAge: 0\r\n"
        )
    );
    assert_eq!(
        sent(&stored, Shape::Unsatisfiable, Some(10), 0),
        format!(
            "HTTP/1.1 416 Range Not Satisfiable\r\nDate: {START_DATE}\r\nContent-Range: bytes */10\r\n\
             Content-Length: 0\r\nAge: 0\r\n"
        )
    );
    let mut conditions = Vec::new();
    stored.write_conditions(&mut conditions);
    assert_eq!(
        text(conditions),
        format!("If-None-Match: \"a\"\r\nIf-Modified-Since: {DAY_BEFORE}\r\n")
    );
    let empty = store(&[], 204, &[FRESH], &CachePolicy::default());
    assert!(!sent(&empty, Shape::Whole, Some(0), 0).contains("Content-Length"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever fields a response has, each head written from it is valid and has one length.
    #[test]
    fn heads_are_read_as_they_are_meant(
        fields in prop::collection::vec(("[A-Za-z-]{1,10}", "[ -~]{0,12}"), 0..8),
        shape in prop_oneof![
            Just(Shape::Whole),
            Just(Shape::NotModified),
            Just(Shape::Partial { first: 0, last: 9 }),
            Just(Shape::Unsatisfiable),
        ],
    ) {
        let mut lines = vec![FRESH];
        let is_harmless = |name: &str| !["vary", "age", "date"].iter().any(|other| is(name, other));
        lines.extend(fields.iter().filter(|(name, _)| is_harmless(name)).map(|(name, value)| (&**name, &**value)));
        let policy = CachePolicy { set_cookie: SetCookie::Keep, ..CachePolicy::default() };
        let mut head = Vec::new();
        store(&[], 200, &lines, &policy).write_head(&mut head, shape, Some(10), START);
        head.extend_from_slice(b"\r\n");
        let mut room = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut room);
        prop_assert_eq!(response.parse(&head), Ok(httparse::Status::Complete(head.len())));
        let count = |name| lines_of(response.headers, name);
        prop_assert_eq!(count("content-length"), usize::from(shape != Shape::NotModified));
        prop_assert_eq!((count("age"), count("date"), count("transfer-encoding")), (1, 1, 0));
    }
}

fn lines_of(headers: &[Header<'_>], name: &str) -> usize {
    lines(headers, name).count()
}
