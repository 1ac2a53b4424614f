//! Routes, as a file writes them.

use regex::Regex;

use super::file::required;
use super::words::{MATCH, RATE, REDIRECT, REWRITE, ROUTE};
use super::{
    Action, Caching, Class, HeaderEdit, Match, PathMatch, PathParameters, Pool, Rate, Rewrite,
    Route,
};
use super::{answers, caching, fragments, outward};
use crate::plan::desk::{Desk, Fields};
use crate::plan::tree::Node;
use crate::units;

/// What frames a message or names its host is the edge's own to write.
const OWN_HEADERS: [&str; 7] = [
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "keep-alive",
    "te",
    "trailer",
];

/// What becomes of paths with parameters.
const PATH_PARAMETERS: [(&str, PathParameters); 2] = [
    ("refused", PathParameters::Refused),
    ("kept", PathParameters::Kept),
];

/// Whether case is ignored.
const CASES: [(&str, bool); 2] = [("ignored", true), ("exact", false)];

/// Reads `routes:`.
pub(super) fn routes(desk: &Desk<'_>, node: &Node, pools: &[Pool]) -> Vec<Route> {
    let items = desk.list(node, "routes");
    if items.is_empty() {
        desk.fault(node, "there is no route", "a list such as [{ pool: app }]");
    }
    items
        .iter()
        .filter_map(|item| route(desk, item, pools))
        .collect()
}

fn route(desk: &Desk<'_>, node: &Node, pools: &[Pool]) -> Option<Route> {
    let fields = desk.fields(node, &ROUTE)?;
    let matches = fields.get("match").map(|node| matches(desk, node));
    let matches = matches.unwrap_or_default();
    let rewrite = fields
        .get("rewrite")
        .and_then(|node| rewrite(desk, node, &matches));
    let classes = [
        ("critical_plus", Class::CriticalPlus),
        ("critical", Class::Critical),
        ("sheddable_plus", Class::SheddablePlus),
        ("sheddable", Class::Sheddable),
    ];
    let class = fields
        .get("class")
        .and_then(|node| desk.one_of(node, &classes));
    let cache = match fields.get("cache") {
        Some(node) => caching::caching(desk, node),
        None => Some(Caching::default()),
    };
    let edits = |word: &str| {
        fields
            .get(word)
            .map_or_else(Vec::new, |node| edits(desk, node))
    };
    let (fallback, shell) = fields
        .get("fallback")
        .map_or((None, None), |node| answers::fallback(desk, node));
    let route = Route {
        matches,
        action: Action::Pool(0),
        fallback,
        shell,
        waiting: fields
            .get("waiting")
            .and_then(|node| answers::waiting(desk, node)),
        compress: fields
            .get("compress")
            .and_then(|node| answers::compress(desk, node)),
        access: fields
            .get("access")
            .and_then(|node| outward::access(desk, node)),
        path_parameters: fields
            .get("path_parameters")
            .and_then(|node| desk.one_of(node, &PATH_PARAMETERS)),
        case_ignored: fields
            .get("case")
            .and_then(|node| desk.one_of(node, &CASES))
            .unwrap_or_default(),
        class: class.unwrap_or_default(),
        rewrite,
        request_headers: edits("request_headers"),
        steering_headers: fields
            .get("steering_headers")
            .map_or_else(Vec::new, |node| steering(desk, node)),
        answer_headers: edits("answer_headers"),
        rate: fields.get("rate").and_then(|node| rate(desk, node)),
        cache,
        fragments: fields
            .get("fragments")
            .and_then(|node| fragments::fragments(desk, node)),
    };
    Some(Route {
        action: action(desk, &fields, pools)?,
        ..route
    })
}

fn action(desk: &Desk<'_>, fields: &Fields<'_>, pools: &[Pool]) -> Option<Action> {
    let (key, node) = desk.exactly_one(fields, &["pool", "redirect"])?;
    if key.text == "pool" {
        let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
        let name = desk.word(node, &names.join(", "))?;
        let index = names.iter().position(|one| *one == name);
        if index.is_none() {
            desk.unknown(&node.span, "the pool", &name, &names);
        }
        return index.map(Action::Pool);
    }
    let fields = desk.fields(node, &REDIRECT)?;
    let status = fields.get("status").and_then(|node| {
        let status = desk.count(node, 301..=308)?;
        let is_known = matches!(status, 301..=303 | 307 | 308);
        if !is_known {
            desk.fault(
                node,
                format!("{status} is no redirect"),
                "301, 302, 303, 307, 308",
            );
        }
        u16::try_from(status).ok().filter(|_| is_known)
    });
    let to = required(desk, &fields, "to")?;
    let valid = "a URL such as https://{host}{target}";
    let location = desk.word(to, valid)?;
    if !is_visible(&location) {
        desk.fault(to, "a URL has no blanks or control characters", valid);
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

fn matches(desk: &Desk<'_>, node: &Node) -> Match {
    let Some(fields) = desk.fields(node, &MATCH) else {
        return Match::default();
    };
    let words = |word: &str, valid: &str| -> Vec<String> {
        let items = fields
            .get(word)
            .map_or(&[][..], |node| desk.one_or_more(node));
        items
            .iter()
            .filter_map(|item| desk.word(item, valid))
            .collect()
    };
    let hosts = words("host", "a host such as a.example or *.a.example");
    let headers = fields
        .get("headers")
        .and_then(|node| desk.entries(node, "headers by name"))
        .unwrap_or_default();
    let headers = headers.iter().filter_map(|(key, node)| {
        let value = desk.text(node, "a value, or nothing")?;
        Some((key.text.clone(), (!value.is_empty()).then_some(value)))
    });
    Match {
        hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
        path: fields
            .get("path")
            .and_then(|node| path(desk, node))
            .unwrap_or_default(),
        methods: words("methods", "a method such as GET"),
        headers: headers.collect(),
        share: fields
            .get("share")
            .and_then(|node| desk.value(node, "a share such as 5%", units::share)),
    }
}

fn path(desk: &Desk<'_>, node: &Node) -> Option<PathMatch> {
    let valid = "`/exact`, `/below/*`, or `~` and a regular expression";
    let text = desk.word(node, valid)?;
    if let Some(expression) = text.strip_prefix('~') {
        let expression = expression.trim();
        return expression_of(desk, node, expression).map(PathMatch::Regex);
    }
    if !text.starts_with('/') {
        desk.fault(
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
            desk.fault(node, "a star stands only behind the last slash", valid);
            None
        }
    }
}

fn expression_of(desk: &Desk<'_>, node: &Node, expression: &str) -> Option<String> {
    match Regex::new(expression) {
        Ok(_) => Some(expression.to_owned()),
        Err(error) => {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim();
            let why = why.strip_prefix("error: ").unwrap_or(why);
            desk.fault(
                node,
                format!("this is no regular expression: {why}"),
                "such as ^/[0-9]+$",
            );
            None
        }
    }
}

fn rewrite(desk: &Desk<'_>, node: &Node, matches: &Match) -> Option<Rewrite> {
    let fields = desk.fields(node, &REWRITE)?;
    let (key, value) = desk.exactly_one(&fields, &["prefix", "regex"])?;
    let valid = "visible ASCII characters";
    let target = |node: &Node| {
        let text = desk.text(node, valid)?;
        if !is_visible(&text) {
            desk.fault(node, "a path has no blanks or control characters", valid);
        }
        is_visible(&text).then_some(text)
    };
    if key.text == "regex" {
        let expression = desk.word(value, "a regular expression");
        let expression = expression.and_then(|text| expression_of(desk, value, &text));
        let with = required(desk, &fields, "with").and_then(target);
        return Some(Rewrite::Regex(expression?, with?));
    }
    if !matches!(matches.path, PathMatch::Prefix(_)) {
        let valid = "`path: /below/*` in the match, or `regex` and `with`";
        desk.fault(value, "there is no prefix to rewrite", valid);
        return None;
    }
    target(value).map(Rewrite::Prefix)
}

pub(super) fn edits(desk: &Desk<'_>, node: &Node) -> Vec<HeaderEdit> {
    let entries = desk.entries(node, "headers by name").unwrap_or_default();
    let mut edits = Vec::new();
    for (key, node) in entries {
        let name = &key.text;
        if !is_header_name(name) || is_own(name, &OWN_HEADERS) {
            let fault = format!("the header `{name}` cannot be set");
            let valid = "a name of letters, digits and -, but those that frame a message";
            desk.note(key.span.start, fault, valid, None);
            continue;
        }
        let Some(value) = desk.text(node, "a value, or nothing to drop it") else {
            continue;
        };
        if value
            .bytes()
            .any(|byte| byte < 0x20 && byte != b'\t' || byte == 0x7f)
        {
            desk.fault(
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

/// What the edge writes itself for each request; nobody else's word of it goes on.
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
fn steering(desk: &Desk<'_>, node: &Node) -> Vec<String> {
    let valid = "the name of a header that clients may send, such as X-HTTP-Method-Override";
    let mut names = Vec::new();
    for item in desk.one_or_more(node) {
        let Some(name) = desk.word(item, valid) else {
            continue;
        };
        if !is_header_name(&name) {
            desk.fault(item, format!("`{name}` is not a header name"), valid);
        } else if is_own(&name, &OWN_HEADERS) || is_own(&name, &WRITTEN_HEADERS) {
            let fault =
                format!("the edge writes the header `{name}` itself: clients cannot send it");
            desk.fault(item, fault, valid);
        } else {
            names.push(name);
        }
    }
    if names.len() > STEERING_MAX {
        let fault = format!("there are {} names", names.len());
        desk.fault(node, fault, "at most 8 names");
    }
    names
}

/// Most steering headers of a route: copies vary by at most 16 fields, and answers name some.
const STEERING_MAX: usize = 8;

fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Servers that hand headers on as variables take `_` for `-`.
fn is_own(name: &str, own: &[&str]) -> bool {
    own.iter()
        .any(|own| own.eq_ignore_ascii_case(&name.replace('_', "-")))
}

pub(super) fn rate(desk: &Desk<'_>, node: &Node) -> Option<Rate> {
    let fields = desk.fields(node, &RATE)?;
    let burst = fields
        .get("burst")
        .and_then(|node| desk.count32(node, 1..=1_000_000));
    let limit = required(desk, &fields, "limit")?;
    let per_second = desk.value(limit, "a rate such as 10/s", units::rate_above_zero)?;
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
