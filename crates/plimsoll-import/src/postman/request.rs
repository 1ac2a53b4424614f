//! A request of a collection as steps: what its scripts do before, itself with captures and conditions, what follows.

use super::context::Context;
use super::events::{self, Listener};
use super::{auth, body, headers, url};
use crate::located::{Located, LocatedValue};
use crate::script::draft::{RequestDraft, StepDraft, StepItem, UrlDraft};

/// Methods that a plan has.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Most redirects that Postman follows by itself.
const REDIRECTS: u32 = 10;
/// Most redirects that a plan may follow.
const REDIRECTS_MAX: u32 = 50;

/// What a request has from the folders around it, from the outermost to the innermost.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited<'l> {
    auth: Option<&'l Located>,
    events: Vec<&'l Located>,
    behaviors: Vec<&'l Located>,
}

impl<'l> Inherited<'l> {
    /// The same inside `item`.
    pub(super) fn with(&self, item: &'l Located) -> Self {
        let mut inside = self.clone();
        let own = item.get("auth");
        inside.auth = own.filter(|auth| !is_null(auth)).or(inside.auth);
        inside.events.extend(item.get("event"));
        inside.behaviors.extend(item.get("protocolProfileBehavior"));
        inside
    }

    /// The innermost value of a setting.
    fn behavior(&self, key: &str) -> Option<&'l Located> {
        self.behaviors
            .iter()
            .rev()
            .find_map(|settings| settings.get(key))
    }
}

fn is_null(value: &Located) -> bool {
    value.value == LocatedValue::Null
}

/// The steps of a request. One that a plan cannot send is lost.
pub(super) fn read<'l>(
    context: &mut Context<'_>,
    item: &'l Located,
    request: &'l Located,
    name: &str,
    above: &Inherited<'l>,
) -> Vec<StepItem> {
    let mut inherited = above.with(item);
    inherited.auth = request
        .get("auth")
        .filter(|auth| !is_null(auth))
        .or(inherited.auth);
    let mut steps = Vec::new();
    let before = events::actions(context, &inherited.events, Listener::Before);
    steps.extend(events::sets(context, before));
    // A request may be its URL alone.
    let written_url = if request.text().is_some() {
        Some(request)
    } else {
        request.get("url")
    };
    let Some(method) = method(context, request) else {
        return steps;
    };
    let login = inherited
        .auth
        .map(|auth| auth::read(context, auth))
        .unwrap_or_default();
    let parts = url::read(context, item.at, written_url, login.query.as_deref());
    let Some(parts) = parts else {
        return steps;
    };
    steps.extend(login.before);
    let mut headers = headers::read(context, request);
    let credentials = parts.credentials.as_deref().map(|credentials| {
        let value = context.secrets.basic(&mut context.marks, credentials);
        ("Authorization".to_owned(), value)
    });
    if let Some((name, value)) = login.header.or(credentials) {
        let value = context.secrets.header(&mut context.marks, &name, &value);
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        headers.push((name, value));
    }
    let mut draft = RequestDraft {
        label: label(context, name),
        follow: follow(context, &inherited),
        ..RequestDraft::default()
    };
    let has_body = !matches!(method.as_str(), "GET" | "HEAD")
        || inherited
            .behavior("disableBodyPruning")
            .is_some_and(Located::is_true);
    if has_body && let Some(written) = request.get("body") {
        let own = headers::get(&headers, "content-type").map(str::to_owned);
        if let Some(body) = body::read(context, written, own.as_deref()) {
            if let (None, Some(media_type)) = (own, body.media_type) {
                headers.push(("Content-Type".to_owned(), media_type));
            }
            draft.body = Some(body.draft);
        }
    }
    settings(context, request, &inherited);
    draft.method = method;
    let origin = constant_origin(context, &parts.origin);
    draft.url = UrlDraft {
        origin: context.marks.template(&origin),
        path: context.marks.template(&parts.path),
    };
    draft.headers = headers
        .iter()
        .map(|(name, value)| (name.clone(), context.marks.template(value)))
        .collect();
    let after = events::actions(context, &inherited.events, Listener::After);
    let more = events::results(context, after, &mut draft);
    steps.push(StepDraft::Request(Box::new(draft)).into());
    steps.extend(more);
    steps
}

fn method(context: &mut Context<'_>, request: &Located) -> Option<String> {
    let Some(written) = request.get("method") else {
        return Some("GET".to_owned());
    };
    let text = written.text().unwrap_or("GET").trim().to_ascii_uppercase();
    if METHODS.contains(&text.as_str()) {
        return Some(text);
    }
    if text.is_empty() {
        return Some("GET".to_owned());
    }
    context.lose(
        written.at,
        &format!("the method {text}"),
        "a plan has GET, POST, PUT, PATCH, DELETE, HEAD and OPTIONS",
        "leave out this request, or send it by a script of your own: `process:`",
    );
    None
}

/// A label that no other step has.
fn label(context: &mut Context<'_>, name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let mut label = name.to_owned();
    let mut number = 2_usize;
    while !context.labels.insert(label.clone()) {
        label = format!("{name} ({number})");
        number += 1;
    }
    Some(label)
}

fn follow(context: &mut Context<'_>, inherited: &Inherited<'_>) -> Option<u32> {
    let follows = inherited.behavior("followRedirects");
    if follows.is_some_and(|follows| follows.value == LocatedValue::Bool(false)) {
        return None;
    }
    if let Some(keeps) = inherited
        .behavior("followOriginalHttpMethod")
        .filter(|keeps| keeps.is_true())
    {
        context.lose(
            keeps.at,
            "followOriginalHttpMethod",
            "after a redirect a plan asks as browsers do: with GET after 301, 302 and 303",
            "write the second request as a step of its own",
        );
    }
    let most = inherited
        .behavior("maxRedirects")
        .and_then(Located::scalar)
        .and_then(|most| most.parse().ok());
    Some(most.map_or(REDIRECTS, |most: u32| most.min(REDIRECTS_MAX)))
}

/// Settings that concern more than this request, and those that a plan lacks.
fn settings(context: &mut Context<'_>, request: &Located, inherited: &Inherited<'_>) {
    let is_off = |key: &str| {
        let value = inherited.behavior(key);
        value.is_some_and(|value| value.value == LocatedValue::Bool(false))
    };
    if is_off("strictSSL") {
        context.insecure = true;
    }
    for (key, why, remedy) in [
        (
            "disableCookies",
            "cookies are kept by all requests of a user, or by none",
            "write `cookies: false` into the plan if it holds for all",
        ),
        (
            "disabledSystemHeaders",
            "the headers that Postman adds are those of the whole plan",
            "remove them from `headers:` of the plan",
        ),
        (
            "disableUrlEncoding",
            "a plan encodes what a URL must not have",
            "none",
        ),
        (
            "tlsDisabledProtocols",
            "a plan has no settings of TLS",
            "none: the newest version that both sides know is used",
        ),
    ] {
        let value = inherited.behavior(key);
        let is_set = |value: &&Located| {
            value.is_true() || value.entries().next().is_some() || !value.items().is_empty()
        };
        if let Some(value) = value.filter(is_set) {
            context.lose(value.at, key, why, remedy);
        }
    }
    for (key, why, remedy) in [
        (
            "proxy",
            "a plan has no proxies",
            "name the proxy's address as the target, or run the plan where none is needed",
        ),
        (
            "certificate",
            "a plan has no client certificates",
            "run against a port of the service that asks for none",
        ),
    ] {
        if let Some(value) = request
            .get(key)
            .filter(|value| value.entries().next().is_some())
        {
            context.lose(value.at, key, why, remedy);
        }
    }
}

/// An origin whose host is constant, or one variable at its start.
fn constant_origin(context: &mut Context<'_>, origin: &str) -> String {
    use crate::script::Marks;

    let mut behind = origin.chars();
    let first = behind.next();
    if !Marks::are_in(behind.as_str()) {
        return origin.to_owned();
    }
    // `{{protocol}}://{{host}}`: what the plan sets itself stays; the environment gives the whole site.
    let is_of_environment = |c: char| {
        !Marks::is_mark(c)
            || context
                .marks
                .expression(c)
                .is_some_and(|expression| expression.starts_with("env("))
    };
    if first.into_iter().chain(behind).all(is_of_environment) {
        let meaning = format!("the site {}", context.marks.shown(origin));
        let expression = context.secrets.expression("site", origin, &meaning);
        return context.marks.mark(&expression).to_string();
    }
    origin.to_owned()
}
