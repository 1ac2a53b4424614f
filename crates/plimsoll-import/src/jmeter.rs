//! Test plans of JMeter (`.jmx`) as plans.
//!
//! The XML becomes a tree of elements, included files and modules in their places. A survey finds the variables and
//! names what is lost whatever its place. Then each thread group becomes a journey: controllers and samplers in the
//! order of the tree, each sampler with the configuration, timers, extractors and assertions in its scope.

mod assertions;
mod body;
mod condition;
mod context;
mod controllers;
mod csv;
mod data;
mod expand;
mod extract;
mod functions;
mod groups;
mod headers;
mod names;
mod open_model;
mod parse;
mod paths;
mod pattern;
mod plan;
mod profile;
mod properties;
mod reasons;
mod request;
mod scope;
mod settle;
mod steps;
mod survey;
mod timers;
mod tree;
mod url;
mod value;
mod variables;

#[cfg(test)]
mod tests;

use crate::Imported;
use crate::script::{Losses, Script, ScriptError, ScriptOptions};
use context::Import;

/// Makes a plan of a JMeter test plan.
///
/// # Errors
/// When it is no XML of JMeter, has a DTD or entities, is nested too deeply, or has no HTTP request.
pub fn import(script: &Script<'_>, options: &ScriptOptions) -> Result<Imported, ScriptError> {
    let mut losses = Losses::new(script.name, script.text);
    let mut top = tree::read(script)?;
    expand::expand(script, &mut losses, &mut top);
    let mut import = Import::new(script, losses);
    import.read_properties(options.environment.as_ref());
    let draft = import.plan(&top, options.target.as_deref());
    script.plan(draft, import.losses)
}
