//! URLs of requests: a text, or an object of its parts.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::body::is_off;
use super::context::Context;
use super::variables::Place;
use crate::located::Located;
use crate::script::url::{self, UrlError, UrlParts};
use crate::script::{Marks, TWO_SLASHES};

/// What Postman percent-encodes in a path.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'#')
    .add(b'?')
    .add(b'{')
    .add(b'}');
/// What Postman percent-encodes in a query.
const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'\'')
    .add(b'<')
    .add(b'>')
    .add(b'#');

/// The URL of a request, with `more` as a further parameter. One that is no URL of HTTP is lost.
pub(super) fn read(
    context: &mut Context<'_>,
    at: usize,
    written: Option<&Located>,
    more: Option<&str>,
) -> Option<UrlParts> {
    let text = written.map(|url| text(context, url)).unwrap_or_default();
    let text = text.trim();
    if text.is_empty() {
        context.lose(at, "request.url", "it is empty", "write the URL in Postman");
        return None;
    }
    let mut parts = match url::parts(text, None, true) {
        Ok(parts) => parts,
        Err(error) => return lost(context, at, text, error),
    };
    if parts.path.starts_with("//") {
        let (what, how) = TWO_SLASHES;
        context.lose(at, what, how.why, how.remedy);
    }
    let (path, query) = match parts.path.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (parts.path.clone(), None),
    };
    let path = encoded(&path, PATH);
    let query: Vec<String> = query
        .map(|query| encoded(&query, QUERY))
        .into_iter()
        .chain(more.map(str::to_owned))
        .collect();
    parts.path = if query.is_empty() {
        path
    } else {
        let query = query.join("&");
        format!(
            "{path}?{}",
            context.secrets.form(&mut context.marks, &query)
        )
    };
    Some(parts)
}

/// Percent-encodes all but marks, which are encoded when they are filled.
fn encoded(text: &str, set: &'static AsciiSet) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(Marks::is_mark) {
        out.extend(utf8_percent_encode(&rest[..at], set));
        let mut chars = rest[at..].chars();
        out.extend(chars.next());
        rest = chars.as_str();
    }
    out.extend(utf8_percent_encode(rest, set));
    out
}

fn lost(context: &mut Context<'_>, at: usize, text: &str, error: UrlError) -> Option<UrlParts> {
    match error {
        UrlError::Protocol(protocol) => {
            context.lose(
                at,
                text,
                &format!("a plan speaks HTTP, not {protocol}"),
                "measure it by another program, or write a `ws` step for a WebSocket",
            );
            None
        }
        UrlError::Host(host) if host.trim().is_empty() => {
            context.lose(at, text, "it has no host", "write https://HOST/PATH");
            None
        }
        UrlError::Host(host) => {
            let meaning = format!("the site instead of `{host}`, as https://HOST");
            let expression = context.secrets.expression("site", &host, &meaning);
            let mark = context.marks.mark(&expression);
            let from = text.find(&host)? + host.len();
            url::parts(&format!("{mark}{}", &text[from..]), None, true).ok()
        }
    }
}

/// The text of a URL, as Postman puts it together.
fn text(context: &mut Context<'_>, url: &Located) -> String {
    if let Some(text) = url.text() {
        return context.resolved(url.at, text, Place::Url);
    }
    let host = url.get("host").map(|host| joined(host, "."));
    let Some(host) = host.filter(|host| !host.is_empty()) else {
        let raw = url.get("raw").and_then(Located::text).unwrap_or_default();
        return context.resolved(url.at, raw, Place::Url);
    };
    let mut text = String::new();
    let protocol = url.get("protocol").and_then(Located::text);
    if let Some(protocol) = protocol.filter(|protocol| !protocol.is_empty()) {
        let protocol = context.resolved(url.at, protocol, Place::Url);
        text.push_str(protocol.trim_end_matches("://"));
        text.push_str("://");
    }
    text.push_str(&context.resolved(url.at, &host, Place::Url));
    let port = url.get("port").and_then(Located::scalar);
    if let Some(port) = port.filter(|port| !port.is_empty()) {
        text.push(':');
        text.push_str(&context.resolved(url.at, &port, Place::Url));
    }
    if let Some(path) = url.get("path") {
        let path = self::path(context, url, path);
        if !path.starts_with('/') {
            text.push('/');
        }
        text.push_str(&path);
    }
    let query = query(context, url);
    if !query.is_empty() {
        text.push('?');
        text.push_str(&query);
    }
    text
}

fn joined(value: &Located, separator: &str) -> String {
    let items = value.items().iter().filter_map(Located::scalar);
    value
        .text()
        .map_or_else(|| items.collect::<Vec<_>>().join(separator), str::to_owned)
}

/// The path with its variables, `:id`.
fn path(context: &mut Context<'_>, url: &Located, path: &Located) -> String {
    let text = joined(path, "/");
    let segments: Vec<String> = text
        .split('/')
        .map(|segment| path_segment(context, url, segment))
        .collect();
    segments.join("/")
}

fn path_segment(context: &mut Context<'_>, url: &Located, segment: &str) -> String {
    // A name ends at a point: `:id.json`.
    let after = segment.strip_prefix(':');
    let name = after.map(|after| after.split('.').next().unwrap_or_default());
    let name = name.filter(|name| !name.is_empty());
    let ending = name.map_or("", |name| &segment[1 + name.len()..]);
    let variables = url.get("variable").map_or(&[][..], Located::items);
    let found = name.and_then(|name| {
        variables
            .iter()
            .filter(|entry| !is_off(entry))
            .find(|entry| {
                let key = entry.get("key").or_else(|| entry.get("id"));
                key.and_then(Located::text) == Some(name)
            })
    });
    let value = found.and_then(|entry| entry.get("value"));
    match value.and_then(|value| Some((value.at, value.scalar()?))) {
        Some((at, value)) if !value.is_empty() => {
            context.resolved(at, &format!("{value}{ending}"), Place::Url)
        }
        _ => context.resolved(url.at, segment, Place::Url),
    }
}

/// A part of a parameter, encoded where it would end the part. Variables are filled in later, as they are.
fn without_ends(text: &str, ends: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let Some(close) = rest[open..].find("}}") else {
            break;
        };
        let end = open + close + 2;
        push_without(&mut out, &rest[..open], ends);
        out.push_str(&rest[open..end]);
        rest = &rest[end..];
    }
    push_without(&mut out, rest, ends);
    out
}

fn push_without(out: &mut String, text: &str, ends: &[char]) {
    for c in text.chars() {
        if ends.contains(&c) {
            let _ = write!(out, "%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
}

/// The parameters that are switched on; one without a value is its name alone.
fn query(context: &mut Context<'_>, url: &Located) -> String {
    let Some(list) = url.get("query") else {
        return String::new();
    };
    if let Some(text) = list.text() {
        return context.resolved(list.at, text, Place::Url);
    }
    let on = list.items().iter().filter(|entry| !is_off(entry));
    let mut pairs = Vec::new();
    for entry in on {
        let key = entry.get("key").and_then(Located::scalar);
        let value = entry.get("value").and_then(Located::scalar);
        let part = |context: &mut Context<'_>, text: &str, ends: &[char]| {
            context.resolved(entry.at, &without_ends(text, ends), Place::Text)
        };
        let key = key.map(|key| part(context, &key, &['&', '#', '=']));
        let value = value.map(|value| part(context, &value, &['&', '#']));
        match (key, value) {
            (Some(key), Some(value)) => pairs.push(format!("{key}={value}")),
            (Some(key), None) => pairs.push(key),
            (None, Some(value)) => pairs.push(format!("={value}")),
            (None, None) => {}
        }
    }
    pairs.join("&")
}
