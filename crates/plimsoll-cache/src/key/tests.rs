use proptest::prelude::*;

use super::*;

const SEED: Seed = Seed(1, 2);

fn rule(query: Query, sorted: bool) -> KeyRule {
    KeyRule { query, sorted }
}

#[track_caller]
fn check(target: &str, rule: &KeyRule, expected: &str) {
    let key = KeyRef::new(false, "a.example", target, rule);
    let built = key.to_key();
    let text = String::from_utf8(built.as_bytes().to_vec()).unwrap();
    assert_eq!(text, format!("http://a.example{expected}"), "{target}");
    assert!(key.is(&built));
}

#[test]
fn scheme_host_and_port_tell_keys_apart() {
    let rule = KeyRule::default();
    let bytes = |secure, host| KeyRef::new(secure, host, "/", &rule).to_key();
    assert_eq!(bytes(false, "A.Example:80"), bytes(false, "a.example"));
    assert_eq!(bytes(true, "a.example:443"), bytes(true, "a.example"));
    assert_eq!(bytes(true, "[::1]:443"), bytes(true, "[::1]"));
    assert_ne!(bytes(true, "a.example:80"), bytes(true, "a.example"));
    assert_ne!(bytes(false, "a.example:8080"), bytes(false, "a.example"));
    assert_ne!(bytes(false, "a.example"), bytes(true, "a.example"));
    assert_eq!(bytes(true, "a.example:8443").host(), b"a.example:8443");
    assert_eq!(bytes(false, "a.example").host(), b"a.example");
}

#[test]
fn what_an_origin_may_use_is_never_left_out() {
    let all = KeyRule::default();
    for target in [
        "/a%2fb", "/a%2Fb", "/A", "/a#b", "/a?", "/a?b#c", "//a", "/a;b?c;d",
    ] {
        check(target, &all, target);
    }
    check("", &all, "/");
    check("?a", &all, "/?a");
}

#[test]
fn a_rule_leaves_out_what_it_says() {
    check("/a?b=1&c", &rule(Query::Ignore, false), "/a");
    let only = rule(Query::Only(vec!["page".into(), "id".into()]), false);
    check(
        "/a?x=1&id=2&page=3&id=4&pages=5",
        &only,
        "/a?id=2&page=3&id=4",
    );
    check("/a?x=1", &only, "/a");
    let tracking = rule(Query::Tracking, false);
    check(
        "/a?utm_source=x&b=1&gclid=y&UTM_x=z",
        &tracking,
        "/a?b=1&UTM_x=z",
    );
    // A parameter cloaked behind a semicolon, or by an encoded name, is not dropped.
    check(
        "/a?utm_x=1;callback=evil",
        &tracking,
        "/a?utm_x=1;callback=evil",
    );
    check("/a?utm%5fx=1", &tracking, "/a?utm%5fx=1");
    let sorted = rule(Query::All, true);
    check("/a?b=2&a=1&b=1&a", &sorted, "/a?a=1&a&b=2&b=1");
    let many = format!(
        "/a?{}",
        (0..70)
            .rev()
            .map(|n| format!("p{n}"))
            .collect::<Vec<_>>()
            .join("&")
    );
    check(&many, &sorted, &many);
}

#[test]
fn a_field_names_what_was_asked_for() {
    let rule = KeyRule::default();
    let key = KeyRef::new(true, "A.example", "/a?b", &rule);
    for uri in ["/a?b", "https://a.example/a?b", "HTTPS://A.EXAMPLE:443/a?b"] {
        assert!(key.is_named_by(uri.as_bytes()), "{uri}");
    }
    for uri in [
        "",
        "a?b",
        "/a",
        "/a?b#",
        "//a.example/a?b",
        "http://a.example/a?b",
        "https://b/a?b",
    ] {
        assert!(!key.is_named_by(uri.as_bytes()), "{uri}");
    }
    let root = KeyRef::new(false, "a", "", &rule);
    assert!(root.is_named_by(b"http://a") && root.is_named_by(b"/"));
}

fn rules() -> impl Strategy<Value = KeyRule> {
    let query = prop_oneof![
        Just(Query::All),
        Just(Query::Ignore),
        Just(Query::Only(vec!["a".into()])),
        Just(Query::Tracking),
    ];
    (query, any::<bool>()).prop_map(|(query, sorted)| rule(query, sorted))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Two requests share a key only when it is equal byte for byte, and then they share its hash.
    #[test]
    fn keys_are_equal_only_when_their_bytes_are(
        rule in rules(),
        hosts in prop::array::uniform2("[aA]{1,70}(:80|:443)?"),
        targets in prop::array::uniform2("(/[ab%;]{0,2})?(\\?(a|b|utm_x)(=[1;])?(&(a|b)(=1)?)?)?"),
        secure: bool,
    ) {
        let first = KeyRef::new(secure, &hosts[0], &targets[0], &rule);
        let second = KeyRef::new(secure, &hosts[1], &targets[1], &rule);
        let is_same = first.to_key() == second.to_key();
        prop_assert_eq!(first.is(&second.to_key()), is_same);
        if is_same {
            prop_assert_eq!(first.hash(SEED), second.hash(SEED));
        } else {
            prop_assert_ne!(first.hash(SEED), second.hash(SEED));
        }
    }

    /// With everything in the key, only the spelling of the host is normalized.
    #[test]
    fn different_targets_have_different_keys(targets in prop::array::uniform2("/[a-c?&=;#]{0,4}")) {
        let rule = KeyRule::default();
        let key = |target| KeyRef::new(true, "a", target, &rule).to_key();
        prop_assert_eq!(key(&targets[0]) == key(&targets[1]), targets[0] == targets[1]);
    }
}
