//! Entity tags (RFC 9110, 8.8.3) and their comparison.

use crate::fields::members;

/// A parsed tag: weak or not, and the opaque part with its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ETag<'a> {
    weak: bool,
    opaque: &'a [u8],
}

impl<'a> ETag<'a> {
    /// Parses a tag. One without quotes is kept as it is: it equals only itself.
    pub fn of(value: &'a [u8]) -> Self {
        match value {
            [b'W', b'/', opaque @ ..] => Self { weak: true, opaque },
            opaque => Self {
                weak: false,
                opaque,
            },
        }
    }

    /// Whether it is strong: equal tags mean byte-identical content.
    pub fn is_strong(&self) -> bool {
        !self.weak && self.opaque.len() >= 2 && self.opaque.starts_with(b"\"")
    }

    /// The weak comparison (RFC 9110, 8.8.3.2), for `If-None-Match`.
    pub fn matches_weakly(&self, other: &ETag<'_>) -> bool {
        self.opaque == other.opaque
    }

    /// The strong comparison, for `If-Range` and for renewal by a 304.
    pub fn matches_strongly(&self, other: &ETag<'_>) -> bool {
        self.is_strong() && other.is_strong() && self.opaque == other.opaque
    }
}

/// Whether a line of `If-None-Match` contains this tag.
pub fn names(line: &[u8], tag: &ETag<'_>) -> bool {
    members(line).any(|member| ETag::of(member).matches_weakly(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_compare_as_the_table_of_the_standard_says() {
        // RFC 9110, 8.8.3.2: two tags, whether they match strongly, and weakly.
        for (tag, other, strongly, weakly) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
            ("w/\"1\"", "\"1\"", false, false),
            ("1", "1", false, true),
        ] {
            let (tag, other) = (ETag::of(tag.as_bytes()), ETag::of(other.as_bytes()));
            assert_eq!(tag.matches_strongly(&other), strongly, "{tag:?} {other:?}");
            assert_eq!(tag.matches_weakly(&other), weakly, "{tag:?} {other:?}");
        }
    }

    #[test]
    fn a_list_names_its_members() {
        let tag = ETag::of(b"\"b, c\"");
        assert!(names(b"\"a\", W/\"b, c\",\"d\"", &tag));
        assert!(!names(b"\"a\", \"b\", \"c\"", &tag));
    }
}
