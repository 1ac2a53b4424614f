//! Texts with placeholders `{{ … }}`. Names in them are resolved by `scope`.

mod parse;

use std::ops::Range;

use plimsoll_model::journey::Function;

use super::reader::DocumentReader;
use super::source::SourceText;
use super::tree::DocumentNode;
pub(crate) use parse::{Expression, TemplateSegment, parse};

/// A function of templates.
pub(crate) struct FunctionWord {
    pub(crate) name: &'static str,
    pub(crate) does: Does,
    /// Minimum and maximum number of arguments.
    pub(crate) arguments: (usize, usize),
    pub(crate) example: &'static str,
    pub(crate) meaning: &'static str,
}

/// When and how a function is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// For each user, at run time.
    Compute(Function),
    /// Environment variable, when the plan is read.
    Environment,
    /// Content of a file, when the plan is read.
    File,
}

const fn word(
    name: &'static str,
    does: Does,
    arguments: (usize, usize),
    example: &'static str,
    meaning: &'static str,
) -> FunctionWord {
    FunctionWord {
        name,
        does,
        arguments,
        example,
        meaning,
    }
}

/// Maximum arguments of `pick`.
const PICK_MAX: usize = 1000;

/// Every function.
pub(crate) static FUNCTIONS: [FunctionWord; 13] = [
    word(
        "env",
        Does::Environment,
        (1, 2),
        "env('API_KEY')",
        "Environment variable; the second argument is its default. The value is never stored with the run.",
    ),
    word(
        "file",
        Does::File,
        (1, 1),
        "file('answer.c')",
        "Content of a file, relative to the folder of the plan file.",
    ),
    word(
        "random_int",
        Does::Compute(Function::RandomInt),
        (2, 2),
        "random_int(1, 100)",
        "Random integer between two bounds, both included, from the seed.",
    ),
    word(
        "random_string",
        Does::Compute(Function::RandomString),
        (1, 1),
        "random_string(8)",
        "Random letters and digits of this length, from the seed.",
    ),
    word(
        "uuid",
        Does::Compute(Function::Uuid),
        (0, 0),
        "uuid()",
        "Random UUID (version 4), from the seed.",
    ),
    word(
        "pick",
        Does::Compute(Function::Pick),
        (1, PICK_MAX),
        "pick('red', 'green')",
        "One of the arguments at random, from the seed.",
    ),
    word(
        "now",
        Does::Compute(Function::Now),
        (0, 0),
        "now()",
        "Unix time in seconds.",
    ),
    word(
        "now_ms",
        Does::Compute(Function::NowMs),
        (0, 0),
        "now_ms()",
        "Unix time in milliseconds.",
    ),
    word(
        "urlencode",
        Does::Compute(Function::Urlencode),
        (1, 1),
        "urlencode(title)",
        "Percent-encoded for a path segment or query value.",
    ),
    word(
        "unescape",
        Does::Compute(Function::Unescape),
        (1, 1),
        "unescape(link)",
        "HTML entities decoded.",
    ),
    word(
        "base64",
        Does::Compute(Function::Base64),
        (1, 1),
        "base64(name)",
        "Base64.",
    ),
    word(
        "sha256",
        Does::Compute(Function::Sha256),
        (1, 1),
        "sha256(name)",
        "SHA-256 in hexadecimal.",
    ),
    word(
        "json",
        Does::Compute(Function::Json),
        (1, 1),
        "json(name)",
        "Escaped as a JSON string, without quotes.",
    ),
];

/// Names of all functions.
pub(crate) fn function_names() -> Vec<&'static str> {
    FUNCTIONS.iter().map(|function| function.name).collect()
}

/// A text and its place: in a node, or in a file that a node names.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'n> {
    pub(crate) node: &'n DocumentNode,
    pub(crate) text: &'n str,
    /// The text that contains `text`, and the offset in it.
    within: (&'n str, usize),
    /// The file, if the text is not from the node itself.
    pub(crate) file: Option<&'n str>,
}

impl<'n> Spot<'n> {
    /// The text of a node.
    pub(crate) fn of(node: &'n DocumentNode, text: &'n str) -> Self {
        Self {
            node,
            text,
            within: (text, 0),
            file: None,
        }
    }

    /// The text of a file that a node names.
    pub(crate) fn of_file(node: &'n DocumentNode, text: &'n str, file: &'n str) -> Self {
        Self {
            file: Some(file),
            ..Self::of(node, text)
        }
    }

    /// A slice of the text.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        Self {
            text: &self.text[range.clone()],
            within: (self.within.0, self.within.1 + range.start),
            ..*self
        }
    }

    /// The byte of the plan file that corresponds to a byte of the text.
    pub(crate) fn place(&self, reader: &DocumentReader<'_>, at: usize) -> usize {
        match self.file {
            None => {
                let (whole, offset) = self.within;
                reader.source.place_in(&self.node.span, whole, offset + at)
            }
            Some(_) => self.node.span.start,
        }
    }

    /// Reports an error at a byte of the text.
    pub(crate) fn report(
        &self,
        reader: &DocumentReader<'_>,
        at: usize,
        (message, valid): (String, String),
        near: Option<&str>,
    ) {
        let message = match self.file {
            None => message,
            Some(file) => {
                let (whole, offset) = self.within;
                let (line, column) = SourceText::new(whole).position(offset + at);
                format!("in `{file}`, line {line}, column {column}: {message}")
            }
        };
        reader.report_at(self.place(reader, at), message, valid, near);
    }

    /// Parses the text; an error is reported.
    pub(crate) fn segments(&self, reader: &DocumentReader<'_>) -> Option<Vec<TemplateSegment>> {
        match parse(self.text) {
            Ok(segments) => Some(segments),
            Err(error) => {
                self.report(
                    reader,
                    error.at,
                    (error.message, error.valid.to_owned()),
                    None,
                );
                None
            }
        }
    }

    /// The variable of a call `env(…)` at a byte.
    pub(crate) fn environment(
        &self,
        reader: &DocumentReader<'_>,
        at: usize,
        arguments: &[Expression],
    ) -> Option<String> {
        let (name, default) = match arguments {
            [Expression::Text(name, _)] => (name, None),
            [Expression::Text(name, _), Expression::Text(default, _)] => (name, Some(default)),
            _ => {
                let message = "not the name of a variable".to_owned();
                let valid = "env('NAME') or env('NAME', 'default')".to_owned();
                self.report(reader, at, (message, valid), None);
                return None;
            }
        };
        let value = reader
            .surroundings
            .variable(name)
            .or_else(|| default.cloned());
        if value.is_none() {
            let message = format!("the environment variable `{name}` is not set");
            let valid = format!("a variable that is set, or env('{name}', 'default')");
            self.report(reader, at, (message, valid), None);
        }
        value
    }

    /// The text with its variables inserted, if its only placeholders are `{{ env('NAME') }}`.
    pub(crate) fn constant(&self, reader: &DocumentReader<'_>) -> Option<String> {
        let mut filled = String::new();
        for segment in self.segments(reader)? {
            match segment {
                TemplateSegment::Literal(literal) => filled.push_str(&literal),
                TemplateSegment::Hole(Expression::Call(name, at, arguments)) if name == "env" => {
                    filled.push_str(&self.environment(reader, at.start, &arguments)?);
                }
                TemplateSegment::Hole(expression) => {
                    let message = "the value must be constant".to_owned();
                    let valid = "a constant, or {{ env('NAME') }}".to_owned();
                    self.report(reader, expression.start(), (message, valid), None);
                    return None;
                }
            }
        }
        Some(filled)
    }
}
