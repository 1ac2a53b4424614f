//! Apache's `LogFormat "…" NICKNAME`.

use super::{Field, Pattern, Token, push_literal, unquoted};
use crate::format::FormatError;
use crate::moment::MomentForm;
use crate::value::{Escape, Unit};

/// Compiles a line of configuration, or only its text.
///
/// # Errors
/// When the format lacks what every request needs, or two fields touch.
pub(crate) fn compile(line: &str) -> Result<Pattern, FormatError> {
    // A backslash at its end continues a line.
    let line = line.replace("\\\r\n", "").replace("\\\n", "");
    let rest = definition(line.trim());
    let text = unquoted_first(rest).unwrap_or_else(|| rest.to_owned());
    let mut tokens: Vec<ApacheToken> = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find('%') {
        literal(&mut tokens, &rest[..start]);
        let directive = Directive::parse(&rest[start + 1..])
            .ok_or_else(|| FormatError::syntax("a directive", &rest[start..]))?;
        rest = &rest[start + 1 + directive.length..];
        match directive.kind {
            "%" => literal(&mut tokens, "%"),
            "t" => tokens.push(ApacheToken::Time(directive.time())),
            _ => tokens.push(ApacheToken::Field(directive.field(), directive.name())),
        }
    }
    literal(&mut tokens, rest);
    Pattern::compile("apache", with_whole_times(tokens), Escape::Backslash)
}

/// What defines the format: behind `LogFormat`, or behind the file of `CustomLog`.
fn definition(line: &str) -> &str {
    let Some(rest) = ["CustomLog", "GlobalLog"]
        .iter()
        .find_map(|directive| line.strip_prefix(directive))
    else {
        return line.strip_prefix("LogFormat").unwrap_or(line).trim_start();
    };
    let rest = rest.trim_start();
    let end = match rest.strip_prefix('"') {
        Some(inner) => inner.find('"').map(|end| end + 2),
        None => rest.find(char::is_whitespace),
    };
    end.map_or("", |end| rest[end..].trim_start())
}

/// The text in quotes; a nickname may follow.
fn unquoted_first(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    let end = text.char_indices().skip(1).find_map(|(at, c)| {
        let is_end = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        is_end.then_some(at)
    })?;
    unquoted(&text[..=end])
}

fn literal(tokens: &mut Vec<ApacheToken>, text: &str) {
    match tokens.last_mut() {
        _ if text.is_empty() => {}
        Some(ApacheToken::Literal(last)) => last.push_str(text),
        _ => tokens.push(ApacheToken::Literal(text.to_owned())),
    }
}

/// A piece before times that are written in several directives are joined.
#[derive(Clone, Debug)]
enum ApacheToken {
    Literal(String),
    Field(Field, String),
    Time(Time),
}

/// A `%{…}t`.
#[derive(Clone, Debug)]
struct Time {
    form: TimeForm,
    is_end: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TimeForm {
    Moment(MomentForm),
    /// `msec_frac`, `usec_frac`
    Fraction,
    /// A format of `strftime`.
    Format(String),
}

/// `%>s`, `%{User-Agent}i`, `%400,501{Referer}i`, `%!200b`
#[derive(Debug)]
struct Directive<'a> {
    argument: &'a str,
    kind: &'a str,
    length: usize,
}

impl<'a> Directive<'a> {
    /// Parses what follows a percent sign.
    fn parse(text: &'a str) -> Option<Self> {
        let is_modifier = |c: char| c.is_ascii_digit() || matches!(c, '!' | ',' | '<' | '>');
        let mut at = text.find(|c: char| !is_modifier(c))?;
        let mut argument = "";
        if let Some(inner) = text[at..].strip_prefix('{') {
            let end = inner.find('}')?;
            argument = &inner[..end];
            at += end + 2;
            // `%{…}>s` is possible too.
            at += text[at..].find(|c: char| !is_modifier(c))?;
        }
        let is_trailer = text[at..].starts_with('^');
        let first = text[at..].chars().next()?;
        let length = if is_trailer { 3 } else { first.len_utf8() };
        let kind = text.get(at..at + length)?;
        Some(Self {
            argument,
            kind,
            length: at + length,
        })
    }

    fn name(&self) -> String {
        if self.argument.is_empty() {
            format!("%{}", self.kind)
        } else {
            format!("%{{{}}}{}", self.argument, self.kind)
        }
    }

    fn field(&self) -> Field {
        match self.kind {
            // `mod_remoteip` keeps the proxy that connected in `%{c}a`.
            "a" if self.argument == "c" => Field::Peer,
            "h" | "a" => Field::Address,
            "r" => Field::Request,
            "m" => Field::Method,
            "U" => Field::Path,
            "q" => Field::Query,
            "s" => Field::Status,
            "b" | "B" | "O" => Field::Bytes,
            "v" | "V" => Field::ServerName,
            "D" => Field::Lasted(Unit::Microseconds),
            "T" => Field::Lasted(match self.argument {
                "ms" => Unit::Milliseconds,
                "us" => Unit::Microseconds,
                _ => Unit::Seconds,
            }),
            "i" => header(self.argument),
            _ => Field::Unused,
        }
    }

    /// `%t` is "the time the request was received" (`mod_log_config`); `%{end:…}t` asks for the end.
    fn time(&self) -> Time {
        let (is_end, format) = match self.argument.split_once(':') {
            Some(("begin", format)) => (false, format),
            Some(("end", format)) => (true, format),
            _ => (false, self.argument),
        };
        let form = match format {
            "" => TimeForm::Moment(MomentForm::Common),
            "sec" => TimeForm::Moment(MomentForm::UnixSeconds),
            "msec" => TimeForm::Moment(MomentForm::UnixMilliseconds),
            "usec" => TimeForm::Moment(MomentForm::UnixMicroseconds),
            "msec_frac" | "usec_frac" => TimeForm::Fraction,
            format => TimeForm::Format(format.to_owned()),
        };
        Time { form, is_end }
    }
}

fn header(name: &str) -> Field {
    match name.to_ascii_lowercase().as_str() {
        "user-agent" => Field::Agent,
        "referer" => Field::Referer,
        "host" => Field::Host,
        "x-forwarded-for" | "x-real-ip" | "true-client-ip" | "cf-connecting-ip" | "forwarded"
        | "x-client-ip" | "client-ip" => Field::Forwarded,
        _ => Field::Unused,
    }
}

/// Joins `%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t` and the like into one moment each.
fn with_whole_times(tokens: Vec<ApacheToken>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let mut time = match token {
            ApacheToken::Literal(text) => {
                push_literal(&mut out, &text);
                continue;
            }
            ApacheToken::Field(field, name) => {
                out.push(Token::Field(field, name));
                continue;
            }
            ApacheToken::Time(time) => time,
        };
        let mut pending: Option<String> = None;
        loop {
            match tokens.peek() {
                Some(ApacheToken::Literal(text)) if pending.is_none() && text.len() <= 3 => {
                    pending = Some(text.clone());
                    tokens.next();
                }
                Some(ApacheToken::Time(next)) => {
                    let between = pending.take().unwrap_or_default();
                    if let Some(both) = time.form.joined(&between, &next.form) {
                        time.form = both;
                        tokens.next();
                    } else {
                        pending = Some(between);
                        break;
                    }
                }
                _ => break,
            }
        }
        // `%t` writes its brackets itself.
        let is_bracketed = time.form == TimeForm::Moment(MomentForm::Common);
        push_literal(&mut out, if is_bracketed { "[" } else { "" });
        out.push(time.token());
        push_literal(&mut out, if is_bracketed { "]" } else { "" });
        if let Some(text) = pending {
            push_literal(&mut out, &text);
        }
    }
    out
}

impl Time {
    fn token(self) -> Token {
        let form = match self.form {
            TimeForm::Moment(form) => form,
            TimeForm::Format(format) => match format.as_str() {
                "%s" => MomentForm::UnixSeconds,
                // Without a day it is no moment: `%H:%M`.
                format if !has_day(format) => return Token::unused("%{…}t"),
                "%d/%b/%Y:%H:%M:%S %z" | "%d/%b/%Y:%T %z" => MomentForm::Common,
                _ => MomentForm::Custom(format),
            },
            TimeForm::Fraction => return Token::unused("%{msec_frac}t"),
        };
        let field = if self.is_end {
            Field::Ended(form)
        } else {
            Field::Began(form)
        };
        Token::Field(field, "%t".to_owned())
    }
}

fn has_day(format: &str) -> bool {
    let days = ["%F", "%D", "%d", "%e", "%x", "%j", "%c", "%s"];
    days.iter().any(|day| format.contains(day))
}

impl TimeForm {
    /// One form of two with text between them.
    fn joined(&self, between: &str, next: &Self) -> Option<Self> {
        match (self, next) {
            (Self::Moment(MomentForm::UnixSeconds), Self::Fraction) if between == "." => {
                Some(Self::Moment(MomentForm::UnixSeconds))
            }
            (Self::Format(first), Self::Fraction) => {
                let between = between.strip_suffix('.')?;
                Some(Self::Format(format!("{first}{between}%.f")))
            }
            (Self::Format(first), Self::Format(second)) => {
                let between = between.replace('%', "%%");
                Some(Self::Format(format!("{first}{between}{second}")))
            }
            _ => None,
        }
    }
}
