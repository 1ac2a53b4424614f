//! Variables of a collection: `{{name}}` and the dynamic ones, `{{$guid}}`.

use std::collections::HashMap;

use super::context::Context;
use super::dynamic;
use crate::heuristics;
use crate::located::Located;
use crate::script::{Marks, environment_name};

/// Deepest nesting of variables in values of variables.
const DEPTH_MAX: usize = 8;
/// Longest text after its variables are replaced, bytes: a few of them can double a text each.
const LEN_MAX: usize = 4 << 20;

/// A value that the collection or its environment gives to a name.
#[derive(Clone, Debug)]
struct Value {
    text: String,
    /// Of the type `secret`.
    is_secret: bool,
}

/// The variables that a request sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    /// From the outermost to the innermost: collection, folders, environment.
    scopes: Vec<HashMap<String, Value>>,
    environment: HashMap<String, Value>,
    /// Names that scripts set, with the plan's name of each.
    plan: Vec<(String, String)>,
}

impl Variables {
    /// The values of an exported environment, or of a file with a list `values`.
    pub(super) fn set_environment(&mut self, file: &Located) {
        self.environment = values(file.get("values").unwrap_or(file));
    }

    /// Enters the collection or a folder.
    pub(super) fn enter(&mut self, item: &Located) {
        self.scopes
            .push(item.get("variable").map(values).unwrap_or_default());
    }

    /// Leaves what was entered last.
    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Notes that a script sets a variable: from here on it is one of the plan. Its name there.
    pub(super) fn set_in_plan(&mut self, name: &str) -> String {
        if let Some((_, known)) = self.plan.iter().find(|(known, _)| known == name) {
            return known.clone();
        }
        let is_free = |wish: &String| self.plan.iter().all(|(_, known)| known != wish);
        let own = heuristics::free_name(heuristics::slot_name(name), is_free);
        self.plan.push((name.to_owned(), own.clone()));
        own
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let inner = self.scopes.iter().rev();
        self.environment
            .get(name)
            .or_else(|| inner.into_iter().find_map(|scope| scope.get(name)))
    }
}

fn values(list: &Located) -> HashMap<String, Value> {
    let is_on = |item: &&Located| {
        // As newman does, which does not look at `enabled`.
        !item.get("disabled").is_some_and(Located::is_true)
    };
    let listed = list.items().iter().filter(is_on).filter_map(|item| {
        let key = item.get("key").or_else(|| item.get("id"))?.scalar()?;
        let text = item.get("value").and_then(Located::scalar);
        let kind = item.get("type").and_then(Located::text);
        let value = Value {
            text: text.unwrap_or_default(),
            is_secret: kind == Some("secret"),
        };
        Some((key, value))
    });
    // A plain map of names and values, as newer exports have it.
    let mapped = list.entries().filter_map(|(key, value)| {
        let value = Value {
            text: value.scalar()?,
            is_secret: false,
        };
        Some((key.text.clone(), value))
    });
    listed.chain(mapped).collect()
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A URL: what has no value is asked from the environment.
    Url,
    /// Anything else: a variable with an empty value is empty unless the environment has it.
    Text,
}

impl Context<'_> {
    /// A text with marks in place of its variables, and their values where the collection has them.
    pub(super) fn resolved(&mut self, at: usize, text: &str, place: Place) -> String {
        let resolved = self.resolved_to(at, text, place, 0);
        if resolved.len() > LEN_MAX {
            self.lose(
                at,
                "a text",
                "its variables make it longer than 4 MiB",
                "put it into a file: body: { file: … }",
            );
            return String::new();
        }
        resolved
    }

    fn resolved_to(&mut self, at: usize, text: &str, place: Place, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            let behind = &rest[start + 2..];
            let Some(len) = behind.find("}}") else { break };
            // `{{{name}}}` is a variable in braces.
            let inner_at = behind[..len].rfind("{{").map_or(0, |at| at + 2);
            let extra =
                behind[inner_at..len].len() - behind[inner_at..len].trim_start_matches('{').len();
            let inner_at = inner_at + extra;
            out.push_str(&Marks::clean(&rest[..start + inner_at]));
            let name = &behind[inner_at..len];
            let value = if name.trim() == name {
                self.variable(at, name, place, depth)
            } else {
                // A template of the service itself, such as `{{ user }}`.
                Marks::clean(&format!("{{{{{name}}}}}"))
            };
            out.push_str(&value);
            rest = &behind[len + 2..];
            if out.len() > LEN_MAX {
                return out;
            }
        }
        out.push_str(&Marks::clean(rest));
        out
    }

    /// The value of a variable, with marks.
    pub(super) fn variable(&mut self, at: usize, name: &str, place: Place, depth: usize) -> String {
        if let Some(dynamic) = name.strip_prefix('$') {
            return dynamic::value(self, at, dynamic);
        }
        let known = self.variables.plan.iter().find(|(known, _)| known == name);
        if let Some((_, own)) = known {
            let own = own.clone();
            return self.marks.mark(&own).to_string();
        }
        let value = self.variables.value(name).cloned();
        match value {
            Some(value) if !value.text.is_empty() => {
                if depth < DEPTH_MAX && value.text.contains("{{") {
                    return self.resolved_to(at, &value.text, place, depth + 1);
                }
                let text = Marks::clean(&value.text);
                if value.is_secret {
                    let meaning = format!("the variable {name}");
                    let expression = self.secrets.expression(name, &text, &meaning);
                    return self.marks.mark(&expression).to_string();
                }
                let secret = self.secrets.parameter(&mut self.marks, (name, &text), None);
                secret.map_or(text, |mark| mark.to_string())
            }
            found => {
                let own = environment_name(name);
                let meaning = format!("the variable {name} of the collection");
                let expression = self.secrets.variable(&own, &meaning);
                let is_optional = found.is_some() && place == Place::Text;
                let expression = if is_optional {
                    format!("env('{own}', '')")
                } else {
                    expression
                };
                self.marks.mark(&expression).to_string()
            }
        }
    }
}
