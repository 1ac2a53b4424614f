//! Routes: which requests they match, what handles these, and how they are treated on the way.

mod headers;
mod matching;
mod rate;

use regex::Regex;

use super::access::{ACCESS, access};
use super::caching::{CACHE, caching};
use super::compress::COMPRESS;
use super::fallback::{FALLBACK, fallback};
use super::file::required;
use super::fragments::FRAGMENTS;
use super::waiting_room::WAITING;
use super::{
    Caching, Compress, Fallback, Fragments, IpFilterConfig, LearnedFallback, PoolConfig,
    WaitingRoomConfig,
};
use crate::document::Shape::{Count, Either, MapOf, Of, OneOf, OneOrMore, Switch, Text};
use crate::document::{
    DocumentNode, DocumentReader, KeywordTable, MapFields, SettingsMap as _, one_of, settings, word,
};
pub use headers::HeaderEdit;
pub(super) use headers::edits;
use headers::steering;
pub(super) use matching::MATCH;
pub use matching::{PathMatch, RouteMatch};
pub use rate::Rate;
pub(super) use rate::{RATE, rate};

settings! {
    /// One route.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RouteConfig, ROUTE "route" {
        /// Conditions on the request. Without them, every request matches.
        matches: RouteMatch = RouteMatch::defaults(), "match": Of(&MATCH) => RouteMatch::from_map;
        /// Pool that handles the requests.
        "pool": Text;
        /// Or a redirect.
        "redirect": Of(&REDIRECT);
        /// What handles the request.
        action: Action = Action::Pool(0);
        /// Fallback page that browsers get when the pool has no capacity: a file, or a map with options.
        fallback: Option<Fallback> = None, "fallback": Either(&[Text, Of(&FALLBACK)]) => later;
        /// Source of a learned fallback.
        learned_fallback: Option<LearnedFallback> = None;
        /// Waiting page for requests without a fallback; it retries by itself and holds a position in the queue.
        waiting: Option<WaitingRoomConfig> = None,
            "waiting": Either(&[Switch, Of(&WAITING)]) => WaitingRoomConfig::from_switch_or_map;
        /// Response compression. Default: false.
        compress: Option<Compress> = None,
            "compress": Either(&[Switch, Of(&COMPRESS)]) => Compress::from_switch_or_map;
        /// IP filter of this route, in addition to that of the edge.
        access: Option<IpFilterConfig> = None, "access": Of(&ACCESS) => access;
        /// Paths with parameters (`/news;page=2`), which some servers read as if they had none. `kept` matches and
        /// forwards them as they are. By default they are refused where `access` is set, and where the path without
        /// them matches a different route.
        path_parameters: Option<PathParameters> = None,
            "path_parameters": one_of!["refused" => PathParameters::Refused, "kept" => PathParameters::Kept];
        /// Whether paths match regardless of case, and file names as Windows reads them.
        case_ignored: bool = false, "case": one_of!["ignored" => true, "exact" => false];
        /// Caching of this route's responses. Default: as their headers allow.
        cache: Option<Caching> = Some(Caching::defaults()), "cache": Either(&[OneOf(&["off"]), Of(&CACHE)]) => later;
        /// Assembly of pages from fragments (Edge Side Includes, ESI). Default: false.
        fragments: Option<Fragments> = None,
            "fragments": Either(&[Switch, Of(&FRAGMENTS)]) => Fragments::from_switch_or_map;
        /// Priority under overload.
        class: Class = Class::Critical, "class": one_of![
            "critical_plus" => Class::CriticalPlus,
            "critical" => Class::Critical,
            "sheddable_plus" => Class::SheddablePlus,
            "sheddable" => Class::Sheddable,
        ];
        /// Rewriting of the path before the request is forwarded.
        rewrite: Option<Rewrite> = None, "rewrite": Of(&REWRITE) => later;
        /// Request headers to set; one without a value is removed.
        request_headers: Vec<HeaderEdit> = Vec::new(), "request_headers": MapOf(&Text) => edits;
        /// Steering headers that clients may send, such as `X-HTTP-Method-Override`; they become part of the cache key.
        /// By default, headers by which proxies pass the scheme, host, path, method or user to applications are removed
        /// unless a trusted peer sent them.
        steering_headers: Vec<String> = Vec::new(), "steering_headers": OneOrMore(&Text) => steering;
        /// Response headers to set; one without a value is removed.
        answer_headers: Vec<HeaderEdit> = Vec::new(), "answer_headers": MapOf(&Text) => edits;
        /// Rate limit per client.
        rate: Option<Rate> = None, "rate": Of(&RATE) => rate;
    }
}

/// Priority under overload; the first is shed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Health and checkout.
    CriticalPlus,
    /// Pages.
    #[default]
    Critical,
    /// Searches, lists.
    SheddablePlus,
    /// Crawlers, prefetches.
    Sheddable,
}

/// Handling of paths with parameters (`/news;page=2`), which some servers read as if they had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathParameters {
    /// The request is refused.
    Refused,
    /// The path is matched without the parameters, and forwarded with them.
    Kept,
}

/// What handles a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The pool with this index.
    Pool(usize),
    /// A redirect; the placeholders `{host}` and `{target}` are replaced.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// Where to.
        location: String,
    },
}

/// Rewriting of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// The matched prefix is replaced.
    Prefix(String),
    /// Each match of a regular expression is replaced, with `$1` for its groups.
    Regex(String, String),
}

/// Keys of a redirect.
pub(crate) static REDIRECT: KeywordTable = KeywordTable {
    name: "redirect",
    meaning: "A redirect.",
    words: &[
        word!(
            "to",
            Text,
            "URL; the placeholders `{host}` and `{target}` are replaced."
        ),
        word!(
            "status",
            Count(301, 308),
            "Status: 301, 302, 303, 307 or 308. Default: 308."
        ),
    ],
};

/// Keys of a rewrite.
pub(crate) static REWRITE: KeywordTable = KeywordTable {
    name: "rewrite",
    meaning: "Rewriting of the path.",
    words: &[
        word!("prefix", Text, "Replacement of the matched prefix."),
        word!(
            "regex",
            Text,
            "Regular expression; each match is replaced by `with`."
        ),
        word!("with", Text, "Replacement text; `$1` is the first group."),
    ],
};

impl RouteConfig {
    /// A route of all requests to one pool.
    pub fn everything(pool: usize) -> Self {
        Self {
            action: Action::Pool(pool),
            ..Self::defaults()
        }
    }
}

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
    let mut route = RouteConfig::read(reader, &fields);
    route.rewrite = fields
        .get("rewrite")
        .and_then(|node| rewrite(reader, node, &route.matches));
    if let Some(node) = fields.get("cache") {
        route.cache = caching(reader, node);
    }
    if let Some(node) = fields.get("fallback") {
        (route.fallback, route.learned_fallback) = fallback(reader, node);
    }
    route.action = action(reader, &fields, pools)?;
    Some(route)
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
