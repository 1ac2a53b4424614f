//! Quoted texts.

use super::{Shell, ShellError};
use crate::curl::context::Context;
use crate::script::Marks;

impl Shell<'_> {
    /// `'…'`, in which nothing is replaced.
    pub(super) fn single_quoted(&mut self, text: &mut String) -> Result<(), ShellError> {
        let at = self.at;
        self.take();
        let Some(end) = self.rest().find('\'') else {
            return Err(unterminated(at, '\''));
        };
        text.push_str(&Marks::clean(&self.rest()[..end]));
        self.at += end + 1;
        Ok(())
    }

    /// `"…"` behind its first quote.
    pub(super) fn double_quoted(
        &mut self,
        text: &mut String,
        context: &mut Context<'_>,
    ) -> Result<(), ShellError> {
        let at = self.at - 1;
        while let Some(c) = self.peek() {
            if c == '"' {
                self.take();
                return Ok(());
            }
            self.expanded(text, "$`\"\\", context)?;
        }
        Err(unterminated(at, '"'))
    }

    /// The text up to a byte, as in a here-document.
    pub(super) fn expanded_to(
        &mut self,
        end: usize,
        context: &mut Context<'_>,
    ) -> Result<String, ShellError> {
        let mut text = String::new();
        while self.at < end {
            self.expanded(&mut text, "$`\\", context)?;
        }
        Ok(text)
    }

    /// A character or a variable, where a backslash escapes the characters of `escaped` alone.
    fn expanded(
        &mut self,
        text: &mut String,
        escaped: &str,
        context: &mut Context<'_>,
    ) -> Result<(), ShellError> {
        match self.peek() {
            Some('\\') => {
                if self.rest().starts_with("\\\r\n") || self.rest().starts_with("\\\n") {
                    self.skip_continuation();
                    return Ok(());
                }
                self.take();
                match self.peek() {
                    Some(c) if escaped.contains(c) => {
                        self.take();
                        text.push(c);
                    }
                    _ => text.push('\\'),
                }
            }
            Some('$') => self.dollar(text, true, context)?,
            Some('`') => self.backticks(text, context)?,
            _ => text.extend(self.take().map(Marks::clean_char)),
        }
        Ok(())
    }

    /// `$'…'` behind the dollar: escapes as in C. What is no UTF-8 becomes U+FFFD, and is noted as lost.
    pub(super) fn ansi_quoted(
        &mut self,
        text: &mut String,
        context: &mut Context<'_>,
    ) -> Result<(), ShellError> {
        let at = self.at;
        self.take();
        let mut bytes = Vec::new();
        loop {
            match self.take() {
                None => return Err(unterminated(at, '\'')),
                Some('\'') => break,
                Some('\\') => self.ansi_escape(&mut bytes),
                Some(c) => push(&mut bytes, c),
            }
        }
        let Ok(whole) = std::str::from_utf8(&bytes) else {
            context.lose(
                at,
                "bytes in $'…'",
                "a text of a plan is UTF-8",
                "put the bytes into a file, and send it with --data-binary @FILE",
            );
            text.push_str(&Marks::clean(&String::from_utf8_lossy(&bytes)));
            return Ok(());
        };
        text.push_str(&Marks::clean(whole));
        Ok(())
    }

    fn ansi_escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(c) = self.take() else { return };
        match c {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            '\\' | '\'' | '"' | '?' => push(bytes, c),
            'c' => {
                let control = self.take().unwrap_or('@');
                bytes.push(u8::try_from(u32::from(control) & 0x1f).unwrap_or(0));
            }
            'x' => match self.digits(16, 2) {
                Some(byte) => bytes.push(u8::try_from(byte).unwrap_or(b'?')),
                None => bytes.extend_from_slice(b"\\x"),
            },
            'u' => self.unicode(bytes, 'u', 4),
            'U' => self.unicode(bytes, 'U', 8),
            '0'..='7' => {
                self.at -= 1;
                let byte = self.digits(8, 3).unwrap_or(0) & 0xff;
                bytes.push(u8::try_from(byte).unwrap_or(b'?'));
            }
            other => {
                bytes.push(b'\\');
                push(bytes, other);
            }
        }
    }

    /// `\uXXXX`. Browsers write a character beyond U+FFFF as two of them, as JavaScript does.
    fn unicode(&mut self, bytes: &mut Vec<u8>, letter: char, count: usize) {
        let Some(mut number) = self.digits(16, count) else {
            bytes.push(b'\\');
            return push(bytes, letter);
        };
        if (0xd800..0xdc00).contains(&number) && self.rest().starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            match self.digits(16, 4) {
                Some(low @ 0xdc00..0xe000) => {
                    number = 0x1_0000 + ((number - 0xd800) << 10) + (low - 0xdc00);
                }
                _ => self.at = before,
            }
        }
        push(
            bytes,
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
        );
    }

    /// The number of at most `count` digits; `None` without any.
    fn digits(&mut self, base: u32, count: usize) -> Option<u32> {
        let digits = self.rest().chars();
        let len = digits.take(count).take_while(|c| c.is_digit(base)).count();
        let number = u32::from_str_radix(self.rest().get(..len)?, base).ok()?;
        self.at += len;
        Some(number)
    }
}

fn push(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

pub(super) fn unterminated(at: usize, quote: char) -> ShellError {
    ShellError {
        at,
        message: format!("the quote {quote} has no end"),
        remedy: "close the quote; within '…' a quote is written '\\''",
    }
}
