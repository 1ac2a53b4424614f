//! Values that are made up satisfy their schemas.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::chance::Chance;
use super::super::make::Maker;
use super::super::variables::Variables;
use super::*;

/// A value of the schema that is `text` at `pointer`, made by this seed.
fn made(text: &str, seed: u64) -> ExampleValue {
    let script = Script {
        name: "schema.json",
        text,
        files: &Folder::default(),
    };
    let documents = Documents::read(&script).unwrap();
    let mut variables = Variables::default();
    let mut maker = Maker::new(&documents, &mut variables, Chance::new(seed, "x"));
    maker.value("it", documents.root())
}

/// That values of a schema satisfy it.
fn check(schema: &Value, draft: jsonschema::Draft) -> Result<(), TestCaseError> {
    let validator = jsonschema::options()
        .with_draft(draft)
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    for seed in 0..4 {
        let value = made(&schema.to_string(), seed).json(Encoding::Plain);
        let text = value.as_str().replace("{{ pick('{{') }}", "{{");
        let value: Value = serde_json::from_str(&text).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        prop_assert!(faults.is_empty(), "{schema:#}\n{value:#}\n{faults:?}");
    }
    Ok(())
}

fn check_now(schema: &Value) {
    check(schema, jsonschema::Draft::Draft202012).unwrap();
}

#[test]
fn schemas_of_every_kind_have_values() {
    for schema in [
        json!({ "type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5 }),
        json!({ "type": "integer", "minimum": -0.5, "maximum": 0.5 }),
        json!({ "type": "number", "multipleOf": 0.01, "minimum": 0.05, "maximum": 0.06 }),
        json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001 }),
        json!({ "type": "integer", "multipleOf": 25, "minimum": 1 }),
        json!({ "type": "string", "minLength": 3, "maxLength": 3 }),
        json!({ "type": "string", "pattern": "^[A-Z]{2}[0-9]{6}$", "maxLength": 8 }),
        json!({ "type": "string", "pattern": "^#[0-9a-f]+$", "minLength": 30 }),
        json!({ "type": ["null", "string"], "format": "uuid" }),
        json!({ "enum": ["a", 7, null, { "b": [] }] }),
        json!({ "const": { "a": [1, "x"] } }),
        json!({ "type": "array", "items": { "enum": [1, 2, 3] }, "minItems": 3, "uniqueItems": true }),
        json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }], "items": false }),
        json!({ "type": "object", "additionalProperties": { "type": "integer" }, "minProperties": 3 }),
        json!({ "type": "object", "required": ["a", "b"], "properties": { "a": { "type": "boolean" } } }),
        json!({ "type": "object", "maxProperties": 1, "required": ["b"],
                "properties": { "a": { "type": "string" }, "b": { "type": "string" } } }),
        json!({ "allOf": [
            { "type": "object", "required": ["a"], "properties": { "a": { "type": "integer", "minimum": 5 } } },
            { "type": "object", "properties": { "a": { "maximum": 6 }, "b": { "type": "string", "format": "date" } } },
        ] }),
        json!({ "oneOf": [
            { "type": "object", "required": ["card"], "properties": { "card": { "type": "string" } } },
            { "type": "object", "required": ["iban"], "properties": { "iban": { "type": "string" } } },
        ] }),
        json!({ "type": "object", "properties": { "card": { "type": "string" }, "iban": { "type": "string" } },
                "oneOf": [{ "required": ["card"] }, { "required": ["iban"] }] }),
        json!({ "anyOf": [{ "type": "null" }, { "type": "string", "format": "ipv4" }] }),
        json!({ "$ref": "#/$defs/node", "$defs": { "node": {
            "type": "object", "required": ["id"],
            "properties": { "id": { "type": "integer" }, "next": { "$ref": "#/$defs/node" },
                            "all": { "type": "array", "items": { "$ref": "#/$defs/node" } } } } } }),
        json!({ "$ref": "#/$defs/node", "$defs": { "node": {
            "type": "object", "required": ["parent"],
            "properties": { "parent": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }] } } } } }),
        json!({ "$ref": "#/$defs/a%7E1b~1c", "$defs": { "a/b/c": { "type": "boolean" } } }),
    ] {
        check_now(&schema);
    }
    for format in [
        "date-time",
        "date",
        "time",
        "duration",
        "uuid",
        "email",
        "idn-email",
        "hostname",
        "ipv4",
        "ipv6",
        "uri",
        "iri",
        "uri-reference",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ] {
        check_now(&json!({ "type": "string", "format": format }));
    }
}

#[test]
fn bounds_of_3_0_are_flags() {
    let schema = json!({
        "type": "integer", "minimum": 3, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": true,
    });
    check(&schema, jsonschema::Draft::Draft4).unwrap();
}

#[test]
fn what_cannot_be_made_is_a_variable() {
    for (schema, why) in [
        (json!({ "type": "string", "pattern": "(?=a)b" }), "pattern"),
        (
            json!({ "type": "integer", "minimum": 5, "maximum": 4 }),
            "bounds",
        ),
        (json!({ "$ref": "#/nowhere" }), "reference"),
        (json!({ "$ref": "#" }), "itself"),
        (
            json!({ "required": ["a"], "properties": { "a": { "$ref": "#" } } }),
            "recursion",
        ),
    ] {
        let value = made(&schema.to_string(), 1);
        let is_variable = if why == "pattern" {
            matches!(value, ExampleValue::Variable(_))
        } else {
            matches!(value, ExampleValue::JsonVariable(_))
        };
        let is_expected = is_variable
            // Nothing is required of a schema that is only itself.
            || (why == "itself" && matches!(value, ExampleValue::Text(_)));
        assert!(is_expected, "{why}: {value:?}");
    }
}

#[test]
fn the_document_s_own_values_come_first() {
    let check = |schema: Value, expected: Value| {
        let text = made(&schema.to_string(), 1).json(Encoding::Plain);
        let value: Value = serde_json::from_str(text.as_str()).unwrap();
        assert_eq!(value, expected, "{schema}");
    };
    check(
        json!({ "type": "string", "example": "a", "default": "b" }),
        json!("a"),
    );
    check(
        json!({ "type": "string", "examples": ["c", "d"] }),
        json!("c"),
    );
    check(
        json!({ "type": "integer", "default": 4, "minimum": 1 }),
        json!(4),
    );
    check(
        json!({ "type": "string", "example": 12345 }),
        json!("12345"),
    );
    check(json!({ "type": "integer", "example": "7" }), json!(7));
    // Examples of parts of an object are none of the whole; those of its properties are.
    check(
        json!({ "allOf": [
            { "type": "object", "properties": { "a": { "type": "string", "example": "x" } }, "example": { "a": "y" } },
            { "type": "object", "properties": { "b": { "type": "string", "example": "z" } } },
        ] }),
        json!({ "a": "x", "b": "z" }),
    );
    check(
        json!({ "properties": {
            "id": { "type": "integer", "readOnly": true },
            "old": { "type": "string", "deprecated": true },
            "name": { "const": "n" },
        }, "required": ["id"] }),
        json!({ "name": "n" }),
    );
    check(
        json!({ "oneOf": [{ "$ref": "#/$defs/Dog" }],
                "discriminator": { "propertyName": "kind", "mapping": { "dog": "#/$defs/Dog" } },
                "$defs": { "Dog": { "type": "object", "required": ["kind"], "properties": { "kind": { "type": "string" } } } } }),
        json!({ "kind": "dog" }),
    );
}

fn any_schema() -> impl Strategy<Value = Value> {
    let integer = (-50_i64..50, 0_i64..40, 1_i64..5).prop_map(|(min, width, step)| {
        json!({ "type": "integer", "minimum": min, "maximum": min + width + step, "multipleOf": step })
    });
    let number = (-50.0_f64..50.0, 0.001_f64..40.0).prop_map(
        |(min, width)| json!({ "type": "number", "exclusiveMinimum": min, "maximum": min + width }),
    );
    let text = (0_u64..20, 0_u64..20).prop_map(
        |(min, more)| json!({ "type": "string", "minLength": min, "maxLength": min + more }),
    );
    let pattern = prop::sample::select(vec![
        "^[a-z]{3,9}$",
        "^\\d{3}-\\d{2}$",
        "^(cat|dog)s?$",
        "^[^x]+$",
        "[A-Z]$",
        "^\\w+@\\w+\\.org$",
    ])
    .prop_map(|pattern| json!({ "type": "string", "pattern": pattern }));
    let fixed = prop::sample::select(vec![
        json!({ "type": "boolean" }),
        json!({ "enum": ["a", 2, false] }),
        json!({ "type": "string", "format": "date-time" }),
        json!({}),
    ]);
    let leaf = prop_oneof![integer, number, text, pattern, fixed];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = (inner.clone(), 0_u64..3, 0_u64..3).prop_map(|(items, min, more)| {
            json!({ "type": "array", "items": items, "minItems": min, "maxItems": min + more })
        });
        let map = (
            prop::collection::btree_map("[a-e]", inner.clone(), 0..4),
            prop::sample::subsequence(vec!["a", "b", "c", "z"], 0..3),
        )
            .prop_map(|(properties, required)| {
                json!({ "type": "object", "properties": properties, "required": required })
            });
        let any_of =
            prop::collection::vec(inner, 1..3).prop_map(|branches| json!({ "anyOf": branches }));
        prop_oneof![list, map, any_of]
    })
}

proptest! {
    #[test]
    fn values_satisfy_their_schemas(schema in any_schema()) {
        check(&schema, jsonschema::Draft::Draft202012)?;
    }
}
