//! The reports, made from runs whose numbers follow a known law.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod browser;
mod compare;
mod details;
mod exports;
mod html;
mod json;
mod judgement;
mod layout;
mod machines;
mod runs;
mod text;
mod workers;
