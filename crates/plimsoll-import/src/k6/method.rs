//! Methods of texts, numbers, regular expressions and responses.

use std::rc::Rc;

use oxc_ast::ast::RegExpLiteral;

use super::answer::Answer;
use super::comparison::Test;
use super::machine::Machine;
use super::member::answer_of;
use super::number;
use super::text::{Hole, Piece, Text};
use super::value::Value;

impl<'a> Machine<'a, '_> {
    /// A regular expression of the script as a plan has it.
    pub(super) fn regex(literal: &RegExpLiteral<'a>) -> Rc<str> {
        let flags = literal.regex.flags.to_string();
        let known: String = flags
            .chars()
            .filter(|flag| matches!(flag, 'i' | 'm' | 's'))
            .collect();
        let text = literal.regex.pattern.text.as_str().replace("\\/", "/");
        if known.is_empty() {
            return Rc::from(text);
        }
        Rc::from(format!("(?{known}){text}"))
    }

    pub(super) fn text_method(
        &mut self,
        value: &Value<'a>,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        let known = match value {
            Value::Text(text) => text.constant().map(ToOwned::to_owned),
            Value::File(file) => file.text.as_ref().map(ToString::to_string),
            _ => None,
        };
        if let Some(text) = known
            && let Some(value) = self.constant_method(&text, name, arguments)
        {
            return value;
        }
        match name {
            "toString" | "valueOf" | "trim" | "normalize" => value.clone(),
            "concat" => {
                let mut text = self.text_of(value, at);
                for argument in arguments {
                    let part = self.text_of(argument, at);
                    text.push(&part);
                }
                Value::Text(Rc::new(text))
            }
            "replace" | "replaceAll" => self.replaced(value, arguments, name == "replaceAll", at),
            "includes" | "startsWith" | "endsWith" | "indexOf" => {
                let part = arguments.first().cloned().unwrap_or(Value::Undefined);
                if name == "includes" {
                    if let (Some(whole), Some(part)) =
                        (self.known_text(value), self.known_text(&part))
                    {
                        return Value::Bool(whole.contains(&part));
                    }
                    return Value::Test(Rc::new(Test::Includes(value.clone(), part)));
                }
                if let (Some(whole), Some(part)) = (self.known_text(value), self.known_text(&part))
                {
                    return match name {
                        "startsWith" => Value::Bool(whole.starts_with(&part)),
                        "endsWith" => Value::Bool(whole.ends_with(&part)),
                        _ => Value::Number(whole.find(&part).map_or(-1.0, number::of)),
                    };
                }
                Value::unknown(format!("`{name}` of a text that is known only at run time"))
            }
            "toUpperCase" | "toLowerCase" | "split" | "slice" | "substring" | "substr"
            | "padStart"
                if matches!(value, Value::Variable(..)) =>
            {
                let Some(text) = self.known_text(value) else {
                    return Value::unknown("a variable of the environment without a default");
                };
                self.note(format!(
                    "`{name}` of a variable of the environment: the plan has the value for its default"
                ));
                self.constant_method(&text, name, arguments)
                    .unwrap_or(Value::Undefined)
            }
            "padStart" | "padEnd" => {
                self.lose(
                    at,
                    format!("{name}()"),
                    "the text is known only at run time; the plan has it without padding",
                    "write rows with padded values under `data:`",
                );
                value.clone()
            }
            _ => Value::unknown(format!("`{name}` of a text that is known only at run time")),
        }
    }

    /// A method of a text that is known.
    #[expect(clippy::too_many_lines, reason = "a table: one row for each method")]
    fn constant_method(
        &mut self,
        text: &str,
        name: &str,
        arguments: &[Value<'a>],
    ) -> Option<Value<'a>> {
        let argument = |index: usize| {
            arguments
                .get(index)
                .and_then(|value| self.known_text(value))
        };
        let first = argument(0);
        let numbers: Vec<Option<f64>> = arguments.iter().map(|value| self.number(value)).collect();
        let value = match name {
            "toUpperCase" | "toLocaleUpperCase" => Value::text(text.to_uppercase()),
            "toLowerCase" | "toLocaleLowerCase" => Value::text(text.to_lowercase()),
            "trim" => Value::text(text.trim()),
            "trimStart" | "trimLeft" => Value::text(text.trim_start()),
            "trimEnd" | "trimRight" => Value::text(text.trim_end()),
            "toString" | "valueOf" | "normalize" => Value::text(text),
            "startsWith" => Value::Bool(text.starts_with(&first?)),
            "endsWith" => Value::Bool(text.ends_with(&first?)),
            "includes" => Value::Bool(text.contains(&first?)),
            "indexOf" => Value::Number(text.find(&first?).map_or(-1.0, number::of)),
            "lastIndexOf" => Value::Number(text.rfind(&first?).map_or(-1.0, number::of)),
            "repeat" => {
                let count = number::index((*numbers.first()?)?)?;
                if text.len().saturating_mul(count) > super::machine::TEXT_LEN_MAX {
                    return Some(Value::unknown("a text is longer than 4 MiB"));
                }
                Value::text(text.repeat(count))
            }
            "split" => match (arguments.first(), first) {
                (None, _) => Value::list(vec![Value::text(text)]),
                (Some(Value::Regex(regex)), _) => {
                    let regex = regex::Regex::new(regex).ok()?;
                    Value::list(regex.split(text).map(Value::text).collect())
                }
                (Some(_), Some(separator)) if separator.is_empty() => {
                    Value::list(text.chars().map(|c| Value::text(c.to_string())).collect())
                }
                (Some(_), Some(separator)) => {
                    Value::list(text.split(&separator).map(Value::text).collect())
                }
                _ => return None,
            },
            // A position that is known only at run time.
            "slice" | "substring" | "substr" | "charCodeAt" | "codePointAt"
                if numbers.contains(&None) =>
            {
                return None;
            }
            "slice" | "substring" | "substr" => Value::text(sliced(text, name, &numbers)?),
            "charAt" | "at" if numbers.first() == Some(&None) => match arguments.first()? {
                Value::Random(random) => Self::random_character(text, *random),
                _ => return None,
            },
            "charAt" | "at" => {
                let index = number::index(numbers.first().copied().flatten().unwrap_or(0.0))?;
                Value::text(
                    text.chars()
                        .nth(index)
                        .map(String::from)
                        .unwrap_or_default(),
                )
            }
            "charCodeAt" | "codePointAt" => {
                let index = number::index(numbers.first().copied().flatten().unwrap_or(0.0))?;
                Value::Number(
                    text.chars()
                        .nth(index)
                        .map_or(f64::NAN, |c| f64::from(u32::from(c))),
                )
            }
            "padStart" | "padEnd" => {
                let len = number::index((*numbers.first()?)?)?.min(10_000);
                let fill = argument(1).unwrap_or_else(|| " ".to_owned());
                let missing = len.saturating_sub(text.chars().count());
                let filling: String = fill
                    .chars()
                    .cycle()
                    .take(if fill.is_empty() { 0 } else { missing })
                    .collect();
                Value::text(if name == "padStart" {
                    format!("{filling}{text}")
                } else {
                    format!("{text}{filling}")
                })
            }
            "match" | "search" => match arguments.first()? {
                Value::Regex(regex) => {
                    let regex = regex::Regex::new(regex).ok()?;
                    match regex.captures(text) {
                        Some(found) => Value::list(
                            found
                                .iter()
                                .map(|group| {
                                    group.map_or(Value::Undefined, |group| {
                                        Value::text(group.as_str())
                                    })
                                })
                                .collect(),
                        ),
                        None => Value::Null,
                    }
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(value)
    }

    fn replaced(
        &mut self,
        value: &Value<'a>,
        arguments: &[Value<'a>],
        is_all: bool,
        at: u32,
    ) -> Value<'a> {
        let [pattern, with, ..] = arguments else {
            return value.clone();
        };
        let text = self.text_of(value, at);
        let with = self.text_of(with, at);
        if let Value::Regex(regex) = pattern {
            let Ok(regex) = regex::Regex::new(regex) else {
                return Value::unknown("a regular expression of a kind that is not followed");
            };
            let Some(with) = with.constant() else {
                return Value::unknown("a replacement that is known only at run time");
            };
            return Value::Text(Rc::new(
                text.map(|text| regex.replace_all(text, with).into_owned()),
            ));
        }
        let Some(pattern) = self
            .known_text(pattern)
            .filter(|pattern| !pattern.is_empty())
        else {
            return Value::unknown("a replacement of a text that is known only at run time");
        };
        let mut out = Text::default();
        let mut is_done = false;
        for piece in text.pieces() {
            match piece {
                Piece::Hole(hole) => out.push(&Text::hole(hole.clone())),
                Piece::Literal(literal) => {
                    let mut rest = literal.as_str();
                    while let Some((before, after)) =
                        rest.split_once(&pattern).filter(|_| is_all || !is_done)
                    {
                        out.push_str(before);
                        out.push(&with);
                        rest = after;
                        is_done = true;
                    }
                    out.push_str(rest);
                }
            }
        }
        Value::Text(Rc::new(out))
    }

    pub(super) fn number_method(
        &mut self,
        value: f64,
        name: &str,
        arguments: &[Value<'a>],
        _at: u32,
    ) -> Value<'a> {
        match name {
            "toFixed" => {
                let digits = arguments.first().and_then(|digits| self.number(digits));
                let digits = digits.and_then(number::index).unwrap_or(0).min(100);
                Value::text(format!("{value:.digits$}"))
            }
            "toString" if arguments.is_empty() => Value::text(number::shown(value)),
            "toString" => match (
                arguments.first().and_then(|base| self.number(base)),
                number::whole(value),
            ) {
                (Some(base), Some(whole)) if number::same(base, 16.0) && whole >= 0 => {
                    Value::text(format!("{whole:x}"))
                }
                (Some(base), Some(whole)) if number::same(base, 2.0) && whole >= 0 => {
                    Value::text(format!("{whole:b}"))
                }
                _ => Value::text(number::shown(value)),
            },
            "valueOf" => Value::Number(value),
            _ => Value::text(number::shown(value)),
        }
    }

    pub(super) fn regex_method(
        &mut self,
        regex: &Rc<str>,
        name: &str,
        arguments: &[Value<'a>],
    ) -> Value<'a> {
        let Some(text) = arguments.first() else {
            return Value::Undefined;
        };
        match (name, text) {
            ("test", Value::Answer(..)) => {
                Value::Test(Rc::new(Test::Matches(text.clone(), Rc::clone(regex))))
            }
            ("exec", Value::Answer(request, what)) if **what == Answer::Body => {
                answer_of(*request, &Answer::Matches(regex.to_string()))
            }
            ("test" | "exec", text) => match (self.known_text(text), regex::Regex::new(regex)) {
                (Some(text), Ok(compiled)) if name == "test" => {
                    Value::Bool(compiled.is_match(&text))
                }
                (Some(text), Ok(_)) => self
                    .constant_method(&text, "match", &[Value::Regex(Rc::clone(regex))])
                    .unwrap_or(Value::Null),
                _ => Value::Test(Rc::new(Test::Matches(text.clone(), Rc::clone(regex)))),
            },
            _ => Value::unknown(format!("`{name}` of a regular expression")),
        }
    }

    /// `findBetween(text, left, right)`.
    pub(super) fn find_between(&mut self, arguments: &[Value<'a>]) -> Value<'a> {
        let [whole, left, right, ..] = arguments else {
            return Value::Undefined;
        };
        let (Some(left), Some(right)) = (self.known_text(left), self.known_text(right)) else {
            return Value::unknown("findBetween with bounds that are known only at run time");
        };
        match whole {
            Value::Answer(request, what) if **what == Answer::Body => {
                let regex = format!("(?s){}(.*?){}", regex::escape(&left), regex::escape(&right));
                answer_of(*request, &Answer::Group(regex))
            }
            _ => match self.known_text(whole) {
                Some(whole) => {
                    let rest = whole.split_once(&left).map_or("", |(_, rest)| rest);
                    Value::text(rest.split_once(&right).map_or("", |(found, _)| found))
                }
                None => Value::unknown("findBetween of a text that is known only at run time"),
            },
        }
    }

    /// A placeholder with a function of plans around a text.
    pub(super) fn wrapped(&mut self, function: &str, value: &Value<'a>, at: u32) -> Value<'a> {
        let text = self.text_of(value, at);
        let inner = match text.pieces() {
            [Piece::Hole(hole)] => hole.clone(),
            _ => self.set(function, &text),
        };
        let call = format!("{function}({})", inner.expression);
        let hole = if inner.is_volatile {
            Hole::volatile(call)
        } else {
            Hole::stable(call)
        };
        Value::hole(hole)
    }
}

/// A part of a text by positions of characters.
fn sliced(text: &str, name: &str, numbers: &[Option<f64>]) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    let len = i64::try_from(chars.len()).ok()?;
    let position = |number: f64| -> Option<i64> {
        let number = number::whole(number.trunc())?;
        Some(match name {
            "substring" => number.clamp(0, len),
            _ if number < 0 => (len + number).max(0),
            _ => number.min(len),
        })
    };
    let start = position(numbers.first().copied().flatten().unwrap_or(0.0))?;
    let end = match numbers.get(1).copied().flatten() {
        None => len,
        Some(count) if name == "substr" => {
            (start + number::whole(count.trunc())?).clamp(start, len)
        }
        Some(end) => position(end)?,
    };
    let (start, end) = if name == "substring" {
        (start.min(end), start.max(end))
    } else {
        (start, end.max(start))
    };
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    Some(chars.get(start..end)?.iter().collect())
}
