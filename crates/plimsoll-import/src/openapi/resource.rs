//! Which operation's answer has the value of a path parameter of another: `POST /pets` that of `GET /pets/{petId}`.

use std::collections::HashMap;

use super::documents::{Documents, Node};
use super::operation::Operation;
use super::parameter::{Location, Style};
use super::request::Captured;
use super::response::json_schema;
use super::schema::{Constraints, JsonType};

/// Names that a plan has for something else.
const TAKEN: [&str; 2] = ["user", "iteration"];

/// A value that is captured from the answer of an operation.
pub(super) struct Source {
    /// Index of the operation.
    pub(super) operation: usize,
    pub(super) variable: String,
    pub(super) json_path: String,
    /// Whether the answer has several, of which one is taken at random.
    pub(super) is_list: bool,
}

/// Sources, and for each operation what it uses of them.
pub(super) struct Links<'d> {
    pub(super) sources: Vec<Source>,
    pub(super) uses: Vec<Vec<(usize, Captured<'d>)>>,
}

/// Links operations of the same tag.
pub(super) fn links<'d>(documents: &'d Documents<'_>, operations: &[Operation<'d>]) -> Links<'d> {
    let mut links = Links {
        sources: Vec::new(),
        uses: operations.iter().map(|_| Vec::new()).collect(),
    };
    let index = Collections::of(operations);
    for (place, operation) in operations.iter().enumerate() {
        for (collection, name) in holes(operation.path) {
            let parameter = operation.parameters.iter().find(|parameter| {
                parameter.location == Location::Path
                    && parameter.name == name
                    && parameter.style == Style::Simple
                    && !parameter.is_json
            });
            let Some(parameter) = parameter else { continue };
            let found = index
                .candidates(&operation.tag, collection)
                .into_iter()
                .filter(|candidate| *candidate != place)
                .find_map(|candidate| {
                    let (json_path, is_list) =
                        value_of(documents, &operations[candidate], parameter.name)?;
                    Some((candidate, json_path, is_list))
                });
            let Some((candidate, json_path, is_list)) = found else {
                continue;
            };
            let source = links.source(candidate, json_path, is_list, name);
            let variable = links.sources[source].variable.clone();
            let captured = Captured {
                parameter: parameter.name,
                variable,
            };
            links.uses[place].push((source, captured));
        }
    }
    links
}

impl Links<'_> {
    /// The source of a value; the same value is captured once.
    fn source(&mut self, operation: usize, json_path: String, is_list: bool, name: &str) -> usize {
        let is_same = |known: &Source| known.operation == operation && known.json_path == json_path;
        if let Some(known) = self.sources.iter().position(is_same) {
            return known;
        }
        let base = variable_name(name);
        let mut variable = base.clone();
        let mut number = 1;
        while self.sources.iter().any(|known| known.variable == variable) {
            number += 1;
            variable = format!("{base}_{number}");
        }
        self.sources.push(Source {
            operation,
            variable,
            json_path,
            is_list,
        });
        self.sources.len() - 1
    }
}

/// Operations on collections by tag and path: those that create come first.
struct Collections<'o> {
    by_place: HashMap<(&'o str, &'o str), Vec<usize>>,
}

impl<'o> Collections<'o> {
    fn of(operations: &'o [Operation<'_>]) -> Self {
        let mut by_place: HashMap<_, Vec<usize>> = HashMap::new();
        for method in ["POST", "GET"] {
            for (place, operation) in operations.iter().enumerate() {
                if operation.method == method {
                    let path = operation.path.trim_end_matches('/');
                    let key = (operation.tag.as_str(), path);
                    by_place.entry(key).or_default().push(place);
                }
            }
        }
        Self { by_place }
    }

    fn candidates(&self, tag: &str, path: &str) -> Vec<usize> {
        self.by_place.get(&(tag, path)).cloned().unwrap_or_default()
    }
}

/// The whole segments of a path that are parameters: the path before each, and its name.
fn holes(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices("/{").filter_map(|(at, _)| {
        let (name, after) = path[at + 2..].split_once('}')?;
        (after.is_empty() || after.starts_with('/')).then_some((&path[..at], name))
    })
}

/// Where the answer of an operation has the value of a path parameter, as a JSON path, and whether it has several.
fn value_of<'d>(
    documents: &'d Documents<'_>,
    operation: &Operation<'d>,
    parameter: &str,
) -> Option<(String, bool)> {
    let schema = json_schema(&operation.successes)?;
    let whole = Constraints::of(documents, schema);
    if whole.json_type() == JsonType::List {
        let name = key_in(documents, whole.items?, parameter)?;
        return Some((format!("$[*]{}", step(name)), true));
    }
    if let Some(name) = key_of(documents, &whole, parameter) {
        return Some((format!("${}", step(name)), false));
    }
    // An envelope: `{ data: { id } }` or `{ items: [{ id }] }`.
    whole.properties.iter().find_map(|(outer, schemas)| {
        let inner = Constraints::of_all(documents, schemas);
        match inner.json_type() {
            JsonType::List => {
                let name = key_in(documents, inner.items?, parameter)?;
                Some((format!("${}[*]{}", step(outer), step(name)), true))
            }
            JsonType::Map => {
                let name = key_of(documents, &inner, parameter)?;
                Some((format!("${}{}", step(outer), step(name)), false))
            }
            _ => None,
        }
    })
}

fn key_in<'d>(documents: &'d Documents<'_>, schema: Node<'d>, parameter: &str) -> Option<&'d str> {
    key_of(documents, &Constraints::of(documents, schema), parameter)
}

/// The property with the value of a path parameter: of the same name, or the identifier.
fn key_of<'d>(
    documents: &'d Documents<'_>,
    schema: &Constraints<'d>,
    parameter: &str,
) -> Option<&'d str> {
    let wanted = normal(parameter);
    let ends = |ending: &str| wanted.ends_with(ending);
    let identifier = if ends("uuid") {
        "uuid"
    } else if ends("id") {
        "id"
    } else if ends("name") {
        "name"
    } else {
        ""
    };
    let is_scalar = |schemas: &[Node<'d>]| {
        let kind = Constraints::of_all(documents, schemas).json_type();
        matches!(kind, JsonType::Text | JsonType::Integer | JsonType::Number)
    };
    let find = |wanted: &str| {
        let found = schema
            .properties
            .iter()
            .find(|(name, schemas)| normal(name) == wanted && is_scalar(schemas));
        found.map(|(name, _)| *name)
    };
    find(&wanted).or_else(|| find(identifier))
}

/// A name without case and separators.
fn normal(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// A step of a JSON path (RFC 9535).
fn step(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain {
        return format!(".{name}");
    }
    let escaped = name.replace('\\', "\\\\").replace('\'', "\\'");
    format!("['{escaped}']")
}

/// A name for a captured value: letters, digits and `_`, a letter first.
fn variable_name(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            'A'..='Z' => {
                if text.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()) {
                    text.push('_');
                }
                text.push(c.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => text.push(c),
            _ if text.ends_with('_') || text.is_empty() => {}
            _ => text.push('_'),
        }
    }
    let text = text.trim_end_matches('_');
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
    if starts_well && !TAKEN.contains(&text) {
        text.to_owned()
    } else {
        format!("value_{text}").trim_end_matches('_').to_owned()
    }
}
