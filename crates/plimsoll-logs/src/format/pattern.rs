//! A line of configuration, compiled: literal text and fields between it.

pub(crate) mod apache;
pub(crate) mod builtin;
pub(crate) mod envoy;
pub(crate) mod haproxy;
pub(crate) mod nginx;
mod read;

use memchr::memmem::Finder;

use super::FormatError;
use crate::moment::MomentForm;
use crate::value::{Escape, Unit};

/// Longest line of configuration, bytes, and most fields of it.
pub(crate) const PATTERN_LEN_MAX: usize = 16 << 10;
const PIECES_MAX: usize = 500;

/// What a field of a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Any text up to the next literal.
    Unused,
    /// A list of nginx, of which nothing is used.
    UnusedList,
    Began(MomentForm),
    Ended(MomentForm),
    Address,
    /// Who connected, where another field may tell for whom: a proxy.
    Peer,
    Forwarded,
    Request,
    Method,
    Path,
    Query,
    /// `$host$request_uri`, with or without a scheme in front.
    HostAndPath,
    Host,
    /// A host that counts if there is no other.
    ServerName,
    Status,
    Bytes,
    Referer,
    Agent,
    Lasted(Unit),
    /// One of several times that make up the whole.
    LastedPart(Unit),
    Cache,
    CompressionRatio,
    UpstreamAddress,
    UpstreamConnect(Unit),
    UpstreamHeader(Unit),
    UpstreamResponse(Unit),
    Haproxy(HaproxyField),
}

/// A field of `HAProxy`'s details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HaproxyField {
    Frontend,
    Backend,
    Server,
    Termination,
    RequestTime,
    QueueTime,
    ConnectTime,
    ResponseTime,
    TotalTime,
    Retries,
    ServerQueue,
    BackendQueue,
    /// Captured headers of the request in braces.
    Captures,
    /// Captured headers of the response in braces.
    ResponseCaptures,
}

impl Field {
    /// Whether `HAProxy` writes neither this nor the blank behind it where a proxy captures no headers.
    fn is_captures(&self) -> bool {
        matches!(
            self,
            Self::Haproxy(HaproxyField::Captures | HaproxyField::ResponseCaptures)
        )
    }

    /// Whether nginx writes several values with a comma and a blank, or a blank, a colon and a blank between them.
    fn is_list(&self) -> bool {
        matches!(
            self,
            Self::UnusedList
                | Self::Forwarded
                | Self::UpstreamAddress
                | Self::UpstreamConnect(_)
                | Self::UpstreamHeader(_)
                | Self::UpstreamResponse(_)
        )
    }
}

/// A piece of a configured format before it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Literal(String),
    /// With its name as configured, for messages.
    Field(Field, String),
}

impl Token {
    fn unused(name: &str) -> Self {
        Self::Field(Field::Unused, name.to_owned())
    }
}

/// Appends to the last literal, or begins another.
fn push_literal(tokens: &mut Vec<Token>, text: &str) {
    match tokens.last_mut() {
        _ if text.is_empty() => {}
        Some(Token::Literal(last)) => last.push_str(text),
        _ => tokens.push(Token::Literal(text.to_owned())),
    }
}

/// A compiled piece.
#[derive(Clone, Debug)]
enum Piece {
    Literal(Vec<u8>),
    Field {
        field: Field,
        /// Finds the literal that ends the field; none takes the rest of the line.
        end: Option<Box<Finder<'static>>>,
        /// Whether the field is in quotes, which the log escapes within it.
        is_quoted: bool,
    },
}

/// A compiled format.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
    escape: Escape,
    has_haproxy: bool,
}

impl Pattern {
    /// Compiles pieces; `name` is that of the format, for messages.
    ///
    /// # Errors
    /// When two fields touch, or the format lacks what every request needs.
    pub(crate) fn compile(
        name: &'static str,
        tokens: Vec<Token>,
        escape: Escape,
    ) -> Result<Self, FormatError> {
        if tokens.len() > PIECES_MAX {
            return Err(FormatError::TooLong);
        }
        let tokens = joined(with_client(tokens))?;
        check_complete(name, &tokens)?;
        let mut pieces = Vec::with_capacity(tokens.len());
        let has_haproxy = tokens
            .iter()
            .any(|token| matches!(token, Token::Field(Field::Haproxy(_), _)));
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            pieces.push(match token {
                Token::Literal(text) => Piece::Literal(text.clone().into_bytes()),
                Token::Field(field, _) => {
                    let after = tokens.get(at + 1);
                    let is_quoted = literal_of(before).is_some_and(|text| text.ends_with('"'))
                        && literal_of(after).is_some_and(|text| text.starts_with('"'));
                    let end = literal_of(after)
                        .map(|text| Box::new(Finder::new(text.as_bytes()).into_owned()));
                    Piece::Field {
                        field: field.clone(),
                        end,
                        is_quoted,
                    }
                }
            });
        }
        Ok(Self {
            pieces,
            escape,
            has_haproxy,
        })
    }
}

fn literal_of(token: Option<&Token>) -> Option<&str> {
    match token {
        Some(Token::Literal(text)) => Some(text),
        _ => None,
    }
}

/// Who connected is the client, unless another field tells the client.
fn with_client(mut tokens: Vec<Token>) -> Vec<Token> {
    let has_client = tokens
        .iter()
        .any(|token| matches!(token, Token::Field(Field::Address, _)));
    for token in &mut tokens {
        if let Token::Field(field, _) = token
            && *field == Field::Peer
        {
            *field = if has_client {
                Field::Unused
            } else {
                Field::Address
            };
        }
    }
    tokens
}

/// Joins fields that touch, where what they are together is known.
fn joined(tokens: Vec<Token>) -> Result<Vec<Token>, FormatError> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let both = match (out.last(), &token) {
            (Some(Token::Field(first, first_name)), Token::Field(second, second_name)) => {
                let field = match (first, second) {
                    (Field::Path | Field::HostAndPath, Field::Query | Field::Unused) => {
                        first.clone()
                    }
                    (Field::Host | Field::ServerName, Field::Path | Field::HostAndPath) => {
                        Field::HostAndPath
                    }
                    (Field::Unused, Field::Unused) => Field::Unused,
                    (Field::Unused, Field::Query) if first_name == "$is_args" => Field::Query,
                    (Field::UnusedList, Field::Unused | Field::UnusedList)
                    | (Field::Unused, Field::UnusedList) => Field::UnusedList,
                    _ => {
                        return Err(FormatError::Adjacent {
                            first: first_name.clone(),
                            second: second_name.clone(),
                        });
                    }
                };
                Some(Token::Field(field, first_name.clone()))
            }
            _ => None,
        };
        match both {
            Some(both) => {
                out.pop();
                out.push(both);
            }
            None => out.push(token),
        }
    }
    Ok(out)
}

fn check_complete(name: &'static str, tokens: &[Token]) -> Result<(), FormatError> {
    let has = |wanted: fn(&Field) -> bool| {
        tokens
            .iter()
            .any(|token| matches!(token, Token::Field(field, _) if wanted(field)))
    };
    let has_path = has(|field| matches!(field, Field::Path | Field::HostAndPath));
    let has_request = has(|field| *field == Field::Request);
    let mut missing = Vec::new();
    if !has(|field| matches!(field, Field::Began(_) | Field::Ended(_))) {
        missing.push("the time");
    }
    let has_parts = has_path && has(|field| *field == Field::Method);
    if !has_request && !has_parts {
        missing.push("the request line, or method and path");
    }
    if !has(|field| *field == Field::Status) {
        missing.push("the status");
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(FormatError::Incomplete {
        format: name,
        missing: missing.join(", "),
    })
}

/// What follows blanks and comments to the ends of their lines.
fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        let end = rest.find('\n').unwrap_or(rest.len());
        rest = rest[end..].trim_start();
    }
    rest
}

/// The inside of the first quoted text of a line of configuration, if there is one: quotes of one kind, in which a
/// backslash escapes; several in a row are one text.
fn unquoted(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = without_comments(text);
    let mut is_any = false;
    while let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        is_any = true;
        let mut escaped = false;
        let mut end = None;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => {
                    escaped = false;
                    match c {
                        't' => out.push('\t'),
                        'n' => out.push('\n'),
                        '"' | '\'' | '\\' | ' ' | '#' => out.push(c),
                        other => {
                            out.push('\\');
                            out.push(other);
                        }
                    }
                }
                '\\' => escaped = true,
                c if c == quote => {
                    end = Some(at + 1);
                    break;
                }
                c => out.push(c),
            }
        }
        rest = without_comments(&rest[end?..]);
    }
    is_any.then_some(out)
}
