//! Envoy's format strings: `[%START_TIME%] "%REQ(:METHOD)% …"`.

use super::{Field, Pattern, Token, push_literal, unquoted};
use crate::format::FormatError;
use crate::moment::MomentForm;
use crate::value::{Escape, Unit};

/// Compiles a format string.
///
/// # Errors
/// When the format lacks what every request needs, or two fields touch.
pub(crate) fn compile(line: &str) -> Result<Pattern, FormatError> {
    let text = unquoted(line).unwrap_or_else(|| line.to_owned());
    let text = text.replace("\\n", "\n");
    let mut tokens = Vec::new();
    let mut rest = text.trim_end();
    while let Some(start) = rest.find('%') {
        push_literal(&mut tokens, &rest[..start]);
        let after = &rest[start + 1..];
        let end = end_of_command(after)
            .ok_or_else(|| FormatError::syntax("a command that no `%` ends", &rest[start..]))?;
        let command = &after[..end];
        if command.is_empty() {
            push_literal(&mut tokens, "%");
        } else {
            tokens.push(Token::Field(field(command), format!("%{command}%")));
        }
        rest = &after[end + 1..];
    }
    push_literal(&mut tokens, rest);
    Pattern::compile("envoy", tokens, Escape::None)
}

/// The position of the `%` that ends a command; those within its parentheses are parts of a time format.
fn end_of_command(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '%' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })
}

/// `START_TIME` is the beginning, `DURATION` the milliseconds to the last byte out (Envoy, access logging).
fn field(command: &str) -> Field {
    let (name, argument) = match command.split_once('(') {
        Some((name, rest)) => (name, rest.rsplit_once(')').map_or(rest, |(inner, _)| inner)),
        None => (command.split(':').next().unwrap_or(command), ""),
    };
    match name {
        "START_TIME" => Field::Began(moment(argument)),
        "START_TIME_LOCAL" => Field::Began(MomentForm::Iso),
        "RESPONSE_CODE" => Field::Status,
        "BYTES_SENT" => Field::Bytes,
        "DURATION" => Field::Lasted(Unit::Milliseconds),
        "DOWNSTREAM_REMOTE_ADDRESS" | "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT" => Field::Address,
        "DOWNSTREAM_DIRECT_REMOTE_ADDRESS" | "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT" => {
            Field::Peer
        }
        "UPSTREAM_HOST" => Field::UpstreamAddress,
        "REQ" | "REQUEST_HEADER" => header(argument),
        "RESP" if argument.eq_ignore_ascii_case("X-ENVOY-UPSTREAM-SERVICE-TIME") => {
            Field::UpstreamResponse(Unit::Milliseconds)
        }
        _ => Field::Unused,
    }
}

fn moment(format: &str) -> MomentForm {
    match format {
        "" => MomentForm::Iso,
        "%s" | "%s.%3f" | "%s.%6f" | "%s.%9f" => MomentForm::UnixSeconds,
        "%s%3f" => MomentForm::UnixMilliseconds,
        format => {
            // Envoy counts digits of the fraction; the library takes any.
            let mut format = format.to_owned();
            for digits in 1..=9 {
                format = format.replace(&format!(".%{digits}f"), "%.f");
            }
            MomentForm::Custom(format)
        }
    }
}

/// A header, or the alternative behind `?` where it is missing.
fn header(argument: &str) -> Field {
    let mut names = argument.split('?');
    let known = names.find_map(|name| {
        let name = name
            .split(':')
            .next_back()
            .unwrap_or(name)
            .to_ascii_uppercase();
        Some(match name.as_str() {
            "METHOD" => Field::Method,
            "PATH" | "X-ENVOY-ORIGINAL-PATH" => Field::Path,
            "AUTHORITY" | "HOST" => Field::Host,
            "X-FORWARDED-FOR" => Field::Forwarded,
            "USER-AGENT" => Field::Agent,
            "REFERER" => Field::Referer,
            _ => return None,
        })
    });
    known.unwrap_or(Field::Unused)
}
