//! Hooks: the application that authorizes clients and receives their messages over HTTP.

use std::time::Duration;

use super::HubConfig;
use crate::document::Shape::{MapOf, OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, SettingsMap as _, count, one_of, settings, time,
};
use crate::edge::outward::{Endpoint, destination, sent_headers};

/// Maximum number of forwarded headers.
const PASSED_MAX: usize = 20;
/// Headers of a connection or a body, which are never forwarded.
const NOT_PASSED: [&str; 11] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

settings! {
    /// Hooks of the application, called by `POST` with JSON. 2xx allows; 400, 401, 403, 409, 422 and 429 deny, with
    /// `{"error":"why"}` for the client; any other result counts as an unavailable application.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HubHooks, HUB_HOOKS "hub_hooks" {
        /// Called when a client connects: `{"address":…}`. The response identifies and authorizes it:
        /// `{"user":"17","subscribe":["game-*"],"publish":["chat"],"exp":…}`; all fields are optional.
        connect: Option<Endpoint> = None, "connect": Text => destination;
        /// Called when a client subscribes to a channel that neither its token nor the response of `connect` allows:
        /// `{"address":…,"user":…,"channel":…}`.
        subscribe: Option<Endpoint> = None, "subscribe": Text => destination;
        /// Called for every message that a client publishes where a rule allows clients to publish:
        /// `{"address":…,"user":…,"channel":…,"data":…}`. If the response has `data`, that is published instead.
        publish: Option<Endpoint> = None, "publish": Text => destination;
        /// Receives what clients send (`{"send":…,"id":1}`): `{"address":…,"user":…,"client":…,"data":…}`. The
        /// response, JSON or empty, is returned to the client (`{"id":1,"answer":…}`).
        messages: Option<Endpoint> = None, "messages": Text => destination;
        /// Notified once when an admitted client disconnects: `{"address":…,"user":…,"client":…}`, with `client` only
        /// if it sent a message. The response is ignored.
        disconnect: Option<Endpoint> = None, "disconnect": Text => destination;
        /// Headers of the client's request that are forwarded to the application. Default: `[cookie, authorization]`.
        passed: Vec<String> = vec!["cookie".to_owned(), "authorization".to_owned()], "pass": OneOrMore(&Text) => passed;
        /// Headers to set, such as a secret that authenticates the edge to the application.
        "headers": MapOf(&Text);
        /// Time-out of a call.
        timeout: Duration = Duration::from_secs(2), "timeout": time();
        /// Maximum concurrent calls of all clients; further calls are queued.
        in_flight: u32 = 64, "in_flight": count(1..=10_000);
        /// Maximum pending messages and publications per client; further ones are refused.
        per_client: u32 = 16, "per_client": count(1..=1000);
        /// How long responses of `connect` and `subscribe` are cached. Default: not cached.
        cache: Option<Duration> = None, "cache": time();
        /// What clients may do while the application is unavailable: nothing that a hook decides, or all of it.
        allows_when_down: bool = false, "down": one_of!["deny" => false, "allow" => true];
    }
}

impl HubHooks {
    /// No hooks; the defaults of everything else.
    pub fn none() -> Self {
        Self::defaults()
    }
}

/// Reads the hooks, and the connection limits of users that hooks or tokens identify.
pub(super) fn read(reader: &DocumentReader<'_>, fields: &MapFields<'_>, hub: &mut HubConfig) {
    hub.hooks = fields
        .get("hooks")
        .and_then(|node| hooks(reader, hub, node));
    let hooks = hub.hooks.as_ref();
    let is_known = hub.tokens.is_some() || hooks.is_some_and(|hooks| hooks.connect.is_some());
    let bounds = fields.among(&["per_user", "per_token"]);
    if let (Some((key, _)), false) = (bounds.first(), is_known) {
        let message = format!("`{}` has no effect: clients have no identity", key.text);
        let valid = "`tokens`, or `hooks: { connect: … }`";
        reader.report_at(key.span.start, message, valid, None);
    }
}

/// Reads `hooks:` of the hub.
fn hooks(
    reader: &DocumentReader<'_>,
    hub: &mut HubConfig,
    node: &DocumentNode,
) -> Option<HubHooks> {
    let fields = reader.fields(node, &HUB_HOOKS)?;
    let headers = sent_headers(reader, &fields);
    let mut hooks = HubHooks::read(reader, &fields);
    let endpoints = [
        &mut hooks.connect,
        &mut hooks.subscribe,
        &mut hooks.publish,
        &mut hooks.messages,
        &mut hooks.disconnect,
    ];
    for endpoint in endpoints.into_iter().flatten() {
        endpoint.headers.clone_from(&headers);
    }
    let aggregates = hub.channels.iter_mut();
    let aggregates = aggregates.filter_map(|rule| rule.aggregate.as_mut());
    let mut is_asked = false;
    for to in aggregates {
        to.headers.clone_from(&headers);
        is_asked = true;
    }
    let asked = ["connect", "subscribe", "publish", "messages", "disconnect"];
    if !is_asked && fields.among(&asked).is_empty() && !fields.misspells(&asked) {
        let valid = format!("at least one of {}", asked.join(", "));
        reader.report(node, "`hooks` has no hook", valid);
    }
    if let (Some(node), true) = (fields.get("connect"), hub.tokens.is_some()) {
        let message = "`connect` and the `tokens` of the hub both authenticate clients";
        let valid = "one of the two; `subscribe` and `publish` work with `tokens`";
        reader.report(node, message, valid);
    }
    Some(hooks)
}

/// Headers of the client that are forwarded to the application.
fn passed(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<String>> {
    let valid = "header names such as cookie or authorization, except connection and body headers";
    let read = |item: &DocumentNode| {
        let name = reader.word(item, valid)?.to_ascii_lowercase();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_passed = name.bytes().all(is_plain)
            && !NOT_PASSED.contains(&name.as_str())
            && !name.starts_with("sec-websocket-");
        if !is_passed {
            reader.report(
                item,
                format!("the header `{name}` cannot be forwarded"),
                valid,
            );
        }
        is_passed.then_some(name)
    };
    let items = reader.one_or_more(node);
    if items.len() > PASSED_MAX {
        let valid = format!("at most {PASSED_MAX}");
        reader.report(node, "there are too many headers", valid);
    }
    let passed: Vec<_> = items.iter().filter_map(read).collect();
    (items.len() <= PASSED_MAX).then_some(passed)
}
