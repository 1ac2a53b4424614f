//! Files and lists that a script opens, and the data sets that they become.

use std::rc::Rc;

use oxc_span::Span;

use super::csv::{csv, guessed_delimiter};
use super::http::plain_name;
use super::machine::{ITEMS_MAX, Machine};
use super::number;
use super::value::{Counted, Counter, List, ListSource, OpenedFile, Row, Value};
use crate::script::draft::{DataDraft, DataSource};
use crate::yaml::YamlNode;
use crate::{DataFile, FileContent};

/// Rows of a file that are read to know its columns and what a script does with them.
const ROWS_MAX: usize = 2_000;
/// Rows that are written into the plan itself.
const INLINE_MAX: usize = 20;

impl<'a> Machine<'a, '_> {
    /// `open(path, mode)`.
    pub(super) fn open_file(&mut self, path: &Value<'a>, mode: &Value<'a>, at: u32) -> Value<'a> {
        let Some(path) = self.known_text(path) else {
            self.lose(
                at,
                "open()",
                "its path is known only at run time",
                "write the path in the script",
            );
            return Value::unknown("a file whose path is known only at run time");
        };
        let path = path
            .strip_prefix("file://")
            .map_or(path.as_str(), |rest| rest)
            .to_owned();
        let is_binary = mode.as_str() == Some("b");
        let text = match self.files.text(&path) {
            Ok(text) => Some(Rc::from(text)),
            Err(_) if is_binary => None,
            Err(error) => {
                self.lose(
                    at,
                    format!("open('{path}')"),
                    &format!("it cannot be read: {error}"),
                    "put the file beside the script, then import again",
                );
                return Value::unknown(format!("the content of {path}, which cannot be read"));
            }
        };
        Value::File(Rc::new(OpenedFile {
            path,
            text: if is_binary { None } else { text },
        }))
    }

    /// `JSON.parse(value)`.
    pub(super) fn parse_json(value: &Value<'a>) -> Value<'a> {
        if let Value::Answer(request, what) = value {
            return match &**what {
                super::answer::Answer::Body => super::member::answer_of(
                    *request,
                    &super::answer::Answer::Json(super::answer::JsonValue::root()),
                ),
                _ => value.clone(),
            };
        }
        let Some(text) = value.as_str() else {
            return match value {
                Value::Unknown(why) => Value::Unknown(Rc::clone(why)),
                _ => Value::unknown("JSON.parse of a text that is known only at run time"),
            };
        };
        let Ok(parsed) = serde_json::from_str::<serde_json::Value>(text) else {
            return Value::unknown("JSON.parse of a text that is not JSON");
        };
        let mut count = 0;
        let result = value_of_json(&parsed, &mut count);
        if let (Value::File(file), Value::List(list)) = (value, &result) {
            let total = parsed.as_array().map_or(0, Vec::len);
            list.is_cut.set(list.items.borrow().len() < total);
            let are_plain = parsed
                .as_array()
                .is_some_and(|rows| rows.iter().all(is_flat));
            if are_plain {
                *list.source.borrow_mut() = Some(ListSource {
                    path: file.path.clone(),
                    delimiter: None,
                });
            }
        }
        result
    }

    /// `papaparse.parse(text, { header: true })`.
    pub(super) fn parse_csv(
        &mut self,
        value: &Value<'a>,
        options: &Value<'a>,
        at: u32,
    ) -> Value<'a> {
        let Some(text) = value.as_str().map(ToOwned::to_owned) else {
            return Value::unknown("papaparse.parse of a text that is known only at run time");
        };
        let has_header = options
            .field("header")
            .is_some_and(|header| header.truth() == Some(true));
        let delimiter = options
            .field("delimiter")
            .and_then(|delimiter| self.known_text(&delimiter))
            .and_then(|delimiter| delimiter.chars().next())
            .unwrap_or_else(|| guessed_delimiter(&text));
        let (records, is_cut) = csv(&text, delimiter, ROWS_MAX + 1);
        let mut records = records.into_iter();
        let rows: Vec<Value<'a>> = if has_header {
            let header = records.next().unwrap_or_default();
            records
                .map(|record| {
                    let fields = header.iter().zip(record);
                    Value::object(
                        fields
                            .map(|(name, value)| (name.trim().to_owned(), Value::text(value)))
                            .collect(),
                    )
                })
                .collect()
        } else {
            records
                .map(|record| Value::list(record.into_iter().map(Value::text).collect()))
                .collect()
        };
        let list = Value::list(rows);
        if let (Value::List(list), Value::File(file)) = (&list, value) {
            list.is_cut.set(is_cut);
            if has_header {
                *list.source.borrow_mut() = Some(ListSource {
                    path: file.path.clone(),
                    delimiter: Some(delimiter),
                });
            }
        }
        let _ = at;
        Value::object(vec![("data".to_owned(), list)])
    }

    /// `new SharedArray(name, function)`.
    pub(super) fn shared_array(&mut self, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let name = arguments.first().and_then(|name| self.known_text(name));
        let Some(function) = arguments.get(1).cloned() else {
            return Value::unknown("a SharedArray without a function");
        };
        let value = self.call(&function, &[], None, at);
        if let (Value::List(_), Some(name)) = (&value, name) {
            Self::name_list(&value, &name);
        }
        value
    }

    /// A row of a list that a plan takes from a data set.
    pub(super) fn row(&mut self, object: &Value<'a>, key: &Value<'a>, span: Span) -> Value<'a> {
        let Value::List(list) = object else {
            return Value::Undefined;
        };
        let items = list.items.borrow().clone();
        let Some(first) = items.first().cloned() else {
            return Value::Undefined;
        };
        if items.iter().all(Value::is_function) {
            return Value::unknown("one of several functions");
        }
        let are_scalars = items.iter().all(|item| {
            matches!(
                item,
                Value::Text(_) | Value::Number(_) | Value::Variable(..)
            )
        });
        if let (Value::Random(random), true) = (key, are_scalars) {
            let covers = number::same(random.low, 0.0)
                && number::same(random.high, number::of(items.len() - 1))
                && !self.random_slots.contains_key(&random.id);
            if covers
                && list.source.borrow().is_none()
                && let Some(value) = Self::pick(&items)
            {
                return value;
            }
        }
        let (pick, each, rotation) = Self::order(key, &items);
        let order = format!(
            "{pick:?} {each:?} {rotation} {}",
            if pick == Some("random") {
                span.start
            } else {
                0
            }
        );
        let place = Rc::as_ptr(list) as usize;
        let known = self
            .data_keys
            .iter()
            .find(|(at, how, _)| *at == place && *how == order);
        let set = if let Some((_, _, name)) = known {
            name.clone()
        } else {
            let Some(name) = self.data_set(list, (pick, each, rotation), span) else {
                return Value::unknown(format!(
                    "{} has rows that a plan cannot hold",
                    self.words(span)
                ));
            };
            self.data_keys.push((place, order, name.clone()));
            name
        };
        Value::Row(Rc::new(Row {
            set,
            keys: Vec::new(),
            example: example(&items, first),
        }))
    }

    /// How rows are picked by an index: order, for whom, and the first row.
    fn order(
        key: &Value<'a>,
        items: &[Value<'a>],
    ) -> (Option<&'static str>, Option<&'static str>, usize) {
        match key {
            Value::Counter(Counter { of, plus, modulo }) => {
                let first = match of {
                    Counted::User => plus.checked_add(1),
                    Counted::Iteration | Counted::Total => Some(*plus),
                };
                let len = i64::try_from(items.len()).unwrap_or(1).max(1);
                let rotation = first.map_or(0, |first| first.rem_euclid(len));
                let rotation = usize::try_from(rotation).unwrap_or(0);
                match (of, modulo) {
                    (Counted::User, _) => (None, None, rotation),
                    (Counted::Total, None) => (Some("unique"), Some("iteration"), 0),
                    (Counted::Iteration | Counted::Total, _) => (None, Some("iteration"), rotation),
                }
            }
            _ => (Some("random"), Some("iteration"), 0),
        }
    }

    /// A new data set with the rows of a list.
    fn data_set(
        &mut self,
        list: &Rc<List<'a>>,
        (pick, each, rotation): (Option<&'static str>, Option<&'static str>, usize),
        span: Span,
    ) -> Option<String> {
        let name = list
            .name
            .borrow()
            .clone()
            .unwrap_or_else(|| "rows".to_owned());
        let name = self.slot(&name);
        let source = list.source.borrow().clone();
        let (source, delimiter) = match source {
            Some(source) if rotation == 0 || list.items.borrow().len() > INLINE_MAX => {
                if rotation != 0 {
                    self.note(format!(
                        "the first user takes the first row of `{name}`; k6 begins with row {}",
                        rotation + 1
                    ));
                }
                self.keep_file(&source.path);
                let path = plain_name(&source.path);
                match source.delimiter {
                    Some(delimiter) => (DataSource::Csv(path), Some(delimiter)),
                    None => (DataSource::Json(path), None),
                }
            }
            _ => (self.own_rows(list, rotation, &name, span)?, None),
        };
        self.data.push(DataDraft {
            name: name.clone(),
            source,
            pick,
            at_end: (pick == Some("unique")).then_some("stop"),
            each,
            delimiter,
        });
        Some(name)
    }

    /// Rows that the script makes: in the plan, or in a file beside it if there are many.
    fn own_rows(
        &mut self,
        list: &Rc<List<'a>>,
        rotation: usize,
        name: &str,
        span: Span,
    ) -> Option<DataSource> {
        let mut rows = Vec::new();
        for item in list.items.borrow().iter() {
            let mut columns = Vec::new();
            if !self.columns(item, "", &mut columns) {
                self.lose(
                    span.start,
                    format!("rows of `{name}`"),
                    "some of their values are known only at run time",
                    "write the rows into a CSV file, and name it under `data:`",
                );
                return None;
            }
            rows.push(columns);
        }
        let rotation = rotation % rows.len().max(1);
        rows.rotate_left(rotation);
        if rows.len() <= INLINE_MAX {
            let node = |columns: Vec<(String, String)>| {
                YamlNode::map(
                    columns
                        .into_iter()
                        .map(|(name, value)| (name, YamlNode::text(value))),
                )
            };
            return Some(DataSource::Rows(rows.into_iter().map(node).collect()));
        }
        let path = format!("{name}.json");
        let rows: Vec<serde_json::Map<String, serde_json::Value>> = rows
            .into_iter()
            .map(|columns| {
                columns
                    .into_iter()
                    .map(|(name, value)| (name, value.into()))
                    .collect()
            })
            .collect();
        let bytes = serde_json::to_vec_pretty(&rows).ok()?;
        self.data_files.push(DataFile {
            name: path.clone(),
            content: FileContent::Bytes(bytes),
        });
        self.note(format!(
            "the rows of `{name}` are in {path}, which --out writes beside the plan"
        ));
        Some(DataSource::Json(path))
    }

    /// The columns of a row, those of nested objects with dots.
    fn columns(&self, item: &Value<'a>, prefix: &str, out: &mut Vec<(String, String)>) -> bool {
        let key = |name: &str| {
            if prefix.is_empty() {
                name.to_owned()
            } else {
                format!("{prefix}.{name}")
            }
        };
        match item {
            Value::Object(_) | Value::List(_) if prefix.split('.').count() < 8 => {
                item.entries().iter().all(|(name, value)| {
                    matches!(value, Value::Function(_)) || self.columns(value, &key(name), out)
                })
            }
            Value::Null | Value::Undefined => {
                out.push((
                    if prefix.is_empty() {
                        "value".to_owned()
                    } else {
                        prefix.to_owned()
                    },
                    String::new(),
                ));
                true
            }
            other => {
                let text = match other {
                    Value::Number(number) => Some(number::shown(*number)),
                    other => self.known_text(other),
                };
                let Some(text) = text else {
                    return false;
                };
                let name = if prefix.is_empty() { "value" } else { prefix };
                out.push((name.to_owned(), text));
                true
            }
        }
    }
}

/// An item that stands for all: with the fields of each.
fn example<'a>(items: &[Value<'a>], first: Value<'a>) -> Value<'a> {
    if !matches!(first, Value::Object(_)) {
        return first;
    }
    let whole = Value::object(Vec::new());
    for item in items.iter().take(ROWS_MAX) {
        for (name, value) in item.entries() {
            if whole.field(&name).is_none_or(|known| known.is_nothing()) {
                Machine::set_field(&whole, &name, value);
            }
        }
    }
    whole
}

/// Whether a row of JSON has scalars only, as a data set takes it.
fn is_flat(row: &serde_json::Value) -> bool {
    match row {
        serde_json::Value::Object(fields) => {
            !fields.is_empty()
                && fields
                    .values()
                    .all(|value| !value.is_object() && !value.is_array())
        }
        _ => false,
    }
}

fn value_of_json<'a>(json: &serde_json::Value, count: &mut usize) -> Value<'a> {
    *count += 1;
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        serde_json::Value::String(text) => Value::text(text.as_str()),
        serde_json::Value::Array(items) => {
            let limit = if *count < ITEMS_MAX * 10 { ROWS_MAX } else { 1 };
            Value::list(
                items
                    .iter()
                    .take(limit)
                    .map(|item| value_of_json(item, count))
                    .collect(),
            )
        }
        serde_json::Value::Object(fields) => Value::object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), value_of_json(value, count)))
                .collect(),
        ),
    }
}
