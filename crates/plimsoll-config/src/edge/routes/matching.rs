//! Conditions on requests.

use crate::document::Shape::{MapOf, OneOrMore, Text};
use crate::document::{DocumentNode, DocumentReader, each, settings, share, text};

use super::expression_of;

settings! {
    /// Conditions on the request; all must hold.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RouteMatch, MATCH "match" {
        /// Hosts: `a.example`, `*.a.example`.
        hosts: Vec<String> = Vec::new(), "host": OneOrMore(&Text) => each host;
        /// `/exact`, `/below/*`, or `~` followed by a regular expression.
        path: PathMatch = PathMatch::Any, "path": Text => path;
        /// Methods.
        methods: Vec<String> = Vec::new(), "methods": each(text("a method such as GET"));
        /// Headers that must be present; with a value, exactly that value.
        headers: Vec<(String, Option<String>)> = Vec::new(), "headers": MapOf(&Text) => headers;
        /// Random share of matching requests: `5%`.
        share: Option<f64> = None, "share": share("a share such as 5%");
    }
}

/// Condition on a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PathMatch {
    /// Any path.
    #[default]
    Any,
    /// Exactly this path.
    Exact(String),
    /// This path and everything below.
    Prefix(String),
    /// A regular expression that matches a part of it.
    Regex(String),
}

/// A host without port, in lower case.
fn host(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let host = reader.word(node, "a host such as a.example or *.a.example")?;
    Some(host.to_ascii_lowercase())
}

fn headers(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<Vec<(String, Option<String>)>> {
    let entries = reader.entries(node, "headers by name")?.iter();
    let headers = entries.filter_map(|(key, node)| {
        let value = reader.text(node, "a value, or nothing")?;
        Some((key.text.clone(), (!value.is_empty()).then_some(value)))
    });
    Some(headers.collect())
}

fn path(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<PathMatch> {
    let valid = "`/exact`, `/below/*`, or `~` followed by a regular expression";
    let text = reader.word(node, valid)?;
    if let Some(expression) = text.strip_prefix('~') {
        let expression = expression.trim();
        return expression_of(reader, node, expression).map(PathMatch::Regex);
    }
    if !text.starts_with('/') {
        reader.report(
            node,
            format!("the path `{text}` does not start with a slash"),
            valid,
        );
        return None;
    }
    match text.strip_suffix('*') {
        Some("/") => Some(PathMatch::Any),
        Some(prefix) if prefix.ends_with('/') && !prefix.contains('*') => {
            Some(PathMatch::Prefix(prefix.to_owned()))
        }
        None if !text.contains('*') => Some(PathMatch::Exact(text)),
        _ => {
            reader.report(node, "`*` is only valid after the last slash", valid);
            None
        }
    }
}
