//! Parser of one tag: its name, its attributes, and its end.

use super::Include;

/// A supported tag.
pub(super) enum Tag {
    Include(Include),
    Comment,
    /// Start of a removed section.
    Remove,
}

impl Tag {
    /// Parses the tag at the start of `bytes`, and its length. `None` when there is none, or it is malformed.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let rest = bytes.strip_prefix(b"<esi:")?;
        let name_len = rest.iter().position(|byte| !byte.is_ascii_lowercase())?;
        let (name, rest) = rest.split_at(name_len);
        let mut reader = Attributes {
            rest,
            len: bytes.len(),
        };
        match name {
            b"include" => {
                let (include, is_closed) = reader.include()?;
                let mut end = reader.at();
                let behind = &bytes[end..];
                if !is_closed && behind.starts_with(b"</esi:include>") {
                    end += b"</esi:include>".len();
                }
                Some((Self::Include(include), end))
            }
            b"comment" => {
                while reader.next()?.is_some() {}
                reader.end()?;
                Some((Self::Comment, reader.at()))
            }
            b"remove" => {
                reader.skip_blanks();
                // A self-closing one removes nothing, and is not a supported tag.
                reader.take(b">").then(|| (Self::Remove, reader.at()))
            }
            _ => None,
        }
    }
}

struct Attributes<'a> {
    rest: &'a [u8],
    /// Length of the whole input.
    len: usize,
}

impl<'a> Attributes<'a> {
    fn at(&self) -> usize {
        self.len - self.rest.len()
    }

    fn take(&mut self, bytes: &[u8]) -> bool {
        match self.rest.strip_prefix(bytes) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_blanks(&mut self) -> bool {
        let trimmed = self.rest.trim_ascii_start();
        let had_some = trimmed.len() < self.rest.len();
        self.rest = trimmed;
        had_some
    }

    /// The end of the tag: whether it is self-closing.
    fn end(&mut self) -> Option<bool> {
        if self.take(b"/>") {
            return Some(true);
        }
        self.take(b">").then_some(false)
    }

    /// The next attribute; inner `None` at the end of the attributes, outer `None` for a malformed one.
    #[expect(
        clippy::option_option,
        reason = "there is none, and it is wrong, are two things"
    )]
    fn next(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        let is_apart = self.skip_blanks();
        if matches!(self.rest.first()?, b'/' | b'>') {
            return Some(None);
        }
        let name_len = self
            .rest
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(byte)))?;
        if name_len == 0 || !is_apart {
            return None;
        }
        let (name, rest) = self.rest.split_at(name_len);
        self.rest = rest;
        self.skip_blanks();
        if !self.take(b"=") {
            return None;
        }
        self.skip_blanks();
        let (&quote, rest) = self.rest.split_first()?;
        if !matches!(quote, b'"' | b'\'') {
            return None;
        }
        let end = rest
            .iter()
            .position(|byte| matches!(*byte, b'<') || *byte == quote)?;
        if rest[end] != quote {
            return None;
        }
        self.rest = &rest[end + 1..];
        Some(Some((name, &rest[..end])))
    }

    /// An include, and whether it is self-closing.
    fn include(&mut self) -> Option<(Include, bool)> {
        let (mut src, mut alt, mut may_fail) = (None, None, false);
        while let Some((name, value)) = self.next()? {
            match name {
                b"src" => {
                    src.get_or_insert(value);
                }
                b"alt" => {
                    alt.get_or_insert(value);
                }
                b"onerror" => may_fail |= value == b"continue",
                _ => {}
            }
        }
        let is_closed = self.end()?;
        let address = |value: Option<&[u8]>| {
            let text = resolved(value?.trim_ascii())?;
            (!text.is_empty()).then(|| text.into_boxed_str())
        };
        let include = Include {
            src: address(src)?,
            alt: address(alt),
            may_fail,
        };
        Some((include, is_closed))
    }
}

/// A value with XML entities resolved; unknown entities stay. `None` when it is not text.
fn resolved(value: &[u8]) -> Option<String> {
    const ENTITIES: [(&str, char); 5] = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&apos;", '\''),
    ];
    let mut rest = std::str::from_utf8(value).ok()?;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.find('&') {
        let (before, entity) = rest.split_at(at);
        text.push_str(before);
        let known = ENTITIES
            .iter()
            .find_map(|(name, char)| Some((entity.strip_prefix(name)?, *char)));
        let (behind, char) = known.unwrap_or((&entity[1..], '&'));
        text.push(char);
        rest = behind;
    }
    text.push_str(rest);
    Some(text)
}
