//! Invalidation by unsafe requests (RFC 9111, 4.4; RFC 9875), and the labels by which responses are purged.

use std::hash::Hasher;

use httparse::Header;
use sfv::{BareItem, List, ListEntry, Parser};
use url::Url;

use crate::answer::OriginResponse;
use crate::fields::{lines, members, only};
use crate::key::{KeyRef, Seed};
use crate::request::Method;

/// Maximum number of labels per response. One with more could not be purged by all of them, so it is not stored.
pub const LABELS_MAX: usize = 1_024;

/// A hashed label: a tag of any origin, or a cache group of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u64);

impl Label {
    /// A tag (`Cache-Tag`, `Surrogate-Key`).
    pub fn tag(seed: Seed, name: &[u8]) -> Self {
        let mut hasher = seed.hasher();
        hasher.write(b"tag\n");
        hasher.write(name);
        Self(hasher.finish())
    }

    /// A group (`Cache-Groups`) of the origin that a key belongs to.
    pub fn group(seed: Seed, key: &KeyRef<'_>, name: &[u8]) -> Self {
        let mut hasher = seed.hasher();
        hasher.write(if key.is_secure() {
            b"group\nhttps\n"
        } else {
            b"group\nhttp\n"
        });
        hasher.write(key.host().to_ascii_lowercase().as_bytes());
        hasher.write(b"\n");
        hasher.write(name);
        Self(hasher.finish())
    }
}

/// The distinct labels of a response: `Cache-Tag` separated by commas, `Surrogate-Key` by spaces, `Cache-Groups` as a
/// structured field (RFC 9875). `None` when there are more than [`LABELS_MAX`].
pub fn labels(answer: &[Header<'_>], key: &KeyRef<'_>, seed: Seed) -> Option<Box<[Label]>> {
    let tags = lines(answer, "cache-tag").flat_map(members);
    let keys = lines(answer, "surrogate-key")
        .flat_map(|line| line.split(u8::is_ascii_whitespace))
        .filter(|name| !name.is_empty());
    let groups = strings(answer, "cache-groups");
    let mut labels: Vec<_> = tags
        .chain(keys)
        .map(|name| Label::tag(seed, name))
        .chain(
            groups
                .iter()
                .map(|name| Label::group(seed, key, name.as_bytes())),
        )
        .take(4 * LABELS_MAX)
        .collect();
    labels.sort_unstable();
    labels.dedup();
    (labels.len() <= LABELS_MAX).then(|| labels.into_boxed_slice())
}

/// What a response invalidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalidation {
    /// Targets (path and query) of the same scheme and host.
    pub targets: Vec<String>,
    /// Groups of the same origin.
    pub groups: Vec<Label>,
}

/// What the response to a request invalidates: after a success or a redirect of an unsafe method the request's target,
/// the same-origin targets of `Location` and `Content-Location`, and the groups of `Cache-Group-Invalidation`.
///
/// Invalid responses must not be served again unvalidated, not even while they are renewed: the purge is a hard one.
pub fn invalidated(
    method: Method,
    key: &KeyRef<'_>,
    target: &str,
    answer: &OriginResponse<'_, '_>,
    seed: Seed,
) -> Invalidation {
    if !method.invalidates() || !(200..400).contains(&answer.status) {
        return Invalidation::default();
    }
    let mut targets = vec![target.to_owned()];
    for name in ["location", "content-location"] {
        let named = only(answer.headers, name).and_then(|line| same_origin(key, target, line));
        if let Some(named) = named
            && !targets.contains(&named)
        {
            targets.push(named);
        }
    }
    let groups = strings(answer.headers, "cache-group-invalidation")
        .iter()
        .map(|name| Label::group(seed, key, name.as_bytes()))
        .take(LABELS_MAX)
        .collect();
    Invalidation { targets, groups }
}

/// The target of a reference, when it has the same origin: one origin must not invalidate another's responses.
fn same_origin(key: &KeyRef<'_>, target: &str, reference: &[u8]) -> Option<String> {
    let scheme = if key.is_secure() { "https" } else { "http" };
    let base = Url::parse(&format!("{scheme}://{}{target}", key.host())).ok()?;
    let named = base.join(std::str::from_utf8(reference).ok()?).ok()?;
    if named.origin() != base.origin() {
        return None;
    }
    let mut target = named.path().to_owned();
    if let Some(query) = named.query() {
        target.push('?');
        target.push_str(query);
    }
    Some(target)
}

/// The strings of a structured-field list; empty when it is invalid (RFC 9651, 4.2). Other members are not groups (RFC
/// 9875, 2).
fn strings(answer: &[Header<'_>], name: &'static str) -> Vec<String> {
    let joined = lines(answer, name).collect::<Vec<_>>().join(&b", "[..]);
    let Ok(list) = Parser::new(&joined).parse::<List>() else {
        return Vec::new();
    };
    list.into_iter()
        .filter_map(|entry| match entry {
            ListEntry::Item(item) => match item.bare_item {
                BareItem::String(name) => Some(String::from(name)),
                _ => None,
            },
            ListEntry::InnerList(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::KeyRule;
    use crate::test_fixtures::headers;

    const SEED: Seed = Seed(3, 4);

    #[track_caller]
    fn check(method: &str, status: u16, lines: &[(&str, &str)], expected: &[&str]) {
        let rule = KeyRule::default();
        let key = KeyRef::new(true, "a.example", "/dir/page?q", &rule);
        let headers = headers(lines);
        let answer = OriginResponse {
            status,
            reason: "",
            headers: &headers,
        };
        let found = invalidated(Method::of(method), &key, "/dir/page?q", &answer, SEED);
        assert_eq!(found.targets, expected, "{method} {status} {lines:?}");
    }

    #[test]
    fn a_change_makes_copies_invalid() {
        let own = "/dir/page?q";
        for method in ["POST", "PUT", "DELETE", "M-SEARCH"] {
            check(method, 200, &[], &[own]);
            check(method, 303, &[], &[own]);
            check(method, 500, &[], &[]);
            check(method, 404, &[], &[]);
        }
        check("GET", 200, &[("Location", "/other")], &[]);
        check(
            "POST",
            201,
            &[
                ("Location", "other?x"),
                ("Content-Location", "https://A.example:443/third"),
            ],
            &[own, "/dir/other?x", "/third"],
        );
        for elsewhere in [
            "https://b.example/x",
            "//b.example/x",
            "http://a.example/x",
            "https://a.example:8443/x",
        ] {
            check("POST", 200, &[("Location", elsewhere)], &[own]);
        }
    }

    #[test]
    fn groups_belong_to_an_origin_and_tags_do_not() {
        let rule = KeyRule::default();
        let key = |host| KeyRef::new(true, host, "/", &rule);
        let group = |host| Label::group(SEED, &key(host), b"scripts");
        assert_eq!(group("a.example"), group("A.example:443"));
        assert_ne!(group("a.example"), group("b.example"));
        assert_ne!(group("a.example"), Label::tag(SEED, b"scripts"));
        let headers = headers(&[
            ("Cache-Tag", "one, two,two"),
            ("Surrogate-Key", "two  three"),
            ("Cache-Groups", "\"scripts\";v=\"1\", token"),
        ]);
        let found = labels(&headers, &key("a.example"), SEED).unwrap();
        let mut expected = vec![
            Label::tag(SEED, b"one"),
            Label::tag(SEED, b"two"),
            Label::tag(SEED, b"three"),
            group("a.example"),
        ];
        expected.sort_unstable();
        assert_eq!(*found, *expected);
    }

    #[test]
    fn a_flood_of_labels_is_refused() {
        let rule = KeyRule::default();
        let many: Vec<String> = (0..=LABELS_MAX).map(|number| number.to_string()).collect();
        let many = many.join(",");
        let headers = headers(&[("Cache-Tag", &many)]);
        assert!(labels(&headers, &KeyRef::new(true, "a", "/", &rule), SEED).is_none());
    }

    proptest! {
        /// Whatever a response names, only targets of its own origin become invalid.
        #[test]
        fn nothing_of_another_origin_becomes_invalid(reference in "[ -~]{0,40}") {
            let rule = KeyRule::default();
            let key = KeyRef::new(true, "a.example", "/page", &rule);
            if let Some(target) = same_origin(&key, "/page", reference.as_bytes()) {
                prop_assert!(target.starts_with('/'));
            }
        }
    }
}
