//! What a policy looks at.

use std::fmt;

use crate::document::{DocumentNode, DocumentReader};

/// Words of the signals that Plimsoll knows by itself.
static WORDS: [(&str, Signal); 6] = [
    ("offered", Signal::Offered),
    ("served", Signal::Served),
    ("queue", Signal::Queue),
    ("in_flight", Signal::InFlight),
    ("latency", Signal::Latency),
    ("cpu", Signal::Cpu),
];
/// Before the name of any other series.
const SERIES: &str = "series ";
/// Longest name of a series, bytes.
const SERIES_LEN_MAX: usize = 200;

const VALID: &str = "offered, served, queue, in_flight, latency, cpu, or `series NAME`";

/// A signal of a service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Requests that arrive per second: served and shed ones. It never saturates.
    Offered,
    /// Requests that are answered per second.
    Served,
    /// Requests that wait.
    Queue,
    /// Requests that are being answered or wait.
    InFlight,
    /// 95th percentile of the response time, s.
    Latency,
    /// Mean share of the CPU that replicas use, 0 to 1.
    Cpu,
    /// A series of a collector, by its name.
    Series(String),
}

impl Signal {
    /// Whether it is a sum over all replicas, and not a mean.
    pub fn is_total(&self) -> bool {
        matches!(
            self,
            Self::Offered | Self::Served | Self::Queue | Self::InFlight
        )
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Series(name) = self {
            return write!(f, "{SERIES}{name}");
        }
        let word = WORDS.iter().find(|(_, signal)| signal == self);
        f.write_str(word.map_or("", |(word, _)| *word))
    }
}

/// Reads `signal:`.
pub(super) fn signal(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Signal> {
    let text = reader.word(node, VALID)?;
    if let Some(name) = text.strip_prefix(SERIES) {
        let name = name.trim();
        if name.is_empty() || name.len() > SERIES_LEN_MAX || name.chars().any(char::is_control) {
            let valid = format!("`series NAME` with a name of 1 to {SERIES_LEN_MAX} bytes");
            reader.report(node, "not the name of a series", valid);
            return None;
        }
        return Some(Signal::Series(name.to_owned()));
    }
    let found = WORDS.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        reader.unknown(&node.span, "signal", &text, &words);
    }
    found.map(|(_, signal)| signal.clone())
}
