//! Postman collections (v2.1, and v2.0 where it differs little) as plans.
//!
//! Folders become groups, requests become steps in their order, values of variables stand in the plan unless scripts
//! set them. Of scripts, what a plan can do (`script`) is converted; the rest is lost by name.

mod auth;
mod body;
mod context;
mod dynamic;
mod events;
mod headers;
mod request;
mod script;
#[cfg(test)]
mod tests;
mod url;
mod variables;

use self::context::Context;
use self::request::Inherited;
use crate::Imported;
use crate::located::{self, Located};
use crate::script::draft::{JourneyDraft, PlanDraft, StepDraft, StepItem};
use crate::script::{Losses, Script, ScriptError, ScriptOptions};
use crate::yaml::{YamlEntry, YamlNode};

/// Longest name that is written, characters.
const NAME_LEN_MAX: usize = 100;

/// Makes a plan of a Postman collection: one user, one iteration.
///
/// # Errors
/// When the text or the environment is no JSON, it is no collection, or no request is in it.
pub fn import(script: &Script<'_>, options: &ScriptOptions) -> Result<Imported, ScriptError> {
    let tree = located::json(script.text)
        .map_err(|error| script.error(error.at, error.message, "export the collection again"))?;
    let collection = tree.get("collection").unwrap_or(&tree);
    if collection.get("item").is_none() {
        let is_first_version = collection.get("requests").is_some();
        let message = if is_first_version {
            "it is a collection of version 1"
        } else {
            "it is not a Postman collection: `item` is missing"
        };
        return Err(script.error(tree.at, message, "export it as Collection v2.1"));
    }
    let mut context = Context::new(script);
    if let Some((name, text)) = &options.environment {
        let environment = located::json(text).map_err(|error| {
            let (line, column) = Losses::new(name, text).place(error.at);
            ScriptError {
                file: name.clone(),
                line,
                column,
                message: error.message,
                remedy: "export the environment again".to_owned(),
                losses: Vec::new(),
            }
        })?;
        context.variables.set_environment(&environment);
    }
    let steps = folder(&mut context, collection, &Inherited::default());
    if context.marks.is_full() {
        return Err(script.error(
            0,
            "the collection has more than 65,000 different variables",
            "import a part of it",
        ));
    }
    Ok(plan(context, collection, options, steps))
        .and_then(|(draft, losses)| script.plan(draft, losses))
}

fn plan<'s>(
    mut context: Context<'s>,
    collection: &Located,
    options: &ScriptOptions,
    steps: Vec<StepItem>,
) -> (PlanDraft, Losses<'s>) {
    let mut notes = std::mem::take(&mut context.notes);
    notes.extend(context.secrets.note(&context.marks));
    let name = collection.path(&["info", "name"]).and_then(Located::text);
    let headers = headers::DEFAULTS.map(|(name, value)| (name.to_owned(), value.into()));
    let draft = PlanDraft {
        heading: "A Postman collection as a plan: one user, one iteration; for more load: { users: 100, within: 1m, hold: 10m }".to_owned(),
        notes,
        name: name.map(shortened).filter(|name| !name.is_empty()),
        target: options.target.clone(),
        headers: headers.to_vec(),
        journeys: vec![JourneyDraft {
            name: "collection".to_owned(),
            steps,
            ..JourneyDraft::default()
        }],
        load: Some(YamlNode::map([
            ("users", YamlNode::plain(1)),
            ("hold", YamlNode::plain("1m")),
            ("iterations", YamlNode::plain(1)),
        ])),
        transport: context
            .insecure
            .then(|| YamlEntry::new("insecure", YamlNode::plain(true)))
            .into_iter()
            .collect(),
        files: context.files,
        ..PlanDraft::default()
    };
    (draft, context.losses)
}

/// The steps of the collection or a folder.
fn folder<'l>(
    context: &mut Context<'_>,
    item: &'l Located,
    above: &Inherited<'l>,
) -> Vec<StepItem> {
    context.variables.enter(item);
    let inherited = above.with(item);
    let mut steps = Vec::new();
    for child in item.get("item").map_or(&[][..], Located::items) {
        let name = child.get("name").and_then(Located::text);
        let name = shortened(name.unwrap_or_default());
        if child.get("item").is_some() {
            let inner = folder(context, child, &inherited);
            if inner.is_empty() {
                continue;
            }
            let name = if name.is_empty() {
                "folder".to_owned()
            } else {
                name
            };
            steps.push(StepDraft::Group { name, steps: inner }.into());
        } else if let Some(written) = child.get("request") {
            steps.extend(request::read(context, child, written, &name, &inherited));
        }
    }
    context.variables.leave();
    steps
}

/// A name on one line, not too long.
fn shortened(name: &str) -> String {
    let line: String = name
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(NAME_LEN_MAX)
        .collect();
    line.trim().replace("{{", "{").replace("}}", "}")
}
