//! The grammar of placeholders: `name`, `name.column`, `function(argument, …)`, `'text'`, `12`.

use std::ops::Range;

const VALID: &str = "{{ name }}, {{ data.column }} or {{ function('text', name) }}";
/// Deepest nesting of calls.
const DEPTH_MAX: u32 = 16;

/// A segment of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplateSegment {
    /// Literal text.
    Literal(String),
    /// The content of `{{` and `}}`.
    Hole(Expression),
}

/// The expression of a placeholder; places are bytes of the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    /// A name.
    Name(String, Range<usize>),
    /// A column of a data set: both names and the place of the second.
    Column(String, String, Range<usize>),
    /// A text in quotes, or a number.
    Text(String, Range<usize>),
    /// A call, with the place of its name.
    Call(String, Range<usize>, Vec<Expression>),
}

impl Expression {
    /// The byte at which it starts.
    pub(crate) fn start(&self) -> usize {
        match self {
            Self::Name(_, at) | Self::Text(_, at) | Self::Call(_, at, _) => at.start,
            Self::Column(name, _, at) => at.start.saturating_sub(name.len() + 1),
        }
    }
}

/// An error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// Byte of the text.
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) valid: &'static str,
}

/// Splits a text into segments.
pub(crate) fn parse(text: &str) -> Result<Vec<TemplateSegment>, TemplateError> {
    let mut segments = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        let open = at + found;
        if open > at {
            segments.push(TemplateSegment::Literal(text[at..open].to_owned()));
        }
        let mut hole = Hole {
            text,
            at: open + 2,
            depth: 0,
        };
        let expression = hole.expression()?;
        hole.skip_space();
        if !text[hole.at..].starts_with("}}") {
            let message = if hole.at >= text.len() {
                return Err(error_at(open, "the placeholder is not closed", VALID));
            } else {
                "unexpected text before the end of the placeholder"
            };
            return Err(error_at(hole.at, message, VALID));
        }
        at = hole.at + 2;
        segments.push(TemplateSegment::Hole(expression));
    }
    if at < text.len() {
        segments.push(TemplateSegment::Literal(text[at..].to_owned()));
    }
    Ok(segments)
}

fn error_at(at: usize, message: impl Into<String>, valid: &'static str) -> TemplateError {
    TemplateError {
        at,
        message: message.into(),
        valid,
    }
}

struct Hole<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Hole<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn expression(&mut self) -> Result<Expression, TemplateError> {
        self.skip_space();
        match self.rest().chars().next() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            Some(c) if c.is_ascii_digit() || c == '-' => Ok(self.number()),
            Some(c) if is_name(c) => self.named(),
            None => Err(error_at(self.at, "the placeholder is not closed", VALID)),
            Some(_) if self.rest().starts_with("}}") => {
                Err(error_at(self.at, "the placeholder is empty", VALID))
            }
            Some(c) => Err(error_at(
                self.at,
                format!("unexpected character `{c}`"),
                VALID,
            )),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Expression, TemplateError> {
        let start = self.at;
        self.at += 1;
        let Some(len) = self.rest().find(quote) else {
            return Err(error_at(start, "the quote is not closed", VALID));
        };
        let text = self.rest()[..len].to_owned();
        self.at += len + 1;
        Ok(Expression::Text(text, start..self.at))
    }

    fn number(&mut self) -> Expression {
        let start = self.at;
        let in_number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
        self.at += 1;
        let len = self.rest().find(|c| !in_number(c));
        self.at += len.unwrap_or(self.rest().len());
        Expression::Text(self.text[start..self.at].replace('_', ""), start..self.at)
    }

    fn name(&mut self) -> Range<usize> {
        let start = self.at;
        let len = self.rest().find(|c| !(is_name(c) || c == '-'));
        self.at += len.unwrap_or(self.rest().len());
        start..self.at
    }

    fn named(&mut self) -> Result<Expression, TemplateError> {
        let place = self.name();
        let name = self.text[place.clone()].to_owned();
        if self.rest().starts_with('.') {
            self.at += 1;
            let column = self.column()?;
            let written = self.text[column.clone()].to_owned();
            return Ok(Expression::Column(name, written, column));
        }
        let before = self.at;
        self.skip_space();
        if self.rest().starts_with('(') {
            self.at += 1;
            return Ok(Expression::Call(name, place, self.arguments()?));
        }
        self.at = before;
        Ok(Expression::Name(name, place))
    }

    /// Column names come from files: everything up to a space or the end of the placeholder.
    fn column(&mut self) -> Result<Range<usize>, TemplateError> {
        let start = self.at;
        let ends = |c: char| c.is_whitespace() || matches!(c, '}' | ',' | ')' | '(' | '\'' | '"');
        let len = self.rest().find(ends).unwrap_or(self.rest().len());
        if len == 0 {
            return Err(error_at(start, "the column is missing", VALID));
        }
        self.at += len;
        Ok(start..self.at)
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, TemplateError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(error_at(
                self.at,
                "the calls are nested too deeply",
                "at most 16 levels",
            ));
        }
        let mut arguments = Vec::new();
        loop {
            self.skip_space();
            if arguments.is_empty() && self.rest().starts_with(')') {
                break;
            }
            arguments.push(self.expression()?);
            self.skip_space();
            if self.rest().starts_with(')') {
                break;
            }
            if !self.rest().starts_with(',') {
                return Err(error_at(
                    self.at,
                    "the list of arguments is not closed",
                    "arguments in parentheses, separated by commas",
                ));
            }
            self.at += 1;
        }
        self.at += 1;
        self.depth -= 1;
        Ok(arguments)
    }
}

/// Whether a character is valid in a name.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        let segments = parse("/a/{{ user.id }}?b={{pick('x y', 2, now( ))}}").unwrap();
        assert_eq!(segments[0], TemplateSegment::Literal("/a/".to_owned()));
        assert_eq!(
            segments[1],
            TemplateSegment::Hole(Expression::Column(
                "user".to_owned(),
                "id".to_owned(),
                11..13
            ))
        );
        let TemplateSegment::Hole(Expression::Call(name, _, arguments)) = &segments[3] else {
            panic!("{segments:?}");
        };
        assert_eq!((name.as_str(), arguments.len()), ("pick", 3));
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("}} {").unwrap().len(), 1);
    }

    #[test]
    fn faults_have_their_place() {
        let check = |text: &str, at: usize, word: &str| {
            let error = parse(text).unwrap_err();
            assert_eq!(error.at, at, "{error:?}");
            assert!(error.message.contains(word), "{error:?}");
        };
        check("a {{ b", 2, "not closed");
        check("{{ }}", 3, "empty");
        check("{{ a | b }}", 5, "the end of the placeholder");
        check("{{ f('x }}", 5, "quote");
        check("{{ f(1 2) }}", 7, "not closed");
        check("{{ a. }}", 5, "column");
        check("{{ € }}", 3, "unexpected character");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[{}a-c.('\", €)0-9]{0,40}") {
            if let Err(fault) = parse(&text) {
                prop_assert!(fault.at <= text.len() && text.is_char_boundary(fault.at));
            }
        }
    }
}
