//! Reads the members of a JSON object from bytes, without building a tree.
//!
//! A log has bytes that are no UTF-8, and halves of surrogate pairs, in texts of clients; neither may cost the line. The
//! libraries for JSON refuse both.

use memchr::memchr2;

use crate::entry::LineError;

/// Deepest object within an object that is looked into; deeper ones are skipped.
pub(crate) const DEPTH_MAX: u8 = 8;

/// A value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonValue<'a> {
    /// The inside of the quotes, with its escapes.
    Text(&'a [u8]),
    /// A number, as written.
    Number(&'a [u8]),
    /// `true`, `false`, `null`, or something that was skipped.
    Other,
}

/// What to do with an object or a list that is the value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nested<S> {
    /// Look into it.
    Enter(S),
    Skip,
}

/// Receives the members of objects.
pub(crate) trait Members<'a> {
    /// Which object a member is in.
    type Scope: Copy;

    /// What to do with an object that is the value of this key.
    fn nested(&mut self, scope: Self::Scope, key: &'a [u8]) -> Nested<Self::Scope>;

    /// Takes a text or number; of a list, its first item.
    fn take(&mut self, scope: Self::Scope, key: &'a [u8], value: JsonValue<'a>);
}

/// A place in a line.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Reads a line that is one object.
    ///
    /// # Errors
    /// When the line is no object, or ends within it.
    pub(crate) fn object<M: Members<'a>>(
        text: &'a [u8],
        scope: M::Scope,
        members: &mut M,
    ) -> Result<(), LineError> {
        let mut scanner = Scanner { text, at: 0 };
        scanner.blanks();
        if scanner.peek() != Some(b'{') {
            return Err(LineError::Missing("JSON object"));
        }
        scanner
            .members(scope, members, 0)
            .ok_or_else(|| scanner.invalid())?;
        scanner.blanks();
        if scanner.at < text.len() && scanner.peek() != Some(b',') {
            return Err(scanner.invalid());
        }
        Ok(())
    }

    fn invalid(&self) -> LineError {
        let from = self.at.min(self.text.len());
        LineError::invalid("the JSON at", &self.text[from..])
    }

    fn members<M: Members<'a>>(
        &mut self,
        scope: M::Scope,
        members: &mut M,
        depth: u8,
    ) -> Option<()> {
        self.at += 1;
        self.blanks();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.blanks();
            let key = self.string()?;
            self.blanks();
            self.expect(b':')?;
            self.value(scope, key, members, depth)?;
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn value<M: Members<'a>>(
        &mut self,
        scope: M::Scope,
        key: &'a [u8],
        members: &mut M,
        depth: u8,
    ) -> Option<()> {
        self.blanks();
        match self.peek()? {
            b'{' => match members.nested(scope, key) {
                Nested::Enter(inner) if depth < DEPTH_MAX => {
                    self.members(inner, members, depth + 1)
                }
                _ => self.skip(),
            },
            b'[' => self.list(scope, key, members),
            _ => {
                let value = self.plain()?;
                members.take(scope, key, value);
                Some(())
            }
        }
    }

    /// A list: its first item counts if it is a text or number.
    fn list<M: Members<'a>>(
        &mut self,
        scope: M::Scope,
        key: &'a [u8],
        members: &mut M,
    ) -> Option<()> {
        let start = self.at;
        self.at += 1;
        self.blanks();
        if !matches!(self.peek()?, b'{' | b'[' | b']') {
            let first = self.plain()?;
            members.take(scope, key, first);
        }
        self.at = start;
        self.skip()
    }

    /// A text, a number or a word.
    fn plain(&mut self) -> Option<JsonValue<'a>> {
        if self.peek()? == b'"' {
            return Some(JsonValue::Text(self.string()?));
        }
        let rest = &self.text[self.at..];
        let length = rest
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
            .unwrap_or(rest.len());
        let word = &rest[..length];
        let is_number = word
            .first()
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
        // A server that has no number writes `-`, which is no JSON, into fields that it does not quote.
        let is_word = matches!(word, b"true" | b"false" | b"null" | b"-" | b"");
        if !is_number && !is_word {
            return None;
        }
        self.at += length;
        Some(if is_number && word != b"-" {
            JsonValue::Number(word)
        } else {
            JsonValue::Other
        })
    }

    /// The inside of a string.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let rest = self.text.get(self.at..)?;
            let found = memchr2(b'"', b'\\', rest)?;
            self.at += found;
            if rest[found] == b'"' {
                let inside = &self.text[start..self.at];
                self.at += 1;
                return Some(inside);
            }
            self.at += 2;
        }
    }

    /// Skips an object or a list, however deep.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Some(());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }
}
