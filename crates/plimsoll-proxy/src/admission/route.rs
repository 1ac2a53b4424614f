//! Routing. Pure.
//!
//! A path that two servers could read in two ways must not be matched in one reading and served in the other. Dot
//! segments are rejected (browsers and tools resolve them before sending), repeated slashes count as one, and an
//! unusually written path is matched in each reading that servers have: if the readings take different routes, it is
//! rejected.

mod decoding;
mod readings;
pub mod shared;

use std::sync::{Arc, Mutex};

use plimsoll_config::edge::{
    self, Action, HeaderEdit, PathMatch, PathParameters, Rewrite, RouteMatch,
};
use plimsoll_wire::request_head::RequestHead;
use regex::{Regex, RegexBuilder};

use crate::fragments::CAPABILITY;
use crate::lookup::RouteCache;
use crate::message::compress::weighed;
use crate::respond::learned_fallback;
use crate::respond::synthetic_response::FallbackPage;
pub(crate) use readings::Confused;
use readings::{Readings, is_plain, on_windows};
use shared::RouteShared;

/// A route with everything compiled.
#[derive(Debug)]
pub(crate) struct CompiledRoute {
    pub config: edge::RouteConfig,
    pub shared: Arc<RouteShared>,
    page: Option<Arc<FallbackPage>>,
    /// This loop's snapshot of learned pages.
    /// Used by its own loop only: no contention.
    learned_pages: Mutex<learned_fallback::LearnedSnapshot>,
    path: Path,
    /// The case-insensitive matcher used instead, where case is ignored.
    caseless: Option<Regex>,
    rewrite: Option<Regex>,
    /// Its cache settings.
    pub cache: Option<RouteCache>,
}

#[derive(Debug)]
enum Path {
    Any,
    Exact(String),
    /// With its trailing slash, if it was written so.
    Prefix(String),
    Regex(Regex),
}

/// All routes, in order.
#[derive(Debug)]
pub(crate) struct Routes {
    all: Vec<CompiledRoute>,
    /// Whether the first route matches everything.
    plain: bool,
    /// Whether some routes ignore case.
    caseless: bool,
}

impl Routes {
    /// Compiles them.
    ///
    /// # Errors
    /// When a regular expression is not valid.
    pub(crate) fn new(
        routes: &[edge::RouteConfig],
        shared: &[Arc<RouteShared>],
        pools: &[edge::PoolConfig],
    ) -> Result<Self, regex::Error> {
        let routes = routes
            .iter()
            .zip(shared)
            .map(|(route, shared)| CompiledRoute::new(route, Arc::clone(shared), pools))
            .collect::<Result<Vec<_>, _>>()?;
        let plain = routes
            .first()
            .is_some_and(|route| route.config.matches == RouteMatch::default());
        let caseless = routes.iter().any(|route| route.config.case_ignored);
        Ok(Self {
            all: routes,
            plain,
            caseless,
        })
    }

    /// The first route that matches a request. `random` is in [0, 1), for routes with a share.
    ///
    /// # Errors
    /// When the path could be read in two ways.
    #[inline]
    pub(crate) fn find(
        &self,
        head: &RequestHead<'_, '_>,
        random: f64,
    ) -> Result<Option<usize>, Confused> {
        let path = path_of(head.target);
        if !is_plain(path.as_bytes(), self.caseless) {
            return self.find_in_all(&Readings::of(path.as_bytes())?, head, random);
        }
        if self.plain {
            return Ok(Some(0));
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(self.first(head, path, random))
    }

    /// The route that a path takes in all its readings.
    #[cold]
    fn find_in_all(
        &self,
        readings: &Readings,
        head: &RequestHead<'_, '_>,
        random: f64,
    ) -> Result<Option<usize>, Confused> {
        let mut routes = self.all.iter();
        let is_caseless =
            routes.any(|route| route.config.case_ignored && route.takes_rest(head, random));
        let taken = |reading: &String| {
            let first = self.first(head, reading, random);
            if is_caseless && self.first(head, &on_windows(reading)?, random) != first {
                return Err(Confused);
            }
            Ok(first)
        };
        let mut first = taken(&readings.plain)?;
        for reading in &readings.alternatives {
            if taken(reading)? != first {
                return Err(Confused);
            }
        }
        if let Some((first_bare, others)) = readings.bare.split_first() {
            let bare = taken(first_bare)?;
            for reading in others {
                if taken(reading)? != bare {
                    return Err(Confused);
                }
            }
            first = self.with_parameters(first, bare)?;
        }
        for reading in &readings.rare {
            // Doubled slashes are common: a request is rejected only if they would bypass a route's access rules.
            let rare = taken(reading)?;
            if rare != first
                && self
                    .route(rare)
                    .is_some_and(|route| route.config.access.is_some())
            {
                return Err(Confused);
            }
        }
        Ok(first)
    }

    /// The route of a path with parameters: the path must take the same route with and without them.
    fn with_parameters(
        &self,
        first: Option<usize>,
        bare: Option<usize>,
    ) -> Result<Option<usize>, Confused> {
        let refuses = |route: &CompiledRoute| match route.config.path_parameters {
            Some(word) => word == PathParameters::Refused,
            None => route.config.access.is_some(),
        };
        if first == bare {
            let is_refused = self.route(first).is_some_and(refuses);
            return if is_refused { Err(Confused) } else { Ok(first) };
        }
        let keeps =
            |route: &CompiledRoute| route.config.path_parameters == Some(PathParameters::Kept);
        // A server that does not know parameters must not receive what another route guards.
        let guards = |route: &CompiledRoute| route.config.access.is_some() || refuses(route);
        if self.route(bare).is_some_and(keeps) && !self.route(first).is_some_and(guards) {
            return Ok(bare);
        }
        Err(Confused)
    }

    fn route(&self, index: Option<usize>) -> Option<&CompiledRoute> {
        index.map(|index| &self.all[index])
    }

    pub(crate) fn get(&self, index: usize) -> &CompiledRoute {
        &self.all[index]
    }

    fn first(&self, head: &RequestHead<'_, '_>, path: &str, random: f64) -> Option<usize> {
        self.all
            .iter()
            .position(|route| route.takes(head, path, random))
    }
}

/// The path of a target, without its query.
fn path_of(target: &str) -> &str {
    match memchr::memchr(b'?', target.as_bytes()) {
        Some(at) => &target[..at],
        None => target,
    }
}

/// Case-insensitive matcher of a path.
fn caseless(path: &PathMatch) -> Result<Option<Regex>, regex::Error> {
    let expression = match path {
        PathMatch::Any => return Ok(None),
        PathMatch::Exact(path) => format!("^{}$", regex::escape(path)),
        PathMatch::Prefix(path) => {
            let whole = path.strip_suffix('/').unwrap_or(path);
            format!("^(?:{}|{}$)", regex::escape(path), regex::escape(whole))
        }
        PathMatch::Regex(expression) => expression.clone(),
    };
    let mut expression = RegexBuilder::new(&expression);
    expression.case_insensitive(true).build().map(Some)
}

/// The route with ESI applied: servers are informed that fragments are assembled here (Edge Architecture Specification
/// 1.0), and their surrogate headers end here.
fn with_capability(config: &edge::RouteConfig) -> edge::RouteConfig {
    let mut config = config.clone();
    if config.fragments.is_none() {
        return config;
    }
    let edit = |edits: &mut Vec<HeaderEdit>, name: &str, value: Option<&str>| {
        if !edits
            .iter()
            .any(|existing| existing.name.eq_ignore_ascii_case(name))
        {
            edits.push(HeaderEdit {
                name: name.to_owned(),
                value: value.map(str::to_owned),
            });
        }
    };
    edit(
        &mut config.request_headers,
        "Surrogate-Capability",
        Some(CAPABILITY),
    );
    edit(&mut config.answer_headers, "Surrogate-Control", None);
    config
}

impl CompiledRoute {
    fn new(
        config: &edge::RouteConfig,
        shared: Arc<RouteShared>,
        pools: &[edge::PoolConfig],
    ) -> Result<Self, regex::Error> {
        let path = match &config.matches.path {
            PathMatch::Any => Path::Any,
            PathMatch::Exact(path) => Path::Exact(path.clone()),
            PathMatch::Prefix(path) => Path::Prefix(path.clone()),
            PathMatch::Regex(expression) => Path::Regex(Regex::new(expression)?),
        };
        let rewrite = match &config.rewrite {
            Some(Rewrite::Regex(expression, _)) => Some(Regex::new(expression)?),
            _ => None,
        };
        Ok(Self {
            config: with_capability(config),
            page: shared.page.clone(),
            shared,
            learned_pages: Mutex::default(),
            path,
            caseless: if config.case_ignored {
                caseless(&config.matches.path)?
            } else {
                None
            },
            rewrite,
            cache: RouteCache::new(config, pools),
        })
    }

    /// Whether a fallback may replace a page of this route.
    #[inline]
    pub(crate) fn may_stand_in(&self) -> bool {
        let shared = &self.shared;
        self.page.is_some() || shared.learned_fallbacks.is_some() || shared.waiting_room.is_some()
    }

    /// The fallback for a path; a learned page takes precedence over the file.
    pub(crate) fn page(&self, path: &str) -> Option<Arc<FallbackPage>> {
        let learnt = self.shared.learned_fallbacks.as_ref();
        learnt
            .and_then(|learned_fallbacks| {
                learned_fallback::find(learned_fallbacks, &self.learned_pages, path)
            })
            .or_else(|| self.page.clone())
    }

    fn takes(&self, head: &RequestHead<'_, '_>, path: &str, random: f64) -> bool {
        let path_fits = match (&self.caseless, &self.path) {
            (Some(expression), _) | (None, Path::Regex(expression)) => expression.is_match(path),
            (None, Path::Any) => true,
            (None, Path::Exact(exact)) => path == exact,
            (None, Path::Prefix(prefix)) => {
                path.starts_with(prefix.as_str()) || prefix.strip_suffix('/') == Some(path)
            }
        };
        path_fits && self.takes_rest(head, random)
    }

    /// Whether all conditions but the path match.
    fn takes_rest(&self, head: &RequestHead<'_, '_>, random: f64) -> bool {
        let wanted = &self.config.matches;
        (wanted.hosts.is_empty() || wanted.hosts.iter().any(|host| is_host(head.host, host)))
            && (wanted.methods.is_empty()
                || wanted.methods.iter().any(|method| method == head.method))
            && wanted.headers.iter().all(|(name, value)| {
                let mut lines = head.headers.iter();
                lines.any(|line| {
                    line.name.eq_ignore_ascii_case(name)
                        && value
                            .as_ref()
                            .is_none_or(|value| line.value == value.as_bytes())
                })
            })
            && wanted.share.is_none_or(|share| random < share)
    }

    /// The target sent to the server, when it differs from the client's.
    ///
    /// # Errors
    /// When the path as written does not start with the matched prefix, or the new one could be read in two ways.
    pub(crate) fn rewritten(&self, target: &str) -> Result<Option<String>, Confused> {
        let path = path_of(target);
        let query = &target[path.len()..];
        let new = match (&self.config.rewrite, &self.path, &self.rewrite) {
            (Some(Rewrite::Prefix(new)), Path::Prefix(old), _) => {
                let rest = match self.behind(path, old) {
                    Some(rest) => rest,
                    None if self.behind(path, old.trim_end_matches('/')) == Some("") => "",
                    None => return Err(Confused),
                };
                format!("{new}{rest}")
            }
            (Some(Rewrite::Regex(_, new)), _, Some(expression)) => {
                expression.replace(path, new.as_str()).into_owned()
            }
            _ => return Ok(None),
        };
        let rooted = if new.starts_with('/') { "" } else { "/" };
        let whole = format!("{rooted}{new}{query}");
        // Text of the configuration was validated there; the client's target has no blank or control byte.
        let is_clean = whole.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        // Two harmless parts may join to a dot segment.
        let path = path_of(&whole).as_bytes();
        if !is_plain(path, false) {
            Readings::of(path)?;
        }
        if is_clean {
            Ok(Some(whole))
        } else {
            Err(Confused)
        }
    }

    /// The rest of a path behind the route's prefix.
    fn behind<'p>(&self, path: &'p str, start: &str) -> Option<&'p str> {
        let (head, rest) = path.split_at_checked(start.len())?;
        let is_same = head == start || self.config.case_ignored && head.eq_ignore_ascii_case(start);
        is_same.then_some(rest)
    }

    /// Redirect target of a route.
    pub(crate) fn location(&self, head: &RequestHead<'_, '_>) -> Option<(u16, String)> {
        let Action::Redirect { status, location } = &self.config.action else {
            return None;
        };
        let location = location
            .replace("{host}", head.host.unwrap_or_default())
            .replace("{target}", head.target);
        Some((*status, location))
    }
}

/// Whether the requested host, without its port, is the configured one.
fn is_host(asked: Option<&str>, meant: &str) -> bool {
    let Some(asked) = asked else {
        return false;
    };
    let name = match asked.rfind(':') {
        Some(at) if !asked.ends_with(']') => &asked[..at],
        _ => asked,
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    match meant.strip_prefix('*') {
        Some(below) => {
            name.len() > below.len()
                && name.is_char_boundary(name.len() - below.len())
                && name[name.len() - below.len()..].eq_ignore_ascii_case(below)
        }
        None => name.eq_ignore_ascii_case(meant),
    }
}

/// Crawlers that receive no fallback: they would index the shell instead of the page.
const CRAWLERS: [&str; 24] = [
    "googlebot",
    "google-inspectiontool",
    "storebot-google",
    "adsbot-google",
    "mediapartners-google",
    "bingbot",
    "bingpreview",
    "duckduckbot",
    "baiduspider",
    "yandex",
    "applebot",
    "slurp",
    "facebookexternalhit",
    "twitterbot",
    "linkedinbot",
    "petalbot",
    "seznambot",
    "gptbot",
    "oai-searchbot",
    "claudebot",
    "perplexitybot",
    "ccbot",
    "ia_archiver",
    "crawler",
];

/// Finds crawler names in a `User-Agent`.
///
/// # Errors
/// When there are too many names.
pub(crate) fn crawlers(extra: &[String]) -> Result<regex::bytes::Regex, regex::Error> {
    let names = CRAWLERS.iter().copied().map(str::to_owned);
    let names: Vec<String> = names
        .chain(extra.iter().map(|name| regex::escape(name)))
        .collect();
    regex::bytes::Regex::new(&format!("(?i-u){}", names.join("|")))
}

/// Whether a request may be answered with a page that needs a browser to complete it.
pub(crate) fn takes_page(head: &RequestHead<'_, '_>, crawlers: &regex::bytes::Regex) -> bool {
    if !matches!(head.method, "GET" | "HEAD") {
        return false;
    }
    let mut accepts = None;
    for header in head.headers {
        let value = header.value;
        match header.name.len() {
            6 if header.name.eq_ignore_ascii_case("accept") => {
                accepts = Some(accepts.unwrap_or(false) || accepts_pages(value));
            }
            10 if header.name.eq_ignore_ascii_case("user-agent") && crawlers.is_match(value) => {
                return false;
            }
            14 if header.name.eq_ignore_ascii_case("sec-fetch-dest")
                && !value.trim_ascii().eq_ignore_ascii_case(b"document") =>
            {
                return false;
            }
            _ => {}
        }
    }
    // A request without `Accept` accepts everything (RFC 9110, 12.5.1).
    accepts.unwrap_or(true)
}

/// Whether an `Accept` allows HTML; more specific ranges take precedence over `*/*`.
fn accepts_pages(value: &[u8]) -> bool {
    let (mut html, mut all) = (None, None);
    for item in value.split(|&byte| byte == b',') {
        let Some((name, weight)) = weighed(item) else {
            continue;
        };
        if name.eq_ignore_ascii_case(b"text/html") {
            html = Some(weight > 0);
        } else if name == b"*/*" {
            all = Some(weight > 0);
        }
    }
    html.or(all).unwrap_or(false)
}

#[cfg(test)]
mod tests;
