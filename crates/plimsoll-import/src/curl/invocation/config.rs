//! `-K FILE`: options from a file, one a line.

use super::{ArgumentReader, PlacedText};
use crate::curl::shell::ShellWord;
use crate::script::{Marks, ScriptError};

/// Most configuration files of a command: a file may name others, and itself.
const CONFIGS_MAX: usize = 8;

impl ArgumentReader<'_, '_> {
    /// Applies the options of a file; places are those of its name in the script.
    pub(super) fn config(&mut self, file: &PlacedText) -> Result<(), ScriptError> {
        self.configs += 1;
        let text = match &self.current.input {
            Some(input) if file.text == "-" => Ok(input.clone()),
            _ if self.configs > CONFIGS_MAX => Err("too many files name others".to_owned()),
            _ => self.context.script.files.text(&file.text),
        };
        match text {
            Ok(text) => {
                let words: Vec<ShellWord> = text
                    .lines()
                    .flat_map(words)
                    .map(|text| ShellWord {
                        at: file.at,
                        text: Marks::clean(&text),
                        is_quoted: false,
                    })
                    .collect();
                self.words(&words)
            }
            Err(why) => {
                let what = format!("--config {}", file.text);
                let remedy = "write its options into the command line, then import again";
                self.context.lose(file.at, &what, &why, remedy);
                Ok(())
            }
        }
    }
}

/// The words of a line: an option, and its value behind a blank, `=` or `:`; dashes are optional.
fn words(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Vec::new();
    }
    let end = line
        .find(|c: char| c.is_whitespace() || matches!(c, '=' | ':'))
        .unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let name = if name.starts_with('-') {
        name.to_owned()
    } else {
        format!("--{name}")
    };
    let rest = rest.trim_start();
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    let value = match rest.strip_prefix('"') {
        Some(quoted) => Some(unquoted(quoted)),
        None => rest.split_whitespace().next().map(str::to_owned),
    };
    std::iter::once(name).chain(value).collect()
}

/// The text behind a quote, up to the next one.
fn unquoted(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('r') => value.push('\r'),
                Some('v') => value.push('\u{b}'),
                Some(other) => value.push(other),
                None => {}
            },
            other => value.push(other),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_option_and_its_value() {
        for (line, expected) in [
            ("url = \"http://a/\"", &["--url", "http://a/"][..]),
            ("-X POST", &["-X", "POST"]),
            ("header: \"A: \\\"b\\\"\"", &["--header", "A: \"b\""]),
            ("--compressed", &["--compressed"]),
            ("# a comment", &[]),
            ("", &[]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
