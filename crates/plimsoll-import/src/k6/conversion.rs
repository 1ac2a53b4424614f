//! Values as texts and as numbers.

use std::rc::Rc;

use super::answer::Answer;
use super::machine::Machine;
use super::number;
use super::text::{Hole, Text, quoted};
use super::value::{Counted, Counter, Random, Value};

impl<'a> Machine<'a, '_> {
    /// A value as text.
    pub(super) fn text_of(&mut self, value: &Value<'a>, at: u32) -> Text {
        match value {
            Value::Undefined => Text::literal("undefined"),
            Value::Null => Text::literal("null"),
            Value::Bool(value) => Text::literal(value.to_string()),
            Value::Number(number) => Text::literal(number::shown(*number)),
            Value::Text(text) => (**text).clone(),
            Value::File(file) => match &file.text {
                Some(text) => Text::literal(&**text),
                None => self.missing(&file.path, "the content of a binary file", at),
            },
            Value::List(list) => {
                let items = list.items.borrow().clone();
                if !self.work(at) || !self.enter(at) {
                    return Text::default();
                }
                let text = self.joined(&items, &Text::literal(","), at);
                self.leave();
                text
            }
            Value::Url(url) => url.0.clone(),
            Value::Regex(regex) => Text::literal(format!("/{regex}/")),
            Value::Variable(name, default) => self.variable_text(name, default.as_deref(), at),
            Value::Counter(counter) => self.counter_text(*counter, at),
            Value::Random(random) => self.random_text(*random, at),
            Value::Row(row) => self.row_text(row, at),
            Value::Answer(request, what) => match self.capture(*request, what) {
                Some(hole) => Text::hole(hole),
                None if matches!(&**what, Answer::Other(name) if name == "url") => {
                    self.note(
                        "res.url is the URL of the request in the plan, also after a redirect",
                    );
                    self.requests
                        .get(*request)
                        .map(|request| request.url.clone())
                        .unwrap_or_default()
                }
                None => self.missing("value", &format!("{} in a text", what.words()), at),
            },
            Value::Object(_) => self
                .address_text(value, at)
                .unwrap_or_else(|| Text::literal("[object Object]")),
            Value::Native(path) if &**path == "Date()" => {
                self.lose(
                    at,
                    "a date as text",
                    "a plan has the time as seconds or milliseconds only",
                    "use `{{ now() }}` or `{{ now_ms() }}`, or write a fixed date",
                );
                Text::hole(Hole::volatile("now()"))
            }
            Value::Unknown(why) => {
                let why = why.to_string();
                self.missing("value", &why, at)
            }
            Value::Function(_)
            | Value::Native(_)
            | Value::Test(_)
            | Value::Part(_)
            | Value::Socket(_) => {
                self.missing("value", "a function or condition used as a text", at)
            }
        }
    }

    /// A value that nobody knows: a variable of the environment, without which the plan does not run.
    pub(super) fn missing(&mut self, hint: &str, what: &str, at: u32) -> Text {
        let key = (self.module, at, what.to_owned());
        let known = self.missing_names.get(&key).cloned();
        let name = known.unwrap_or_else(|| format!("K6_{}", self.slot(hint).to_ascii_uppercase()));
        self.missing_names.insert(key, name.clone());
        self.lose(
            at,
            what,
            "the value is known only when the script runs",
            &format!("set the environment variable {name}, or write the value in place of it"),
        );
        Text::hole(Hole::stable(format!("env('{name}')")))
    }

    fn variable_text(&mut self, name: &str, default: Option<&str>, at: u32) -> Text {
        if let Some(value) = self.variables.get(name) {
            return Text::literal(value.clone());
        }
        let Some(written) = quoted(name) else {
            return self.missing(
                "variable",
                "a variable with braces or quotes in its name",
                at,
            );
        };
        let expression = match default.map(quoted) {
            None => format!("env({written})"),
            Some(Some(default)) => format!("env({written}, {default})"),
            Some(None) => {
                self.lose(
                    at,
                    format!("the default of __ENV.{name}"),
                    "a plan cannot quote it",
                    &format!("set {name} when the plan runs"),
                );
                format!("env({written})")
            }
        };
        Text::hole(Hole {
            likely: Some(Rc::from(default.unwrap_or_default())),
            ..Hole::stable(expression)
        })
    }

    fn counter_text(&mut self, counter: Counter, at: u32) -> Text {
        let (expression, first, words) = match counter.of {
            Counted::User => ("user", 0, "__VU"),
            Counted::Iteration => ("iteration", 1, "__ITER"),
            Counted::Total => ("iteration", 1, "exec.scenario.iterationInTest"),
        };
        if counter.plus != first || counter.modulo.is_some() || counter.of == Counted::Total {
            let remedy = format!(
                "the plan has `{{{{ {expression} }}}}`, which counts from 1; adapt the text to that"
            );
            self.lose(
                at,
                format!("arithmetic with {words}"),
                "a plan has `user` and `iteration`, which count from 1, and no arithmetic",
                &remedy,
            );
        }
        Text::hole(Hole::stable(expression).number())
    }

    fn random_text(&mut self, random: Random, at: u32) -> Text {
        if let Some(name) = self.random_slots.get(&random.id) {
            return Text::hole(Hole::stable(name.clone()).number());
        }
        if !random.is_whole {
            self.lose(
                at,
                "Math.random() in a text",
                "a plan draws whole numbers only",
                "use Math.floor(Math.random() * N), or `{{ random_int(0, 1000000) }}`",
            );
            return Text::hole(Hole::volatile("random_int(0, 1000000)").number());
        }
        let (low, high) = (number::shown(random.low), number::shown(random.high));
        Text::hole(Hole::volatile(format!("random_int({low}, {high})")).number())
    }

    /// Texts of values with another between them.
    pub(super) fn joined(&mut self, items: &[Value<'a>], between: &Text, at: u32) -> Text {
        let mut text = Text::default();
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push(between);
            }
            if !item.is_nothing() {
                let part = self.text_of(item, at);
                text.push(&part);
            }
        }
        text
    }

    /// A text that is known now; that of a variable is its default.
    pub(super) fn known_text(&self, value: &Value<'a>) -> Option<String> {
        match value {
            Value::Text(text) => text.likely(),
            Value::Variable(name, default) => match self.variables.get(&**name) {
                Some(value) => Some(value.clone()),
                None => default.as_ref().map(ToString::to_string),
            },
            Value::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }

    /// A number that is known now.
    pub(super) fn number(&self, value: &Value<'a>) -> Option<f64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            Value::Null => Some(0.0),
            Value::Variable(..) | Value::Text(_) => {
                let number = number::parsed(&self.known_text(value)?);
                (!number.is_nan()).then_some(number)
            }
            _ => None,
        }
    }
}
