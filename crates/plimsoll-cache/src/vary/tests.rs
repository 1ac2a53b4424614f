use proptest::prelude::*;

use super::*;
use crate::test_fixtures::{FieldLines, headers};

fn selecting(names: &str, lines: FieldLines<'_>) -> Option<Vec<u8>> {
    let policy = CachePolicy {
        cookies_ignored: vec!["_ga".into()],
        ..CachePolicy::default()
    };
    let mut out = Vec::new();
    write_selecting(&mut out, names, &headers(lines), &policy).then_some(out)
}

#[track_caller]
fn check(names: &str, first: FieldLines<'_>, other: FieldLines<'_>, are_alike: bool) {
    let (first, other) = (selecting(names, first), selecting(names, other));
    assert_eq!(first == other, are_alike, "{first:?} {other:?}");
}

#[test]
fn vary_is_read_from_all_its_lines() {
    let of = |values: &[&str]| {
        let lines: Vec<_> = values.iter().map(|value| ("Vary", *value)).collect();
        Vary::of(&headers(&lines))
    };
    assert_eq!(of(&[]), Vary::Nothing);
    assert_eq!(of(&["", ","]), Vary::Nothing);
    assert_eq!(of(&["Foo, Bar", "foo"]), Vary::Fields("bar,foo".into()));
    for everything in [
        &["*"][..],
        &["*, *"],
        &["*", "*"],
        &[", *"],
        &["", "*"],
        &["*, Foo"],
        &["Foo, *"],
    ] {
        assert_eq!(of(everything), Vary::Everything, "{everything:?}");
    }
    let many: Vec<String> = (0..17).map(|number| format!("x{number}")).collect();
    assert_eq!(of(&[&many.join(",")]), Vary::Everything);
    assert!(of(&["Cookie"]).names("cookie"));
}

#[test]
fn what_cannot_matter_is_taken_out() {
    check(
        "foo",
        &[("Foo", "1, 2")],
        &[("foo", "1"), ("Foo", "2")],
        true,
    );
    check("foo", &[("Foo", "1,2")], &[("Foo", " 1, 2 ")], true);
    check("foo", &[("Foo", "a")], &[("Foo", "A")], false);
    check("foo", &[], &[("Foo", "")], false);
    check("foo", &[("Foo", "1")], &[], false);
    check("bar,foo", &[("Foo", "1")], &[("Bar", "1")], false);
    check(
        "bar,foo",
        &[("Foo", "2"), ("Bar", "1")],
        &[("Bar", "1"), ("Foo", "2")],
        true,
    );
    let language = "accept-language";
    check(
        language,
        &[("Accept-Language", "en, de")],
        &[("Accept-Language", " eN ,  De")],
        true,
    );
    check(
        language,
        &[("Accept-Language", "en, de")],
        &[("Accept-Language", "de, en")],
        false,
    );
    check(
        "cookie",
        &[("Cookie", "_ga=1; a=b")],
        &[("Cookie", "a=b;_ga=2")],
        true,
    );
    check("cookie", &[("Cookie", "a=b")], &[("Cookie", "a=c")], false);
}

#[test]
fn codings_are_those_that_anybody_uses() {
    let of =
        |value: &str| Codings::of(&headers(&[("Accept-Encoding", value)])).map(Codings::as_str);
    assert_eq!(
        of("gzip, deflate, br, zstd"),
        Some("br, deflate, gzip, zstd")
    );
    assert_eq!(
        of("zstd,BR , deflate,gzip;q=1.0, x-odd"),
        Some("br, deflate, gzip, zstd")
    );
    assert_eq!(of("gzip, br;q=0"), Some("gzip"));
    assert_eq!(of("*"), Some("gzip"));
    assert_eq!(of("identity"), Some(""));
    assert_eq!(of(""), Some(""));
    assert_eq!(of("gzip, identity;q=0"), None);
    assert_eq!(of("gzip, *;q=0"), None);
    assert_eq!(of("gzip;q=0.5, br"), None);
    assert_eq!(Codings::of(&[]).map(Codings::as_str), Some(""));
    for (bits, set) in (0_u8..).zip(SETS) {
        assert_eq!(of(set), Some(set));
        assert_eq!(Codings(bits).as_str(), set);
    }
    let encoding = "accept-encoding";
    check(
        encoding,
        &[("Accept-Encoding", "gzip;q=0.5, br")],
        &[("Accept-Encoding", "gzip, br")],
        false,
    );
}

fn foo(value: &str) -> Vec<Header<'_>> {
    headers_of("Foo", value)
}

fn headers_of<'a>(name: &'a str, value: &'a str) -> Vec<Header<'a>> {
    vec![Header {
        name,
        value: value.as_bytes(),
    }]
}

#[test]
fn a_request_selects_the_newest_copy_that_fits() {
    let policy = CachePolicy::default();
    let vary = Vary::Fields("foo".into());
    let mut room = Vec::new();
    let variants = Variants::default()
        .with(&vary, &foo("1"), &policy, 'a')
        .with(&vary, &foo("2"), &policy, 'b');
    let mut find = |variants: &Variants<char>, value: &str| {
        variants.find(&foo(value), &policy, &mut room).copied()
    };
    assert_eq!(find(&variants, "1"), Some('a'));
    assert_eq!(find(&variants, "2"), Some('b'));
    assert_eq!(find(&variants, "3"), None);
    let replaced = variants.with(&vary, &foo("1"), &policy, 'c');
    assert_eq!((replaced.len(), find(&replaced, "1")), (2, Some('c')));
    assert_eq!(find(&variants, "1"), Some('a'));
    let everything = replaced.with(&Vary::Everything, &foo("1"), &policy, 'd');
    assert_eq!(everything.len(), 2);
    let for_all = replaced.with(&Vary::Nothing, &foo("1"), &policy, 'e');
    assert_eq!((for_all.len(), find(&for_all, "9")), (1, Some('e')));
    let long = "x".repeat(SELECTING_LEN_MAX);
    assert_eq!(variants.with(&vary, &foo(&long), &policy, 'f').len(), 2);
    assert_eq!(find(&variants, &long), None);
}

#[test]
fn a_flood_of_variants_leaves_those_that_are_used() {
    let policy = CachePolicy::default();
    let vary = Vary::Fields("foo".into());
    let mut room = Vec::new();
    let mut variants = Variants::default().with(&vary, &foo("hot"), &policy, 0);
    for number in 1..1_000 {
        assert_eq!(variants.find(&foo("hot"), &policy, &mut room), Some(&0));
        variants = variants.with(&vary, &foo(&number.to_string()), &policy, number);
        assert!(variants.len() <= VARIANTS_MAX);
    }
    assert_eq!(variants.without(|copy| *copy != 0).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A variant is found only by a request with the same values as the one it was stored for.
    #[test]
    fn values_that_differ_never_select_one_copy(
        stored in prop::array::uniform2("[a-c;=]{0,3}"),
        asked in prop::array::uniform2("[a-c;=]{0,3}"),
    ) {
        let request = |values: &[String; 2]| {
            let lines = [("Foo", values[0].clone()), ("Bar", values[1].clone())];
            let headers: Vec<_> = lines
                .iter()
                .map(|(name, value)| Header { name, value: value.as_bytes() })
                .collect();
            let mut out = Vec::new();
            write_selecting(&mut out, "bar,foo", &headers, &CachePolicy::default()).then_some(out)
        };
        prop_assert_eq!(request(&stored) == request(&asked), stored == asked);
    }

    #[test]
    fn any_bytes_are_read(value: Vec<u8>) {
        for name in ["accept-encoding", "accept-language", "cookie", "foo", "vary"] {
            let headers = [Header { name, value: &value }];
            let mut out = Vec::new();
            write_selecting(&mut out, name, &headers, &CachePolicy::default());
            let _ = Vary::of(&headers);
        }
    }
}

#[test]
fn one_language_may_be_preferred_to_all_others() {
    let check = |value: &str, expected: Option<&str>| {
        let headers = [Header {
            name: "Accept-Language",
            value: value.as_bytes(),
        }];
        let found = preferred_language(&headers).map(|name| String::from_utf8_lossy(name));
        assert_eq!(found.as_deref(), expected, "{value}");
    };
    check("de", Some("de"));
    check("fr;q=0.5, de;q=1.0", Some("de"));
    check("fr;q=0.501, de;q=0.51", Some("de"));
    check("de, en;q=0.9, *;q=0.1", Some("de"));
    check("de-AT", Some("de-AT"));
    for none in [
        "",
        "de, en",
        "*",
        "de-*",
        "*, de;q=0.9",
        "de;q=0",
        "de;q=2",
        "de;q=x",
        "de;v=1",
        "de;q=0.1234",
    ] {
        check(none, None);
    }
    assert_eq!(preferred_language(&[]), None);
}
