//! What the metrics are called. `docs/reference/export.md` shows the table; a test compares the two.

use std::borrow::Cow;

use plimsoll_model::labels;
use plimsoll_model::reading::{SeriesInfo, SeriesKind};

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
    /// Durations; or, with a unit other than `s`, scores that are recorded in millionths as durations are in microseconds.
    Histogram,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    /// Name by the conventions of Prometheus, with unit and `_total`.
    pub(crate) prometheus: Cow<'static, str>,
    /// Name in OTLP: OpenTelemetry's where it has one, then k6's, then our own.
    pub(crate) otlp: Cow<'static, str>,
    /// Unit in UCUM, as in OTLP.
    pub(crate) unit: Cow<'static, str>,
    pub(crate) kind: MetricKind,
    /// A sentence without its full stop.
    pub(crate) help: Cow<'static, str>,
}

impl Definition {
    /// Whether its values are durations.
    pub(crate) fn is_time(&self) -> bool {
        self.unit == "s"
    }
}

/// One row of [`TABLE`]; the constant has the name of the row.
macro_rules! definitions {
    ($($name:ident: $kind:ident $prometheus:literal, $otlp:literal, $unit:literal, $help:literal;)*) => {
        $(pub(crate) const $name: Definition = Definition {
            prometheus: Cow::Borrowed($prometheus),
            otlp: Cow::Borrowed($otlp),
            unit: Cow::Borrowed($unit),
            kind: MetricKind::$kind,
            help: Cow::Borrowed($help),
        };)*

        /// All metrics of a load, in the order of the documentation.
        #[cfg(test)]
        pub(crate) const TABLE: &[Definition] = &[$($name),*];
    };
}

definitions! {
    INFO: Gauge "plimsoll_run_info", "plimsoll.run.info", "1", "1 while the run goes on; labels say what it is";
    REQUESTS: Counter "plimsoll_requests_total", "http_reqs", "{request}", "Requests that ended, by outcome";
    OFFERED: Counter "plimsoll_requests_offered_total", "plimsoll.requests.offered", "{request}", "Requests that were due";
    SENT: Counter "plimsoll_requests_sent_total", "plimsoll.requests.sent", "{request}", "Requests written to a connection, redirects and retries included";
    RESPONSES: Counter "plimsoll_responses_total", "plimsoll.responses", "{response}", "Responses by status";
    RESPONSE: Histogram "plimsoll_response_seconds", "plimsoll.response.duration", "s", "Time from the moment a request was due to its good response";
    SERVICE: Histogram "plimsoll_service_seconds", "http.client.request.duration", "s", "Time from sending a request to its good response";
    FAILED: Histogram "plimsoll_failed_seconds", "plimsoll.failed.duration", "s", "Time from the moment a request was due to its failure";
    LAG: Histogram "plimsoll_generator_lag_seconds", "plimsoll.generator.lag", "s", "How late the generator took up requests that were due";
    IN_FLIGHT: Gauge "plimsoll_requests_in_flight", "http.client.active_requests", "{request}", "Requests due and not finished";
    WAITING: Gauge "plimsoll_requests_waiting", "plimsoll.requests.waiting", "{request}", "Requests due that wait for a connection";
    CONNECTIONS: Gauge "plimsoll_connections", "http.client.open_connections", "{connection}", "Open connections";
    OPENED: Counter "plimsoll_connections_opened_total", "plimsoll.connections.opened", "{connection}", "Connections opened";
    HANDSHAKES: Counter "plimsoll_tls_handshakes_total", "plimsoll.tls.handshakes", "{handshake}", "TLS handshakes completed";
    RECEIVED: Counter "plimsoll_received_bytes_total", "data_received", "By", "Bytes read from connections, after TLS";
    WRITTEN: Counter "plimsoll_sent_bytes_total", "data_sent", "By", "Bytes written to connections, before TLS";
    REDIRECTS: Counter "plimsoll_redirects_total", "plimsoll.redirects", "{redirect}", "Redirects followed";
    RETRIES: Counter "plimsoll_retries_total", "plimsoll.retries", "{request}", "Requests sent again because a kept connection was closed";
    USERS: Gauge "plimsoll_users", "vus", "{user}", "Users in the run";
    ITERATIONS: Counter "plimsoll_iterations_total", "iterations", "{iteration}", "Iterations that users finished";
    LINE: Gauge "plimsoll_load_line", "plimsoll.load_line", "{load}", "The load line as the search estimates it: low, median and high of its 90 % interval";
    STEP_REQUESTS: Counter "plimsoll_step_requests_total", "plimsoll.step.requests", "{request}", "Requests of a step that ended, by outcome";
    STEP_RESPONSE: Histogram "plimsoll_step_response_seconds", "plimsoll.step.response.duration", "s", "Time from the moment a request of a step was due to its good response";
    WS_CONNECTED: Counter "plimsoll_websocket_connected_total", "ws_sessions", "{session}", "WebSockets that were opened";
    WS_RECEIVED: Counter "plimsoll_websocket_messages_received_total", "ws_msgs_received", "{message}", "Messages received on WebSockets";
    WS_SENT: Counter "plimsoll_websocket_messages_sent_total", "ws_msgs_sent", "{message}", "Messages sent on WebSockets";
    WS_HANDSHAKE: Histogram "plimsoll_websocket_handshake_seconds", "ws_connecting", "s", "Time from the moment a handshake was due to its answer";
    WS_REQUEST: Histogram "plimsoll_websocket_response_seconds", "plimsoll.websocket.response.duration", "s", "Time from the moment a message was due to its answer";
    PAGE_VISITS: Counter "plimsoll_page_visits_total", "plimsoll.page.visits", "{visit}", "Visits of pages in browsers that ended, by outcome";
    PAGE_READY: Histogram "plimsoll_page_ready_seconds", "plimsoll.page.ready.duration", "s", "Time from the beginning of a visit until the page was ready";
    PAGE_LCP: Histogram "plimsoll_page_lcp_seconds", "browser_web_vital_lcp", "s", "Time from the beginning of a visit until the largest contentful paint";
    PAGE_FCP: Histogram "plimsoll_page_fcp_seconds", "browser_web_vital_fcp", "s", "Time from the beginning of a visit until the first contentful paint";
    PAGE_CLS: Histogram "plimsoll_page_cls", "browser_web_vital_cls", "1", "Cumulative layout shift of a visit, a score";
    PAGE_TTFB: Histogram "plimsoll_page_ttfb_seconds", "browser_web_vital_ttfb", "s", "Time from the beginning of a visit until the first byte of the document";
    GENERATOR_CPU: Counter "plimsoll_generator_cpu_seconds_total", "plimsoll.generator.cpu", "s", "CPU time of the event loops";
}

/// Labels that all series of a run have; a label of a reading with such a name gets a prefix, as in a scrape.
const SHARED: [&str; 3] = ["job", "run", "instance"];

/// The metric of a reading, with its labels: named as in OpenTelemetry, and for Prometheus as its translation demands.
pub(crate) fn of_series(name: &str, info: &SeriesInfo) -> (Definition, Vec<(String, String)>) {
    let metric = labels::metric(name);
    let kind = match info.kind {
        SeriesKind::Gauge => MetricKind::Gauge,
        SeriesKind::Delta => MetricKind::Counter,
    };
    let mut prometheus = identifier(metric);
    let unit = unit_word(&info.unit, kind);
    if !unit.is_empty() && !prometheus.ends_with(&format!("_{unit}")) {
        prometheus.push('_');
        prometheus.push_str(unit);
    }
    if kind == MetricKind::Counter {
        prometheus.push_str("_total");
    }
    let definition = Definition {
        prometheus: prometheus.into(),
        otlp: metric.to_owned().into(),
        unit: info.unit.clone().into(),
        kind,
        help: format!("Reading {metric}").into(),
    };
    let labels = labels::labels(name).map(|(label, value)| (label.to_owned(), value.to_owned()));
    (definition, labels.collect())
}

/// A label's name for Prometheus.
pub(crate) fn label(name: &str) -> String {
    let plain = identifier(name);
    if SHARED.contains(&plain.as_str()) {
        return format!("exported_{plain}");
    }
    plain
}

/// A label's name as a tag. A tag twice, or one with the name of the time, and `InfluxDB` refuses the line.
pub(crate) fn tag(name: &str) -> Cow<'_, str> {
    match name {
        "run" | "time" => Cow::Owned(format!("exported_{name}")),
        _ => Cow::Borrowed(name),
    }
}

/// What Prometheus takes as a name: `[a-zA-Z_][a-zA-Z0-9_]*`.
fn identifier(name: &str) -> String {
    let plain = name.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    });
    let plain: String = plain.collect();
    match plain.chars().next() {
        Some(first) if !first.is_ascii_digit() => plain,
        _ => format!("_{plain}"),
    }
}

/// The word of a unit in Prometheus' names, by OpenTelemetry's translation; empty without one.
fn unit_word(unit: &str, kind: MetricKind) -> &str {
    match unit {
        "s" => "seconds",
        "ms" => "milliseconds",
        "us" => "microseconds",
        "By" => "bytes",
        "By/s" => "bytes_per_second",
        "%" => "percent",
        "1" if kind == MetricKind::Gauge => "ratio",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn info(kind: SeriesKind, unit: &str) -> SeriesInfo {
        SeriesInfo {
            kind,
            unit: unit.to_owned(),
        }
    }

    #[test]
    fn readings_are_named_by_opentelemetrys_translation() {
        for (series, kind, unit, name, otlp) in [
            (
                "system.cpu.utilization{cpu.mode=user}",
                SeriesKind::Gauge,
                "1",
                "system_cpu_utilization_ratio",
                "system.cpu.utilization",
            ),
            (
                "system.network.io",
                SeriesKind::Delta,
                "By",
                "system_network_io_bytes_total",
                "system.network.io",
            ),
            (
                "process.thread.count",
                SeriesKind::Gauge,
                "{thread}",
                "process_thread_count",
                "process.thread.count",
            ),
        ] {
            let (definition, _) = of_series(series, &info(kind, unit));
            assert_eq!((&*definition.prometheus, &*definition.otlp), (name, otlp));
        }
        let (_, labels) = of_series("a{cpu.mode=user,run=7}", &info(SeriesKind::Gauge, "1"));
        let names: Vec<String> = labels.iter().map(|(name, _)| label(name)).collect();
        assert_eq!(names, ["cpu_mode", "exported_run"]);
    }

    #[test]
    fn names_keep_the_conventions() {
        let mut names = BTreeSet::new();
        for row in TABLE {
            let name = &row.prometheus;
            assert!(name.starts_with("plimsoll_"), "{name}");
            assert_eq!(
                row.kind == MetricKind::Counter,
                name.ends_with("_total"),
                "{name}"
            );
            assert_eq!(
                row.kind == MetricKind::Histogram && row.is_time(),
                name.ends_with("_seconds"),
                "{name}"
            );
            assert!(
                names.insert(name.clone()) && names.insert(row.otlp.clone()),
                "{name} twice"
            );
        }
    }

    #[test]
    fn every_metric_is_in_the_reference() {
        let page = include_str!("../../../docs/reference/export.md");
        for row in TABLE {
            let (name, otlp, help) = (&row.prometheus, &row.otlp, &row.help);
            let kind = format!("{:?}", row.kind).to_lowercase();
            let line = format!(
                "| `{name}` | `{otlp}` | {kind} | {} | {help} |",
                row.unit.replace(['{', '}'], "")
            );
            assert!(
                page.contains(&line),
                "docs/reference/export.md lacks the line\n{line}"
            );
        }
    }
}
