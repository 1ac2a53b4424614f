//! Values of texts: variables and functions replaced as far as they are known.

use super::context::Import;
use super::parse::{Piece, pieces, pieces_of_argument};
use super::tree::{Element, Property};
use super::value::Value;
use crate::heuristics;

/// Deepest nesting of variables and functions.
const DEPTH_MAX: usize = 16;
/// Longest text after its variables, bytes.
const LEN_MAX: usize = 1 << 20;
/// Variables of the environment that shells and systems set for purposes of their own.
const RESERVED: [&str; 12] = [
    "USER", "HOME", "PATH", "LANG", "SHELL", "PWD", "TERM", "HOST", "HOSTNAME", "LOGNAME",
    "TMPDIR", "TZ",
];

impl Import<'_> {
    /// The value of a text at a byte of the script.
    pub(super) fn value(&mut self, text: &str, at: usize) -> Value {
        self.of_pieces(pieces(text), text, at)
    }

    /// The value of a property of an element.
    pub(super) fn of(&mut self, element: &Element, property: &str) -> Value {
        self.value(element.text(property), element.at_of(property))
    }

    /// The value of a property below another.
    pub(super) fn of_item(&mut self, item: &Property, property: &str) -> Value {
        let at = item.get(property).map_or(item.at, |found| found.at);
        self.value(item.text_of(property), at)
    }

    /// A function's argument.
    pub(super) fn argument(&mut self, arguments: &[String], index: usize, at: usize) -> Value {
        let text = arguments.get(index).map_or("", |text| text.trim());
        self.of_pieces(pieces_of_argument(text), text, at)
    }

    fn of_pieces(&mut self, pieces: Vec<Piece>, text: &str, at: usize) -> Value {
        if self.depth >= DEPTH_MAX {
            let why = "variables and functions are nested too deeply";
            self.lose_text(at, text, why, "write the value itself");
            return Value::text(text);
        }
        self.depth += 1;
        let mut value = Value::default();
        for piece in pieces {
            value.push(match piece {
                Piece::Literal(literal) => Value::text(literal),
                Piece::Variable(name) => self.named(&name, at),
                Piece::Call(name, arguments) => self.call(&name, &arguments, at),
            });
            if value.len() > LEN_MAX {
                let why = "it is longer than 1 MiB once its variables are replaced";
                self.lose_text(at, text, why, "write the value itself");
                value = Value::text(text);
                break;
            }
        }
        self.depth -= 1;
        value
    }

    /// The value of `${name}`, whose name may contain references itself.
    fn named(&mut self, name: &str, at: usize) -> Value {
        if !name.contains("${") {
            return self.variable_value(name, at);
        }
        if let Some(name) = self.value(name, at).constant() {
            return self.variable_value(&name, at);
        }
        let why = "the name of the variable changes at run time";
        let remedy = "write a data set, and name its column";
        self.lose_text(at, &format!("${{{name}}}"), why, remedy);
        Value::environment(environment_name(name), None)
    }

    /// The value of a variable.
    pub(super) fn variable_value(&mut self, name: &str, at: usize) -> Value {
        let name = name.trim();
        if self.names.slots.contains_key(name) {
            return self.slot_value(name, at);
        }
        if let Some(expression) = self.names.expressions.get(name) {
            return Value::expression(expression.clone());
        }
        if let Some(value) = self.constant_value(name) {
            if value.varies() && self.user.is_present {
                // JMeter computes it once.
                self.names.slot(name);
                return self.slot_value(name, at);
            }
            return value;
        }
        self.unresolved(name, at)
    }

    /// A variable that steps set: before the first of them it has the value of its constant, if any.
    fn slot_value(&mut self, name: &str, at: usize) -> Value {
        let slot = self.names.slot(name);
        if self.user.set.contains(name) {
            return Value::expression(slot);
        }
        if !self.user.is_present {
            return self
                .constant_value(name)
                .unwrap_or_else(|| self.unresolved(name, at));
        }
        self.user.set.insert(name.to_owned());
        self.user.set_once.insert(name.to_owned());
        let first = match self.constant_value(name) {
            Some(value) => value,
            None => match self.names.expressions.get(name) {
                Some(expression) => Value::expression(expression.clone()),
                None => Value::text(format!("${{{name}}}")),
            },
        };
        self.user.start.push((slot.clone(), first.template()));
        Value::expression(slot)
    }

    /// The value of a User Defined Variable.
    fn constant_value(&mut self, name: &str) -> Option<Value> {
        if let Some(value) = self.resolved.get(name) {
            return Some(value.clone());
        }
        let (text, at) = self.names.constants.get(name).cloned()?;
        if self.resolving.iter().any(|known| known == name) {
            return Some(Value::text(format!("${{{name}}}")));
        }
        self.resolving.push(name.to_owned());
        let value = if heuristics::names_password(name) && is_secret(&text) {
            self.secret(name)
        } else {
            self.value(&text, at)
        };
        self.resolving.pop();
        self.resolved.insert(name.to_owned(), value.clone());
        Some(value)
    }

    /// A variable that nothing sets: the environment may. `JMeter` leaves its reference as it is written.
    fn unresolved(&mut self, name: &str, at: usize) -> Value {
        let variable = environment_name(name);
        let written = format!("${{{name}}}");
        let (why, default) = if self.names.scripted.contains(name) {
            ("only a part that is lost sets it", None)
        } else {
            (
                "nothing that is read sets it, and JMeter sends the reference itself",
                Some(written),
            )
        };
        let remedy = format!("set {variable} in the environment, or capture it in an earlier step");
        // One line for each variable: the first place is enough to look for it.
        if self.unresolved.insert(name.to_owned()) {
            self.lose_text(at, &format!("variable ${{{name}}}"), why, &remedy);
        }
        Value::environment(variable, default)
    }

    /// A secret of the script, which a plan must not contain.
    pub(super) fn secret(&mut self, name: &str) -> Value {
        let variable = environment_name(name);
        self.note(format!(
            "`{name}` is a secret and not in the plan: set {variable} in the environment"
        ));
        Value::environment(variable, None)
    }

    /// A whole number, with the defaults of properties.
    pub(super) fn number(&mut self, element: &Element, property: &str) -> Option<f64> {
        let value = self.of(element, property);
        self.number_of(&value, element, property)
    }

    /// The number of a value, if it is one that is known now.
    pub(super) fn number_of(
        &mut self,
        value: &Value,
        element: &Element,
        property: &str,
    ) -> Option<f64> {
        let text = value.constant()?;
        let number = text.trim().parse::<f64>().ok()?;
        if value.has_environment() {
            let written = element.text(property);
            self.note(format!(
                "{written} in {} is {} here: properties have their defaults in the load and in times",
                super::names::title(element),
                text.trim()
            ));
        }
        number.is_finite().then_some(number)
    }
}

/// Whether a text is a secret itself, rather than a name of one.
pub(super) fn is_secret(text: &str) -> bool {
    !text.is_empty() && !text.contains("${")
}

/// The variable of the environment for a property or variable of JMeter.
pub(super) fn environment_name(name: &str) -> String {
    let upper = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let mut variable: String = name.trim().chars().take(64).map(upper).collect();
    let is_name = variable.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    if !is_name || RESERVED.contains(&variable.as_str()) {
        variable.insert_str(0, "JMETER_");
    }
    variable
}
