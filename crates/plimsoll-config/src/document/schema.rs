//! The JSON Schema of a file, generated from the tables of keys.
//!
//! It serves editors: completion, and the errors that a schema can detect. The reader may still refuse a file that the
//! schema accepts, since it knows names in templates, units and files.

use serde_json::{Map, Value, json};

use super::keywords::{KeywordTable, Shape};

/// The schema (JSON Schema 2020-12) as indented JSON. `tables` has the one of the whole file, `root`, as well.
pub(crate) fn schema_of(title: &str, root: &KeywordTable, tables: &[&KeywordTable]) -> String {
    let mut definitions = Map::new();
    for table in tables.iter().filter(|table| table.name != root.name) {
        definitions.insert(table.name.to_owned(), object(table));
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
    });
    if let (Value::Object(schema), Value::Object(file)) = (&mut schema, object(root)) {
        schema.extend(file);
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    format!("{schema:#}\n")
}

fn object(table: &KeywordTable) -> Value {
    let mut properties = Map::new();
    for word in table.words {
        let mut value = shape(&word.shape);
        if let Value::Object(value) = &mut value {
            value.insert("description".to_owned(), word.text().into());
        }
        properties.insert(word.name.to_owned(), value);
    }
    // Merge keys are part of YAML and allowed in any map.
    properties.insert("<<".to_owned(), json!({}));
    json!({
        "description": table.meaning,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// The schema of a shape, as far as editors can check it. A template may contain anything, and a number may come from
/// the environment.
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
        Shape::MapWith(table) => {
            let mut map = object(table);
            map["additionalProperties"] = true.into();
            map
        }
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(self::shape).collect::<Vec<_>>() })
        }
        Shape::Free => json!({}),
    }
}
