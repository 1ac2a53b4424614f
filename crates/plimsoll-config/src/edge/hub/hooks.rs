//! Hooks: the application that authorizes clients and receives their messages over HTTP.

use std::time::Duration;

use super::{count, duration, put};
use crate::document::{DocumentNode, DocumentReader, MapFields};
use crate::edge::keywords::HUB_HOOKS;
use crate::edge::outward::{sent_headers, url};
use crate::edge::{Endpoint, HubConfig};

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

/// Hooks of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubHooks {
    /// Called when a client connects: admits and identifies it.
    pub connect: Option<Endpoint>,
    /// Called when a client subscribes to a channel.
    pub subscribe: Option<Endpoint>,
    /// Called when a client publishes.
    pub publish: Option<Endpoint>,
    /// Receives what clients send to the application.
    pub messages: Option<Endpoint>,
    /// Notified when a client disconnects.
    pub disconnect: Option<Endpoint>,
    /// Headers of the client's request that are forwarded, in lower case.
    pub passed: Vec<String>,
    /// Time-out of a call.
    pub timeout: Duration,
    /// Maximum concurrent calls.
    pub in_flight: u32,
    /// Maximum pending messages and publications per client.
    pub per_client: u32,
    /// How long responses of `connect` and `subscribe` are cached.
    pub cache: Option<Duration>,
    /// Whether clients may proceed while the application is unavailable.
    pub allows_when_down: bool,
}

impl HubHooks {
    /// No hooks; the defaults of everything else.
    pub fn none() -> Self {
        Self {
            connect: None,
            subscribe: None,
            publish: None,
            messages: None,
            disconnect: None,
            passed: vec!["cookie".to_owned(), "authorization".to_owned()],
            timeout: Duration::from_secs(2),
            in_flight: 64,
            per_client: 16,
            cache: None,
            allows_when_down: false,
        }
    }
}

/// Reads the hooks, and the connection limits of users that hooks or tokens identify.
pub(super) fn read(reader: &DocumentReader<'_>, fields: &MapFields<'_>, hub: &mut HubConfig) {
    hub.hooks = fields
        .get("hooks")
        .and_then(|node| hooks(reader, hub, node));
    hub.per_user = count(reader, fields, "per_user", 1..=1_000_000);
    hub.per_token = count(reader, fields, "per_token", 1..=1_000_000);
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
    let endpoint = |word: &str| {
        let mut endpoint = url(reader, fields.get(word)?, "/")?;
        endpoint.headers.clone_from(&headers);
        Some(endpoint)
    };
    let mut hooks = HubHooks {
        connect: endpoint("connect"),
        subscribe: endpoint("subscribe"),
        publish: endpoint("publish"),
        messages: endpoint("messages"),
        disconnect: endpoint("disconnect"),
        ..HubHooks::none()
    };
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
    put(&mut hooks.passed, passed(reader, &fields));
    put(&mut hooks.timeout, duration(reader, &fields, "timeout"));
    put(
        &mut hooks.in_flight,
        count(reader, &fields, "in_flight", 1..=10_000),
    );
    put(
        &mut hooks.per_client,
        count(reader, &fields, "per_client", 1..=1000),
    );
    hooks.cache = duration(reader, &fields, "cache");
    let down = [("deny", false), ("allow", true)];
    put(
        &mut hooks.allows_when_down,
        fields
            .get("down")
            .and_then(|node| reader.one_of(node, &down)),
    );
    Some(hooks)
}

/// Headers of the client that are forwarded to the application.
fn passed(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Option<Vec<String>> {
    let node = fields.get("pass")?;
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
    Some(items.iter().filter_map(read).collect())
}
