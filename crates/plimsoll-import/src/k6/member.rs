//! Members of values: properties, items of lists, parts of responses, columns of rows.

use std::rc::Rc;

use oxc_span::Span;

use super::answer::{Answer, JsonValue};
use super::machine::Machine;
use super::number;
use super::text::Hole;
use super::value::{Counted, Counter, Row, Value};

impl<'a> Machine<'a, '_> {
    /// The property `name` of a value.
    pub(super) fn member(&mut self, object: &Value<'a>, name: &str, at: u32) -> Value<'a> {
        match object {
            Value::Object(fields) => {
                let found = fields.borrow().get(name).cloned();
                found
                    .or_else(|| self.address_member(object, name, at))
                    .unwrap_or(Value::Undefined)
            }
            Value::List(list) if name == "length" => {
                if list.is_cut.get() {
                    self.note(format!(
                        "only the first rows of `{}` were read; its length counts those",
                        list.name.borrow().as_deref().unwrap_or("a list")
                    ));
                }
                Value::Number(number::of(list.items.borrow().len()))
            }
            Value::List(list) => match name.parse::<usize>() {
                Ok(index) => list
                    .items
                    .borrow()
                    .get(index)
                    .cloned()
                    .unwrap_or(Value::Undefined),
                Err(_) => Value::Undefined,
            },
            Value::Text(text) if name == "length" => match text.constant() {
                Some(text) => Value::Number(number::of(text.encode_utf16().count())),
                None => Value::unknown("the length of a text that is known only at run time"),
            },
            Value::Variable(..) | Value::File(_) if name == "length" => {
                match self.known_text(object) {
                    Some(text) => Value::Number(number::of(text.encode_utf16().count())),
                    None => match object.as_str() {
                        Some(text) => Value::Number(number::of(text.encode_utf16().count())),
                        None => Value::Number(0.0),
                    },
                }
            }
            Value::Native(path) => self.native_member(path, name),
            Value::Answer(request, what) => self.answer_member(*request, what, name, at),
            Value::Row(row) => self.row_member(row, name, at),
            Value::Socket(_) => Self::socket_member(name),
            Value::Unknown(why) => Value::Unknown(Rc::clone(why)),
            _ => Value::Undefined,
        }
    }

    fn native_member(&mut self, path: &Rc<str>, name: &str) -> Value<'a> {
        if &**path == "__ENV" {
            return match self.variables.get(name) {
                Some(value) => Value::text(value.clone()),
                None => Value::Variable(Rc::from(name), None),
            };
        }
        if &**path == "globalThis" {
            let known = self.scopes[0].names.get(name).cloned();
            return known
                .or_else(|| super::native::global(name))
                .unwrap_or(Value::Undefined);
        }
        super::native::property(&format!("{path}.{name}"))
    }

    /// A value in brackets.
    pub(super) fn item(&mut self, object: &Value<'a>, key: &Value<'a>, span: Span) -> Value<'a> {
        if let (Value::List(list), Some(number)) = (object, self.number(key)) {
            let found =
                number::index(number).and_then(|index| list.items.borrow().get(index).cloned());
            return found.unwrap_or(Value::Undefined);
        }
        match (object, key) {
            (Value::List(_), Value::Counter(_) | Value::Random(_)) => self.row(object, key, span),
            (Value::List(_), Value::Unknown(why)) => {
                self.lose(
                    span.start,
                    format!("the choice of a row, {}", self.words(span)),
                    why,
                    "write `pick:` and `each:` of the data set as they are meant",
                );
                self.row(object, &Value::Undefined, span)
            }
            (Value::Answer(request, what), key) => {
                if let Answer::Json(json) = &**what {
                    return self.json_item(*request, json, key, span);
                }
                match self.known_key(key) {
                    Some(key) => self.answer_member(*request, what, &key, span.start),
                    None => Value::unknown(format!(
                        "{} with an index that is known only at run time",
                        what.words()
                    )),
                }
            }
            (Value::Text(text), Value::Random(random)) if text.constant().is_some() => {
                Self::random_character(text.constant().unwrap_or_default(), *random)
            }
            (Value::Text(_), Value::Unknown(why)) => Value::Unknown(Rc::clone(why)),
            (Value::Text(text), key) => {
                let character = text.constant().and_then(|text| {
                    let index = number::index(self.number(key)?)?;
                    text.chars().nth(index)
                });
                match character {
                    Some(character) => Value::text(character.to_string()),
                    None => Value::Undefined,
                }
            }
            (object, key) => match self.known_key(key) {
                Some(key) => self.member(object, &key, span.start),
                None => self.choice(object, key, span),
            },
        }
    }

    /// The name in brackets, if it is known.
    fn known_key(&self, key: &Value<'a>) -> Option<String> {
        match key {
            Value::Number(number) => Some(number::shown(*number)),
            other => self.known_text(other),
        }
    }

    /// A field of an object whose name is known only at run time.
    fn choice(&mut self, object: &Value<'a>, _key: &Value<'a>, span: Span) -> Value<'a> {
        if let Value::Unknown(why) = object {
            return Value::Unknown(Rc::clone(why));
        }
        Value::unknown(format!(
            "{} has a name that is known only at run time",
            self.words(span)
        ))
    }

    fn json_item(
        &mut self,
        request: usize,
        json: &JsonValue,
        key: &Value<'a>,
        span: Span,
    ) -> Value<'a> {
        let answer = match key {
            Value::Number(number) => match number::index(*number) {
                Some(index) => json.index(index),
                None => return Value::Undefined,
            },
            // An index up to the list's own length.
            Value::Random(_) | Value::Unknown(_) | Value::Answer(..) => {
                self.note(
                    "an index into a list of a response that is known only at run time takes a random item in the plan",
                );
                return self.drawn_item(request, json);
            }
            key => match self.known_key(key) {
                Some(key) => json.key(&key),
                None => {
                    return Value::unknown(format!(
                        "{} has an index that is known only at run time",
                        self.words(span)
                    ));
                }
            },
        };
        Value::Answer(request, Rc::new(Answer::Json(answer)))
    }

    fn answer_member(&mut self, request: usize, what: &Answer, name: &str, at: u32) -> Value<'a> {
        let answer = match what {
            Answer::Whole => match name {
                "body" => Answer::Body,
                "status" => Answer::Status,
                "headers" => Answer::Headers,
                "cookies" => Answer::Cookies,
                "timings" => Answer::Timings,
                "request" => return Value::unknown("the request of a response"),
                other => Answer::Other(other.to_owned()),
            },
            Answer::Headers => Answer::Header(name.to_owned()),
            Answer::Cookies => Answer::CookieList(name.to_owned()),
            Answer::CookieList(cookie) => match name {
                "0" => Answer::Cookie(cookie.clone()),
                "length" => Answer::CookieList(cookie.clone()),
                "value" => Answer::CookieValue(cookie.clone()),
                _ => return Value::unknown("a further cookie of the same name"),
            },
            Answer::Cookie(cookie) => match name {
                "value" => Answer::CookieValue(cookie.clone()),
                "name" => return Value::text(cookie.clone()),
                _ => return Value::unknown("an attribute of a cookie"),
            },
            Answer::Json(_) | Answer::Body | Answer::Header(_) if name == "length" => {
                Answer::Length(Box::new(what.clone()))
            }
            Answer::Json(json) => match name.parse::<usize>() {
                Ok(index) => Answer::Json(json.index(index)),
                Err(_) => Answer::Json(json.key(name)),
            },
            Answer::Timings => Answer::Timing(name.to_owned()),
            Answer::Matches(regex) => match name {
                "1" => Answer::Group(regex.clone()),
                "0" => Answer::Group(format!("({regex})")),
                other => match other.parse::<usize>() {
                    Ok(group) => match only_group(regex, group) {
                        Some(regex) => Answer::Group(regex),
                        None => return Value::unknown("a further group of a regular expression"),
                    },
                    Err(_) => return Value::unknown("a property of a match"),
                },
            },
            Answer::Html { .. } if matches!(name, "length") => {
                Answer::Length(Box::new(what.clone()))
            }
            Answer::Html { .. } => {
                return self.call_method(&answer_of(request, what), "get", &[], at);
            }
            _ => return Value::unknown(format!("`{name}` of {}", what.words())),
        };
        answer_of(request, &answer)
    }

    fn row_member(&mut self, row: &Rc<Row<'a>>, name: &str, at: u32) -> Value<'a> {
        if name == "length" {
            return Value::unknown("the length of a value of a row");
        }
        let example = self.member(&row.example, name, at);
        if matches!(example, Value::Undefined) && matches!(row.example, Value::Object(_)) {
            return Value::Undefined;
        }
        let mut keys = row.keys.clone();
        keys.push(name.to_owned());
        Value::Row(Rc::new(Row {
            set: row.set.clone(),
            keys,
            example,
        }))
    }

    /// A row's value as text.
    pub(super) fn row_text(&mut self, row: &Row<'a>, at: u32) -> super::text::Text {
        let column = if row.keys.is_empty() {
            "value".to_owned()
        } else {
            row.keys.join(".")
        };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !column.chars().all(is_plain) || matches!(row.example, Value::Object(_)) {
            return self.missing(&column, &format!("the value `{column}` of a row"), at);
        }
        let hole = Hole::stable(format!("{}.{column}", row.set));
        let is_number = matches!(row.example, Value::Number(_) | Value::Bool(_));
        super::text::Text::hole(if is_number { hole.number() } else { hole })
    }

    /// Counters that k6 gives by a name.
    pub(super) fn counter(path: &str) -> Option<Value<'a>> {
        let of = match path {
            "__VU" | "exec.vu.idInTest" | "exec.vu.idInInstance" => Counted::User,
            "__ITER" | "exec.vu.iterationInInstance" | "exec.vu.iterationInScenario" => {
                Counted::Iteration
            }
            "exec.scenario.iterationInTest" | "exec.scenario.iterationInInstance" => Counted::Total,
            _ => return None,
        };
        Some(Value::Counter(Counter {
            of,
            plus: 0,
            modulo: None,
        }))
    }
}

/// A part of a response as a value.
pub(super) fn answer_of<'a>(request: usize, what: &Answer) -> Value<'a> {
    Value::Answer(request, Rc::new(what.clone()))
}

/// A regular expression in which only this group counts, the others being made non-capturing.
fn only_group(regex: &str, wanted: usize) -> Option<String> {
    let mut out = String::new();
    let mut group = 0;
    let mut is_escaped = false;
    let mut in_class = false;
    let mut chars = regex.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match c {
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class && chars.peek() != Some(&'?') => {
                group += 1;
                if group != wanted {
                    out.push_str("?:");
                }
            }
            _ => {}
        }
    }
    (wanted >= 1 && group >= wanted).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::only_group;

    #[test]
    fn one_group_of_a_regular_expression_is_left() {
        assert_eq!(
            only_group("(a)([(])(b)", 3).as_deref(),
            Some("(?:a)(?:[(])(b)")
        );
        assert_eq!(only_group("(a)", 2), None);
    }
}
