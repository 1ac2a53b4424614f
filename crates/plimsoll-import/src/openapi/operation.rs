//! Operations of the documents, and what is lost of each.

use plimsoll_model::journey::STEPS_MAX;

use super::conversion::Conversion;
use super::documents::Node;
use super::parameter::{Parameter, parameters};
use super::response::successes;
use crate::located::LocatedKey;
use crate::script::Remedy;

/// Methods of OpenAPI that a plan has.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
/// The journey of operations without a tag.
const UNTAGGED: &str = "default";

/// An operation.
pub(super) struct Operation<'d> {
    /// In capital letters.
    pub(super) method: String,
    /// As the document has it, without what follows a `#`.
    pub(super) path: &'d str,
    pub(super) item: Node<'d>,
    pub(super) node: Node<'d>,
    /// Its first tag.
    pub(super) tag: String,
    pub(super) parameters: Vec<Parameter<'d>>,
    /// Status and response of each success.
    pub(super) successes: Vec<(String, Node<'d>)>,
}

impl Operation<'_> {
    /// `GET /pets/{petId}`.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// The operations of a document, in its order.
pub(super) fn operations<'d>(
    conversion: &mut Conversion<'d, '_>,
    root: Node<'d>,
) -> Vec<Operation<'d>> {
    let mut found = Vec::new();
    if let Some(webhooks) = root.get("webhooks") {
        for (key, _) in webhooks.entries() {
            conversion.lose_at(
                (webhooks.document, key.at),
                format!("webhooks {}", key.text),
                Remedy {
                    why: "the server sends this request, not its clients",
                    remedy: "nothing; a plan describes clients",
                },
            );
        }
    }
    let documents = conversion.documents;
    let paths = root
        .get("paths")
        .map(|paths| documents.resolve(paths).unwrap_or(paths));
    for (key, item) in paths.into_iter().flat_map(Node::entries) {
        if key.text.starts_with("x-") {
            continue;
        }
        match documents.resolve(item) {
            Ok(item) if key.text.starts_with('/') => path(conversion, &mut found, key, item),
            Ok(item) => conversion.lose(
                item,
                format!("paths {}", key.text),
                Remedy {
                    why: "a path begins with a slash",
                    remedy: "write the path with a slash at its start",
                },
            ),
            Err(unresolved) => conversion.lose(
                unresolved.at,
                format!("paths {} ($ref {})", key.text, unresolved.reference),
                Remedy {
                    why: &unresolved.why,
                    remedy: "mend the reference, then import again",
                },
            ),
        }
    }
    found
}

/// The operations of a path.
fn path<'d>(
    conversion: &mut Conversion<'d, '_>,
    found: &mut Vec<Operation<'d>>,
    path: &'d LocatedKey,
    item: Node<'d>,
) {
    // Some documents tell operations of one path apart behind a `#`.
    let sent = path.text.split('#').next().unwrap_or("/");
    for (key, node) in item.entries() {
        let at = (item.document, key.at);
        let what = format!("{} {}", key.text, path.text);
        match key.text.as_str() {
            "trace" | "query" | "additionalOperations" => {
                let why = "a plan has no such method";
                let remedy = "send it by a process, see `process` in the reference of plans";
                conversion.lose_at(at, what, Remedy { why, remedy });
            }
            method if METHODS.contains(&method) => {
                // The specification has no reference here; many documents of several files do.
                let node = match conversion.documents.resolve(node) {
                    Ok(node) => node,
                    Err(unresolved) => {
                        let why = &unresolved.why;
                        let remedy = "mend the reference, then import again";
                        conversion.lose_at(at, format!("operation {what}"), Remedy { why, remedy });
                        continue;
                    }
                };
                if node.is_set("deprecated") {
                    let why = "it is deprecated";
                    let remedy = "remove `deprecated` to have it in the plan";
                    conversion.lose_at(
                        at,
                        format!("deprecated operation {what}"),
                        Remedy { why, remedy },
                    );
                    continue;
                }
                if found.len() >= STEPS_MAX {
                    let why = &format!("a plan has at most {STEPS_MAX} steps");
                    let remedy = "import a part of the document";
                    conversion.lose_at(at, format!("operation {what}"), Remedy { why, remedy });
                    continue;
                }
                let operation = operation(conversion, (method, sent), item, node);
                found.push(operation);
            }
            _ => {}
        }
    }
}

fn operation<'d>(
    conversion: &mut Conversion<'d, '_>,
    (method, path): (&str, &'d str),
    item: Node<'d>,
    node: Node<'d>,
) -> Operation<'d> {
    let documents = conversion.documents;
    let (parameters, unreadable) = parameters(documents, item, node);
    let method = method.to_ascii_uppercase();
    for (at, why) in unreadable {
        let what = format!("a parameter of {method} {path}");
        let remedy = "mend it, then import again";
        conversion.lose(at, what, Remedy { why: &why, remedy });
    }
    for (key, _) in node.get("callbacks").into_iter().flat_map(Node::entries) {
        conversion.lose_at(
            (node.document, key.at),
            format!("callbacks {} of {method} {path}", key.text),
            Remedy {
                why: "the server sends this request, not its clients",
                remedy: "nothing; a plan describes clients",
            },
        );
    }
    let successes = successes(documents, node);
    for (_, response) in &successes {
        for (key, _) in response.get("links").into_iter().flat_map(Node::entries) {
            conversion.lose_at(
                (response.document, key.at),
                format!("links {} of {method} {path}", key.text),
                Remedy {
                    why: "values of links are not carried from one request to another",
                    remedy: "add `capture` to the step, and its name in braces where it is used",
                },
            );
        }
    }
    let tag = node.get("tags").and_then(|tags| tags.items().next());
    let tag = tag.and_then(Node::text).filter(|tag| !tag.is_empty());
    Operation {
        method,
        path,
        item,
        node,
        tag: tag.unwrap_or(UNTAGGED).to_owned(),
        parameters,
        successes,
    }
}
