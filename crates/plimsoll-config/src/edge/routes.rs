//! Reads routes.

use regex::Regex;

use super::file::required;
use super::keywords::{MATCH, RATE, REDIRECT, REWRITE, ROUTE};
use super::{
    Action, Caching, Class, HeaderEdit, PathMatch, PathParameters, PoolConfig, Rate, Rewrite,
    RouteConfig, RouteMatch,
};
use super::{answers, caching, fragments, outward};
use crate::document::{DocumentNode, DocumentReader, MapFields};
use crate::units;

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

/// Handling of path parameters.
const PATH_PARAMETERS: [(&str, PathParameters); 2] = [
    ("refused", PathParameters::Refused),
    ("kept", PathParameters::Kept),
];

/// Whether case is ignored.
const CASES: [(&str, bool); 2] = [("ignored", true), ("exact", false)];

/// Reads `routes:`.
pub(super) fn routes(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    pools: &[PoolConfig],
) -> Vec<RouteConfig> {
    let items = reader.list(node, "routes");
    if items.is_empty() {
        reader.report(
            node,
            "the list of routes is empty",
            "a list such as [{ pool: app }]",
        );
    }
    items
        .iter()
        .filter_map(|item| route(reader, item, pools))
        .collect()
}

fn route(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    pools: &[PoolConfig],
) -> Option<RouteConfig> {
    let fields = reader.fields(node, &ROUTE)?;
    let matches = fields.get("match").map(|node| matches(reader, node));
    let matches = matches.unwrap_or_default();
    let rewrite = fields
        .get("rewrite")
        .and_then(|node| rewrite(reader, node, &matches));
    let classes = [
        ("critical_plus", Class::CriticalPlus),
        ("critical", Class::Critical),
        ("sheddable_plus", Class::SheddablePlus),
        ("sheddable", Class::Sheddable),
    ];
    let class = fields
        .get("class")
        .and_then(|node| reader.one_of(node, &classes));
    let cache = match fields.get("cache") {
        Some(node) => caching::caching(reader, node),
        None => Some(Caching::default()),
    };
    let edits = |word: &str| {
        fields
            .get(word)
            .map_or_else(Vec::new, |node| edits(reader, node))
    };
    let (fallback, learned_fallback) = fields
        .get("fallback")
        .map_or((None, None), |node| answers::fallback(reader, node));
    let route = RouteConfig {
        matches,
        action: Action::Pool(0),
        fallback,
        learned_fallback,
        waiting: fields
            .get("waiting")
            .and_then(|node| answers::waiting(reader, node)),
        compress: fields
            .get("compress")
            .and_then(|node| answers::compress(reader, node)),
        access: fields
            .get("access")
            .and_then(|node| outward::access(reader, node)),
        path_parameters: fields
            .get("path_parameters")
            .and_then(|node| reader.one_of(node, &PATH_PARAMETERS)),
        case_ignored: fields
            .get("case")
            .and_then(|node| reader.one_of(node, &CASES))
            .unwrap_or_default(),
        class: class.unwrap_or_default(),
        rewrite,
        request_headers: edits("request_headers"),
        steering_headers: fields
            .get("steering_headers")
            .map_or_else(Vec::new, |node| steering(reader, node)),
        answer_headers: edits("answer_headers"),
        rate: fields.get("rate").and_then(|node| rate(reader, node)),
        cache,
        fragments: fields
            .get("fragments")
            .and_then(|node| fragments::fragments(reader, node)),
    };
    Some(RouteConfig {
        action: action(reader, &fields, pools)?,
        ..route
    })
}

fn action(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    pools: &[PoolConfig],
) -> Option<Action> {
    let (key, node) = reader.exactly_one(fields, &["pool", "redirect"])?;
    if key.text == "pool" {
        let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
        let name = reader.word(node, &names.join(", "))?;
        let index = names.iter().position(|candidate| *candidate == name);
        if index.is_none() {
            reader.unknown(&node.span, "pool", &name, &names);
        }
        return index.map(Action::Pool);
    }
    let fields = reader.fields(node, &REDIRECT)?;
    let status = fields.get("status").and_then(|node| {
        let status = reader.count(node, 301..=308)?;
        let is_known = matches!(status, 301..=303 | 307 | 308);
        if !is_known {
            reader.report(
                node,
                format!("{status} is not a redirect status"),
                "301, 302, 303, 307, 308",
            );
        }
        u16::try_from(status).ok().filter(|_| is_known)
    });
    let to = required(reader, &fields, "to")?;
    let valid = "a URL such as https://{host}{target}";
    let location = reader.word(to, valid)?;
    if !is_visible(&location) {
        reader.report(to, "a URL has no spaces or control characters", valid);
        return None;
    }
    Some(Action::Redirect {
        status: status.unwrap_or(308),
        location,
    })
}

pub(super) fn is_visible(text: &str) -> bool {
    text.bytes().all(|byte| (0x21..0x7f).contains(&byte))
}

fn matches(reader: &DocumentReader<'_>, node: &DocumentNode) -> RouteMatch {
    let Some(fields) = reader.fields(node, &MATCH) else {
        return RouteMatch::default();
    };
    let words = |word: &str, valid: &str| -> Vec<String> {
        let items = fields
            .get(word)
            .map_or(&[][..], |node| reader.one_or_more(node));
        items
            .iter()
            .filter_map(|item| reader.word(item, valid))
            .collect()
    };
    let hosts = words("host", "a host such as a.example or *.a.example");
    let headers = fields
        .get("headers")
        .and_then(|node| reader.entries(node, "headers by name"))
        .unwrap_or_default();
    let headers = headers.iter().filter_map(|(key, node)| {
        let value = reader.text(node, "a value, or nothing")?;
        Some((key.text.clone(), (!value.is_empty()).then_some(value)))
    });
    RouteMatch {
        hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
        path: fields
            .get("path")
            .and_then(|node| path(reader, node))
            .unwrap_or_default(),
        methods: words("methods", "a method such as GET"),
        headers: headers.collect(),
        share: fields
            .get("share")
            .and_then(|node| reader.value(node, "a share such as 5%", units::share)),
    }
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

fn expression_of(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    expression: &str,
) -> Option<String> {
    match Regex::new(expression) {
        Ok(_) => Some(expression.to_owned()),
        Err(error) => {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim();
            let why = why.strip_prefix("error: ").unwrap_or(why);
            reader.report(
                node,
                format!("invalid regular expression: {why}"),
                "an expression such as ^/[0-9]+$",
            );
            None
        }
    }
}

fn rewrite(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    matches: &RouteMatch,
) -> Option<Rewrite> {
    let fields = reader.fields(node, &REWRITE)?;
    let (key, value) = reader.exactly_one(&fields, &["prefix", "regex"])?;
    let valid = "visible ASCII characters";
    let target = |node: &DocumentNode| {
        let text = reader.text(node, valid)?;
        if !is_visible(&text) {
            reader.report(node, "a path has no spaces or control characters", valid);
        }
        is_visible(&text).then_some(text)
    };
    if key.text == "regex" {
        let expression = reader.word(value, "a regular expression");
        let expression = expression.and_then(|text| expression_of(reader, value, &text));
        let with = required(reader, &fields, "with").and_then(target);
        return Some(Rewrite::Regex(expression?, with?));
    }
    if !matches!(matches.path, PathMatch::Prefix(_)) {
        let valid = "`path: /below/*` in `match`, or `regex` and `with`";
        reader.report(value, "the match has no prefix to replace", valid);
        return None;
    }
    target(value).map(Rewrite::Prefix)
}

pub(super) fn edits(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<HeaderEdit> {
    let entries = reader.entries(node, "headers by name").unwrap_or_default();
    let mut edits = Vec::new();
    for (key, node) in entries {
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
    edits
}

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

/// Reads `steering_headers:`.
fn steering(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<String> {
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
    }
    names
}

/// Maximum steering headers of a route: a cache key has at most 16 fields, and responses add some by `Vary`.
const STEERING_MAX: usize = 8;

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

pub(super) fn rate(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Rate> {
    let fields = reader.fields(node, &RATE)?;
    let burst = fields
        .get("burst")
        .and_then(|node| reader.count32(node, 1..=1_000_000));
    let limit = required(reader, &fields, "limit")?;
    let per_second = reader.value(limit, "a rate such as 10/s", units::rate_above_zero)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the largest rate, ten million"
    )]
    let seconds_worth = per_second.ceil().max(1.0) as u32;
    Some(Rate {
        per_second,
        burst: burst.unwrap_or(seconds_worth),
    })
}
