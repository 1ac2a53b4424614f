//! Request and response headers that a route sets, removes or lets through.

use crate::document::{DocumentNode, DocumentReader};

/// Headers that frame the message or name the host; only the edge sets them.
const OWN_HEADERS: [&str; 7] = [
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "keep-alive",
    "te",
    "trailer",
];

/// Headers that the edge sets on every request; values from clients are never forwarded.
const WRITTEN_HEADERS: [&str; 7] = [
    "forwarded",
    "host",
    "proxy-authorization",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-plimsoll",
];

/// Maximum steering headers of a route: a cache key has at most 16 fields, and responses add some by `Vary`.
const STEERING_MAX: usize = 8;

/// A header to set or remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderEdit {
    /// Its name.
    pub name: String,
    /// Its value; `None` removes the header.
    pub value: Option<String>,
}

/// Reads a map of headers by name.
pub(in crate::edge) fn edits(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<Vec<HeaderEdit>> {
    let mut edits = Vec::new();
    for (key, node) in reader.entries(node, "headers by name")? {
        let name = &key.text;
        if !is_header_name(name) || is_own(name, &OWN_HEADERS) {
            let message = format!("the header `{name}` cannot be set");
            let valid = "letters, digits and -; not a header that frames the message";
            reader.report_at(key.span.start, message, valid, None);
            continue;
        }
        let Some(value) = reader.text(node, "a value, or nothing to remove the header") else {
            continue;
        };
        if value
            .bytes()
            .any(|byte| byte < 0x20 && byte != b'\t' || byte == 0x7f)
        {
            reader.report(
                node,
                "a header's value has no control characters",
                "one line",
            );
            continue;
        }
        let value = (!value.is_empty()).then_some(value);
        edits.push(HeaderEdit {
            name: name.clone(),
            value,
        });
    }
    Some(edits)
}

/// Reads `steering_headers:`.
pub(super) fn steering(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<String>> {
    let valid = "a header name that clients may send, such as X-HTTP-Method-Override";
    let mut names = Vec::new();
    for item in reader.one_or_more(node) {
        let Some(name) = reader.word(item, valid) else {
            continue;
        };
        if !is_header_name(&name) {
            reader.report(item, format!("`{name}` is not a header name"), valid);
        } else if is_own(&name, &OWN_HEADERS) || is_own(&name, &WRITTEN_HEADERS) {
            let message =
                format!("the edge sets the header `{name}` itself; clients cannot send it");
            reader.report(item, message, valid);
        } else {
            names.push(name);
        }
    }
    if names.len() > STEERING_MAX {
        let message = format!("there are {} names", names.len());
        reader.report(node, message, "at most 8 names");
        return None;
    }
    Some(names)
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Servers that pass headers on as variables treat `_` as `-`.
fn is_own(name: &str, own: &[&str]) -> bool {
    own.iter()
        .any(|own| own.eq_ignore_ascii_case(&name.replace('_', "-")))
}
