//! `StatsD` over UDP. A second's durations are timings with a sample rate, so that their number is kept with few lines.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use plimsoll_model::histogram::Histogram;

use super::Target;
use crate::exponential::{self, Exponential};
use crate::record::{Point, Record, RunLabels, Value, seconds};
use crate::send_error::SendError;

/// Longest datagram, bytes: fits into a packet of Ethernet.
const DATAGRAM_MAX: usize = 1_400;

/// The socket.
pub(super) struct Statsd {
    socket: UdpSocket,
    /// With tags of `DogStatsD`.
    has_tags: bool,
    run: RunLabels,
}

impl Statsd {
    pub(super) fn open(
        address: SocketAddr,
        has_tags: bool,
        run: RunLabels,
    ) -> Result<Self, String> {
        let local: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(local).and_then(|socket| {
            socket.connect(address)?;
            Ok(socket)
        });
        Ok(Self {
            socket: socket.map_err(|error| error.to_string())?,
            has_tags,
            run,
        })
    }
}

impl Target for Statsd {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let mut datagram = String::new();
        for second in seconds(records) {
            for point in &second.points {
                for line in self.lines(point) {
                    if datagram.len() + line.len() + 1 > DATAGRAM_MAX {
                        self.flush(&mut datagram)?;
                    }
                    datagram.push_str(&line);
                    datagram.push('\n');
                }
            }
        }
        self.flush(&mut datagram)
    }
}

impl Statsd {
    fn flush(&self, datagram: &mut String) -> Result<(), SendError> {
        if datagram.is_empty() {
            return Ok(());
        }
        let sent = self.socket.send(datagram.as_bytes());
        datagram.clear();
        // Nobody knows whether a datagram arrives: sent again, counts would double.
        sent.map(drop).map_err(|error| SendError {
            message: error.to_string(),
            may_repeat: false,
        })
    }

    fn lines(&self, point: &Point) -> Vec<String> {
        let name = self.name(point);
        let tags = self.tags(point);
        match &point.value {
            Value::Gauge(level) if *level >= 0.0 => vec![format!("{name}:{level}|g{tags}")],
            // A gauge with a sign is a change.
            Value::Gauge(level) => vec![
                format!("{name}:0|g{tags}"),
                format!("{name}:{level}|g{tags}"),
            ],
            Value::Counter { increase, .. } if *increase > 0.0 => {
                vec![format!("{name}:{increase}|c{tags}")]
            }
            Value::Counter { .. } => Vec::new(),
            Value::Times { second, .. } => timings(&name, second, &tags),
        }
    }

    /// `plimsoll.requests`, and without tags the labels' values behind it: `plimsoll.requests.ok`.
    fn name(&self, point: &Point) -> String {
        let name = &*point.definition.prometheus;
        let name = name.strip_prefix("plimsoll_").unwrap_or(name);
        let name = name.trim_end_matches("_total").trim_end_matches("_seconds");
        let mut name = format!("plimsoll.{name}");
        if !self.has_tags {
            for (_, value) in &point.labels {
                name.push('.');
                push_plain(&mut name, value);
            }
        }
        name
    }

    fn tags(&self, point: &Point) -> String {
        if !self.has_tags {
            return String::new();
        }
        let mut tags = String::from("|#run:");
        push_plain(&mut tags, &self.run.run);
        for (name, value) in &point.labels {
            let _ = write!(tags, ",{name}:");
            push_plain(&mut tags, value);
        }
        tags
    }
}

/// Timings in milliseconds; one line for each bucket of exponential width, with its number as sample rate.
fn timings(name: &str, second: &Histogram, tags: &str) -> Vec<String> {
    let mut buckets = Exponential::default();
    buckets.add(second);
    let zero = (buckets.zero > 0).then_some((0.0, buckets.zero));
    let others = buckets.buckets.iter();
    let others = others.map(|(&index, &count)| (exponential::middle_s(index) * 1e3, count));
    let lines = zero
        .into_iter()
        .chain(others)
        .map(|(ms, count)| match count {
            1 => format!("{name}:{ms:.3}|ms{tags}"),
            _ => format!("{name}:{ms:.3}|ms|@{}{tags}", 1.0 / count as f64),
        });
    lines.collect()
}

/// A part of a name or a tag: without the separators of the protocol.
fn push_plain(text: &mut String, part: &str) {
    let is_plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.extend(part.chars().map(|c| if is_plain(c) { c } else { '_' }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_divides_by_the_sample_rate_has_the_number_of_requests() {
        let mut second = Histogram::new();
        for (us, count) in [(900, 7), (1_000, 1), (250_000, 1_234)] {
            second.record(us, count);
        }
        let lines = timings("t", &second, "");
        let counted: f64 = lines
            .iter()
            .map(|line| {
                line.split_once('@')
                    .map_or(1.0, |(_, rate)| 1.0 / rate.parse::<f64>().unwrap())
            })
            .sum();
        assert!((counted - 1_242.0).abs() < 1e-6, "{lines:?}");
    }
}
