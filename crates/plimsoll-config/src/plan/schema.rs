//! The JSON Schema of a plan file, generated from the tables of keys.

use super::PLAN;
use super::keywords::TABLES;
use crate::document::schema_of;

/// The schema (JSON Schema 2020-12) as indented JSON.
pub fn schema() -> String {
    schema_of("Plimsoll plan", &PLAN, &TABLES)
}
