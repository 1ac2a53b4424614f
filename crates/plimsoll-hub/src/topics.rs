//! Topic selectors of Mercure's tokens: a name, a URI template (RFC 6570), or `*` for all.
//!
//! In templates, `{name}`, `{+name}`, `{/name}` and `{?name}` are supported; the last two may also be absent. A selector
//! with any other expression matches only itself.

use std::borrow::Cow;

/// Characters of variable names in templates, besides letters and digits.
const NAME_EXTRA: &[u8] = b"_.,";
/// Characters of values, besides letters and digits.
const PLAIN: &[u8] = b"-._~,%";
/// Further characters that `{+name}` permits.
const RESERVED: &[u8] = b":/?#[]@!$&'()*+;=";

/// A topic selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    text: Box<str>,
    /// Segments of a template.
    segments: Box<[SelectorSegment]>,
}

/// A segment of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SelectorSegment {
    Text(Box<str>),
    /// A variable.
    Value {
        has_reserved: bool,
    },
    /// What is there only if a variable is defined.
    Optional(Box<[SelectorSegment]>),
}

impl Selector {
    /// `https://a.example/books/1`, `https://a.example/books/{id}`, or `*`.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            segments: parse_template(text).unwrap_or_default().into(),
        }
    }

    /// Whether it may match more than the topic of the same name.
    pub fn is_wide(&self) -> bool {
        *self.text == *"*" || !self.segments.is_empty()
    }

    /// Whether it may match a topic that begins with `path`; false only if that is certain.
    pub fn may_match_below(&self, path: &str) -> bool {
        match self.segments.first() {
            Some(SelectorSegment::Text(text)) => {
                text.starts_with(path) || path.starts_with(&**text)
            }
            Some(_) => true,
            None => *self.text == *"*" || self.text.starts_with(path),
        }
    }

    /// Whether it matches a topic. Takes at most time proportional to topic length times segments.
    pub fn matches(&self, topic: &str) -> bool {
        if *self.text == *topic || *self.text == *"*" {
            return true;
        }
        if self.segments.is_empty() {
            return false;
        }
        if let Some(SelectorSegment::Text(text)) = self.segments.first()
            && !topic.starts_with(&**text)
        {
            return false;
        }
        let bytes = topic.as_bytes();
        // Positions where the segments so far may end.
        let mut ends = vec![false; bytes.len() + 1];
        ends[0] = true;
        advance(&self.segments, &mut ends, bytes);
        ends[bytes.len()]
    }
}

/// From the positions where segments may begin to those where they may end.
fn advance(segments: &[SelectorSegment], ends: &mut Vec<bool>, bytes: &[u8]) {
    for segment in segments {
        let mut next = vec![false; bytes.len() + 1];
        match segment {
            SelectorSegment::Text(text) => {
                let ended = ends.iter().enumerate().filter(|(_, is_end)| **is_end);
                for (at, _) in ended {
                    if bytes[at..].starts_with(text.as_bytes()) {
                        next[at + text.len()] = true;
                    }
                }
            }
            SelectorSegment::Value { has_reserved } => {
                let following = bytes.iter().map(Some).chain([None]);
                let mut goes_on = false;
                for ((next, end), byte) in next.iter_mut().zip(&*ends).zip(following) {
                    *next = goes_on || *end;
                    goes_on = *next && byte.is_some_and(|&byte| is_value(byte, *has_reserved));
                }
            }
            SelectorSegment::Optional(segments) => {
                next.clone_from(ends);
                advance(segments, &mut next, bytes);
                for (next, end) in next.iter_mut().zip(&*ends) {
                    *next |= *end;
                }
            }
        }
        *ends = next;
    }
}

/// A name to be matched with patterns: variables of a template are replaced by a character that only a star matches. So
/// a permission for a template covers everything that it matches.
pub fn bounded(name: &str) -> Cow<'_, str> {
    let Some(segments) = name.contains('{').then(|| parse_template(name)).flatten() else {
        return Cow::Borrowed(name);
    };
    let segments = segments.iter().map(|segment| match segment {
        SelectorSegment::Text(text) => &**text,
        SelectorSegment::Value { .. } | SelectorSegment::Optional(_) => "\0",
    });
    Cow::Owned(segments.collect())
}

fn is_value(byte: u8, has_reserved: bool) -> bool {
    byte.is_ascii_alphanumeric()
        || PLAIN.contains(&byte)
        || has_reserved && RESERVED.contains(&byte)
}

/// The segments of a template; `None` if it is not supported.
fn parse_template(text: &str) -> Option<Vec<SelectorSegment>> {
    let mut segments = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        if !before.is_empty() {
            segments.push(SelectorSegment::Text(before.into()));
        }
        segments.extend(parse_expression(name)?);
        rest = after;
    }
    if segments.is_empty() || rest.contains('}') {
        return None;
    }
    if !rest.is_empty() {
        segments.push(SelectorSegment::Text(rest.into()));
    }
    Some(segments)
}

/// The segments of an expression between braces; `None` if it is not supported.
fn parse_expression(expression: &str) -> Option<Vec<SelectorSegment>> {
    let (operator, names) = match expression.split_at_checked(1)? {
        (operator @ ("+" | "/" | "?"), names) => (operator, names),
        _ => ("", expression),
    };
    let is_name = |name: &str| {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || NAME_EXTRA.contains(&byte);
        !name.is_empty() && name.bytes().all(is_fit)
    };
    if !is_name(names) {
        return None;
    }
    let optional = |(index, name): (usize, &str)| {
        let before = match (operator, index) {
            ("/", _) => "/".to_owned(),
            (_, 0) => format!("?{name}="),
            _ => format!("&{name}="),
        };
        let value = SelectorSegment::Value {
            has_reserved: false,
        };
        SelectorSegment::Optional([SelectorSegment::Text(before.into()), value].into())
    };
    Some(match operator {
        "/" | "?" => names.split(',').enumerate().map(optional).collect(),
        operator => vec![SelectorSegment::Value {
            has_reserved: operator == "+",
        }],
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_template_means_what_it_may_become() {
        for (selector, topics) in [
            ("*", &["", "a", "https://a.example/x"][..]),
            ("https://a.example/1", &["https://a.example/1"]),
            (
                "/books/{id}",
                &[
                    "/books/1",
                    "/books/a-b.c~d",
                    "/books/%C3%A4",
                    "/books/",
                    "/books/{id}",
                ],
            ),
            ("/u/{u}/b/{b}", &["/u/1/b/2", "/u//b/"]),
            ("{+all}", &["https://a.example/x?y#z", ""]),
            ("{a}-{b}", &["1-2-3", "-"]),
            // An unsupported expression matches itself.
            ("/x{#q}", &["/x{#q}"]),
            ("/x{", &["/x{"]),
            (
                "/s{/topic}{/subscriber}",
                &[
                    "/s",
                    "/s/a%2Fb",
                    "/s/a%2Fb/urn%3Ax",
                    "/s{/topic}{/subscriber}",
                ],
            ),
            ("/s{/topic,subscriber}", &["/s", "/s/a", "/s/a/b"]),
            (
                "/users/foo/{?topic}",
                &[
                    "/users/foo/",
                    "/users/foo/?topic=https%3A%2F%2Fa.example%2F1",
                ],
            ),
            ("/x{?a,b}", &["/x", "/x?a=1", "/x?a=1&b=2"]),
        ] {
            for topic in topics {
                assert!(Selector::new(selector).matches(topic), "{selector} {topic}");
            }
        }
        for (selector, topic) in [
            ("/books/{id}", "/books/1/secret"),
            ("/books/{id}", "/books/1?x"),
            ("/books/{id}", "/book/1"),
            ("/books/{id}/x", "/books/1"),
            ("/books/*", "/books/1"),
            ("a*", "ab"),
            ("/x{#q}", "/x#1"),
            ("/x{?q}", "/x?p=1"),
            ("/x{?q}", "/x?q=1&p=2"),
            ("/s{/topic}{/subscriber}", "/s/a/b/c"),
            ("/s{/topic}", "/sa"),
            ("/s{/}", "/s"),
            ("", "a"),
            ("{a}b", "ä"),
        ] {
            assert!(
                !Selector::new(selector).matches(topic),
                "{selector} {topic}"
            );
        }
        assert!(Selector::new("*").is_wide() && Selector::new("/{a}").is_wide());
        assert!(!Selector::new("/a*").is_wide() && !Selector::new("/x{#q}").is_wide());
    }

    #[test]
    fn what_may_be_below_a_path() {
        for selector in ["*", "{+all}", "/s", "/s/x", "/s{/a}", "/{a}", "/s/x/{a}"] {
            assert!(Selector::new(selector).may_match_below("/s"), "{selector}");
        }
        for selector in ["/t", "/t/{a}", "https://a.example/{a}", "/"] {
            assert!(!Selector::new(selector).may_match_below("/s"), "{selector}");
        }
    }

    #[test]
    fn what_a_template_leaves_open_is_no_letter() {
        use crate::pattern::Pattern;

        assert!(Pattern::new("/books/*").matches(&bounded("/books/{id}")));
        assert!(!Pattern::new("/books/*d*").matches(&bounded("/books/{id}")));
        assert!(Pattern::new("/books/*").matches(&bounded("/books/1")));
        assert_eq!(bounded("/x{#q}"), "/x{#q}");
        // A right to what is below does not cover the topic above.
        assert!(!Pattern::new("/s/*").matches(&bounded("/s{/topic}")));
        assert!(Pattern::new("/s*").matches(&bounded("/s{/topic}")));
    }

    proptest! {
        #[test]
        fn any_selector_means_itself(text in "[ab/{}+*]{0,20}", topic in "[ab/]{0,20}") {
            prop_assert!(Selector::new(&text).matches(&text));
            Selector::new(&text).matches(&topic);
        }
    }
}
