//! Command lines as a POSIX shell reads them, with bash's `$'…'`.
//!
//! The shell is a lexer: variables, quotes, comments, here-documents and what separates commands. Control structures are
//! left to the caller, which sees their keywords as commands. Texts have a mark for each value from outside.

mod dollar;
mod quotes;

use super::context::Context;
use crate::script::Marks;

/// A word of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// Byte of the script at which it begins.
    pub(super) at: usize,
    /// Without quotes and escapes.
    pub(super) text: String,
    /// Whether its first character stands in quotes: no keyword, no assignment.
    pub(super) is_quoted: bool,
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellCommand {
    pub(super) words: Vec<ShellWord>,
    /// Standard input, if the script has it: a here-document or here-string.
    pub(super) input: Option<String>,
    /// Whether it reads what the command before it prints.
    pub(super) is_piped: bool,
}

/// Why a text is no command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellError {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) remedy: &'static str,
}

/// Reads the commands of a text one after another.
pub(super) struct Shell<'t> {
    text: &'t str,
    at: usize,
    /// Whether the next command reads the output of the last one.
    is_piped: bool,
    /// Here-documents whose lines follow the current one.
    pending: Vec<HereDocument>,
    input: Option<String>,
}

#[derive(Clone, Debug)]
struct HereDocument {
    end: String,
    /// Whether variables in it are not replaced.
    is_literal: bool,
    strips_tabs: bool,
}

/// What stands between two words.
enum Between {
    Nothing,
    EndOfCommand,
    EndOfText,
}

impl<'t> Shell<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self::from(text, 0)
    }

    /// Reads from a byte on.
    pub(super) fn from(text: &'t str, at: usize) -> Self {
        Self {
            text,
            at,
            is_piped: false,
            pending: Vec::new(),
            input: None,
        }
    }

    /// The next command that has words; `None` at the end.
    pub(super) fn next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<Option<ShellCommand>, ShellError> {
        loop {
            let is_piped = std::mem::take(&mut self.is_piped);
            let mut words = Vec::new();
            let is_last = loop {
                match self.between(context)? {
                    Between::EndOfText => break true,
                    Between::EndOfCommand => break false,
                    Between::Nothing => {}
                }
                let word = self.word(context)?;
                let is_descriptor = word.text.bytes().all(|byte| byte.is_ascii_digit())
                    && !word.is_quoted
                    && self.rest().starts_with(['<', '>']);
                if !is_descriptor {
                    words.push(word);
                }
            };
            if words.is_empty() && !is_last {
                self.is_piped |= is_piped;
                continue;
            }
            let input = self.input.take();
            let command = ShellCommand {
                words,
                input,
                is_piped,
            };
            return Ok((!command.words.is_empty()).then_some(command));
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the next character.
    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips `text` if it comes next.
    fn skip(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips a backslash at the end of a line, with blanks behind it, which people do not see when they copy.
    fn skip_continuation(&mut self) -> bool {
        let Some(behind) = self.rest().strip_prefix('\\') else {
            return false;
        };
        let blanks = behind.len() - behind.trim_start_matches([' ', '\t', '\r']).len();
        let is_end = behind[blanks..].starts_with('\n');
        if is_end {
            self.at += 1 + blanks + 1;
        }
        is_end
    }

    /// Skips blanks, comments and redirections.
    fn between(&mut self, context: &mut Context<'_>) -> Result<Between, ShellError> {
        loop {
            if self.skip_continuation() {
                continue;
            }
            let Some(c) = self.peek() else {
                return Ok(Between::EndOfText);
            };
            match c {
                ' ' | '\t' | '\r' => {
                    self.take();
                }
                '#' => self.skip_line(),
                '\n' => {
                    self.take();
                    self.here_documents(context)?;
                    return Ok(Between::EndOfCommand);
                }
                ';' | '(' | ')' => {
                    self.take();
                    return Ok(Between::EndOfCommand);
                }
                '&' if self.rest().starts_with("&>") => {
                    self.at += 1;
                    self.redirection(context)?;
                }
                '&' | '|' => {
                    self.separator(context);
                    return Ok(Between::EndOfCommand);
                }
                '<' | '>' => self.redirection(context)?,
                _ if self.rest().starts_with("```") => self.skip_line(),
                _ => return Ok(Between::Nothing),
            }
        }
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// `|`, `||`, `&` or `&&`.
    fn separator(&mut self, context: &mut Context<'_>) {
        let at = self.at;
        let first = self.take();
        let is_double = self.peek() == first;
        if is_double {
            self.take();
        } else if first == Some('|') {
            self.skip("&");
            self.is_piped = true;
        } else {
            let before = self.text[..at].chars().next_back();
            let is_inside = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
            if is_inside(before) && is_inside(self.peek()) {
                let end = self.rest().find(char::is_whitespace);
                let cut = &self.rest()[..end.unwrap_or(self.rest().len())];
                let what = format!("&{}", Marks::clean(cut));
                context.lose(
                    at,
                    &what,
                    "an unquoted & ends the command in a shell",
                    "put the URL in quotes, then import again",
                );
            }
        }
    }

    /// `<`, `>` and what follows: only input from the script itself matters.
    fn redirection(&mut self, context: &mut Context<'_>) -> Result<(), ShellError> {
        if self.skip("<<<") {
            self.skip_blanks();
            let word = self.word(context)?;
            self.input = Some(word.text + "\n");
            return Ok(());
        }
        if self.skip("<<") {
            let strips_tabs = self.skip("-");
            self.skip_blanks();
            let from = self.at;
            let word = self.word(context)?;
            let written = &self.text[from..self.at];
            self.pending.push(HereDocument {
                end: word.text,
                is_literal: written.contains(['\'', '"', '\\']),
                strips_tabs,
            });
            return Ok(());
        }
        let reads = self.peek() == Some('<');
        self.take();
        while self.skip(">") || self.skip("&") || self.skip("|") {}
        self.skip_blanks();
        let at = self.at;
        let word = self.word(context)?;
        if reads
            && !Marks::are_in(&word.text)
            && let Ok(text) = context.script.files.text(&word.text)
        {
            self.input = Some(Marks::clean(&text));
            return Ok(());
        }
        if reads && !word.text.is_empty() {
            context.lose(
                at,
                &format!("< {}", word.text),
                "a plan has no standard input",
                "name the file in the option: `-d @FILE`",
            );
        }
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while self.skip(" ") || self.skip("\t") {}
    }

    /// The lines of the here-documents that were begun.
    fn here_documents(&mut self, context: &mut Context<'_>) -> Result<(), ShellError> {
        for document in std::mem::take(&mut self.pending) {
            let from = self.at;
            let end = loop {
                if self.rest().is_empty() {
                    return Err(ShellError {
                        at: from,
                        message: format!("the here-document has no end `{}`", document.end),
                        remedy: "add the line that ends it",
                    });
                }
                let start = self.at;
                self.skip_line();
                let line = self.text[start..self.at].trim_end_matches('\r');
                self.skip("\n");
                let line = if document.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line == document.end {
                    break start;
                }
            };
            let after = self.at;
            let mut body = if document.is_literal {
                Marks::clean(&self.text[from..end])
            } else {
                self.at = from;
                self.expanded_to(end, context)?
            };
            self.at = after;
            if document.strips_tabs {
                let lines = body.split_inclusive('\n');
                body = lines.map(|line| line.trim_start_matches('\t')).collect();
            }
            self.input = Some(body);
        }
        Ok(())
    }

    /// `{1..9}`, which a shell expands as curl expands `[1-9]`.
    fn brace_range(&mut self, text: &mut String) -> bool {
        let range = self.rest()[1..]
            .split_once('}')
            .and_then(|(inner, _)| inner.split_once(".."));
        let Some((from, to)) = range else {
            return false;
        };
        let is_number = |text: &str| {
            (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_number(from) || !is_number(to) {
            return false;
        }
        self.at += from.len() + to.len() + "{..}".len();
        for piece in ["[", from, "-", to, "]"] {
            text.push_str(piece);
        }
        true
    }

    fn word(&mut self, context: &mut Context<'_>) -> Result<ShellWord, ShellError> {
        let at = self.at;
        let mut text = String::new();
        let is_quoted = self
            .peek()
            .is_some_and(|c| matches!(c, '"' | '\'' | '\\' | '$'));
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' => break,
                '\r' if self.rest().starts_with("\r\n") => break,
                '\\' => {
                    if !self.skip_continuation() {
                        self.take();
                        text.extend(self.take().map(Marks::clean_char));
                    }
                }
                '\'' => self.single_quoted(&mut text)?,
                '"' => {
                    self.take();
                    self.double_quoted(&mut text, context)?;
                }
                '$' => self.dollar(&mut text, false, context)?,
                '`' => self.backticks(&mut text, context)?,
                '{' if self.brace_range(&mut text) => {}
                c => {
                    self.take();
                    text.push(Marks::clean_char(c));
                }
            }
        }
        Ok(ShellWord {
            at,
            text,
            is_quoted,
        })
    }
}
