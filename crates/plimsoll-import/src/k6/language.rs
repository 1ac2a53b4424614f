//! Functions of the language itself: JSON, objects, numbers, dates.

use std::rc::Rc;

use super::comparison::Test;
use super::machine::Machine;
use super::number;
use super::text::Hole;
use super::value::Value;

impl<'a> Machine<'a, '_> {
    /// Functions of the language.
    #[expect(clippy::too_many_lines, reason = "a table: one row for each function")]
    pub(super) fn language(&mut self, path: &str, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let first = arguments.first().unwrap_or(&undefined);
        match path {
            "JSON.stringify" => {
                let indent = match arguments.get(2) {
                    Some(Value::Number(count)) => {
                        " ".repeat(number::index(*count).unwrap_or(0).min(10))
                    }
                    Some(other) => self.known_text(other).unwrap_or_default(),
                    None => String::new(),
                };
                if first.is_nothing() && matches!(first, Value::Undefined) {
                    return Value::Undefined;
                }
                Value::Text(Rc::new(self.stringified(first, &indent, at)))
            }
            "JSON.parse" => Self::parse_json(first),
            "Object.keys" => Value::list(
                first
                    .entries()
                    .into_iter()
                    .map(|(key, _)| Value::text(key))
                    .collect(),
            ),
            "Object.values" => Value::list(
                first
                    .entries()
                    .into_iter()
                    .map(|(_, value)| value)
                    .collect(),
            ),
            "Object.entries" => Value::list(
                first
                    .entries()
                    .into_iter()
                    .map(|(key, value)| Value::list(vec![Value::text(key), value]))
                    .collect(),
            ),
            "Object.assign" => {
                for source in arguments.iter().skip(1) {
                    for (key, value) in source.entries() {
                        Self::set_field(first, &key, value);
                    }
                }
                first.clone()
            }
            "Object.fromEntries" => {
                let pairs = first.items().into_iter().map(|pair| pair.items());
                let object = Value::object(Vec::new());
                for pair in pairs {
                    if let [key, value] = pair.as_slice()
                        && let Some(key) = self.known_text(key)
                    {
                        Self::set_field(&object, &key, value.clone());
                    }
                }
                object
            }
            "Array.from" => self.list_from(arguments, at),
            "Array" => self.list_of_length(first),
            "Array.isArray" => match first {
                Value::Answer(_, what) if what.source().is_some() => {
                    Value::Test(Rc::new(Test::Matches(first.clone(), Rc::from(r"^\["))))
                }
                Value::Answer(..) | Value::Unknown(_) => Value::unknown("whether it is a list"),
                _ => Value::Bool(matches!(first, Value::List(_))),
            },
            "Array.of" => Value::list(arguments.to_vec()),
            "String" => Value::Text(Rc::new(self.text_of(first, at))),
            "String.fromCharCode" => {
                let chars = arguments.iter().filter_map(|code| {
                    char::from_u32(u32::try_from(number::whole(self.number(code)?)?).ok()?)
                });
                Value::text(chars.collect::<String>())
            }
            "Number" | "parseFloat" | "parseInt" | "Number.parseInt" | "Number.parseFloat" => {
                self.as_number(path, first)
            }
            "Boolean" => match (first.truth(), Test::of(first)) {
                (Some(truth), _) => Value::Bool(truth),
                (None, Some(test)) => Value::Test(test),
                (None, None) => Value::Undefined,
            },
            "isNaN" | "Number.isNaN" | "Number.isInteger" => self.kind_of_number(path, first),
            "encodeURIComponent" | "encodeURI" => self.percent_encoded(path, first, at),
            "decodeURIComponent" | "decodeURI" => match self.known_text(first) {
                Some(text) => {
                    Value::text(percent_encoding::percent_decode_str(&text).decode_utf8_lossy())
                }
                None => first.clone(),
            },
            "Date.now" => Value::hole(Hole::volatile("now_ms()").number()),
            "Date" => Value::native("Date()"),
            "Promise.all" | "Promise.resolve" | "Promise.allSettled" => first.clone(),
            _ => {
                self.lose(
                    at,
                    format!("{path}()"),
                    "a plan has no such function",
                    "write its steps or values into the plan, or record the script",
                );
                self.run_callbacks(arguments, at);
                Value::unknown(format!("{path}()"))
            }
        }
    }

    /// Whether a value is a whole number, or none at all.
    fn kind_of_number(&self, path: &str, value: &Value<'a>) -> Value<'a> {
        let is_whole = path.ends_with("isInteger");
        match value {
            Value::Counter(_) => Value::Bool(is_whole),
            Value::Random(random) => Value::Bool(is_whole && random.is_whole),
            Value::Answer(..) | Value::Unknown(_) | Value::Test(_) | Value::Row(_) => {
                Value::unknown("the kind of a value that is known only at run time")
            }
            _ => {
                let number = self.number(value);
                Value::Bool(if is_whole {
                    number.is_some_and(|number| number.fract() == 0.0)
                } else {
                    number.is_none_or(f64::is_nan)
                })
            }
        }
    }

    fn as_number(&self, path: &str, value: &Value<'a>) -> Value<'a> {
        if matches!(
            value,
            Value::Counter(_) | Value::Random(_) | Value::Row(_) | Value::Answer(..)
        ) {
            return value.clone();
        }
        if let Value::Number(number) = value {
            return Value::Number(if path.ends_with("parseInt") {
                number.trunc()
            } else {
                *number
            });
        }
        match self.known_text(value) {
            Some(text) if path == "Number" => Value::Number(number::parsed(&text)),
            Some(text) => Value::Number(number::leading(&text, !path.ends_with("parseInt"))),
            None => match value {
                Value::Text(_) | Value::Unknown(_) => value.clone(),
                _ => Value::Number(f64::NAN),
            },
        }
    }

    fn list_from(&mut self, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let first = arguments.first().unwrap_or(&undefined);
        let items = match first {
            Value::Object(_) => {
                let length = first.field("length").unwrap_or(Value::Number(0.0));
                self.list_of_length(&length).items()
            }
            other => self.spread(other, at),
        };
        let Some(function) = arguments.get(1).cloned() else {
            return Value::list(items);
        };
        let mut results = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            if self.is_exhausted {
                break;
            }
            results.push(self.call(
                &function,
                &[item, Value::Number(number::of(index))],
                None,
                at,
            ));
        }
        Value::list(results)
    }

    pub(super) fn list_of_length(&self, length: &Value<'a>) -> Value<'a> {
        let length = self.number(length).and_then(number::index).unwrap_or(0);
        Value::list(vec![
            Value::Undefined;
            length.min(super::machine::ITEMS_MAX)
        ])
    }

    fn percent_encoded(&mut self, path: &str, value: &Value<'a>, at: u32) -> Value<'a> {
        let text = self.text_of(value, at);
        match text.constant() {
            Some(constant) => {
                Value::text(super::url::encoded(constant, path == "encodeURIComponent"))
            }
            None => self.wrapped("urlencode", value, at),
        }
    }
}
