//! OpenAPI documents (3.0 to 3.2) as plans.
//!
//! Every operation that is not deprecated becomes a step. Values come from the document's examples, else they are made by
//! schema from the seed; what neither gives is a variable of the environment, without which a plan does not run.

mod body;
mod chance;
mod conversion;
mod documents;
mod journey;
mod make;
mod operation;
mod parameter;
mod reference;
mod request;
mod resource;
mod response;
mod schema;
mod security;
mod serialize;
mod server;
mod value;
mod variables;
mod xml;

use crate::Imported;
use crate::script::draft::{CaptureDraft, CaptureSource, PickDraft, PlanDraft, RequestDraft};
use crate::script::{Remedy, Script, ScriptError, ScriptOptions, Template};
use conversion::Conversion;
use documents::{Documents, Node};
use operation::{Operation, operations};
use request::{Captured, Converted};
use resource::Links;
use value::{Encoding, ExampleValue};

/// Longest plan that is made, bytes: `plimsoll check` reads no longer one.
const PLAN_LEN_MAX: usize = 16 << 20;
/// Methods that change nothing on the server.
const SAFE: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// Makes a plan of an OpenAPI document (3.0 to 3.2), in JSON or YAML.
///
/// # Errors
/// When it is no such document, has no operation, or refers to a document on another host.
pub fn import(script: &Script<'_>, options: &ScriptOptions) -> Result<Imported, ScriptError> {
    let documents = Documents::read(script)?;
    let root = documents.root();
    let version = version(script, root)?;
    let mut conversion = Conversion::new(&documents, options.seed);
    let operations = operations(&mut conversion, root);
    if operations.is_empty() {
        return Err(nothing_to_send(script, root, conversion));
    }
    let (links, requests) = requests(&mut conversion, root, &operations);
    let title = root
        .get("info")
        .and_then(|info| info.word("title"))
        .unwrap_or("without a title");
    let mut draft = PlanDraft {
        heading: format!("from an OpenAPI {version} document: {title}"),
        target: options.target.clone(),
        notes: notes(&conversion, root, (version, options), &operations),
        journeys: journey::journeys(&operations, &links, requests),
        ..PlanDraft::default()
    };
    match &options.target {
        Some(target) => move_to(&mut draft, target),
        None => note_site(&mut draft),
    }
    hoist_headers(&mut draft);
    script.plan(draft, conversion.finish())
}

/// Why there is no plan: the first loss, if there is any.
fn nothing_to_send(
    script: &Script<'_>,
    root: Node<'_>,
    conversion: Conversion<'_, '_>,
) -> ScriptError {
    let at = root
        .get("paths")
        .map_or(root.value.at, |paths| paths.value.at);
    let losses = conversion.finish().finish();
    let Some(first) = losses.first() else {
        return script.error(
            at,
            "no request was found: the document has no operation under `paths`",
            "import the document that has them",
        );
    };
    script.error(
        at,
        format!(
            "no request was found: {} left out, the first is {} in line {} ({})",
            crate::counted(losses.len(), "part"),
            first.what,
            first.line,
            first.why
        ),
        "import a document with operations that clients send",
    )
}

/// The version of the document, as far as it matters: `3.0`, `3.1` or `3.2`.
fn version(script: &Script<'_>, root: Node<'_>) -> Result<&'static str, ScriptError> {
    if let Some(swagger) = root.get("swagger") {
        let version = swagger.value.scalar().unwrap_or_default();
        return Err(script.error(
            swagger.value.at,
            format!("Swagger {version} is not OpenAPI 3"),
            "convert it first: npx swagger2openapi FILE --outfile openapi.yaml",
        ));
    }
    let Some(node) = root.get("openapi") else {
        return Err(script.error(
            root.value.at,
            "it is not an OpenAPI document: `openapi` is missing",
            "begin it with `openapi: 3.1.0`, and import the document that has `paths`",
        ));
    };
    let text = node.value.scalar().unwrap_or_default();
    let known = ["3.0", "3.1", "3.2"].into_iter().find(|known| {
        let rest = text.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    });
    known.or((text == "3").then_some("3.0")).ok_or_else(|| {
        script.error(
            node.value.at,
            format!("OpenAPI `{text}` is not supported"),
            "give a document of 3.0, 3.1 or 3.2",
        )
    })
}

type Requests = Vec<Option<RequestDraft>>;

/// The requests of all operations, with what they capture for one another.
fn requests<'d>(
    conversion: &mut Conversion<'d, '_>,
    root: Node<'d>,
    operations: &[Operation<'d>],
) -> (Links<'d>, Requests) {
    let mut links = resource::links(conversion.documents, operations);
    let mut converted = convert(conversion, root, operations, &links);
    let is_lost = |converted: &[Option<Converted<'d>>], links: &Links<'d>, source: usize| {
        converted[links.sources[source].operation].is_none()
    };
    let lost: Vec<bool> = (0..links.sources.len())
        .map(|source| is_lost(&converted, &links, source))
        .collect();
    if lost.contains(&true) {
        for uses in &mut links.uses {
            uses.retain(|(source, _)| !lost[*source]);
        }
        conversion.parameters_unsent = 0;
        converted = convert(conversion, root, operations, &links);
    }
    add_captures(&links, &mut converted);
    let requests = converted
        .into_iter()
        .map(|converted| converted.map(|converted| converted.draft))
        .collect();
    (links, requests)
}

fn convert<'d>(
    conversion: &mut Conversion<'d, '_>,
    root: Node<'d>,
    operations: &[Operation<'d>],
    links: &Links<'d>,
) -> Vec<Option<Converted<'d>>> {
    let mut len = 0;
    operations
        .iter()
        .zip(&links.uses)
        .map(|(operation, uses)| {
            let captured: Vec<&Captured<'d>> = uses.iter().map(|(_, captured)| captured).collect();
            let converted = request::request(conversion, root, operation, &captured)?;
            // The same example may be that of every operation.
            len += request::len(&converted.draft);
            if len > PLAN_LEN_MAX {
                let why = &format!("the plan would be longer than {} MiB", PLAN_LEN_MAX >> 20);
                let remedy = "import a part of the document, or shorten its examples";
                let what = format!("operation {}", operation.label());
                conversion.lose(operation.node, what, Remedy { why, remedy });
                return None;
            }
            Some(converted)
        })
        .collect()
}

/// Adds captures to the requests whose answers are used; a value by schema takes the place of one that is missing.
fn add_captures(links: &Links<'_>, converted: &mut [Option<Converted<'_>>]) {
    for (place, uses) in links.uses.iter().enumerate() {
        for (source, captured) in uses {
            let source = &links.sources[*source];
            let value = converted[place].as_ref().and_then(|converted| {
                let mut values = converted.path_values.iter();
                values.find(|(name, _)| *name == captured.parameter)
            });
            let default = value.and_then(|(_, value)| match value {
                ExampleValue::Variable(_) => None,
                value => value.scalar(Encoding::Plain),
            });
            let Some(from) = &mut converted[source.operation] else {
                continue;
            };
            let captures = &mut from.draft.captures;
            if captures.iter().any(|known| known.name == source.variable) {
                continue;
            }
            captures.push(CaptureDraft {
                name: source.variable.clone(),
                source: CaptureSource::Json(source.json_path.clone()),
                pick: if source.is_list {
                    PickDraft::Random
                } else {
                    PickDraft::First
                },
                default,
            });
        }
    }
}

/// What was guessed, for people.
fn notes<'d>(
    conversion: &Conversion<'d, '_>,
    root: Node<'d>,
    (version, options): (&str, &ScriptOptions),
    operations: &[Operation<'_>],
) -> Vec<String> {
    let mut notes = conversion.variables.notes(|at| conversion.place(at));
    let others = server::others(root);
    if others > 0 && options.target.is_none() {
        notes.push(format!("the first of {} servers is the target", others + 1));
    }
    let unsafe_count = operations
        .iter()
        .filter(|operation| !SAFE.contains(&operation.method.as_str()))
        .count();
    if unsafe_count > 0 {
        notes.push(format!(
            "{} may change data (POST, PUT, PATCH, DELETE): use a test system, or remove their steps",
            crate::counted(unsafe_count, "operation")
        ));
    }
    let unsent = conversion.parameters_unsent;
    if unsent > 0 {
        notes.push(format!(
            "not sent, for the document has no example of it: {}",
            crate::counted(unsent, "optional parameter")
        ));
    }
    if version == "3.2" {
        notes.push("read as OpenAPI 3.1; what 3.2 adds is listed as lost".to_owned());
    }
    notes
}

/// Asks for the site where a server is relative to where the document was.
fn note_site(draft: &mut PlanDraft) {
    let mut is_unknown = false;
    each_request(draft, &mut |request| {
        is_unknown |= server::is_unknown(&request.url.origin);
    });
    if is_unknown {
        draft.notes.push(
            "the document does not tell the site: set TARGET to it, such as https://host"
                .to_owned(),
        );
    }
}

/// The site of the command line takes the place of the most common server, its base path included.
fn move_to(draft: &mut PlanDraft, target: &str) {
    let mut counts: Vec<(Template, usize)> = Vec::new();
    each_request(draft, &mut |request| {
        let origin = &request.url.origin;
        match counts.iter_mut().find(|(known, _)| known == origin) {
            Some((_, count)) => *count += 1,
            None => counts.push((origin.clone(), 1)),
        }
    });
    // Of equal ones the first.
    let most = counts.iter().rev().max_by_key(|(_, count)| *count);
    let Some((main, _)) = most.cloned() else {
        return;
    };
    each_request(draft, &mut |request| {
        if request.url.origin == main {
            request.url.origin = Template::literal(target);
        }
    });
}

/// Headers that all requests have become those of the plan.
fn hoist_headers(draft: &mut PlanDraft) {
    let mut common: Option<Vec<(String, Template)>> = None;
    let mut count = 0;
    each_request(draft, &mut |request| {
        count += 1;
        match &mut common {
            None => common = Some(request.headers.clone()),
            Some(common) => common.retain(|header| request.headers.contains(header)),
        }
    });
    let mut common = common.unwrap_or_default();
    // The type of a body stands beside it.
    common.retain(|(name, _)| name != "Content-Type");
    if count < 2 || common.is_empty() {
        return;
    }
    each_request(draft, &mut |request| {
        request.headers.retain(|header| !common.contains(header));
    });
    draft.headers = common;
}

/// Calls `take` with each request of a draft, in order.
fn each_request(draft: &mut PlanDraft, take: &mut impl FnMut(&mut RequestDraft)) {
    for journey in &mut draft.journeys {
        journey::each_request(&mut journey.steps, take);
    }
}

#[cfg(test)]
mod tests;
