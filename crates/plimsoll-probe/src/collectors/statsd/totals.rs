//! Meters that arrived, and what they measured since the last sample.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher as _;

use plimsoll_model::metric;

use super::parse::{StatsdLine, StatsdType, StatsdValue, lines};
use super::timer::TimerValues;
use crate::collectors::link::shortly;
use crate::collectors::metrics::MetricsRecorder;

/// Meters that are recorded, each with its tags; further ones are left out.
const METERS_MAX: usize = 512;
/// Distinct elements of all sets together that are counted in one second.
const ELEMENTS_MAX: usize = 50_000;

/// A meter's totals. Counts begin anew after each sample; a gauge stays until it is set again, as in a StatsD server.
#[derive(Debug)]
enum MeterTotals {
    Counter(f64),
    Gauge(f64),
    Timer(TimerValues),
    /// Hashes of the elements.
    Set(HashSet<u64>),
}

#[derive(Debug)]
struct StatsdMeter {
    name: String,
    tags: Vec<(String, String)>,
    totals: MeterTotals,
}

/// All meters of a receiver.
#[derive(Debug, Default)]
pub(super) struct StatsdTotals {
    meters: BTreeMap<String, StatsdMeter>,
    hasher: RandomState,
    /// Elements of all sets.
    elements: usize,
    /// The key that is looked up.
    key: String,
    lines: u64,
    lines_lost: u64,
    /// Keys and texts; of a key the first text since the last sample.
    notes: BTreeMap<&'static str, String>,
}

impl StatsdTotals {
    /// Adds the lines of a datagram; returns their number.
    pub(super) fn add(&mut self, datagram: &[u8]) -> usize {
        let mut count = 0;
        for (sent, line) in lines(datagram) {
            count += 1;
            match line {
                Ok(line) => self.add_line(&line),
                Err(error) => {
                    self.lines_lost += 1;
                    self.notes.entry("invalid").or_insert_with(|| {
                        let sent = shortly(&String::from_utf8_lossy(sent));
                        format!("a line was left out: {error}; it was `{sent}`")
                    });
                }
            }
        }
        self.lines += count as u64;
        count
    }

    fn add_line(&mut self, line: &StatsdLine<'_>) {
        write_key(&mut self.key, line);
        if !self.meters.contains_key(&self.key) {
            if self.meters.len() >= METERS_MAX {
                self.lines_lost += 1;
                self.notes.entry("too many meters").or_insert_with(|| {
                    let name = shortly(line.name);
                    format!(
                        "only {METERS_MAX} meters are recorded, each with its tags: `{name}` and others were left out; send \
                         fewer, or leave out tags that change with each request, such as ids"
                    )
                });
                return;
            }
            self.meters.insert(self.key.clone(), StatsdMeter::of(line));
        }
        let Some(meter) = self.meters.get_mut(&self.key) else {
            return;
        };
        for value in &line.values {
            match (&mut meter.totals, *value) {
                (MeterTotals::Counter(total), StatsdValue::Number(number)) => {
                    *total += number / line.rate;
                }
                (MeterTotals::Gauge(level), StatsdValue::Number(number)) => *level = number,
                (MeterTotals::Gauge(level), StatsdValue::Change(change)) => *level += change,
                (MeterTotals::Timer(values), StatsdValue::Number(number)) => {
                    values.add(number, 1.0 / line.rate);
                }
                (MeterTotals::Set(elements), StatsdValue::Element(element)) => {
                    if self.elements < ELEMENTS_MAX {
                        let is_new = elements.insert(self.hasher.hash_one(element));
                        self.elements += usize::from(is_new);
                    } else {
                        self.notes.entry("too many elements").or_insert_with(|| {
                            format!(
                                "sets had more than {ELEMENTS_MAX} distinct elements in a second: their counts are too low"
                            )
                        });
                    }
                }
                // The key has the type, which decides what values a line has.
                _ => {}
            }
        }
    }

    /// Whether any meter arrived so far.
    pub(super) fn has_meters(&self) -> bool {
        !self.meters.is_empty()
    }

    /// Records the meters over so many seconds, and begins anew.
    pub(super) fn record(&mut self, seconds: f64, metrics: &mut MetricsRecorder<'_>) {
        for (key, text) in std::mem::take(&mut self.notes) {
            metrics.note(key, &text);
        }
        let per_second = |count: f64| Some(count / seconds).filter(|rate| rate.is_finite());
        let lines = std::mem::take(&mut self.lines) as f64;
        let lost = std::mem::take(&mut self.lines_lost) as f64;
        metrics.level(metric::STATSD_LINES, &[], per_second(lines));
        metrics.level(metric::STATSD_LINES_LOST, &[], per_second(lost));
        self.elements = 0;
        for meter in self.meters.values_mut() {
            let (name, tags) = (meter.name.as_str(), meter.tags.as_slice());
            match &mut meter.totals {
                MeterTotals::Gauge(value) => metrics.own_gauge(name, tags, *value),
                MeterTotals::Set(elements) => {
                    let count = std::mem::take(elements).len();
                    metrics.own_gauge(name, tags, count as f64);
                }
                MeterTotals::Counter(total) => {
                    metrics.own_counter(name, tags, per_second(std::mem::take(total)));
                }
                MeterTotals::Timer(values) => {
                    let mut values = std::mem::take(values);
                    for (what, value) in [
                        ("mean", values.mean()),
                        ("p95", values.quantile(0.95)),
                        ("max", values.max()),
                    ] {
                        if let Some(value) = value {
                            metrics.own_gauge(&format!("{name}.{what}"), tags, value);
                        }
                    }
                    let count = format!("{name}.count");
                    metrics.own_counter(&count, tags, per_second(values.count()));
                }
            }
        }
    }
}

impl StatsdMeter {
    fn of(line: &StatsdLine<'_>) -> Self {
        let tags = line.tags.iter();
        let tags = tags.map(|&(tag, value)| (tag.to_owned(), value.to_owned()));
        Self {
            name: line.name.to_owned(),
            tags: tags.collect(),
            totals: match line.kind {
                StatsdType::Counter => MeterTotals::Counter(0.0),
                StatsdType::Gauge => MeterTotals::Gauge(0.0),
                StatsdType::Distribution => MeterTotals::Timer(TimerValues::default()),
                StatsdType::Set => MeterTotals::Set(HashSet::new()),
            },
        }
    }
}

/// Writes the key of a meter: its name, its type and its tags. No part of it contains the separator.
fn write_key(key: &mut String, line: &StatsdLine<'_>) {
    key.clear();
    key.push_str(line.name);
    key.push('\n');
    key.push(match line.kind {
        StatsdType::Counter => 'c',
        StatsdType::Gauge => 'g',
        StatsdType::Distribution => 'd',
        StatsdType::Set => 's',
    });
    for &(tag, value) in &line.tags {
        for part in ["\n", tag, "\n", value] {
            key.push_str(part);
        }
    }
}
