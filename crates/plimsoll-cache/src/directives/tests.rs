use proptest::prelude::*;

use super::*;

fn of(lines: &[(&str, &str)]) -> Directives {
    let headers: Vec<_> = lines
        .iter()
        .map(|(name, value)| Header {
            name,
            value: value.as_bytes(),
        })
        .collect();
    Directives::of(&headers)
}

fn control(value: &str) -> Directives {
    of(&[("Cache-Control", value)])
}

#[test]
fn lifetimes_are_numbers_or_none() {
    for (value, expected) in [
        ("max-age=3600", Some(3600)),
        ("MaX-aGe=3600", Some(3600)),
        ("max-age=003600", Some(3600)),
        ("max-age=\"3600\"", Some(3600)),
        ("max-age=99999999999", Some(u32::MAX)),
        ("foobar, max-age=3600", Some(3600)),
        ("max-age=1, extension=\"max-age=3600\"", Some(1)),
        ("extension=\"max-age=3600\", max-age=1", Some(1)),
        ("max-age=-3600", Some(0)),
        ("max-age='3600'", Some(0)),
        ("max-age=3600.0", Some(0)),
        ("max-age=a3600", Some(0)),
        ("max-age=3600a", Some(0)),
        ("max-age =3600", Some(0)),
        ("max-age= 3600", Some(0)),
        ("max-age", Some(0)),
        ("max-age=", Some(0)),
        ("public", None),
        ("xmax-age=3600", None),
    ] {
        assert_eq!(control(value).max_age, expected, "{value}");
    }
}

#[test]
fn of_several_lifetimes_the_shortest_holds() {
    assert_eq!(control("max-age=1800, max-age=1").max_age, Some(1));
    let two_lines = of(&[
        ("Cache-Control", "max-age=1, s-maxage=5"),
        ("cache-control", "max-age=1800, s-maxage=x"),
    ]);
    assert_eq!(two_lines.max_age, Some(1));
    assert_eq!(two_lines.s_maxage, Some(0));
}

#[test]
fn what_forbids_is_recognised_however_it_is_written() {
    assert!(control("No-StOrE").no_store);
    assert!(control("max-age=10000,no-store").no_store);
    assert!(control(", ,no-store =x").no_store);
    assert!(control("private").private);
    assert!(control("private=1").private);
    assert!(control("private=\"\"").private);
    assert!(control("private=\"a\", private").private);
    assert!(control("no-cache=\"a\", max-age=1, no-cache").no_cache);
    assert!(!control("x=\"no-store\"").no_store);
    assert!(control("x=\"a, no-store").malformed);
    assert!(!control("x=\"a\\\"\", no-store").malformed);
}

#[test]
fn named_fields_are_withheld_and_the_rest_is_not() {
    let directives = of(&[
        ("Cache-Control", "no-cache=\"A, b\""),
        ("Cache-Control", "max-age=3600, private=\"Set-Cookie\""),
    ]);
    assert!(!directives.no_cache && !directives.private);
    assert_eq!(directives.withheld, ["a", "b", "set-cookie"]);
    let many: Vec<String> = (0..40).map(|number| format!("x{number}")).collect();
    let directives = control(&format!("private=\"{}\"", many.join(",")));
    assert!(directives.private);
}

#[test]
fn a_targeted_field_counts_alone_when_it_is_valid() {
    let with = |targeted| {
        of(&[
            ("Cache-Control", "no-store"),
            ("CDN-Cache-Control", targeted),
        ])
    };
    let holds = with("foobar, max-age=10000");
    assert!(holds.targeted && !holds.no_store);
    assert_eq!(holds.max_age, Some(10_000));
    assert_eq!(with("max-age=99999999999").max_age, Some(u32::MAX));
    assert_eq!(with("max-age=-1").max_age, Some(0));
    assert_eq!(with("max-age=\"10000\"").max_age, Some(0));
    assert_eq!(with("max-age=1.5").max_age, Some(0));
    assert!(with("no-store, max-age=5").no_store);
    assert!(!with("no-store=?0, max-age=5").no_store);
    assert!(with("private").private);
    assert_eq!(with("private=\"a\"").withheld, ["a"]);
    for invalid in [
        "max-age=10000, &&&&&",
        "MaX-aGe=3600",
        "max-age =100",
        "max-age= 100",
        "",
        "x=\"",
    ] {
        assert!(with(invalid).no_store, "{invalid}");
    }
}

#[test]
fn wishes_are_read_and_what_is_not_valid_is_not_wished() {
    let directives = |lines: &[(&str, &str)]| {
        let headers: Vec<_> = lines
            .iter()
            .map(|(name, value)| Header {
                name,
                value: value.as_bytes(),
            })
            .collect();
        RequestDirectives::of(&headers)
    };
    let all = directives(&[(
        "Cache-Control",
        "no-cache, no-store, only-if-cached, max-age=1, min-fresh=2, max-stale=3",
    )]);
    assert!(all.no_cache && all.no_store && all.only_if_cached);
    assert_eq!(
        (all.max_age, all.min_fresh, all.max_stale),
        (Some(1), Some(2), Some(3))
    );
    let any = directives(&[("Cache-Control", "max-stale, max-age=x")]);
    assert_eq!((any.max_stale, any.max_age), (Some(u32::MAX), None));
    assert!(directives(&[("Pragma", "no-cache")]).no_cache);
    assert!(!directives(&[("Pragma", "no-cache"), ("Cache-Control", "x")]).no_cache);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever the rest contains, a plain `no-store` in a line of its own is never overlooked.
    #[test]
    fn no_store_in_its_own_line_is_never_overlooked(
        before in "[ -~]{0,40}",
        after in "[ -~]{0,40}",
    ) {
        let directives = of(&[
            ("Cache-Control", &before),
            ("Cache-Control", "no-store"),
            ("Cache-Control", &after),
        ]);
        prop_assert!(directives.no_store);
    }

    /// Additions to a valid field never lengthen a lifetime.
    #[test]
    fn an_addition_never_lengthens_a_lifetime(addition in "[ -~]{0,40}") {
        let directives = control(&format!("max-age=60, {addition}"));
        prop_assert!(directives.max_age <= Some(60));
    }

    #[test]
    fn any_bytes_are_read(value: Vec<u8>) {
        for name in ["cache-control", "cdn-cache-control"] {
            let _ = Directives::of(&[Header { name, value: &value }]);
        }
        let _ = RequestDirectives::of(&[Header { name: "cache-control", value: &value }]);
    }
}
