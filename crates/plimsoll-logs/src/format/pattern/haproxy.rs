//! `HAProxy`'s `log-format "%ci:%cp [%tr] …"`.

use super::{Field, HaproxyField, Pattern, Token, push_literal, unquoted};
use crate::format::FormatError;
use crate::moment::MomentForm;
use crate::value::{Escape, Unit};

/// Compiles a line of configuration, or only its text.
///
/// # Errors
/// When the format lacks what every request needs, or two fields touch.
pub(crate) fn compile(line: &str) -> Result<Pattern, FormatError> {
    let line = line.trim();
    let rest = line.strip_prefix("log-format").unwrap_or(line).trim_start();
    let text = unquoted(rest).unwrap_or_else(|| rest.replace("\\ ", " ").replace("\\\"", "\""));
    let mut tokens = Vec::new();
    let mut are_all_quoted = false;
    let mut rest = text.as_str();
    while let Some(start) = rest.find('%') {
        push_literal(&mut tokens, &rest[..start]);
        let variable = Variable::parse(&rest[start + 1..])
            .ok_or_else(|| FormatError::syntax("a variable", &rest[start..]))?;
        rest = &rest[start + 1 + variable.length..];
        match variable.name {
            "%" => push_literal(&mut tokens, "%"),
            // Flags for all that follow.
            "o" => are_all_quoted |= variable.is_quoted,
            name => {
                let field = if variable.is_expression {
                    expression(name)
                } else {
                    field(name)
                };
                let quote = if variable.is_quoted || are_all_quoted {
                    "\""
                } else {
                    ""
                };
                push_literal(&mut tokens, quote);
                tokens.push(Token::Field(field, format!("%{name}")));
                push_literal(&mut tokens, quote);
            }
        }
    }
    push_literal(&mut tokens, rest);
    Pattern::compile("haproxy", tokens, Escape::Hash)
}

/// `%ci`, `%{+Q}r`, `%[req.hdr(host)]`
#[derive(Debug)]
struct Variable<'a> {
    name: &'a str,
    is_expression: bool,
    is_quoted: bool,
    length: usize,
}

impl<'a> Variable<'a> {
    /// Parses what follows a percent sign.
    fn parse(text: &'a str) -> Option<Self> {
        let mut at = 0;
        let mut is_quoted = false;
        // `%(name)` gives the field a name, in formats that encode to JSON.
        if let Some(inner) = text.strip_prefix('(') {
            at = inner.find(')')? + 2;
        }
        if let Some(inner) = text[at..].strip_prefix('{') {
            let end = inner.find('}')?;
            is_quoted = inner[..end].contains("+Q");
            at += end + 2;
        }
        if let Some(inner) = text[at..].strip_prefix('[') {
            let end = inner.find(']')?;
            return Some(Self {
                name: &inner[..end],
                is_expression: true,
                is_quoted,
                length: at + end + 2,
            });
        }
        let rest = &text[at..];
        let length = if rest.starts_with('%') {
            1
        } else {
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len())
        };
        (length > 0).then(|| Self {
            name: &rest[..length],
            is_expression: false,
            is_quoted,
            length: at + length,
        })
    }
}

/// Dates are those of accepting a connection or of the first byte of a request (manual, 8.2.6): beginnings.
fn field(name: &str) -> Field {
    match name {
        "ci" => Field::Address,
        "t" | "tr" | "T" | "Tl" | "trg" | "trl" => Field::Began(MomentForm::Common),
        "Ts" => Field::Began(MomentForm::UnixSeconds),
        "r" => Field::Request,
        "HM" => Field::Method,
        "HU" | "HPO" | "HP" => Field::Path,
        "HQ" => Field::Query,
        "ST" => Field::Status,
        "B" => Field::Bytes,
        "Ta" | "Tt" => Field::Haproxy(HaproxyField::TotalTime),
        "TR" | "Tq" => Field::Haproxy(HaproxyField::RequestTime),
        "Tw" => Field::Haproxy(HaproxyField::QueueTime),
        "Tc" => Field::Haproxy(HaproxyField::ConnectTime),
        "Tr" => Field::Haproxy(HaproxyField::ResponseTime),
        "ft" | "f" => Field::Haproxy(HaproxyField::Frontend),
        "b" => Field::Haproxy(HaproxyField::Backend),
        "s" => Field::Haproxy(HaproxyField::Server),
        "ts" | "tsc" => Field::Haproxy(HaproxyField::Termination),
        "rc" => Field::Haproxy(HaproxyField::Retries),
        "sq" => Field::Haproxy(HaproxyField::ServerQueue),
        "bq" => Field::Haproxy(HaproxyField::BackendQueue),
        "hr" => Field::Haproxy(HaproxyField::Captures),
        "hs" => Field::Haproxy(HaproxyField::ResponseCaptures),
        "Tu" => Field::Lasted(Unit::Milliseconds),
        _ => Field::Unused,
    }
}

/// Of a sample expression, its first fetch.
fn expression(text: &str) -> Field {
    let fetch = text.split(',').next().unwrap_or(text).trim();
    let (name, argument) = fetch.split_once('(').unwrap_or((fetch, ""));
    let argument = argument.trim_end_matches(')').to_ascii_lowercase();
    match (name, argument.as_str()) {
        ("src", _) => Field::Address,
        ("method" | "capture.req.method", _) => Field::Method,
        ("path" | "pathq" | "url" | "capture.req.uri", _) => Field::Path,
        ("query", _) => Field::Query,
        ("status", _) => Field::Status,
        ("ssl_fc_sni", _) => Field::ServerName,
        ("base", _) => Field::HostAndPath,
        ("hdr" | "req.hdr" | "req.fhdr" | "fhdr" | "req.hdr_ip", header) => match header {
            "host" => Field::Host,
            "user-agent" => Field::Agent,
            "referer" => Field::Referer,
            "x-forwarded-for" => Field::Forwarded,
            _ => Field::Unused,
        },
        _ => Field::Unused,
    }
}
