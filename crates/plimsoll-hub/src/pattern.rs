//! Channel names, and the patterns that select their rules.

use thiserror::Error;

/// Longest channel name, bytes.
pub const NAME_LEN_MAX: usize = 200;

/// Why a channel name is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChannelNameError {
    /// It is empty.
    #[error("the channel name is empty")]
    Empty,
    /// It is longer than [`NAME_LEN_MAX`].
    #[error("the channel name is longer than {NAME_LEN_MAX} bytes")]
    TooLong,
    /// It holds a control character.
    #[error("the channel name contains a control character")]
    Control,
}

/// Checks a channel name.
///
/// # Errors
/// When it is empty, too long, or contains control characters.
pub fn check_name(name: &str) -> Result<(), ChannelNameError> {
    if name.is_empty() {
        Err(ChannelNameError::Empty)
    } else if name.len() > NAME_LEN_MAX {
        Err(ChannelNameError::TooLong)
    } else if name.chars().any(char::is_control) {
        Err(ChannelNameError::Control)
    } else {
        Ok(())
    }
}

/// A name, or a pattern whose stars match anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Box<str>);

impl Pattern {
    /// `game-*` matches all names with the prefix `game-`; `*` matches all.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Whether it matches this name.
    pub fn matches(&self, name: &str) -> bool {
        let mut segments = self.0.split('*');
        let first = segments.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let Some(last) = segments.next_back() else {
            return rest.is_empty();
        };
        // Each segment between two stars is matched at its first occurrence, which leaves the most for the rest.
        for segment in segments {
            let Some(at) = rest.find(segment) else {
                return false;
            };
            rest = &rest[at + segment.len()..];
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, names) in [
            ("game-1", &["game-1"][..]),
            ("game-*", &["game-", "game-1", "game-a-b"]),
            ("*", &["", "x"]),
            ("*-odds", &["game-odds", "-odds"]),
            ("a*b*c", &["abc", "a--b--c", "abbbc", "abcbc"]),
            ("a**c", &["ac", "abc"]),
        ] {
            for name in names {
                assert!(Pattern::new(pattern).matches(name), "{pattern} {name}");
            }
        }
        for (pattern, name) in [
            ("game-1", "game-10"),
            ("game-*", "Game-1"),
            ("a*a", "a"),
            ("a*b*c", "acb"),
            ("", "x"),
        ] {
            assert!(!Pattern::new(pattern).matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn names_fit_a_line() {
        assert_eq!(check_name("spiel/ä 1"), Ok(()));
        assert_eq!(check_name(""), Err(ChannelNameError::Empty));
        assert_eq!(check_name(&"x".repeat(201)), Err(ChannelNameError::TooLong));
        assert_eq!(check_name("a\nb"), Err(ChannelNameError::Control));
    }
}
