//! Headers of requests, and those that Postman adds itself.

use super::body::is_off;
use super::context::Context;
use super::variables::Place;
use crate::located::Located;
use crate::script::Marks;

/// What newman 6 adds to each request; its random `Postman-Token` is left out.
pub(super) const DEFAULTS: [(&str, &str); 4] = [
    ("user-agent", "PostmanRuntime/7.39.1"),
    ("accept", "*/*"),
    ("cache-control", "no-cache"),
    ("accept-encoding", "gzip, deflate, br"),
];

/// The headers of a request that are switched on, with marks and without secrets.
pub(super) fn read(context: &mut Context<'_>, request: &Located) -> Vec<(String, String)> {
    let Some(list) = request.get("header") else {
        return Vec::new();
    };
    let mut headers = Vec::new();
    // v2.0 has lines of a text.
    if let Some(text) = list.text() {
        for line in text.lines() {
            if let Some((name, value)) = line.split_once(':') {
                add(context, &mut headers, list.at, (name.trim(), value.trim()));
            }
        }
        return headers;
    }
    for entry in list.items().iter().filter(|entry| !is_off(entry)) {
        let text = |key: &str| entry.get(key).and_then(Located::text).unwrap_or_default();
        let (name, value) = entry.text().map_or((text("key"), text("value")), |line| {
            line.split_once(':').unwrap_or((line, ""))
        });
        add(context, &mut headers, entry.at, (name.trim(), value.trim()));
    }
    headers
}

fn add(
    context: &mut Context<'_>,
    headers: &mut Vec<(String, String)>,
    at: usize,
    (name, value): (&str, &str),
) {
    if name.is_empty() {
        return;
    }
    let name = context.resolved(at, name, Place::Text);
    let value = context.resolved(at, value, Place::Text);
    let value = value.trim();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if Marks::are_in(&name) || !name.bytes().all(is_token) {
        let remedy = "write the name itself: letters, digits and -";
        return context.lose(
            at,
            &format!("the header {name}"),
            "its name is not a valid header name",
            remedy,
        );
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        let why = "its value has a control character";
        return context.lose(
            at,
            &format!("the header {name}"),
            why,
            "write it on one line",
        );
    }
    match name.to_ascii_lowercase().as_str() {
        "content-length" | "postman-token" => return,
        "connection" if value.eq_ignore_ascii_case("keep-alive") => return,
        "connection" | "transfer-encoding" => {
            return context.lose(
                at,
                &format!("{name}: {value}"),
                "plans manage connections and the length of bodies themselves",
                "for a connection a request: transport: { requests_per_connection: 1 }",
            );
        }
        _ => {}
    }
    let value = context.secrets.header(&mut context.marks, &name, value);
    match headers
        .iter_mut()
        .find(|(known, _)| known.eq_ignore_ascii_case(&name))
    {
        Some((_, known)) if *known == value => {}
        Some((_, known)) => {
            known.push_str(", ");
            known.push_str(&value);
            context.note(format!(
                "headers of one name are sent as one, their values separated by a comma: {name}"
            ));
        }
        None => headers.push((name, value)),
    }
}

/// The value of a header.
pub(super) fn get<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}
