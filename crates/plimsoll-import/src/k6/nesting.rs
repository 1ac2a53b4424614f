//! How deeply a text is nested, before a parser that recurses sees it.
//!
//! Strings, comments and regular expressions are not told apart from code, since that needs a parser. Two bounds hold
//! instead: one for a text whose every bracket is code, and one that holds whatever is hidden in strings.

/// Deepest nesting that is parsed, as the brackets stand.
const DEPTH_MAX: usize = 1_500;
/// Deepest nesting that a text may have if closing brackets that could stand in a string are not code. Long scripts
/// have thousands of those; the stack of the parser holds as many levels.
const DOUBTFUL_DEPTH_MAX: usize = 20_000;
/// Words that a statement or an expression may follow without a bracket.
const WORDS: [&str; 13] = [
    "if", "else", "for", "while", "do", "new", "typeof", "void", "delete", "await", "yield",
    "extends", "keyof",
];

/// Refuses a text that may be nested more deeply than a parser's stack holds: the byte where it becomes so.
pub(super) fn check(text: &str) -> Result<(), usize> {
    Scan::new(text, DEPTH_MAX, None).run()?;
    Scan::new(text, DOUBTFUL_DEPTH_MAX, Some(Doubt::of(text))).run()
}

/// Which places of a text may be hidden in a string, a regular expression or a comment.
struct Doubt<'t> {
    bytes: &'t [u8],
    /// Behind these a text that spans lines has ended.
    last_template: Option<usize>,
    last_comment: Option<usize>,
    has_template: bool,
    has_comment: bool,
    /// End of the line at which the scan is, and the last byte on it that ends a string.
    line_end: usize,
    last_mark: Option<usize>,
    /// Whether a comment up to the end of the line may have begun.
    has_line_comment: bool,
}

impl<'t> Doubt<'t> {
    fn of(text: &'t str) -> Self {
        let mut doubt = Self {
            bytes: text.as_bytes(),
            last_template: text.rfind('`'),
            last_comment: text.rfind("*/"),
            has_template: false,
            has_comment: false,
            line_end: 0,
            last_mark: None,
            has_line_comment: false,
        };
        doubt.enter_line(0);
        doubt
    }

    fn enter_line(&mut self, start: usize) {
        let rest = &self.bytes[start.min(self.bytes.len())..];
        let len = rest.iter().position(|byte| *byte == b'\n');
        self.line_end = start + len.unwrap_or(rest.len());
        let line = &self.bytes[start.min(self.line_end)..self.line_end];
        // A backslash at the end carries a string on to the next line.
        let marks = |byte: &u8| is_mark(*byte) || *byte == b'\\';
        self.last_mark = line.iter().rposition(marks).map(|index| start + index);
        self.has_line_comment = false;
    }

    /// Takes note of the byte at which the scan is.
    fn pass(&mut self, at: usize) {
        let next = self.bytes.get(at + 1).copied();
        match self.bytes[at] {
            b'\n' => self.enter_line(at + 1),
            b'`' => self.has_template = true,
            b'/' if next == Some(b'*') => self.has_comment = true,
            b'/' if next == Some(b'/') && !is_in_url(self.bytes, at) => {
                self.has_line_comment = true;
            }
            byte if is_html_comment(byte, next) => self.has_line_comment = true,
            _ => {}
        }
    }

    /// Whether a byte is code in any reading of the text.
    fn is_sure(&self, at: usize) -> bool {
        let before_last = |last: Option<usize>| last.is_some_and(|last| at <= last);
        !(self.has_line_comment
            || before_last(self.last_mark)
            || (self.has_template && before_last(self.last_template))
            || (self.has_comment && before_last(self.last_comment)))
    }
}

/// Whether a byte begins or ends a string, a regular expression, a template or a comment.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'`' | b'/')
}

/// Whether a slash is that of a URL at the beginning of a string, as most scripts have them. In no text that can be parsed
/// does a comment begin there: no word stands directly behind a string.
fn is_in_url(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    ["http:", "https:", "ws:", "wss:"].iter().any(|scheme| {
        let rest = before.strip_suffix(scheme.as_bytes());
        let quote = rest.and_then(<[u8]>::last);
        quote.is_some_and(|byte| matches!(byte, b'\'' | b'"' | b'`'))
    })
}

/// Whether `<!--` or `-->` may stand here, which begin comments in scripts, too.
fn is_html_comment(byte: u8, next: Option<u8>) -> bool {
    matches!(byte, b'!' | b'-') && next == Some(b'-')
}

/// Counts levels.
struct Scan<'t> {
    text: &'t str,
    depth_max: usize,
    doubt: Option<Doubt<'t>>,
    /// Openings since the beginning of a statement, for each bracket that is open.
    levels: Vec<usize>,
    depth: usize,
    /// Brackets that are open since the last mark: they are code, or all are not.
    open_since_mark: usize,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str, depth_max: usize, doubt: Option<Doubt<'t>>) -> Self {
        Self {
            text,
            depth_max,
            doubt,
            levels: vec![0],
            depth: 0,
            open_since_mark: 0,
        }
    }

    fn run(mut self) -> Result<(), usize> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let next = bytes.get(at + 1).copied();
            if is_mark(byte) || byte == b'\n' || is_html_comment(byte, next) {
                self.open_since_mark = 0;
            }
            if let Some(doubt) = &mut self.doubt {
                doubt.pass(at);
            }
            let len = if byte.is_ascii_alphabetic() {
                self.word(at)
            } else {
                self.sign(at, byte);
                1
            };
            if self.depth > self.depth_max {
                return Err(at);
            }
            at += len;
        }
        Ok(())
    }

    /// Whether the byte counts as code.
    fn is_sure(&self, at: usize) -> bool {
        self.doubt.as_ref().is_none_or(|doubt| doubt.is_sure(at))
    }

    fn sign(&mut self, at: usize, byte: u8) {
        match byte {
            b'(' | b'[' | b'{' => {
                self.levels.push(0);
                self.depth += 1;
                self.open_since_mark += 1;
            }
            b')' | b']' | b'}' => self.close(at),
            // `===` is one operator.
            b'=' if at > 0 && self.text.as_bytes()[at - 1] == b'=' => {}
            b'!' | b'~' | b'-' | b'+' | b'?' | b'=' | b'<' | b'*' | b'@' | b':' => self.raise(),
            b';' | b',' => self.end_statement(at),
            // An empty line ends a statement as people write them.
            b'\n' if self.text.as_bytes().get(at + 1) == Some(&b'\n') => self.end_statement(at),
            _ => {}
        }
    }

    fn close(&mut self, at: usize) {
        let is_counted = self.open_since_mark > 0 || self.is_sure(at);
        self.open_since_mark = self.open_since_mark.saturating_sub(1);
        if is_counted && self.levels.len() > 1 {
            self.depth -= 1 + self.levels.pop().unwrap_or(0);
        }
    }

    fn raise(&mut self) {
        self.depth += 1;
        if let Some(last) = self.levels.last_mut() {
            *last += 1;
        }
    }

    fn end_statement(&mut self, at: usize) {
        if self.is_sure(at)
            && let Some(last) = self.levels.last_mut()
        {
            self.depth -= std::mem::take(last);
        }
    }

    /// Takes a word; its length.
    fn word(&mut self, at: usize) -> usize {
        let bytes = &self.text.as_bytes()[at..];
        let len = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        match self.text.get(at..at + len) {
            // `if (a) b; else if (a) b; else …`: the statement ends, the nesting goes on.
            Some("else") if self.doubt.is_some() => self.depth += 1,
            Some(word) if WORDS.contains(&word) => self.raise(),
            _ => {}
        }
        len
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn deep_texts_are_refused_and_long_ones_are_not() {
        assert!(check("a(b, [c, { d: 1 }]);\n").is_ok());
        assert!(check(&"f(1);\n".repeat(100_000)).is_ok());
        for deep in ["(", "[", "!", "a=>", "if(a)", "a?b:", "new ", "typeof "] {
            assert!(check(&deep.repeat(100_000)).is_err(), "{deep}");
        }
    }

    #[test]
    fn brackets_in_strings_do_not_hide_others() {
        for deep in [
            "[\"]\",",
            "[']',",
            "[`]`,",
            "[/]/,",
            "[/*]*/",
            "[ //]\n",
            "[<!--]\n",
            "[`\n]\n`,",
            "['\\\n]\\\n',",
            "/\"/,[\"]\",/\"/,",
            "a?\";\":",
            "a[\";\"]=",
            "if(a)b;else ",
            "[https://]\n",
        ] {
            assert!(check(&deep.repeat(100_000)).is_err(), "{deep}");
        }
    }

    #[test]
    fn long_scripts_of_the_usual_kind_pass() {
        let request = "group('a', () => {\n  const res = http.get(`${BASE}/a?b=${c}`, { headers: { 'X-A': 'b' } });\n  \
            check(res, { 'is 200': (r) => r.status === 200 });\n  // The next one.\n  sleep(1);\n});\n\n";
        assert!(check(&request.repeat(500)).is_ok());
        let row = "  { \"name\": \"a\", \"url\": \"https://a.test/b\" },\n";
        let rows = format!("const rows = [\n{}];\n", row.repeat(20_000));
        assert!(check(&rows).is_ok());
    }
}
