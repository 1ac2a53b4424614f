//! Texts with placeholders `{{ … }}`. What their names and functions stand for is up to the file that is read.

mod parse;

use std::ops::Range;

use super::reader::DocumentReader;
use super::source::SourceText;
use super::tree::DocumentNode;
use parse::parse;
pub(crate) use parse::{Expression, TemplateSegment};

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

    /// The byte of the document that corresponds to a byte of the text.
    pub(crate) fn place(&self, reader: &DocumentReader<'_>, at: usize) -> usize {
        match self.file {
            None => {
                let (whole, offset) = self.within;
                reader.place_in(self.node, whole, offset + at)
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
        let value = reader.variable(name).or_else(|| default.cloned());
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
