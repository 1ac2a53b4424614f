//! Tokens of a constraint.

use std::ops::Range;

use plimsoll_model::experiment::ConstraintRelation;

use super::super::numbers::{Dimension, number};
use crate::Problem;

const RELATIONS: [(&str, ConstraintRelation); 6] = [
    ("<=", ConstraintRelation::AtMost),
    (">=", ConstraintRelation::AtLeast),
    ("==", ConstraintRelation::Equal),
    ("!=", ConstraintRelation::NotEqual),
    ("<", ConstraintRelation::Below),
    (">", ConstraintRelation::Above),
];
/// What is valid as a relation.
pub(super) const RELATIONS_VALID: &str = "one of <=, <, >=, >, ==, !=";

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Number(f64, Dimension),
    Name(&'t str),
    /// A word in quotes.
    Quoted(&'t str),
    /// `+`, `-`, `*`, `/`.
    Operator(char),
    Relation(ConstraintRelation),
    Open,
    Close,
}

/// A token and its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedToken<'t> {
    pub(super) token: Token<'t>,
    pub(super) span: Range<usize>,
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<PlacedToken<'_>>, Problem> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, len) = token(text, at, first)?;
        let span = at..at + len;
        at = span.end;
        tokens.push(PlacedToken { token, span });
    }
    Ok(tokens)
}

/// The token at a byte, and its length.
fn token(text: &str, at: usize, first: char) -> Result<(Token<'_>, usize), Problem> {
    let rest = &text[at..];
    let problem = |len: usize, message: String, valid: &str| {
        Err(Problem::new(text, at..at + len, message, valid))
    };
    let relation = RELATIONS.iter().find(|(sign, _)| rest.starts_with(*sign));
    if let Some((sign, relation)) = relation {
        return Ok((Token::Relation(*relation), sign.len()));
    }
    match first {
        '+' | '-' | '*' | '/' => Ok((Token::Operator(first), 1)),
        '(' => Ok((Token::Open, 1)),
        ')' => Ok((Token::Close, 1)),
        '=' => problem(
            1,
            "`=` is not a relation".to_owned(),
            "== for equal, != for not equal",
        ),
        '\'' | '"' => match rest[1..].find(first) {
            Some(len) => Ok((Token::Quoted(&rest[1..=len]), len + 2)),
            None => problem(rest.len(), "the quote is not closed".to_owned(), "'word'"),
        },
        '0'..='9' | '.' => {
            let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            let len = rest.find(|c| !is_inner(c)).unwrap_or(rest.len());
            if let Some((value, dimension)) = number(&rest[..len]) {
                return Ok((Token::Number(value, dimension), len));
            }
            let message = format!("`{}` is not a number", &rest[..len]);
            let valid = "a number, a size such as 4GiB, or a duration such as 30s";
            problem(len, message, valid)
        }
        'a'..='z' | 'A'..='Z' | '_' => {
            let len = name_len(rest);
            Ok((Token::Name(&rest[..len]), len))
        }
        other => problem(
            other.len_utf8(),
            format!("`{other}` is unexpected"),
            "names, numbers, + - * / ( ) and a relation",
        ),
    }
}

/// Length of a name. A minus between its letters belongs to it; that of a subtraction has a space before or behind it.
fn name_len(text: &str) -> usize {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut len = 0;
    loop {
        let rest = &text[len..];
        len += rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let behind = text[len..].strip_prefix('-');
        if !behind.is_some_and(|behind| behind.starts_with(is_letter)) {
            return len;
        }
        len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_tokens_with_places() {
        let text = "io-threads*2 - a<='x y' ";
        let read: Vec<_> = tokens(text).unwrap();
        let plain = read.into_iter().map(|placed| (placed.token, placed.span));
        assert_eq!(
            plain.collect::<Vec<_>>(),
            [
                (Token::Name("io-threads"), 0..10),
                (Token::Operator('*'), 10..11),
                (Token::Number(2.0, Dimension::PLAIN), 11..12),
                (Token::Operator('-'), 13..14),
                (Token::Name("a"), 15..16),
                (Token::Relation(ConstraintRelation::AtMost), 16..18),
                (Token::Quoted("x y"), 18..23),
            ]
        );
    }

    #[test]
    fn wrong_texts_have_places() {
        for (text, span, message) in [
            ("a = 3", 2..3, "`=` is not a relation"),
            ("a == 'x", 5..7, "not closed"),
            ("4Gb", 0..3, "`4Gb` is not a number"),
            ("a ≤ 3", 2..5, "`≤` is unexpected"),
            ("a & b", 2..3, "`&` is unexpected"),
        ] {
            let problem = tokens(text).unwrap_err();
            assert_eq!(problem.span, span, "{text}");
            assert!(problem.message.contains(message), "{problem}");
        }
    }
}
