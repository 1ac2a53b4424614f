//! Responses: which count as success, and what is in them.

use super::body::essence;
use super::documents::{Documents, Node};

/// Most media types in the header Accept.
const ACCEPT_MAX: usize = 4;

/// The responses of an operation that are success, with their status as a plan has it.
pub(super) fn successes<'d>(
    documents: &'d Documents<'_>,
    operation: Node<'d>,
) -> Vec<(String, Node<'d>)> {
    let responses = operation
        .get("responses")
        .into_iter()
        .flat_map(Node::entries);
    responses
        .filter_map(|(key, response)| {
            let status = key.text.to_ascii_lowercase();
            let is_range = matches!(status.as_str(), "2xx" | "3xx");
            let is_code = status.len() == 3
                && status.starts_with(['2', '3'])
                && status.bytes().all(|byte| byte.is_ascii_digit());
            let response = documents.resolve(response).unwrap_or(response);
            (is_range || is_code).then_some((status, response))
        })
        .collect()
}

/// The media types that an operation answers with, for the header Accept.
pub(super) fn accepted(successes: &[(String, Node<'_>)]) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    for (_, response) in successes {
        for (key, _) in response.get("content").into_iter().flat_map(Node::entries) {
            let is_plain = key.text.contains('/')
                && key.text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
            if is_plain && !key.text.starts_with("*/") && !types.contains(&key.text) {
                types.push(key.text.clone());
            }
        }
    }
    types.truncate(ACCEPT_MAX);
    types
}

/// The schema of the JSON that an operation answers with.
pub(super) fn json_schema<'d>(successes: &[(String, Node<'d>)]) -> Option<Node<'d>> {
    successes.iter().find_map(|(_, response)| {
        let mut contents = response.get("content")?.entries();
        let is_json = |media_type: &str| {
            let essence = essence(media_type);
            essence.ends_with("/json") || essence.ends_with("+json")
        };
        let (_, media) = contents.find(|(key, _)| is_json(&key.text))?;
        media.get("schema")
    })
}
