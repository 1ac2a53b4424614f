//! Command lines as the Windows command processor reads them (`^` escapes, `%NAME%`), and then the program's runtime
//! (`\"` within quotes): "Copy as cURL (cmd)" of browsers.

use super::context::Context;
use super::shell::{ShellCommand, ShellWord};
use crate::script::Marks;

/// Whether a text has the marks of the Windows command processor: a caret before a quote, or at the end of a line.
pub(super) fn is_form_of(text: &str) -> bool {
    let is_wrapped = |line: &str| line.trim_end_matches('\r').ends_with('^');
    ["curl ^\"", "curl.exe ^\""]
        .iter()
        .any(|start| text.contains(start))
        || (text.lines().any(is_wrapped) && !text.contains("\\\n"))
}

/// Reads the commands of a text one after another.
pub(super) struct CommandProcessor<'t> {
    text: &'t str,
    at: usize,
    is_piped: bool,
}

/// A character of a command line behind the command processor, with its byte in the script.
type Placed = (char, usize);

impl<'t> CommandProcessor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            is_piped: false,
        }
    }

    /// The next command that has words; `None` at the end.
    pub(super) fn next(&mut self, context: &mut Context<'_>) -> Option<ShellCommand> {
        while self.at < self.text.len() {
            let is_piped = std::mem::take(&mut self.is_piped);
            let start = self.text[self.at..].trim_start().to_ascii_lowercase();
            if start.starts_with("rem ") || start.starts_with("::") || start.starts_with('#') {
                let rest = &self.text[self.at..];
                let blanks = rest.len() - rest.trim_start().len();
                self.at += blanks;
                let rest = &self.text[self.at..];
                self.at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            let line = self.line(context);
            let words = words(&line);
            if !words.is_empty() {
                return Some(ShellCommand {
                    words,
                    input: None,
                    is_piped,
                });
            }
        }
        None
    }

    /// The characters up to the end of a command, without carets and with variables replaced.
    fn line(&mut self, context: &mut Context<'_>) -> Vec<Placed> {
        let mut line = Vec::new();
        let mut in_quotes = false;
        while let Some(c) = self.text[self.at..].chars().next() {
            let at = self.at;
            self.at += c.len_utf8();
            match c {
                '\n' => break,
                '\r' => {}
                '"' => {
                    in_quotes = !in_quotes;
                    line.push((c, at));
                }
                '^' if !in_quotes => self.escaped(&mut line),
                '%' => match self.variable() {
                    Some(name) => {
                        let value = context.variable(&name, None);
                        line.extend(value.chars().map(|c| (c, at)));
                    }
                    None => line.push((c, at)),
                },
                '&' | '|' if !in_quotes => {
                    self.is_piped = c == '|' && !self.text[self.at..].starts_with('|');
                    break;
                }
                c => line.push((Marks::clean_char(c), at)),
            }
        }
        line
    }

    /// The character behind a caret; behind a caret at the end of a line, a further line break is one of the text.
    fn escaped(&mut self, line: &mut Vec<Placed>) {
        let rest = &self.text[self.at..];
        let line_break = |text: &str| -> usize {
            if text.starts_with("\r\n") {
                2
            } else {
                usize::from(text.starts_with('\n'))
            }
        };
        let len = line_break(rest);
        if len > 0 {
            self.at += len;
            let more = line_break(&self.text[self.at..]);
            if more > 0 {
                line.push(('\n', self.at));
                self.at += more;
            }
            return;
        }
        if let Some(c) = rest.chars().next() {
            line.push((Marks::clean_char(c), self.at));
            self.at += c.len_utf8();
        }
    }

    /// The name of a variable, behind its first percent sign. A percent-encoded character is none.
    fn variable(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let name = &rest[..rest.find('%')?];
        let is_name = name.len() >= 3
            && name.len() <= 64
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && !name.starts_with(|c: char| c.is_ascii_hexdigit() && !c.is_ascii_alphabetic())
            && !name.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
        if !is_name {
            return None;
        }
        let name = name.to_owned();
        self.at += name.len() + 1;
        Some(name)
    }
}

/// The words of a line as the runtime of a Windows program splits them.
fn words(line: &[Placed]) -> Vec<ShellWord> {
    let mut words = Vec::new();
    let mut word: Option<ShellWord> = None;
    let mut in_quotes = false;
    let mut index = 0;
    while let Some(&(c, at)) = line.get(index) {
        if !in_quotes && c.is_whitespace() {
            words.extend(word.take());
            index += 1;
            continue;
        }
        let current = word.get_or_insert_with(|| ShellWord {
            at,
            text: String::new(),
            is_quoted: c == '"',
        });
        let slashes = line[index..].iter().take_while(|(c, _)| *c == '\\').count();
        let is_quote = |index: usize| line.get(index).is_some_and(|(c, _)| *c == '"');
        if slashes > 0 {
            index += slashes;
            if is_quote(index) {
                current.text.push_str(&"\\".repeat(slashes / 2));
                if slashes % 2 == 1 {
                    current.text.push('"');
                    index += 1;
                }
            } else {
                current.text.push_str(&"\\".repeat(slashes));
            }
            continue;
        }
        index += 1;
        if c != '"' {
            current.text.push(c);
        } else if in_quotes && is_quote(index) {
            current.text.push('"');
            index += 1;
        } else {
            in_quotes = !in_quotes;
        }
    }
    words.extend(word);
    words
}
