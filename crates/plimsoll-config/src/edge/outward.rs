//! What the edge sends out: reports of the rate alert, and traces; and the URLs that they go to.

use std::time::Duration;

use url::Url;

use super::file::required;
use super::routes::edits;
use crate::document::Shape::{MapOf, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count, count_as, one_of,
    rate, settings, share, text, time,
};

settings! {
    /// Rate alert: reports when the request rate leaves its usual range. `true` selects all defaults.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RateAlert, RATE_ALERT "alarm" {
        /// Webhook URL; receives a JSON object at the start and end of each alert.
        webhook: Option<Endpoint> = None, "webhook": Text => later;
        /// Request headers for the webhook.
        "headers": MapOf(&Text);
        /// Window over which the rate is counted.
        every: Duration = Duration::from_mins(1), "every": time();
        /// Number of windows that define the usual range.
        history: u32 = 60, "history": count(5..=10_000);
        /// Width of the range in robust standard deviations.
        factor: f64 = 4.0, "factor": count_as::<f64>(1..=100);
        /// Rates below this never count as too high.
        least_per_second: f64 = 1.0, "least": rate("a rate such as 1/s");
    }
}

impl Default for RateAlert {
    fn default() -> Self {
        Self::defaults()
    }
}

settings! {
    /// Export of request spans to an OpenTelemetry collector, by OTLP over HTTP.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Traces, TRACES "traces" {
        /// URL of the collector: `http://127.0.0.1:4318`.
        to: Endpoint = Endpoint::default(), "to": Text => later;
        /// Request headers for the export.
        "headers": MapOf(&Text);
        /// Sampling rate of requests without a parent decision.
        share: f64 = 0.01, "share": share("a share such as 1%");
        /// Peers whose `traceparent` is honored.
        parents: Parents = Parents::All,
            "parents": one_of!["all" => Parents::All, "trusted" => Parents::Trusted, "none" => Parents::None];
        /// Service name in spans.
        service: String = "plimsoll-edge".to_owned(), "service": text("a service name");
    }
}

/// Peers whose `traceparent` is honored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// All.
    #[default]
    All,
    /// Trusted peers.
    Trusted,
    /// None.
    None,
}

/// A destination URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether it uses TLS.
    pub secure: bool,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query.
    pub target: String,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
}

/// Reads `alarm:`; `false` disables it.
pub(super) fn rate_alert(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<RateAlert> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return reader.switch(node)?.then(RateAlert::default);
    }
    let fields = reader.fields(node, &RATE_ALERT)?;
    let mut rate_alert = RateAlert::read(reader, &fields);
    rate_alert.every = rate_alert.every.max(Duration::from_millis(10));
    rate_alert.webhook = fields
        .get("webhook")
        .and_then(|node| endpoint(reader, node, &fields, "/"));
    Some(rate_alert)
}

/// Reads `traces:`.
pub(super) fn traces(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Traces> {
    let fields = reader.fields(node, &TRACES)?;
    let traces = Traces::read(reader, &fields);
    let to = required(reader, &fields, "to")?;
    Some(Traces {
        to: endpoint(reader, to, &fields, "/v1/traces")?,
        ..traces
    })
}

/// A destination URL, with the headers from `fields`; `path` is the default path.
fn endpoint(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    fields: &MapFields<'_>,
    path: &str,
) -> Option<Endpoint> {
    let headers = sent_headers(reader, fields);
    let mut endpoint = url(reader, node, path)?;
    endpoint.headers = headers;
    Some(endpoint)
}

/// Headers of every request: `headers:`.
pub(super) fn sent_headers(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
) -> Vec<(String, String)> {
    let headers = fields.get("headers").and_then(|node| edits(reader, node));
    headers
        .unwrap_or_default()
        .into_iter()
        .filter_map(|edit| Some((edit.name, edit.value?)))
        .collect()
}

/// A destination URL whose default path is `/`.
pub(super) fn destination(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Endpoint> {
    url(reader, node, "/")
}

/// A destination URL; `path` is the default path.
fn url(reader: &DocumentReader<'_>, node: &DocumentNode, path: &str) -> Option<Endpoint> {
    let valid = "an http:// or https:// URL without a login, such as http://127.0.0.1:3000/path";
    let text = reader.word(node, valid)?;
    let url = Url::parse(&text).ok();
    let url = url.filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    });
    let Some(url) = url else {
        reader.report(
            node,
            format!("`{text}` is not a valid destination URL"),
            valid,
        );
        return None;
    };
    let target = match url.path() {
        "" | "/" if url.query().is_none() => path.to_owned(),
        path => match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        },
    };
    Some(Endpoint {
        secure: url.scheme() == "https",
        host: url.host_str()?.trim_matches(['[', ']']).to_owned(),
        port: url.port_or_known_default()?,
        target,
        headers: Vec::new(),
    })
}
