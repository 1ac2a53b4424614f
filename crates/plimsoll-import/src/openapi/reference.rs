//! `$ref`: what it names, and where references stand.

use percent_encoding::percent_decode_str;

use crate::located::{Located, LocatedValue};

/// Keys whose values are maps of names: a name below them is never a keyword.
const MAPS_OF_NAMES: [&str; 22] = [
    "$defs",
    "callbacks",
    "content",
    "definitions",
    "dependentSchemas",
    "encoding",
    "examples",
    "headers",
    "links",
    "parameters",
    "pathItems",
    "paths",
    "patternProperties",
    "properties",
    "requestBodies",
    "responses",
    "schemas",
    "securitySchemes",
    "scopes",
    "securityDefinitions",
    "variables",
    "webhooks",
];
/// Keys whose values are data, in which `$ref` means nothing.
const DATA: [&str; 6] = ["const", "default", "enum", "example", "mapping", "value"];

/// What a `$ref` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Something in the same document.
    Local { fragment: String },
    /// Something in a file; the path is relative to the document.
    File { path: String, fragment: String },
    /// Something on another host, or without a place.
    Remote(String),
}

impl Reference {
    pub(super) fn of(text: &str) -> Self {
        let (path, fragment) = text.split_once('#').unwrap_or((text, ""));
        let fragment = decoded(fragment);
        if path.is_empty() {
            return Self::Local { fragment };
        }
        if has_scheme(path) || path.starts_with("//") {
            return Self::Remote(text.to_owned());
        }
        Self::File {
            path: decoded(path),
            fragment,
        }
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Whether it is a URL with a scheme. One letter is a drive of Windows.
fn has_scheme(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    })
}

/// The path that `path`, as `base` has it, has from the folder of the first document.
pub(super) fn joined(base: &str, path: &str) -> String {
    let path = path.replace('\\', "/");
    if path.starts_with('/') {
        return path;
    }
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The keys of a JSON pointer (RFC 6901), already percent-decoded.
pub(super) fn keys(pointer: &str) -> impl Iterator<Item = String> {
    pointer
        .split('/')
        .skip(1)
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
}

/// How the keys of a map are read.
#[derive(Clone, Copy)]
enum MapKind {
    Keywords,
    Names,
}

/// Every reference of a document that does not stand in data, with its byte.
pub(super) fn file_references(root: &Located) -> impl Iterator<Item = (usize, &str)> {
    let mut open = vec![(root, MapKind::Keywords)];
    std::iter::from_fn(move || {
        while let Some((node, kind)) = open.pop() {
            match &node.value {
                LocatedValue::List(items) => {
                    open.extend(items.iter().rev().map(|item| (item, MapKind::Keywords)));
                }
                LocatedValue::Map(entries) => {
                    let below = entries.iter().rev();
                    open.extend(below.filter_map(|(key, value)| below_key(&key.text, value, kind)));
                    if let Some(reference) = node.get("$ref")
                        && let Some(text) = reference.text()
                    {
                        return Some((reference.at, text));
                    }
                }
                _ => {}
            }
        }
        None
    })
}

/// How the value of a key is read; not at all if it is data.
fn below_key<'d>(key: &str, value: &'d Located, kind: MapKind) -> Option<(&'d Located, MapKind)> {
    if let MapKind::Names = kind {
        return Some((value, MapKind::Keywords));
    }
    let is_list_of_values = key == "examples" && matches!(value.value, LocatedValue::List(_));
    if key.starts_with("x-") || DATA.contains(&key) || is_list_of_values {
        return None;
    }
    let is_map_of_names = MAPS_OF_NAMES.contains(&key);
    let kind = if is_map_of_names {
        MapKind::Names
    } else {
        MapKind::Keywords
    };
    Some((value, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located;

    #[test]
    fn references_name_documents_and_places() {
        let check = |text: &str, expected: Reference| assert_eq!(Reference::of(text), expected);
        let file = |path: &str, fragment: &str| Reference::File {
            path: path.to_owned(),
            fragment: fragment.to_owned(),
        };
        check(
            "#/paths/~1pets~1%7Bid%7D",
            Reference::Local {
                fragment: "/paths/~1pets~1{id}".to_owned(),
            },
        );
        check("a%20b.yaml#/x", file("a b.yaml", "/x"));
        check("Pet.json", file("Pet.json", ""));
        for remote in ["https://a.example/x.yaml#/y", "//a.example/x", "urn:x:y"] {
            check(remote, Reference::Remote(remote.to_owned()));
        }
        let parts: Vec<String> = keys("/paths/~1a~0b/0").collect();
        assert_eq!(parts, ["paths", "/a~b", "0"]);
    }

    #[test]
    fn paths_begin_at_the_folder_of_the_first_document() {
        assert_eq!(
            joined("openapi.yaml", "./schemas/Pet.yaml"),
            "schemas/Pet.yaml"
        );
        assert_eq!(
            joined("schemas/Pet.yaml", "../openapi.yaml"),
            "openapi.yaml"
        );
        assert_eq!(joined("schemas/Pet.yaml", "Tag.yaml"), "schemas/Tag.yaml");
        assert_eq!(
            joined("openapi.yaml", "../../shared/a.yaml"),
            "../../shared/a.yaml"
        );
        assert_eq!(joined("openapi.yaml", "/etc/passwd"), "/etc/passwd");
    }

    #[test]
    fn references_in_data_are_none() {
        let text = "
a: { $ref: one.yaml }
properties: { example: { $ref: two.yaml }, $ref: { type: string } }
example: { $ref: no.yaml }
examples: { x: { $ref: three.yaml }, y: { value: { $ref: no.yaml } } }
x-more: { $ref: no.yaml }
items: [{ enum: [{ $ref: no.yaml }] }, { $ref: four.yaml }]
paths: { $ref: five.yaml }
";
        let root = located::yaml(text).unwrap();
        let found: Vec<&str> = file_references(&root).map(|(_, text)| text).collect();
        assert_eq!(
            found,
            [
                "one.yaml",
                "two.yaml",
                "three.yaml",
                "four.yaml",
                "five.yaml"
            ]
        );
    }
}
