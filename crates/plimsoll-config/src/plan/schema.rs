//! The JSON Schema of a plan file, made from the tables of words.
//!
//! It is for editors: completion, and the faults that a schema can tell. What it accepts may still be refused by the
//! reader, which knows the names in templates, units and files.

use serde_json::{Map, Value, json};

use super::keywords::{KeywordTable, PLAN, Shape, TABLES};

/// The schema (JSON Schema 2020-12) as indented JSON.
pub fn schema() -> String {
    let mut definitions = Map::new();
    for table in TABLES.iter().filter(|table| table.name != PLAN.name) {
        definitions.insert(table.name.to_owned(), object(table));
    }
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plimsoll plan",
    });
    if let (Value::Object(root), Value::Object(plan)) = (&mut root, object(&PLAN)) {
        root.extend(plan);
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    format!("{root:#}\n")
}

fn object(table: &KeywordTable) -> Value {
    let mut properties = Map::new();
    for word in table.words {
        let mut value = shape(&word.shape);
        if let Value::Object(value) = &mut value {
            value.insert("description".to_owned(), word.meaning.into());
        }
        properties.insert(word.name.to_owned(), value);
    }
    // Merge keys are YAML's, and stand in any map.
    properties.insert("<<".to_owned(), json!({}));
    json!({
        "description": table.meaning,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// What editors can check of a shape. A text of a template may hold anything, and a number may come from the
/// environment.
fn shape(shape: &Shape) -> Value {
    let scalar = || json!({ "type": ["string", "number", "boolean", "null"] });
    let from_environment = json!({ "type": "string", "pattern": "\\{\\{" });
    match shape {
        Shape::Text | Shape::Template | Shape::Objective => scalar(),
        Shape::Duration => {
            json!({ "type": ["string", "integer"], "pattern": "^([0-9._]+ *(ns|us|ms|s|m|h)|0|.*\\{\\{.*)$", "maximum": 0 })
        }
        Shape::Rate | Shape::Size | Shape::Range | Shape::Status => {
            json!({ "type": ["string", "number", "boolean"] })
        }
        Shape::Count(least, most) => {
            let mut count = json!({ "type": "integer", "minimum": least });
            if *most < u64::MAX {
                count["maximum"] = (*most).into();
            }
            json!({ "anyOf": [count, from_environment] })
        }
        Shape::Number => json!({ "anyOf": [{ "type": "number", "minimum": 0 }, from_environment] }),
        Shape::Switch => json!({ "type": "boolean" }),
        Shape::OneOf(words) => json!({ "enum": words }),
        Shape::Of(table) => json!({ "$ref": format!("#/$defs/{}", table.name) }),
        Shape::Steps => json!({ "type": ["array", "null"], "items": { "$ref": "#/$defs/step" } }),
        Shape::ListOf(of) => json!({ "type": ["array", "null"], "items": self::shape(of) }),
        Shape::OneOrMore(of) => {
            let of = self::shape(of);
            json!({ "anyOf": [of, { "type": "array", "items": of }] })
        }
        Shape::MapOf(of) => json!({ "type": "object", "additionalProperties": self::shape(of) }),
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(self::shape).collect::<Vec<_>>() })
        }
        Shape::Free => json!({}),
    }
}
