//! Clients that want to have what has changed only.

use super::HandlerFixture;

#[test]
fn who_wants_it_is_told_what_has_changed() {
    let mut fixture = HandlerFixture::new();
    let odds = |first: u32, more: &str| {
        format!(r#"{{"game":"a name of some length","odds":{{"home":{first},"away":2}}{more}}}"#)
    };
    let whole = |offset: u32, data: &str| {
        [format!(
            r#"{{"channel":"patched","offset":{offset},"epoch":7,"data":{data}}}"#
        )]
    };
    let patch = |offset: u32, patch: &str| {
        [format!(
            r#"{{"channel":"patched","offset":{offset},"epoch":7,"patch":{patch}}}"#
        )]
    };
    fixture.send(r#"{"subscribe":["patched"]}"#);
    assert_eq!(
        fixture.is_published("patched", &odds(1, "")),
        whole(1, &odds(1, ""))
    );
    // Clients that did not request patches receive none.
    assert_eq!(
        fixture.is_published("patched", &odds(2, "")),
        whole(2, &odds(2, ""))
    );
    fixture.send(r#"{"patches":true}"#);
    let changed = r#"{"odds":{"home":3}}"#;
    assert_eq!(
        fixture.is_published("patched", &odds(3, "")),
        patch(3, changed)
    );
    // What a patch cannot express is sent in full, and is the base of the next one.
    let null = odds(3, r#","x":null"#);
    assert_eq!(fixture.is_published("patched", &null), whole(4, &null));
    assert_eq!(
        fixture.is_published("patched", &odds(3, "")),
        patch(5, r#"{"x":null}"#)
    );
    // A returning client gets everything in full, and the next message too.
    fixture.send(r#"{"unsubscribe":["patched"]}"#);
    assert!(fixture.is_published("patched", &odds(4, "")).is_empty());
    let recover = r#"{"subscribe":[{"channel":"patched","epoch":7,"offset":5}]}"#;
    assert_eq!(fixture.send(recover), whole(6, &odds(4, "")));
    assert_eq!(
        fixture.is_published("patched", &odds(5, "")),
        whole(7, &odds(5, ""))
    );
    let changed = r#"{"odds":{"home":6}}"#;
    assert_eq!(
        fixture.is_published("patched", &odds(6, "")),
        patch(8, changed)
    );
    fixture.send(r#"{"patches":false}"#);
    assert_eq!(
        fixture.is_published("patched", &odds(7, "")),
        whole(9, &odds(7, ""))
    );
}
