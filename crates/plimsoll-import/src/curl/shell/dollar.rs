//! Variables and the output of programs: `$NAME`, `${NAME:-default}`, `$(program)`.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::quotes::unterminated;
use super::{Shell, ShellError};
use crate::curl::context::Context;
use crate::script::Marks;

impl Shell<'_> {
    /// What begins with `$`.
    pub(super) fn dollar(
        &mut self,
        text: &mut String,
        in_quotes: bool,
        context: &mut Context<'_>,
    ) -> Result<(), ShellError> {
        let at = self.at;
        self.take();
        match self.peek() {
            Some('\'') if !in_quotes => return self.ansi_quoted(text, context),
            Some('"') if !in_quotes => {
                self.take();
                return self.double_quoted(text, context);
            }
            Some('(') => {
                let inner = self.enclosed(at, '(', ')')?;
                let value = if inner.starts_with('(') {
                    context.output(at, &Marks::clean(&format!("({inner})")))
                } else {
                    let range = at + 2..self.at - 1;
                    output(context, at, range, &inner)
                };
                text.push_str(&value);
            }
            Some('{') => {
                let inner = self.enclosed(at, '{', '}')?;
                let value = braced(context, at, &inner);
                text.push_str(&value);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let len = self.rest().find(|c| !is_part(c));
                let name = &self.rest()[..len.unwrap_or(self.rest().len())];
                let value = context.variable(name, None);
                text.push_str(&value);
                self.at += name.len();
            }
            Some(c) if c.is_ascii_digit() => {
                self.take();
                text.push_str(&context.variable(&format!("ARGUMENT_{c}"), None));
            }
            Some(c @ ('@' | '*' | '#' | '?' | '!')) if !in_quotes || c == '@' => {
                self.take();
                text.push_str(&context.output(at, &format!("echo ${c}")));
            }
            _ => text.push('$'),
        }
        Ok(())
    }

    /// `` `program` ``.
    pub(super) fn backticks(
        &mut self,
        text: &mut String,
        context: &mut Context<'_>,
    ) -> Result<(), ShellError> {
        let at = self.at;
        self.take();
        let Some(len) = self.rest().find('`') else {
            return Err(unterminated(at, '`'));
        };
        let program = self.rest()[..len].to_owned();
        self.at += len + 1;
        let range = at + 1..self.at - 1;
        text.push_str(&output(context, at, range, &program));
        Ok(())
    }

    /// The text between a bracket, which comes next, and its partner. Quotes hide brackets.
    fn enclosed(&mut self, at: usize, open: char, close: char) -> Result<String, ShellError> {
        self.take();
        let from = self.at;
        let mut depth = 1_usize;
        let mut quote = None;
        while let Some(c) = self.take() {
            match quote {
                Some(mark) if c == mark => quote = None,
                None | Some('"') if c == '\\' => {
                    self.take();
                }
                None if open == '(' && matches!(c, '\'' | '"') => quote = Some(c),
                None if c == open => depth += 1,
                None if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(self.text[from..self.at - 1].to_owned());
                    }
                }
                Some(_) | None => {}
            }
        }
        Err(unterminated(at, open))
    }
}

/// The output of a program, which begins at byte `at` and stands in `range`; that of `echo -n TEXT | base64` is known.
fn output(context: &mut Context<'_>, at: usize, range: Range<usize>, program: &str) -> String {
    let first = program
        .lines()
        .map(str::trim_start)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .and_then(|line| line.split_whitespace().next());
    // The text of a here-document or a script: places are those of the script.
    let is_of_script = context.script.text.get(range.clone()) == Some(program);
    if first == Some("curl") && is_of_script {
        return context.substitution(range);
    }
    let encoded = program
        .trim()
        .strip_suffix("base64")
        .or_else(|| program.trim().strip_suffix("base64 -w0"))
        .or_else(|| program.trim().strip_suffix("base64 -w 0"))
        .and_then(|rest| rest.trim_end().strip_suffix('|'))
        .and_then(|rest| {
            let rest = rest.trim();
            rest.strip_prefix("echo -n ")
                .or_else(|| rest.strip_prefix("printf "))
        })
        .map(|text| text.trim().trim_matches(['"', '\'']))
        .filter(|text| !text.contains(['$', '`', '"', '\'', '\\', '%']));
    match encoded {
        Some(text) => STANDARD.encode(text),
        None => context.output(at, &Marks::clean(program)),
    }
}

/// `${…}` without its braces.
fn braced(context: &mut Context<'_>, at: usize, inner: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let len = inner.find(|c| !is_part(c)).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(len);
    if name.is_empty() {
        return context.output(at, &Marks::clean(&format!("echo ${{{inner}}}")));
    }
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("ARGUMENT_{name}")
    } else {
        name.to_owned()
    };
    if rest.is_empty() {
        return context.variable(&name, None);
    }
    let default = rest.strip_prefix(":-").or_else(|| rest.strip_prefix('-'));
    match default {
        Some(default) if !default.contains(['$', '`']) => {
            let default = Marks::clean(default.trim_matches(['"', '\'']));
            context.variable(&name, Some(&default))
        }
        _ if rest.starts_with(":?") || rest.starts_with('?') => context.variable(&name, None),
        _ => context.output(at, &Marks::clean(&format!("echo ${{{inner}}}"))),
    }
}
