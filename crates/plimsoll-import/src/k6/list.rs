//! Methods of lists.

use std::rc::Rc;

use super::comparison::{Operator, Test};
use super::machine::{ITEMS_MAX, Machine};
use super::number;
use super::text::Text;
use super::value::{List, Value};

impl<'a> Machine<'a, '_> {
    #[expect(clippy::too_many_lines, reason = "a table: one row for each method")]
    pub(super) fn list_method(
        &mut self,
        list: &Rc<List<'a>>,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        let items = list.items.borrow().clone();
        match name {
            "forEach" | "map" | "filter" | "find" | "findIndex" | "some" | "every" | "flatMap" => {
                self.each(list, name, arguments, at)
            }
            "reduce" => self.reduced(&items, arguments, at),
            "push" | "unshift" | "pop" | "shift" | "splice" | "reverse" | "sort" | "fill" => {
                self.changed(list, name, arguments)
            }
            "join" => {
                let between = match arguments.first() {
                    Some(between) => self.text_of(between, at),
                    None => Text::literal(","),
                };
                Value::Text(Rc::new(self.joined(&items, &between, at)))
            }
            "slice" => {
                let bounds: Vec<Option<f64>> =
                    arguments.iter().map(|value| self.number(value)).collect();
                if arguments.len() != bounds.iter().flatten().count() {
                    return Value::unknown(
                        "a part of a list whose bounds are known only at run time",
                    );
                }
                let position =
                    |index: usize, default: usize| match bounds.get(index).copied().flatten() {
                        None => default,
                        Some(bound) if bound < 0.0 => items
                            .len()
                            .saturating_sub(number::index(-bound).unwrap_or(0)),
                        Some(bound) => number::index(bound.trunc()).unwrap_or(0).min(items.len()),
                    };
                let (start, end) = (position(0, 0), position(1, items.len()));
                Value::list(items.get(start..end).unwrap_or_default().to_vec())
            }
            "concat" => {
                let mut all = items;
                for argument in arguments {
                    match argument {
                        Value::List(other) => all.extend(other.items.borrow().iter().cloned()),
                        other => all.push(other.clone()),
                    }
                }
                Value::list(all)
            }
            "includes" | "indexOf" => self.position(&items, name, arguments),
            "at" => {
                let index = arguments
                    .first()
                    .and_then(|index| self.number(index))
                    .unwrap_or(0.0);
                let index = if index < 0.0 {
                    index + number::of(items.len())
                } else {
                    index
                };
                let found = number::index(index).and_then(|index| items.get(index).cloned());
                found.unwrap_or(Value::Undefined)
            }
            "flat" => Value::list(
                items
                    .iter()
                    .flat_map(|item| match item {
                        Value::List(inner) => inner.items.borrow().clone(),
                        other => vec![other.clone()],
                    })
                    .collect(),
            ),
            "keys" => Value::list(
                (0..items.len())
                    .map(|index| Value::Number(number::of(index)))
                    .collect(),
            ),
            "entries" => Value::list(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, item)| Value::list(vec![Value::Number(number::of(index)), item]))
                    .collect(),
            ),
            "values" => Value::list(items),
            "toString" => Value::Text(Rc::new(self.joined(&items, &Text::literal(","), at))),
            _ => Value::unknown(format!("`{name}` of a list")),
        }
    }

    /// Methods that call a function for each item.
    fn each(
        &mut self,
        list: &Rc<List<'a>>,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        let Some(function) = arguments.first().cloned() else {
            return Value::Undefined;
        };
        let items = list.items.borrow().clone();
        if list.is_cut.get() {
            self.lose(
                at,
                format!("{name}() over a long list"),
                "only its first rows are read",
                "use `data:` with the file itself",
            );
        }
        let mut results = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if self.is_exhausted {
                break;
            }
            let place = Value::Number(number::of(index));
            let result = self.call(
                &function,
                &[item.clone(), place, Value::List(Rc::clone(list))],
                None,
                at,
            );
            match name {
                "flatMap" if matches!(result, Value::List(_)) => results.extend(result.items()),
                "map" | "flatMap" => results.push(result),
                "filter" if result.truth() == Some(true) => results.push(item.clone()),
                "find" if result.truth() == Some(true) => return item.clone(),
                "findIndex" if result.truth() == Some(true) => {
                    return Value::Number(number::of(index));
                }
                "some" if result.truth() == Some(true) => return Value::Bool(true),
                "every" if result.truth() == Some(false) => return Value::Bool(false),
                "find" | "filter" | "findIndex" | "some" | "every" if result.truth().is_none() => {
                    return Value::unknown(format!(
                        "`{name}` with a condition that is known only at run time"
                    ));
                }
                _ => {}
            }
        }
        match name {
            "map" | "filter" | "flatMap" => Value::list(results),
            "findIndex" => Value::Number(-1.0),
            "some" => Value::Bool(false),
            "every" => Value::Bool(true),
            _ => Value::Undefined,
        }
    }

    fn reduced(&mut self, items: &[Value<'a>], arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let Some(function) = arguments.first().cloned() else {
            return Value::Undefined;
        };
        let mut rest = items.iter();
        let mut sum = match arguments.get(1) {
            Some(start) => start.clone(),
            None => rest.next().cloned().unwrap_or(Value::Undefined),
        };
        for (index, item) in rest.enumerate() {
            if self.is_exhausted {
                break;
            }
            sum = self.call(
                &function,
                &[sum, item.clone(), Value::Number(number::of(index))],
                None,
                at,
            );
        }
        sum
    }

    /// Methods that change the list.
    fn changed(&mut self, list: &Rc<List<'a>>, name: &str, arguments: &[Value<'a>]) -> Value<'a> {
        list.source.borrow_mut().take();
        let count = arguments
            .get(1)
            .and_then(|count| self.number(count))
            .and_then(number::index);
        let start = arguments
            .first()
            .and_then(|start| self.number(start))
            .and_then(number::index);
        let mut items = list.items.borrow_mut();
        match name {
            "push" | "unshift" => {
                if items.len() + arguments.len() <= ITEMS_MAX {
                    let place = if name == "push" { items.len() } else { 0 };
                    items.splice(place..place, arguments.iter().cloned());
                }
                Value::Number(number::of(items.len()))
            }
            "pop" => items.pop().unwrap_or(Value::Undefined),
            "shift" if items.is_empty() => Value::Undefined,
            "shift" => items.remove(0),
            "splice" => {
                let start = start.unwrap_or(0).min(items.len());
                let end = start
                    .saturating_add(count.unwrap_or(items.len()))
                    .min(items.len());
                let added = arguments.get(2..).unwrap_or_default().to_vec();
                Value::list(items.splice(start..end, added).collect())
            }
            "reverse" => {
                items.reverse();
                Value::List(Rc::clone(list))
            }
            "fill" => {
                let value = arguments.first().cloned().unwrap_or(Value::Undefined);
                items.iter_mut().for_each(|item| *item = value.clone());
                Value::List(Rc::clone(list))
            }
            _ if arguments.is_empty() => {
                items.sort_by_cached_key(|item| self.known_text(item).unwrap_or_default());
                Value::List(Rc::clone(list))
            }
            // `sort(() => Math.random() - 0.5)`: any order is right.
            _ => Value::List(Rc::clone(list)),
        }
    }

    fn position(&mut self, items: &[Value<'a>], name: &str, arguments: &[Value<'a>]) -> Value<'a> {
        let Some(wanted) = arguments.first().cloned() else {
            return Value::Bool(false);
        };
        if name == "includes"
            && matches!(wanted, Value::Answer(..) | Value::Row(_) | Value::Random(_))
        {
            return Value::Test(Rc::new(Test::OneOf(wanted, items.to_vec())));
        }
        let found = items.iter().position(|item| {
            let equal = self.compare(Operator::Equal, item, &wanted);
            equal.truth() == Some(true)
        });
        match (name, found) {
            ("includes", found) => Value::Bool(found.is_some()),
            (_, Some(index)) => Value::Number(number::of(index)),
            (_, None) => Value::Number(-1.0),
        }
    }
}
