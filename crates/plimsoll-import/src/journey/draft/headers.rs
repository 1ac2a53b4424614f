//! Headers set by scripts, without those that every browser sends.

use std::borrow::Cow;

use super::{Drafter, PlanValue, ValueLocation};
use crate::heuristics;
use crate::recording::{RecordedExchange, media_type_of};
use plimsoll_model::redact;

/// Headers that a browser or the load engine sets itself.
const NOISE: [&str; 40] = [
    "accept-encoding",
    "accept-language",
    "age",
    "alt-used",
    "baggage",
    "cache-control",
    "connection",
    "content-length",
    "cookie",
    "dnt",
    "expect",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "newrelic",
    "pragma",
    "priority",
    "proxy-authorization",
    "proxy-connection",
    "purpose",
    "range",
    "rtt",
    "save-data",
    "sentry-trace",
    "te",
    "trailer",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "x-client-data",
    "x-request-id",
];
/// Prefixes of further such names.
const NOISE_STARTS: [&str; 6] = [
    "sec-",
    "x-datadog-",
    "x-b3-",
    "downlink",
    "device-memory",
    "x-devtools-",
];

impl Drafter<'_> {
    pub(super) fn headers(&mut self, exchange: &RecordedExchange) {
        let is_unsafe = !matches!(exchange.method.as_str(), "GET" | "HEAD");
        let has_own_type = self
            .step
            .body
            .as_ref()
            .is_some_and(|body| match body.key.as_str() {
                "body" => false,
                // With a charset, for instance.
                "form" => exchange
                    .payload
                    .as_ref()
                    .is_some_and(|payload| !payload.media_type.contains(';')),
                "json" | "graphql" => exchange.payload.as_ref().is_some_and(|payload| {
                    media_type_of(&payload.media_type) == "application/json"
                }),
                _ => true,
            });
        for (name, value) in &exchange.headers {
            let name = name.to_ascii_lowercase();
            let is_wanted = match name.as_str() {
                "content-type" => exchange.payload.is_some() && !has_own_type,
                // Sites compare these with their own address before they accept a form.
                "origin" | "referer" => is_unsafe,
                "accept" => {
                    !(value.is_empty()
                        || value == "*/*"
                        || value.contains("text/html")
                        || value.starts_with("image/"))
                }
                name => {
                    !NOISE.contains(&name)
                        && !NOISE_STARTS.iter().any(|start| name.starts_with(start))
                }
            };
            let is_sound = name.len() <= 100
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
            if is_wanted && is_sound && !value.contains(['\r', '\n', '\0']) {
                let text = self.header(&name, value);
                self.step.headers.push((name, text));
            }
        }
        self.body_type(exchange);
    }

    /// Where the recorder did not list the header, the media type of the body still tells.
    fn body_type(&mut self, exchange: &RecordedExchange) {
        let is_text = self
            .step
            .body
            .as_ref()
            .is_some_and(|body| body.key == "body");
        let is_listed = exchange.header("content-type").is_some();
        if let Some(payload) = &exchange.payload
            && is_text
            && !is_listed
            && !payload.media_type.is_empty()
            && !payload.media_type.contains(['\r', '\n', '\0'])
        {
            let media_type = heuristics::literal(&payload.media_type);
            self.step
                .headers
                .push(("content-type".to_owned(), media_type));
        }
    }

    fn header(&mut self, name: &str, value: &str) -> String {
        if name == "referer" {
            return heuristics::literal(&referer(value));
        }
        if matches!(name, "origin" | "accept" | "content-type") {
            return heuristics::literal(value);
        }
        let site = ValueLocation {
            what: "header",
            name,
        };
        // `Bearer TOKEN` and similar: the scheme stays, the rest is the value.
        let (scheme, rest) = match value.split_once(' ') {
            Some((scheme, rest)) if name == "authorization" => (format!("{scheme} "), rest),
            _ => (String::new(), value),
        };
        if name != "authorization" && !redact::is_secret(name) {
            return self.value(site, value).as_text();
        }
        let found = self.finder.expression(self.at, "token", rest);
        // A CSRF token is no personal secret: without a source it is sent as recorded.
        let is_forgery_token = name.contains("csrf") || name.contains("xsrf");
        let found = match found {
            Some(expression) => PlanValue::Expression(expression),
            None if is_forgery_token => self.value(site, rest),
            None => {
                let hint = if name == "authorization" {
                    "TOKEN"
                } else {
                    name
                };
                let expression = self.secrets.expression(hint, rest);
                self.note_secret(site, &expression);
                PlanValue::Expression(expression)
            }
        };
        format!("{}{}", heuristics::literal(&scheme), found.as_text())
    }
}

/// The referrer; without query and credentials where these contain secrets.
fn referer(value: &str) -> Cow<'_, str> {
    if redact::url(value) == value {
        return Cow::Borrowed(value);
    }
    let end = value.find(['?', '#', ';']).unwrap_or(value.len());
    let bare = &value[..end];
    match bare.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.find('/').unwrap_or(rest.len());
            let login = rest[..host].rfind('@').map_or(0, |at| at + 1);
            Cow::Owned(format!("{scheme}://{}", &rest[login..]))
        }
        None => Cow::Borrowed(bare),
    }
}
