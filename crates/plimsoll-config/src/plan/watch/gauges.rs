//! Reads the limits of the application's own gauges.

use plimsoll_model::component::{Component, ComponentKind, GaugeLimit, Selector};

use super::agents::AGENT;
use super::exporter::EXPORTER;
use crate::document::Shape::{Either, Number, Of, OneOrMore, Text};
use crate::document::{DocumentNode, DocumentReader, KeywordTable, word};

/// Keys of `watch` that have maps of their own.
pub(crate) static WATCH: KeywordTable = KeywordTable {
    name: "watch",
    meaning: "Collectors to run beside the load. Its other keys are described at `watch` of the plan.",
    words: &[
        word!(
            "agents",
            OneOrMore(&Either(&[Text, Of(&AGENT)])),
            "Agents that watch other machines, at most 64: where they listen, `[db1.internal:9192]`, or maps with their \
             tokens."
        ),
        word!(
            "cadvisor",
            OneOrMore(&Either(&[Text, Of(&EXPORTER)])),
            "Other machines on which cAdvisor runs, at most 64: the URL of its page, or a map with the machine's name. The limits \
             of its containers are examined: CPU quotas, memory, threads."
        ),
        word!(
            "gauges",
            OneOrMore(&Of(&GAUGE)),
            "Gauges of the application that are full at a limit, at most 64. A gauge that reaches its limit where the load \
             line is becomes a finding (rule S12)."
        ),
        word!(
            "node-exporter",
            OneOrMore(&Either(&[Text, Of(&EXPORTER)])),
            "Other machines on which `node_exporter` runs, at most 64: the URL of its page, or a map with the machine's name."
        ),
        word!(
            "telegraf",
            OneOrMore(&Either(&[Text, Of(&EXPORTER)])),
            "Other machines on which Telegraf runs with its output `prometheus_client`, at most 64: the URL of its page, or a map \
             with the machine's name."
        ),
    ],
};

/// Keys of `gauges`.
pub(crate) static GAUGE: KeywordTable = KeywordTable {
    name: "gauge",
    meaning: "A gauge that the application reports over StatsD (`statsd`), over OTLP (`otlp`) or on a metrics page \
              (`prometheus`), and its limit.",
    words: &[
        word!(
            "gauge",
            Text,
            "Its name, its beginning, or its name with labels: `queue_depth`, `jobs.waiting.*`, \
             `'pool_in_use{pool=\"main\"}'`. Of a metrics page it needs no `series`. A timer `t` of StatsD has the gauges \
             `t.mean`, `t.p95` and `t.max`; a histogram `h` of OTLP `h.mean` and `h.max`."
        ),
        word!(
            "limit",
            Number,
            "The value at which what it measures is full, above 0, in the unit of the gauge: the size of a queue or a pool, \
             the most that may run at once."
        ),
    ],
};

/// Components that report gauges of the application.
const SOURCES: [ComponentKind; 3] = [
    ComponentKind::Prometheus,
    ComponentKind::Otlp,
    ComponentKind::Statsd,
];
const NAME_VALID: &str = "the name of a gauge as the application reports it, with labels to select some of them, such as \
                          queue_depth or 'pool_in_use{pool=\"main\"}'";
const LIMIT_VALID: &str = "a number above 0, in the unit of the gauge";

/// Reads a gauge and its limit.
pub(super) fn gauge(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<GaugeLimit> {
    let fields = reader.fields(node, &GAUGE)?;
    let mut is_complete = true;
    for (key, valid) in [("gauge", NAME_VALID), ("limit", LIMIT_VALID)] {
        if fields.get(key).is_none() {
            is_complete = false;
            // The missing key may be the misspelled one.
            if !fields.misspells(&[key]) {
                reader.report(
                    node,
                    format!("`{key}` is missing"),
                    format!("{key}: {valid}"),
                );
            }
        }
    }
    if !is_complete {
        return None;
    }
    let (name, limit) = (fields.get("gauge")?, fields.get("limit")?);
    let text = reader.word(name, NAME_VALID)?;
    let selector = Selector::of_meter(&text);
    if selector.is_none() {
        reader.report(
            name,
            format!("`{text}` is not the name of a gauge"),
            NAME_VALID,
        );
    }
    let gauge = GaugeLimit::new(selector?, reader.number(limit)?);
    if gauge.is_none() {
        reader.report(limit, "the limit is 0", LIMIT_VALID);
    }
    gauge
}

/// Reports gauges that no component can report.
pub(super) fn check(reader: &DocumentReader<'_>, node: &DocumentNode, components: &[Component]) {
    let mut kinds = components.iter().map(|component| component.kind);
    if !kinds.any(|kind| SOURCES.contains(&kind)) {
        reader.report(
            node,
            "no component reports gauges of the application",
            "`statsd: 127.0.0.1:8125`, `otlp: 127.0.0.1:4318` or `prometheus: { url: http://127.0.0.1:9100/metrics }` beside \
             `gauges`",
        );
    }
}
