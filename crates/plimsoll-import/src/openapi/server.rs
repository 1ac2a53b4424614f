//! Servers: where requests go.

use super::documents::Node;
use super::variables::Variables;
use crate::script::Template;

/// The variable for a site that the document does not tell. Its default is no host anywhere: the plan is valid, and does
/// not run.
const TARGET: &str = "env('TARGET', 'http://target.invalid')";

/// The server of an operation: the first of its own, of its path, or of the document. Without a slash at its end.
pub(super) fn server<'d>(
    root: Node<'d>,
    item: Node<'d>,
    operation: Node<'d>,
    variables: &mut Variables<'d>,
) -> Template {
    let first = [operation, item, root].iter().find_map(|owner| {
        owner
            .get("servers")
            .and_then(|servers| servers.items().next())
    });
    let Some(server) = first else {
        // The writer of plans asks for the site.
        return Template::default();
    };
    let url = server.word("url").unwrap_or_default().trim();
    let filled = filled(url, server, variables);
    let is_absolute = url.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && (scheme.starts_with('{') || matches!(scheme, "http" | "https"))
    });
    if is_absolute {
        return filled;
    }
    if let Some(rest) = url.strip_prefix("//").filter(|rest| !rest.contains('{')) {
        return Template::literal(&format!("https://{}", rest.trim_end_matches('/')));
    }
    // Relative to where the document was, which its text does not tell.
    if filled.is_empty() || filled.as_str() == "." {
        return Template::default();
    }
    let mut whole = Template::expression(TARGET);
    let path = filled.as_str().trim_start_matches('.');
    if !path.is_empty() && !path.starts_with('/') {
        whole.push_literal("/");
    }
    whole.push(&filled);
    whole
}

/// A URL with its variables: their defaults, else the first of their values.
fn filled<'d>(url: &str, server: Node<'d>, variables: &mut Variables<'d>) -> Template {
    let mut text = Template::default();
    let mut rest = url.trim_end_matches('/');
    while let Some((before, name, after)) = next_hole(rest) {
        text.push_literal(before);
        let variable = server.get("variables").and_then(|all| all.get(name));
        let value = variable.and_then(|variable| {
            let first = || variable.get("enum").and_then(|all| all.items().next());
            let value = variable.get("default").or_else(first)?;
            value.value.scalar()
        });
        match value {
            // A base path may begin or end with a slash of its own.
            Some(value) if after.is_empty() => text.push_literal(value.trim_end_matches('/')),
            Some(value) => text.push_literal(&value),
            None => {
                let meaning = format!("the server variable {name}, which has no default");
                let name = variables.value(name, variable.unwrap_or(server), meaning);
                text.push(&Template::expression(&format!("env('{name}', 'unset')")));
            }
        }
        rest = after;
    }
    text.push_literal(rest);
    text
}

/// The first `{name}` of a text, with what is before and behind it.
pub(super) fn next_hole(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Whether a server is relative to the variable for the site.
pub(super) fn is_unknown(server: &Template) -> bool {
    server.as_str().contains(TARGET)
}

/// How many servers the document has besides the first.
pub(super) fn others(root: Node<'_>) -> usize {
    root.get("servers")
        .map_or(0, |servers| servers.items().count().saturating_sub(1))
}
