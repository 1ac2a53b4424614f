//! Methods of responses and of what is in them.

use std::rc::Rc;

use super::answer::{Answer, JsonValue};
use super::comparison::Test;
use super::machine::Machine;
use super::member::answer_of;
use super::number;
use super::value::Value;
use crate::script::draft::PickDraft;

/// Why steps for all items of a list are those for one.
pub(super) const ONE_ITEM: &str =
    "the plan takes one of the items instead of all, since their number is known only at run time";

impl<'a> Machine<'a, '_> {
    /// An item of a list of a response, at random.
    pub(super) fn drawn_item(&mut self, request: usize, json: &JsonValue) -> Value<'a> {
        self.random_count += 1;
        answer_of(request, &Answer::Json(json.random(self.random_count)))
    }

    /// Methods of responses and of what is in them.
    #[expect(clippy::too_many_lines, reason = "a table: one row for each method")]
    pub(super) fn method_of_answer(
        &mut self,
        request: usize,
        what: &Answer,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        let first = arguments.first();
        let text = first.and_then(|value| self.known_text(value));
        match (what, name) {
            (Answer::Whole, "json") => self.json_of(request, &JsonValue::root(), first, text, at),
            (Answer::Whole, "html") => {
                let selector = text.unwrap_or_default();
                answer_of(
                    request,
                    &Answer::Html {
                        selector,
                        pick: PickDraft::First,
                    },
                )
            }
            (Answer::Whole, "submitForm") => self.submit_form(request, first, at),
            (Answer::Whole, "clickLink") => self.click_link(request, first, at),
            (Answer::Whole, _) => Value::unknown(format!("`{name}` of a response")),
            (Answer::Html { .. } | Answer::HtmlText { .. }, _) => {
                self.html_method(request, what, name, text, at)
            }
            (Answer::Json(json), "find" | "filter") => {
                self.lose(
                    at,
                    format!("{name}() on a list of a response"),
                    "its items are known only at run time; the plan takes a random one",
                    "write a JSON path with a filter under `capture:`, such as `$.items[?@.name == 'a'].id`",
                );
                if name == "filter" {
                    return answer_of(request, what);
                }
                self.drawn_item(request, json)
            }
            (Answer::Json(json), "forEach" | "map" | "some" | "every") => {
                self.lose(
                    at,
                    format!("{name}() over a list of a response"),
                    ONE_ITEM,
                    "write a `repeat` around these steps",
                );
                let item = self.drawn_item(request, json);
                match first {
                    Some(function) => {
                        let function = function.clone();
                        let result = self.call(&function, &[item, Value::Number(0.0)], None, at);
                        Value::list(vec![result])
                    }
                    None => Value::Undefined,
                }
            }
            (Answer::Json(_), "slice") => {
                self.lose(
                    at,
                    "slice() of a value of a response",
                    "the plan takes the whole value: of a list any item, of a text all of it",
                    "write a JSON path such as `$.items[0:5]`, or a regular expression, under `capture:`",
                );
                answer_of(request, what)
            }
            (_, "includes" | "contains" | "indexOf" | "search") => {
                let part = first.cloned().unwrap_or(Value::Undefined);
                Value::Test(Rc::new(Test::Includes(answer_of(request, what), part)))
            }
            (Answer::Body, "match" | "matchAll") => match first {
                Some(Value::Regex(regex)) => {
                    answer_of(request, &Answer::Matches(regex.to_string()))
                }
                _ => match text {
                    Some(regex) => answer_of(request, &Answer::Matches(regex)),
                    None => Value::unknown("a match with what is known only at run time"),
                },
            },
            (_, "match") => match first {
                Some(Value::Regex(regex)) => Value::Test(Rc::new(Test::Matches(
                    answer_of(request, what),
                    Rc::clone(regex),
                ))),
                _ => Value::unknown("a match with a text"),
            },
            (_, "startsWith") if text.is_some() => {
                let regex = format!("^{}", regex::escape(&text.unwrap_or_default()));
                Value::Test(Rc::new(Test::Matches(
                    answer_of(request, what),
                    Rc::from(regex),
                )))
            }
            (_, "endsWith") if text.is_some() => {
                let regex = format!("{}$", regex::escape(&text.unwrap_or_default()));
                Value::Test(Rc::new(Test::Matches(
                    answer_of(request, what),
                    Rc::from(regex),
                )))
            }
            // An item is drawn from a list in any order.
            (Answer::Json(_), "sort" | "reverse")
            | (_, "toString" | "trim" | "toFixed" | "toLowerCase" | "toUpperCase" | "valueOf") => {
                answer_of(request, what)
            }
            (_, "hasOwnProperty") if text.is_some() => {
                let member = self.member(&answer_of(request, what), &text.unwrap_or_default(), at);
                Value::Test(Rc::new(Test::Compare(
                    super::comparison::Operator::Unequal,
                    member,
                    Value::Undefined,
                )))
            }
            (what, _) => {
                let words = what.words();
                self.run_callbacks(arguments, at);
                Value::unknown(format!("`{name}` of {words}"))
            }
        }
    }

    fn json_of(
        &mut self,
        request: usize,
        json: &JsonValue,
        first: Option<&Value<'a>>,
        query: Option<String>,
        at: u32,
    ) -> Value<'a> {
        if first.is_none() {
            return answer_of(request, &Answer::Json(json.clone()));
        }
        if let Some(value) = query.as_deref().and_then(|query| json.query(query)) {
            return answer_of(request, &Answer::Json(value));
        }
        let query = query.unwrap_or_default();
        if let Some(list) = query.strip_suffix(".#").and_then(|list| json.query(list)) {
            return answer_of(request, &Answer::Length(Box::new(Answer::Json(list))));
        }
        self.lose(
            at,
            format!("res.json('{query}')"),
            "the query is not one of plain names and numbers",
            "write a JSON path under `capture:`, such as `$.items[*].id`",
        );
        Value::unknown("a query of a JSON body")
    }

    fn html_method(
        &mut self,
        request: usize,
        what: &Answer,
        name: &str,
        text: Option<String>,
        at: u32,
    ) -> Value<'a> {
        let Answer::Html { selector, pick } = what else {
            return answer_of(request, what);
        };
        let (selector, pick) = (selector.clone(), *pick);
        let text_of = |attribute: Option<String>| Answer::HtmlText {
            selector: selector.clone(),
            attribute,
            pick,
        };
        let answer = match name {
            "find" | "children" => Answer::Html {
                selector: format!("{selector} {}", text.unwrap_or_default())
                    .trim()
                    .to_owned(),
                pick,
            },
            "first" => Answer::Html {
                selector,
                pick: PickDraft::First,
            },
            "last" => Answer::Html {
                selector,
                pick: PickDraft::Last,
            },
            "eq" | "get" => {
                let index = text
                    .as_deref()
                    .map(number::parsed)
                    .and_then(number::index)
                    .unwrap_or(0);
                let pick = if index == 0 {
                    PickDraft::First
                } else {
                    PickDraft::Nth(index as u64 + 1)
                };
                Answer::Html { selector, pick }
            }
            "attr" | "data" => text_of(text.map(|text| {
                if name == "data" {
                    format!("data-{text}")
                } else {
                    text
                }
            })),
            "val" | "value" => text_of(Some("value".to_owned())),
            "text" | "html" | "textContent" | "innerHTML" => text_of(None),
            "size" => Answer::Length(Box::new(what.clone())),
            "toArray" | "each" | "map" | "filter" | "serialize" | "serializeArray"
            | "serializeObject" => {
                self.lose(
                    at,
                    format!("{name}() on elements of a page"),
                    "a plan takes one element of a page",
                    "write a `capture:` with `css:` for each value",
                );
                return Value::unknown(format!("`{name}` of elements of a page"));
            }
            _ => return Value::unknown(format!("`{name}` of elements of a page")),
        };
        answer_of(request, &answer)
    }
}
