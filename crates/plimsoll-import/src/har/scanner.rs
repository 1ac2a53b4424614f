//! Reads the outline of a HAR file as a stream: its entries one after the other, each as its bytes.
//!
//! A recording may be far longer than the memory that it may take, and one entry that is not valid must not lose the
//! others. So nothing but the outline is parsed here; of the rest only strings and brackets are followed. A string longer
//! than any value that a plan uses is cut.

use std::io::BufRead;

use serde_json::Value;

use super::HarError;

/// Longest string of an entry that is kept, bytes; the rest of a longer one is skipped.
const STRING_LEN_MAX: usize = 12 << 20;
/// Longest entry, bytes, without what was cut of its strings.
const ENTRY_LEN_MAX: usize = 64 << 20;
/// Longest value beside the entries that is kept, bytes.
const NAME_LEN_MAX: usize = 4 << 10;
/// Deepest nesting: that of the parser of entries.
const DEPTH_MAX: usize = 128;
/// Most JSON values of an entry; each takes up to forty times its length in memory.
const ENTRY_VALUES_MAX: usize = 500_000;
/// Most JSON values of a file: a request has about a hundred.
pub(super) const VALUES_MAX: usize = 8_000_000;

/// Where a byte lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: usize,
    /// Bytes from the start of the line, from 1.
    pub(super) column: usize,
}

/// One entry as it stands in the file.
#[derive(Debug)]
pub(super) struct RawEntry<'a> {
    pub(super) place: Place,
    /// `None` when it is longer, or has more values, than an entry may.
    pub(super) bytes: Option<&'a [u8]>,
    /// Whether a string of it was cut.
    pub(super) is_cut: bool,
}

/// What a HAR file has beside its entries.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) creator: Value,
    pub(super) browser: Value,
    /// Whether there is a list of entries.
    pub(super) has_entries: bool,
}

/// Reads a HAR file, and passes its entries to `take`.
pub(super) fn scan(
    reader: impl BufRead,
    take: impl FnMut(RawEntry<'_>) -> Result<(), HarError>,
) -> Result<Outline, HarError> {
    let mut scanner = Scanner {
        reader,
        take,
        line: 1,
        column: 0,
        values: 0,
        outline: Outline::default(),
        entry: Vec::new(),
    };
    scanner.file()?;
    Ok(scanner.outline)
}

struct Scanner<R, T> {
    reader: R,
    take: T,
    line: usize,
    /// Bytes of the line that were read.
    column: usize,
    values: usize,
    outline: Outline,
    /// Room for one entry.
    entry: Vec<u8>,
}

/// What is kept of a value.
struct Stored<'a> {
    bytes: Option<&'a mut Vec<u8>>,
    len_max: usize,
    is_over: bool,
    is_cut: bool,
}

impl<'a> Stored<'a> {
    fn nothing() -> Self {
        Self {
            bytes: None,
            len_max: 0,
            is_over: false,
            is_cut: false,
        }
    }

    fn within(bytes: &'a mut Vec<u8>, len_max: usize) -> Self {
        bytes.clear();
        Self {
            bytes: Some(bytes),
            len_max,
            is_over: false,
            is_cut: false,
        }
    }

    fn push(&mut self, more: &[u8]) {
        let Some(bytes) = &mut self.bytes else { return };
        if self.is_over || bytes.len() + more.len() > self.len_max {
            self.is_over = true;
        } else {
            bytes.extend_from_slice(more);
        }
    }
}

impl<R, T> Scanner<R, T>
where
    R: BufRead,
    T: FnMut(RawEntry<'_>) -> Result<(), HarError>,
{
    fn file(&mut self) -> Result<(), HarError> {
        self.skip_mark()?;
        match self.peek_token()? {
            b'{' => self.members(|scanner, key| match key {
                b"log" => scanner.log(),
                _ => scanner.value(&mut Stored::nothing()),
            })?,
            // Other JSON.
            _ => self.value(&mut Stored::nothing())?,
        }
        self.skip_blanks()?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.fault("more follows the end of the object")),
        }
    }

    fn log(&mut self) -> Result<(), HarError> {
        if self.peek_token()? != b'{' {
            return self.value(&mut Stored::nothing());
        }
        self.members(|scanner, key| match key {
            b"entries" => scanner.entries(),
            b"creator" => {
                scanner.outline.creator = scanner.small()?;
                Ok(())
            }
            b"browser" => {
                scanner.outline.browser = scanner.small()?;
                Ok(())
            }
            _ => scanner.value(&mut Stored::nothing()),
        })
    }

    fn entries(&mut self) -> Result<(), HarError> {
        if self.peek_token()? != b'[' {
            return self.value(&mut Stored::nothing());
        }
        self.next_byte()?;
        self.outline.has_entries = true;
        if self.peek_token()? == b']' {
            return self.next_byte().map(|_| ());
        }
        loop {
            self.peek_token()?;
            self.next_entry()?;
            match self.next_token()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return Err(self.fault("expected `,` or `]` behind an entry")),
            }
        }
    }

    fn next_entry(&mut self) -> Result<(), HarError> {
        let place = Place {
            line: self.line,
            column: self.column + 1,
        };
        let before = self.values;
        self.count_value()?;
        let mut entry = std::mem::take(&mut self.entry);
        let mut stored = Stored::within(&mut entry, ENTRY_LEN_MAX);
        let read = self.value(&mut stored);
        let is_whole = !stored.is_over && self.values - before <= ENTRY_VALUES_MAX;
        let is_cut = stored.is_cut;
        read?;
        (self.take)(RawEntry {
            place,
            bytes: is_whole.then_some(entry.as_slice()),
            is_cut,
        })?;
        self.entry = entry;
        Ok(())
    }

    /// A short value; null where it is not.
    fn small(&mut self) -> Result<Value, HarError> {
        let mut bytes = Vec::new();
        let mut stored = Stored::within(&mut bytes, NAME_LEN_MAX);
        self.value(&mut stored)?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// The members of an object; `member` reads the value of each.
    fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &[u8]) -> Result<(), HarError>,
    ) -> Result<(), HarError> {
        self.next_token()?;
        if self.peek_token()? == b'}' {
            return self.next_byte().map(|_| ());
        }
        let mut key = Vec::new();
        loop {
            if self.peek_token()? != b'"' {
                self.next_byte()?;
                return Err(self.fault("expected a key in quotes"));
            }
            let mut stored = Stored::within(&mut key, NAME_LEN_MAX);
            self.next_byte()?;
            self.string(&mut stored)?;
            if self.next_token()? != b':' {
                return Err(self.fault("expected `:` behind a key"));
            }
            self.peek_token()?;
            let name = key.strip_suffix(b"\"").unwrap_or(&key).to_vec();
            member(self, &name)?;
            match self.next_token()? {
                b',' => {}
                b'}' => return Ok(()),
                _ => return Err(self.fault("expected `,` or `}` behind a value")),
            }
        }
    }

    /// One value of any kind.
    fn value(&mut self, stored: &mut Stored<'_>) -> Result<(), HarError> {
        let mut depth = 0_usize;
        loop {
            let byte = self.next_byte()?;
            stored.push(&[byte]);
            match byte {
                b'"' => self.string(stored)?,
                b'{' | b'[' => {
                    self.count_value()?;
                    depth += 1;
                    if depth > DEPTH_MAX {
                        return Err(HarError::TooDeep {
                            line: self.line,
                            column: self.column,
                        });
                    }
                    continue;
                }
                b'}' | b']' if depth > 0 => depth -= 1,
                b',' if depth > 0 => {
                    self.count_value()?;
                    continue;
                }
                b':' | b' ' | b'\t' | b'\r' | b'\n' if depth > 0 => continue,
                b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => self.scalar(stored)?,
                _ => return Err(self.fault("expected a value")),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The rest of a number or a word.
    fn scalar(&mut self, stored: &mut Stored<'_>) -> Result<(), HarError> {
        while let Some(byte) = self.peek()? {
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')) {
                break;
            }
            self.next_byte()?;
            stored.push(&[byte]);
        }
        Ok(())
    }

    /// The rest of a string, its closing quote included.
    fn string(&mut self, stored: &mut Stored<'_>) -> Result<(), HarError> {
        let mut room = STRING_LEN_MAX;
        loop {
            let buffer = self.reader.fill_buf().map_err(HarError::Read)?;
            let end = memchr::memchr2(b'"', b'\\', buffer);
            let plain = &buffer[..end.unwrap_or(buffer.len())];
            let fit = plain.len().min(room);
            stored.push(&plain[..fit]);
            stored.is_cut |= fit < plain.len();
            room -= fit;
            let len = plain.len();
            self.reader.consume(len);
            self.column += len;
            if end.is_none() && len > 0 {
                continue;
            }
            if self.next_byte()? == b'"' {
                stored.push(b"\"");
                return Ok(());
            }
            // An escape is kept whole or not at all.
            let mut escape = [b'\\'; 6];
            let len = self.escape(&mut escape)?;
            if len > room {
                room = 0;
                stored.is_cut = true;
            } else {
                room -= len;
                stored.push(&escape[..len]);
            }
        }
    }

    /// The rest of an escape behind its backslash; returns the length of the whole.
    fn escape(&mut self, escape: &mut [u8; 6]) -> Result<usize, HarError> {
        escape[1] = self.next_byte()?;
        let mut len = 2;
        while escape[1] == b'u' && len < escape.len() && self.peek()? != Some(b'"') {
            escape[len] = self.next_byte()?;
            len += 1;
        }
        Ok(len)
    }

    fn count_value(&mut self) -> Result<(), HarError> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(HarError::TooMany);
        }
        Ok(())
    }

    fn skip_mark(&mut self) -> Result<(), HarError> {
        if self.peek()? == Some(0xef) {
            for expected in [0xef, 0xbb, 0xbf] {
                if self.next_byte()? != expected {
                    return Err(self.fault("expected a value"));
                }
            }
            self.column = 0;
        }
        // The mark of UTF-16 begins no text of UTF-8.
        if let Some(0xfe | 0xff) = self.peek()? {
            self.column = 1;
            return Err(self.fault("the file is in UTF-16: save it as UTF-8"));
        }
        Ok(())
    }

    fn skip_blanks(&mut self) -> Result<(), HarError> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek()? {
            self.next_byte()?;
        }
        Ok(())
    }

    /// The next byte that is no blank, which stays.
    fn peek_token(&mut self) -> Result<u8, HarError> {
        self.skip_blanks()?;
        self.peek()?.ok_or_else(|| self.ended())
    }

    fn next_token(&mut self) -> Result<u8, HarError> {
        self.skip_blanks()?;
        self.next_byte()
    }

    fn peek(&mut self) -> Result<Option<u8>, HarError> {
        let buffer = self.reader.fill_buf().map_err(HarError::Read)?;
        Ok(buffer.first().copied())
    }

    fn next_byte(&mut self) -> Result<u8, HarError> {
        let Some(byte) = self.peek()? else {
            return Err(self.ended());
        };
        self.reader.consume(1);
        self.column += 1;
        if byte == b'\n' {
            self.line += 1;
            self.column = 0;
        }
        Ok(byte)
    }

    fn ended(&self) -> HarError {
        self.fault("the file ends here: it is cut off")
    }

    fn fault(&self, fault: &'static str) -> HarError {
        HarError::NotJson {
            line: self.line,
            column: self.column,
            fault,
        }
    }
}
